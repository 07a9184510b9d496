//! Where the server is, and how it is used; made by hand or from a URL.

mod url;

use bobak_core::{Result, choices, settings};
use std::path::PathBuf;
use std::time::Duration;

/// Whether the connection is encrypted, and what the server must prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SslMode {
    /// Never.
    Disable,
    /// Where the server can. The default.
    #[default]
    Prefer,
    /// Always encrypted, without verification of the server.
    Require,
    /// Always, with a certificate that is trusted, whatever host it is made for.
    VerifyCa,
    /// Always, with a certificate that is trusted and made for the host's name.
    VerifyFull,
}

/// How a transaction is kept apart from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Isolation {
    /// As if transactions ran one after the other, as on every other engine of Bobak; a conflict is
    /// `Serialization`. The default.
    #[default]
    Serializable,
    /// All of a transaction's reads are of one moment; a lost update is `Serialization`.
    RepeatableRead,
    /// Each statement sees what was committed before it: two transactions may overwrite each
    /// other's work.
    ReadCommitted,
}

/// Which of several hosts will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TargetServer {
    /// Any that answers. The default.
    #[default]
    Any,
    /// One that can be written to.
    ReadWrite,
    /// One that can't be written to.
    ReadOnly,
}

/// Who makes the integer keys that are the engine's to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Keys {
    /// The table's sequence; a batch takes as many as it needs at once. The default.
    #[default]
    Sequence,
    /// The column's own default, whatever it is, row by row of the answer: for servers whose keys
    /// are no sequence.
    Server,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    Tcp(String, u16),
    /// The folder of the socket, and the port in its name.
    Unix(PathBuf, u16),
}

/// The default port.
const PORT: u16 = 5432;

impl Host {
    fn new(name: String, port: u16) -> Self {
        if name.starts_with('/') { Self::Unix(name.into(), port) } else { Self::Tcp(name, port) }
    }

    const fn port(&self) -> u16 {
        match self {
            Self::Tcp(_, port) | Self::Unix(_, port) => *port,
        }
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(name, port) => write!(f, "{name}:{port}"),
            Self::Unix(folder, port) => write!(f, "{}/.s.PGSQL.{port}", folder.display()),
        }
    }
}

settings! {
    /// Settings of the engine; all have defaults but the host. See [`Postgres::builder`](crate::Postgres::builder).
    #[derive(Clone)]
    pub struct PostgresBuilder with pub(crate) settings {
        /// The user.
        user: String = "postgres".to_owned(), unit = "a name";
        /// The password.
        ///
        /// Without one, a server that asks for it is `Denied`.
        password: Option<String> = None, unit = "a password", secret = true;
        /// The database.
        database: String = String::new(), unit = "a name", default_text = "the user's name";
        /// The folder of a Unix socket, or a host, instead of other hosts; the port remains the first host's.
        socket: Option<String> = None, key = "host", unit = "a folder, or a host";
        /// Whether the connection is encrypted, and what the server's certificate must prove.
        sslmode: SslMode = SslMode::Prefer;
        /// The PEM file with the certificates to trust.
        sslrootcert: Option<PathBuf> = None, unit = "a file", default_text = "the system's certificates";
        /// Which of several hosts is used.
        target: TargetServer = TargetServer::Any;
        /// The name that the server shows for the connections.
        application_name: String = "bobak".to_owned(), unit = "a name";
        /// The schema in which tables are created and found.
        schema: Option<String> = None, unit = "a name", default_text = "the server's, usually `public`";
        /// How transactions are isolated from each other.
        isolation: Isolation = Isolation::Serializable;
        /// What generates integer keys.
        keys: Keys = Keys::Sequence;
        /// Whether batches of new rows use `COPY`, which some servers do not have.
        copy: bool = true;
        /// Whether statements stay prepared on their connection.
        ///
        /// Turn it off behind a proxy that gives each transaction another connection, such as PgBouncer. The session's
        /// settings are not relied on then either: the server decides how long locks are waited for.
        prepared: bool = true;
        /// The maximum number of connections.
        connections: usize = 10, min = 1;
        /// How long to try to connect to one host.
        connect_timeout: Duration = Duration::from_secs(10);
        /// How long a call waits for a connection while all are in use, before it fails with `Busy`.
        acquire_timeout: Duration = Duration::from_secs(10);
        /// How long a connection may be idle before it is closed.
        idle_timeout: Duration = Duration::from_secs(300);
        /// How long a statement waits for a lock before it fails with `Busy`.
        busy_timeout: Duration = Duration::from_secs(5);
        /// How long a statement may run, and the server be silent, before it fails with `Timeout`; 0 for no limit.
        statement_timeout: Duration = Duration::from_secs(300);
    } and {
        hosts: Vec<Host>,
    }
}

choices!(
    SslMode: "disable" => Disable, "prefer" => Prefer, "require" => Require,
    "verify-ca" => VerifyCa, "verify-full" => VerifyFull
);
choices!(TargetServer: "any" => Any, "read-write" => ReadWrite, "read-only" => ReadOnly);
choices!(
    Isolation: "serializable" => Serializable, "repeatable-read" => RepeatableRead,
    "read-committed" => ReadCommitted
);
choices!(Keys: "sequence" => Sequence, "server" => Server);

pub(crate) type Settings = PostgresBuilder;

impl PostgresBuilder {
    /// Adds a host by name or address. The first that serves as [`target`](Self::target) is used, and another one if it
    /// is lost. A name that begins with `/` is the folder of a Unix socket.
    pub fn host(mut self, name: impl Into<String>, port: u16) -> Self {
        self.hosts.push(Host::new(name.into(), port));
        self
    }

    /// The hosts to connect to.
    pub(crate) fn hosts(&self) -> Vec<Host> {
        match (&self.socket, self.hosts.first()) {
            (Some(name), first) => vec![Host::new(name.clone(), first.map_or(PORT, Host::port))],
            (None, None) => vec![Host::new("localhost".to_owned(), PORT)],
            (None, Some(_)) => self.hosts.clone(),
        }
    }

    /// Takes settings from a URL; see [`Postgres::open`](crate::Postgres::open)(crate::Postgres::open).
    ///
    /// # Errors
    /// `Config` for a malformed URL or an unknown setting.
    pub fn url(self, url: &str) -> Result<Self> {
        url::apply(self, url)
    }
}
