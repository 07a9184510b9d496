//! Limits, timeouts and permissions of an HTTP server.

use bobak_core::{choices, settings};
use std::time::Duration;

settings! {
    /// Limits, timeouts and permissions of an HTTP server. The defaults suit a server on the internet.
    #[derive(Clone)]
    #[non_exhaustive]
    pub struct Settings with pub settings {
        /// Maximum connections, including idle ones; each remote address is limited to its share.
        ///
        /// The server closes further ones. The share of an address other than this machine's own is half of them plus
        /// half of `client_quota` percent.
        max_connections: usize = 16_384, min = 1;
        /// Maximum requests that use a database at the same time; further ones wait.
        ///
        /// Single-row writes do not count, except in engines with concurrent writers: the writes of one client to one
        /// database share a thread.
        max_workers: usize = 64, min = 1;
        /// Quota of one client of workers, streams, subscriptions and memory; all clients of one address together may also
        /// use half of the rest.
        ///
        /// Operators at Unix sockets have no quota.
        client_quota: u8 = 50, unit = "percent", min = 1, max = 100;
        /// Maximum failed logins per minute: wrong passwords per address and user, wrong tokens per address.
        max_failed_logins: u32 = 30;
        /// Maximum time of a request, except for imports, exports and batches.
        request_timeout: Duration = Duration::from_secs(60);
        /// Time after which a client that does not read its responses is disconnected.
        write_timeout: Duration = Duration::from_secs(30);
        /// Time that running requests have to finish at shutdown.
        shutdown_timeout: Duration = Duration::from_secs(10);
        /// Maximum requests per second of each client, that is, of one name from one address.
        ///
        /// The server rejects further ones with 429.
        rate_limit: Option<u32> = None, min = 1, default_text = "no limit";
        /// Maximum size of a request body, and of each line or record of an import or batch.
        max_body: usize = 16 << 20, unit = "bytes", min = 1_024;
        /// Maximum size of a value that is written by itself, at `/tables/{table}/rows/{key}/columns/{column}`.
        ///
        /// It is streamed to SQLite, and in memory on other engines.
        max_value: u64 = 1 << 30, unit = "bytes", min = 1_024;
        /// Approximate maximum size of a list, aggregate or SQL response; clients fetch the rest with `after=`.
        ///
        /// A longer one ends early, after at least one row, and says that there is more. An import or a batch whose
        /// outcomes are longer fails.
        max_response: usize = 16 << 20, unit = "bytes", min = 1_024;
        /// Approximate maximum size of all request bodies, and of all responses, in memory.
        ///
        /// Imports and exports, which are streamed, do not count, nor do bodies of up to 64 KiB. The server rejects
        /// further requests with 503.
        max_memory: usize = 1 << 30, unit = "bytes", min = 1_024;
        /// Maximum concurrent imports, exports and batches.
        ///
        /// The server rejects further ones with 503. Each has a thread besides the workers.
        max_streams: usize = 32;
        /// Maximum concurrent change subscriptions.
        max_subscriptions: usize = 4_096;
        /// Maximum time to receive request headers, and maximum keep-alive between requests.
        header_timeout: Duration = Duration::from_secs(30);
        /// Maximum pause while receiving a request body.
        body_timeout: Duration = Duration::from_secs(30);
        /// Default number of rows in a list.
        page_size: u64 = 100, min = 1;
        /// Maximum number of rows in a list; exports have no limit.
        max_page_size: u64 = 10_000, min = 1;
        /// Maximum depth of related rows in a response: how many relations may follow one another in `expand=`.
        expand_depth: usize = 4;
        /// Maximum relations that a request expands; each costs a query, or two through a link table.
        expand_relations: usize = 16;
        /// Maximum related rows that a request reads, for `expand=` and for filters through relations.
        expand_rows: u64 = 100_000;
        /// Allow browser requests from this origin (CORS), such as https://app.example.com, or * for all.
        cors_origin: Vec<String> = Vec::new(), unit = "origin";
        /// Accept SQL statements: those that only read, or all.
        sql: SqlAccess = SqlAccess::None;
        /// Give clients of the Model Context Protocol tools that change rows, as their permissions allow.
        ///
        /// Without it, /mcp only reads.
        mcp_write: bool = false;
        /// Time after which a browser has to sign in again.
        session_lifetime: Duration = Duration::from_secs(12 * 60 * 60);
        /// Do not serve the studio, the web application; browsers cannot sign in then.
        without_studio: bool = false;
        /// Serve /metrics without authentication.
        public_metrics: bool = false;
    }
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

choices!(SqlAccess: "none" => None, "read" => Read, "write" => Write);
