//! What each end accepts of the other.

/// The protocol's version that this crate speaks.
pub const VERSION: u16 = 1;

/// The most that a server accepts. Told to the client in the answer to its first frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a frame's body. Default: 64 MiB.
    pub frame: u32,
    /// Bytes of an encoded row. Default: 64 MiB.
    pub row: u32,
    /// Requests on one connection that are not answered yet. Default: 1,024.
    pub requests: u32,
    /// Handles of tables, and as many of statements, on one connection: their numbers are below
    /// it. Default: 4,096.
    pub handles: u32,
    /// Bytes of requests that the server takes in while it cannot write its answers: a client that
    /// has no more than these unanswered may write without reading. Default: 4 MiB.
    pub window: u32,
}

impl Limits {
    /// The largest body of a frame before the client is known: 64 KiB.
    pub const BEFORE_HELLO: u32 = 64 << 10;
    /// How deep conditions nest.
    pub const DEPTH: u32 = 200;
}

impl Default for Limits {
    fn default() -> Self {
        Self { frame: 64 << 20, row: 64 << 20, requests: 1_024, handles: 4_096, window: 4 << 20 }
    }
}
