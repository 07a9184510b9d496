//! Limits and timeouts.

use bobak_core::settings;
use bobak_wire::Limits;
use std::time::Duration;

settings! {
    /// Limits and timeouts of a server. The defaults suit a server that anybody can reach.
    #[derive(Clone)]
    pub struct Settings with pub settings {
        /// Maximum connections, including idle ones; each remote address is limited to its share.
        ///
        /// Further ones get `Busy`. The share of an address other than this machine's own is half of them, and half of
        /// `client_quota` percent in addition.
        max_connections: usize = 16_384, min = 1;
        /// Maximum worker threads; each runs one request or open transaction.
        ///
        /// A worker serves a connection with a running request, an open transaction or an open query.
        max_workers: usize = 64, min = 1;
        /// Quota of one client of the workers; all clients of one address together may also use half of the rest.
        ///
        /// Further requests wait for the client's own to end. The operator at a Unix socket is always served.
        client_quota: u8 = 50, unit = "percent", min = 1, max = 100;
        /// Maximum failed logins per minute: wrong passwords per address and user, wrong tokens per address.
        max_failed_logins: u32 = 30;
        /// Maximum time of a request.
        ///
        /// Applies to each part of a batch and of a query's rows. A query or statement that runs longer is interrupted
        /// with `Timeout`.
        request_timeout: Duration = Duration::from_secs(300);
        /// Time after which a client that does not read its responses is disconnected.
        write_timeout: Duration = Duration::from_secs(30);
        /// Time that running requests and transactions have to finish at shutdown.
        shutdown_timeout: Duration = Duration::from_secs(10);
        /// Maximum size of a request.
        max_frame: u32 = 64 << 20, unit = "bytes", min = 1_024;
        /// Maximum size of a row, and, in `bobak serve`, of a value and of the buffered rows of an SQLite database.
        ///
        /// `bobak serve` sets `max_value_bytes` and `max_ahead_bytes` of SQLite databases to it, unless their URLs do.
        max_row: u32 = 64 << 20, unit = "bytes", min = 1_024;
        /// Maximum concurrent requests and open queries per connection.
        max_requests: u32 = 1_024, min = 1;
        /// Maximum table descriptions, and maximum statements, per connection.
        max_handles: u32 = 4_096, min = 1;
        /// Maximum size of the requests that are buffered of a client that does not read its responses.
        receive_window: u32 = 4 << 20, unit = "bytes", min = 1_024;
        /// Maximum time of the handshake, including authentication.
        handshake_timeout: Duration = Duration::from_secs(10);
        /// Maximum time that a request waits for a worker before it gets `Busy`.
        worker_timeout: Duration = Duration::from_secs(5);
        /// Idle time after which a connection with an open transaction or query is closed, since it may block others.
        transaction_timeout: Duration = Duration::from_secs(60);
    }
}

impl Settings {
    /// The limits that the server tells its clients.
    pub(crate) const fn limits(&self) -> Limits {
        Limits {
            frame: self.max_frame,
            row: self.max_row,
            requests: self.max_requests,
            handles: self.max_handles,
            window: self.receive_window,
        }
    }
}
