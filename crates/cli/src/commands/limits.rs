//! Limits and timeouts of `bobak serve`.

use crate::commands::arguments::{bytes, duration, number};
use bobak_http::Settings as Http;
use bobak_server::Settings as Wire;
use clap::Args;
use std::time::Duration;

/// Limits and timeouts. Those without `http` in their names apply to all listeners. Maximum numbers apply separately to
/// the wire-protocol listeners and to the HTTP listeners.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub struct ServeLimits {
    /// Maximum connections, including idle ones; each remote address is limited to its share [default: 16384]
    #[arg(long, value_name = "N", value_parser = number::<usize>)]
    max_connections: Option<usize>,

    /// Maximum worker threads; each runs one request or open transaction [default: 64]
    #[arg(long, value_name = "N", value_parser = number::<usize>)]
    max_workers: Option<usize>,

    /// Quota of one client in percent of the workers, HTTP streams and subscriptions. All clients of one address together,
    /// and each address for connections, may also use half of the rest. Unix-socket clients are exempt [default: 50]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=100))]
    client_quota: Option<u8>,

    /// Maximum failed logins per minute: wrong passwords per address and user, wrong tokens per address [default: 30]
    #[arg(long, value_name = "N")]
    max_failed_logins: Option<u32>,

    /// Maximum time of a request [default: 5m; HTTP 1m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    request_timeout: Option<Duration>,

    /// Time after which a client that does not read its responses is disconnected [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    write_timeout: Option<Duration>,

    /// Time that running requests and transactions have to finish at shutdown [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    shutdown_timeout: Option<Duration>,

    #[command(flatten)]
    wire: WireLimits,

    #[command(flatten)]
    http: HttpLimits,
}

/// Limits of the wire-protocol listeners.
#[derive(Debug, Args)]
struct WireLimits {
    /// Maximum bytes of a request [default: 67108864]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<u32>)]
    max_frame: Option<u32>,

    /// Maximum bytes of a row, of a value in an SQLite database, and of the buffered rest of an open query when its client
    /// writes or commits; max_value and max_ahead in the database's URL override the last two [default: 67108864]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<u32>)]
    max_row: Option<u32>,

    /// Maximum concurrent requests and open queries per connection [default: 1024]
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    max_requests: Option<u32>,

    /// Maximum table descriptions, and maximum statements, per connection [default: 4096]
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    max_handles: Option<u32>,

    /// Maximum bytes buffered of a client that does not read its responses [default: 4194304]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<u32>)]
    receive_window: Option<u32>,

    /// Maximum time of the handshake, including authentication [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    handshake_timeout: Option<Duration>,

    /// Maximum time that a request waits for a worker [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    worker_timeout: Option<Duration>,

    /// Idle time after which a connection with an open transaction or query is closed [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    transaction_timeout: Option<Duration>,
}

/// Limits of the HTTP listeners.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP limits")]
struct HttpLimits {
    /// Maximum requests per second of each client [default: no limit]
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    http_rate_limit: Option<u32>,

    /// Maximum bytes of a request body, except for imports and batches [default: 16777216]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<usize>)]
    http_max_body: Option<usize>,

    /// Approximate maximum bytes of a list, aggregate or SQL response; clients fetch the rest with `after=`
    /// [default: 16777216]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<usize>)]
    http_max_response: Option<usize>,

    /// Approximate maximum bytes of all request bodies, and of all responses, in memory [default: 1073741824]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<usize>)]
    http_max_memory: Option<usize>,

    /// Maximum concurrent imports, exports and batches [default: 32]
    #[arg(long, value_name = "N")]
    http_max_streams: Option<usize>,

    /// Maximum concurrent change subscriptions [default: 4096]
    #[arg(long, value_name = "N")]
    http_max_subscriptions: Option<usize>,

    /// Maximum time to receive request headers, and maximum keep-alive between requests [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    http_header_timeout: Option<Duration>,

    /// Maximum pause while receiving a request body [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    http_body_timeout: Option<Duration>,

    /// Default number of rows in a list [default: 100]
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    http_page_size: Option<u64>,

    /// Maximum number of rows in a list [default: 10000]
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    http_max_page_size: Option<u64>,
}

/// Sets what the settings of both kinds of listeners have in common.
macro_rules! set_common {
    ($all:ident, $given:ident) => {
        set(&mut $all.max_connections, $given.max_connections);
        set(&mut $all.max_workers, $given.max_workers);
        set(&mut $all.client_quota, $given.client_quota);
        set(&mut $all.max_failed_logins, $given.max_failed_logins);
        set(&mut $all.request_timeout, $given.request_timeout);
        set(&mut $all.write_timeout, $given.write_timeout);
        set(&mut $all.shutdown_timeout, $given.shutdown_timeout);
    };
}

impl ServeLimits {
    /// The settings of the wire-protocol listeners.
    pub fn wire(&self) -> Wire {
        let mut all = Wire::default();
        set_common!(all, self);
        set(&mut all.limits.frame, self.wire.max_frame);
        set(&mut all.limits.row, self.wire.max_row);
        set(&mut all.limits.requests, self.wire.max_requests);
        set(&mut all.limits.handles, self.wire.max_handles);
        set(&mut all.limits.window, self.wire.receive_window);
        set(&mut all.handshake_timeout, self.wire.handshake_timeout);
        set(&mut all.worker_timeout, self.wire.worker_timeout);
        set(&mut all.transaction_timeout, self.wire.transaction_timeout);
        all
    }

    /// The maximum concurrent readers of a file: all workers, as many again for Unix-socket clients, and HTTP streams.
    pub fn readers(&self, http: bool) -> usize {
        let streams = if http { self.http().streams } else { 0 };
        self.wire().max_workers.saturating_mul(2).saturating_add(streams)
    }

    /// The settings of the HTTP listeners.
    pub fn http(&self) -> Http {
        let mut all = Http::default();
        set_common!(all, self);
        all.rate_limit = self.http.http_rate_limit;
        set(&mut all.max_body, self.http.http_max_body);
        set(&mut all.max_response, self.http.http_max_response);
        set(&mut all.body_memory, self.http.http_max_memory);
        set(&mut all.streams, self.http.http_max_streams);
        set(&mut all.subscribers, self.http.http_max_subscriptions);
        set(&mut all.header_timeout, self.http.http_header_timeout);
        set(&mut all.body_timeout, self.http.http_body_timeout);
        set(&mut all.page_size, self.http.http_page_size);
        set(&mut all.max_page_size, self.http.http_max_page_size);
        all
    }
}

fn set<V>(value: &mut V, given: Option<V>) {
    if let Some(given) = given {
        *value = given;
    }
}
