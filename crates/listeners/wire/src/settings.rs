//! Limits and timeouts.

use bobak_wire::Limits;
use std::time::Duration;

/// Limits and timeouts of a server. The defaults suit a server that anybody can reach.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What each connection may send.
    pub limits: Limits,
    /// The most connections, idle ones included; further ones get `Busy`. One address other than this
    /// machine's own may have half of them, and half of `client_quota` percent in addition. Default:
    /// 16,384.
    pub max_connections: usize,
    /// The most worker threads: each serves a connection with a running request, an open transaction
    /// or an open query. Default: 64.
    pub max_workers: usize,
    /// The percentage of workers that one client may use at a time; all clients of one address
    /// together may use half of the rest in addition. Further requests wait for the client's own to
    /// end. The operator at a Unix socket is always served. Default: 50.
    pub client_quota: u8,
    /// The most wrong passwords a minute from one address for one name. Default: 30.
    pub max_failed_logins: u32,
    /// How long a client may take to authenticate. Default: 10 s.
    pub handshake_timeout: Duration,
    /// How long a request may wait for a worker before it gets `Busy`. Default: 5 s.
    pub worker_timeout: Duration,
    /// How long a query or statement may run before it is interrupted with `Timeout`. Applies to each
    /// part of a batch and of a query's rows. Default: 5 minutes.
    pub request_timeout: Duration,
    /// How long a client may leave its responses unread before it is disconnected. Default: 30 s.
    pub write_timeout: Duration,
    /// How long a connection with an open transaction or query may be idle before it is rolled back
    /// and disconnected, since it may block others. Default: 60 s.
    pub transaction_timeout: Duration,
    /// How long a server that shuts down waits for transactions to end. Default: 10 s.
    pub shutdown_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            max_connections: 16_384,
            max_workers: 64,
            client_quota: 50,
            max_failed_logins: 30,
            handshake_timeout: Duration::from_secs(10),
            worker_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(300),
            write_timeout: Duration::from_secs(30),
            transaction_timeout: Duration::from_secs(60),
            shutdown_timeout: Duration::from_secs(10),
        }
    }
}
