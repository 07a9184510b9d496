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
    /// How deeply a query over several tables can be nested: each expression, condition and query inside is one level deeper.
    pub const JOIN_DEPTH: u32 = 100;
    /// How many expressions, conditions and queries a request about several tables can have.
    pub const JOIN_PARTS: u32 = 50_000;
    /// How many queries a request can have, with those inside of others.
    pub const JOIN_QUERIES: u32 = 256;
    /// How many tables a query can have, with those of the queries around it.
    pub const JOIN_TABLES: usize = 64;
}

impl Default for Limits {
    fn default() -> Self {
        Self { frame: 64 << 20, row: 64 << 20, requests: 1_024, handles: 4_096, window: 4 << 20 }
    }
}
