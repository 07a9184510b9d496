//! Limits of the protocol.

/// The protocol version that this crate implements.
pub const VERSION: u16 = 1;

/// What a server accepts. The server sends its limits in the response to the hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest body of a frame, in bytes. Default: 64 MiB.
    pub frame: u32,
    /// The largest encoded row, in bytes. Default: 64 MiB.
    pub row: u32,
    /// How many requests of a connection may await a response. Default: 1,024.
    pub requests: u32,
    /// Handles of tables, and of SQL texts, on one connection are below this number. Default: 4,096.
    pub handles: u32,
    /// How many bytes of requests the server buffers while it cannot send responses. A client with at most so
    /// many bytes of requests without a response can write without reading. Default: 4 MiB.
    pub window: u32,
}

impl Limits {
    /// The largest body of a frame before authentication: 64 KiB.
    pub const BEFORE_HELLO: u32 = 64 << 10;
    /// How deeply conditions can be nested.
    pub const DEPTH: u32 = bobak_core::Condition::MAX_DEPTH;
}

impl Default for Limits {
    fn default() -> Self {
        Self { frame: 64 << 20, row: 64 << 20, requests: 1_024, handles: 4_096, window: 4 << 20 }
    }
}
