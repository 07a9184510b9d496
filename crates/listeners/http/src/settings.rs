//! How much the door gives, and how long it waits.

use std::time::Duration;

/// Limits, time-outs and permissions of an HTTP door. The defaults are for one that strangers may
/// find.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The most connections, idle ones included; further ones are closed. Of one address, other than
    /// this machine's own, there may be half and half of `share` percent of them. Default: 16,384.
    pub connections: usize,
    /// The most requests at a time that have a thread to work on a database; a further one waits.
    /// Writes of single rows need none, but where an engine has several writers at a time: those of
    /// a caller go together, on one thread for each of its databases. Default: 64.
    pub workers: usize,
    /// The most imports, exports and batches at a time, each of which has a thread while it lasts,
    /// besides the workers; a further one is told 503. Default: 32.
    pub streams: usize,
    /// The most who listen to changes at a time. Default: 4,096.
    pub listeners: usize,
    /// How long a connection may take to send a request's head, or say nothing between two
    /// requests. Default: 30 s.
    pub head_timeout: Duration,
    /// How long a client may wait between two pieces of a request's body. Default: 30 s.
    pub body_timeout: Duration,
    /// How long a client may let its answer wait before it is cut off. Default: 30 s.
    pub write_timeout: Duration,
    /// How long a request may take that is no import, export or batch. Default: 60 s.
    pub request_timeout: Duration,
    /// The most bytes of a request's body, and of a line of an import or batch, whose bodies
    /// themselves may be of any length. Default: 16 MiB.
    pub body: usize,
    /// About the most bytes of an answer that is no export: a list, sums or SQL then end before, and
    /// say that there is more; one row they have at least. An import or batch whose outcomes are
    /// longer is refused. Default: 16 MiB.
    pub answer: usize,
    /// About the most bytes of all bodies that are coming, and the most of all answers that are
    /// going, exports and imports not counted, whose parts are few; 64 KiB each has besides. A
    /// request beyond it is told 503. Default: 1 GiB.
    pub memory: usize,
    /// How many rows a list has that asks for no number. Default: 100.
    pub page: u64,
    /// The most rows of a list; exports have no limit. Default: 10,000.
    pub longest_page: u64,
    /// The most requests a second of one client, that is, of one name from one address; after a
    /// second's worth of them at once a further one is told 429. Default: no limit.
    pub rate: Option<u32>,
    /// The most wrong passwords a minute that one address may show for one name, and the most wrong
    /// tokens. Default: 30.
    pub refusals: u32,
    /// How many of the workers, of the streams, of those who listen, and how much of the memory, one
    /// caller may have at a time, in percent; all callers of one address together may have half of the rest besides. Who
    /// wants more workers waits for his own. The operator at a Unix socket gets his at any time.
    /// Default: 50.
    pub share: u8,
    /// The origins whose pages browsers let in (`https://app.example.com`); `*` for all. Default:
    /// none.
    pub origins: Vec<String>,
    /// Which SQL may be sent. Default: none.
    pub sql: SqlAccess,
    /// Whether `/metrics` is for everybody, not only for those who are let in. Default: no.
    pub open_metrics: bool,
    /// How long a door that closes waits for requests to end. Default: 10 s.
    pub grace: Duration,
}

/// Which SQL may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SqlAccess {
    /// None.
    #[default]
    None,
    /// Statements that only read.
    Read,
    /// Any.
    Write,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connections: 16_384,
            workers: 64,
            streams: 32,
            listeners: 4_096,
            head_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            request_timeout: Duration::from_secs(60),
            body: 16 << 20,
            answer: 16 << 20,
            memory: 1 << 30,
            page: 100,
            longest_page: 10_000,
            rate: None,
            refusals: 30,
            share: 50,
            origins: Vec::new(),
            sql: SqlAccess::None,
            open_metrics: false,
            grace: Duration::from_secs(10),
        }
    }
}
