//! Limits, timeouts and permissions of an HTTP server.

use std::time::Duration;

/// Limits, timeouts and permissions of an HTTP server. The defaults suit a server on the internet.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The most connections, including idle ones; the server closes further ones. One address, other
    /// than this machine's own, may have half of them plus half of `client_quota` percent. Default: 16,384.
    pub max_connections: usize,
    /// The most requests that use a database at the same time; further ones wait. Single-row writes
    /// do not count, except in engines with concurrent writers: the writes of one client to one
    /// database share a thread. Default: 64.
    pub max_workers: usize,
    /// The most imports, exports and batches at the same time; the server rejects further ones with
    /// 503. Each has a thread besides the workers. Default: 32.
    pub streams: usize,
    /// The most subscribers of change feeds at the same time. Default: 4,096.
    pub subscribers: usize,
    /// How long a client may take to send the headers of a request, and how long a connection may be
    /// idle between requests. Default: 30 s.
    pub header_timeout: Duration,
    /// How long a client may pause while it sends a body. Default: 30 s.
    pub body_timeout: Duration,
    /// How long a client may pause while it reads a response. Default: 30 s.
    pub write_timeout: Duration,
    /// How long a request may take, other than imports, exports and batches. Default: 60 s.
    pub request_timeout: Duration,
    /// The most bytes of a request body. For imports and batches, whose bodies have no limit, the most
    /// bytes of a line or record. Default: 16 MiB.
    pub max_body: usize,
    /// About the most bytes of a list, an aggregate or an SQL result. A longer one ends early, after
    /// at least one row, and says that there is more. An import or a batch whose outcomes are longer
    /// fails. Default: 16 MiB.
    pub max_response: usize,
    /// About the most bytes that all request bodies, and all responses, may occupy in memory, other
    /// than those of imports and exports, which are streamed. Bodies of up to 64 KiB do not count. The
    /// server rejects further requests with 503. Default: 1 GiB.
    pub body_memory: usize,
    /// The number of rows of a list without `limit`. Default: 100.
    pub page_size: u64,
    /// The most rows of a list; exports have no limit. Default: 10,000.
    pub max_page_size: u64,
    /// The most requests per second of one client, that is, of one name from one address. The server
    /// rejects further ones with 429. Default: no limit.
    pub rate_limit: Option<u32>,
    /// The most wrong passwords per minute from one address for one name, and the most wrong tokens
    /// from one address. Default: 30.
    pub max_failed_logins: u32,
    /// The percentage of workers, streams, subscribers and memory that one client may have at a time;
    /// all clients of one address may have half of the rest besides. Operators at Unix sockets have no
    /// quota. Default: 50.
    pub client_quota: u8,
    /// The origins whose pages may read responses (`https://app.example.com`), or `*` for all.
    /// Default: none.
    pub origins: Vec<String>,
    /// Which SQL clients may send. Default: none.
    pub sql: SqlAccess,
    /// Whether `/metrics` requires no authentication. Default: no.
    pub open_metrics: bool,
    /// How long a server that stops waits for requests to finish. Default: 10 s.
    pub shutdown_timeout: Duration,
}

/// Which SQL statements clients may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SqlAccess {
    /// None.
    #[default]
    None,
    /// Statements that only read.
    Read,
    /// All.
    Write,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_connections: 16_384,
            max_workers: 64,
            streams: 32,
            subscribers: 4_096,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            request_timeout: Duration::from_secs(60),
            max_body: 16 << 20,
            max_response: 16 << 20,
            body_memory: 1 << 30,
            page_size: 100,
            max_page_size: 10_000,
            rate_limit: None,
            max_failed_logins: 30,
            client_quota: 50,
            origins: Vec::new(),
            sql: SqlAccess::None,
            open_metrics: false,
            shutdown_timeout: Duration::from_secs(10),
        }
    }
}
