//! How much `bobak serve` gives, and how long it waits.

use crate::commands::parse::{bytes, duration, number};
use bobak_http::Settings as Http;
use bobak_server::Settings as Wire;
use clap::Args;
use std::time::Duration;

/// Limits and time-outs. Those without `http` in their names hold for all doors, as far as these have such a thing; what
/// there may be of something is for the doors of Bobak's protocol and for those of HTTP each.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// The most connections, idle ones included; an address other than this machine's own may have its share of them
    /// [default: 16384]
    #[arg(long, value_name = "N", value_parser = number::<usize>)]
    connections: Option<usize>,

    /// The most worker threads, of those who have a request or a transaction under way [default: 64]
    #[arg(long, value_name = "N", value_parser = number::<usize>)]
    workers: Option<usize>,

    /// How much of the workers, of HTTP's streams and of those who listen one caller may have; all callers of one
    /// address together, and of the connections each address, may have half of the rest besides. The operator at a Unix socket is always served [default: 50]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=100))]
    share: Option<u8>,

    /// The most wrong passwords a minute of one address for one name, and wrong tokens of one address [default: 30]
    #[arg(long, value_name = "N")]
    refusals: Option<u32>,

    /// How long a request may run [default: 5m; HTTP 1m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    request_timeout: Option<Duration>,

    /// How long a client may let its answers wait before it is cut off [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    write_timeout: Option<Duration>,

    /// How long requests and transactions have to end when the server stops [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    grace: Option<Duration>,

    #[command(flatten)]
    wire: WireLimits,

    #[command(flatten)]
    http: HttpLimits,
}

/// What only the doors of Bobak's protocol have.
#[derive(Debug, Args)]
struct WireLimits {
    /// The most bytes of a request [default: 67108864]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<u32>)]
    max_frame: Option<u32>,

    /// The most bytes of a row, of a value that SQL makes or reads in an SQLite database, and of what is left of an
    /// open query there when its client writes or commits; its URL may say other numbers as max_value and max_ahead
    /// [default: 67108864]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<u32>)]
    max_row: Option<u32>,

    /// The most requests, and open queries, of a connection at a time [default: 1024]
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    max_requests: Option<u32>,

    /// The most tables, and as many statements, that a connection may have described [default: 4096]
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    max_handles: Option<u32>,

    /// The most bytes that are taken in of a client that does not read its answers [default: 4194304]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<u32>)]
    window: Option<u32>,

    /// How long a connection may take to say who it is [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    hello_timeout: Option<Duration>,

    /// How long a request may wait for a worker [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    worker_timeout: Option<Duration>,

    /// How long a connection with an open transaction or query may say nothing [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    transaction_timeout: Option<Duration>,
}

/// What only the doors of HTTP have.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits of HTTP")]
struct HttpLimits {
    /// The most requests a second of each client [default: no limit]
    #[arg(long, value_name = "N", value_parser = number::<u32>)]
    http_rate: Option<u32>,

    /// The most bytes of a request's body, but for imports and batches [default: 16777216]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<usize>)]
    http_max_body: Option<usize>,

    /// About the most bytes of a list, of sums, or of an SQL query's rows; the rest is asked for by `after=`
    /// [default: 16777216]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<usize>)]
    http_max_answer: Option<usize>,

    /// About the most bytes of all bodies that are coming, and of all answers that are going [default: 1073741824]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<usize>)]
    http_memory: Option<usize>,

    /// The most imports, exports and batches at a time [default: 32]
    #[arg(long, value_name = "N")]
    http_streams: Option<usize>,

    /// The most who listen to changes at a time [default: 4096]
    #[arg(long, value_name = "N")]
    http_listeners: Option<usize>,

    /// How long a request's head may take, and a connection rest between two requests [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    http_head_timeout: Option<Duration>,

    /// How long a client may wait between two pieces of a body [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    http_body_timeout: Option<Duration>,

    /// How many rows a list has that asks for no number [default: 100]
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    http_page: Option<u64>,

    /// The most rows of a list [default: 10000]
    #[arg(long, value_name = "N", value_parser = number::<u64>)]
    http_longest_page: Option<u64>,
}

/// What both kinds of doors have by the same names, in settings of their own.
macro_rules! set_common {
    ($all:ident, $given:ident) => {
        set(&mut $all.connections, $given.connections);
        set(&mut $all.workers, $given.workers);
        set(&mut $all.share, $given.share);
        set(&mut $all.refusals, $given.refusals);
        set(&mut $all.request_timeout, $given.request_timeout);
        set(&mut $all.write_timeout, $given.write_timeout);
        set(&mut $all.grace, $given.grace);
    };
}

impl Limits {
    /// Those of the doors of Bobak's protocol.
    pub fn wire(&self) -> Wire {
        let mut all = Wire::default();
        set_common!(all, self);
        set(&mut all.limits.frame, self.wire.max_frame);
        set(&mut all.limits.row, self.wire.max_row);
        set(&mut all.limits.requests, self.wire.max_requests);
        set(&mut all.limits.handles, self.wire.max_handles);
        set(&mut all.limits.window, self.wire.window);
        set(&mut all.hello_timeout, self.wire.hello_timeout);
        set(&mut all.worker_timeout, self.wire.worker_timeout);
        set(&mut all.transaction_timeout, self.wire.transaction_timeout);
        all
    }

    /// How many may read a file at a time: all workers, and as many again of the operator's; where there is a door of
    /// HTTP its streams too.
    pub fn readers(&self, http: bool) -> usize {
        let streams = if http { self.http().streams } else { 0 };
        self.wire().workers.saturating_mul(2).saturating_add(streams)
    }

    /// Those of the doors of HTTP.
    pub fn http(&self) -> Http {
        let mut all = Http::default();
        set_common!(all, self);
        all.rate = self.http.http_rate;
        set(&mut all.body, self.http.http_max_body);
        set(&mut all.answer, self.http.http_max_answer);
        set(&mut all.memory, self.http.http_memory);
        set(&mut all.streams, self.http.http_streams);
        set(&mut all.listeners, self.http.http_listeners);
        set(&mut all.head_timeout, self.http.http_head_timeout);
        set(&mut all.body_timeout, self.http.http_body_timeout);
        set(&mut all.page, self.http.http_page);
        set(&mut all.longest_page, self.http.http_longest_page);
        all
    }
}

fn set<V>(value: &mut V, given: Option<V>) {
    if let Some(given) = given {
        *value = given;
    }
}
