//! How much a server gives, and how long it waits.

use bobak_wire::Limits;
use std::time::Duration;

/// Limits and time-outs of a server. The defaults are for a server that strangers may find.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What each connection may send.
    pub limits: Limits,
    /// The most connections, idle ones included; a further one is told `Busy`. Of one address, other
    /// than this machine's own, there may be half and half of `share` percent of them. Default:
    /// 16,384.
    pub connections: usize,
    /// The most worker threads: of connections that have a request, a transaction or a query
    /// under way. Default: 64.
    pub workers: usize,
    /// How many of them, in percent, one caller may have at a time; all callers of one address
    /// together may have half of the rest besides. Who wants more waits for his own. The operator at
    /// a Unix socket gets in at any time. Default: 50.
    pub share: u8,
    /// The most wrong passwords a minute that one address may show for one name. Default: 30.
    pub refusals: u32,
    /// How long a connection may take to say who it is. Default: 10 s.
    pub hello_timeout: Duration,
    /// How long a request may wait for a worker before it is told `Busy`. Default: 5 s.
    pub worker_timeout: Duration,
    /// How long a query or a statement may run at a time before it is ended, with the error `Timeout`; of a query whose
    /// rows are sent as they come, and of a batch, each part. Default: 5 minutes.
    pub request_timeout: Duration,
    /// How long a client may let its answers wait before it is cut off. Default: 30 s.
    pub write_timeout: Duration,
    /// How long a connection with an open transaction or query may say nothing; then it is rolled
    /// back and cut off, since others wait for it. Default: 60 s.
    pub transaction_timeout: Duration,
    /// How long a server that stops waits for transactions to end. Default: 10 s.
    pub grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            connections: 16_384,
            workers: 64,
            share: 50,
            refusals: 30,
            hello_timeout: Duration::from_secs(10),
            worker_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(300),
            write_timeout: Duration::from_secs(30),
            transaction_timeout: Duration::from_secs(60),
            grace: Duration::from_secs(10),
        }
    }
}
