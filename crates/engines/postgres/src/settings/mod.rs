//! Where the server is, and how it is used; made by hand or from a URL.

mod url;

use bobak_core::Result;
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
pub enum Target {
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

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(name, port) => write!(f, "{name}:{port}"),
            Self::Unix(folder, port) => write!(f, "{}/.s.PGSQL.{port}", folder.display()),
        }
    }
}

/// Everything that is known before the first connection.
#[derive(Clone)]
pub(crate) struct Settings {
    pub hosts: Vec<Host>,
    pub user: String,
    pub password: Option<String>,
    pub database: String,
    pub ssl: SslMode,
    pub root_certificate: Option<PathBuf>,
    pub target: Target,
    pub isolation: Isolation,
    pub keys: Keys,
    /// Whether batches go by COPY.
    pub copy: bool,
    /// Whether statements are kept prepared by name.
    pub named: bool,
    pub schema: Option<String>,
    pub application: String,
    pub connections: usize,
    pub connect_timeout: Duration,
    pub acquire_timeout: Duration,
    pub idle_timeout: Duration,
    pub busy_timeout: Duration,
    /// Zero: none.
    pub statement_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            user: "postgres".to_owned(),
            password: None,
            database: String::new(),
            ssl: SslMode::default(),
            root_certificate: None,
            target: Target::default(),
            isolation: Isolation::default(),
            keys: Keys::default(),
            copy: true,
            named: true,
            schema: None,
            application: "bobak".to_owned(),
            connections: 10,
            connect_timeout: Duration::from_secs(10),
            acquire_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(300),
            busy_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(300),
        }
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the password.
        f.debug_struct("Settings")
            .field("hosts", &self.hosts)
            .field("user", &self.user)
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}

/// Settings of the engine; all have defaults but the host. See [`Postgres::builder`](crate::Postgres::builder).
#[derive(Clone, Debug, Default)]
pub struct PostgresBuilder {
    pub(crate) settings: Settings,
}

impl PostgresBuilder {
    /// Adds a host by name or address; of several the first that will do is taken, and another
    /// when it is lost. A name that begins with `/` is the folder of a Unix socket.
    #[must_use]
    pub fn host(mut self, name: impl Into<String>, port: u16) -> Self {
        let name = name.into();
        self.settings.hosts.push(if name.starts_with('/') {
            Host::Unix(name.into(), port)
        } else {
            Host::Tcp(name, port)
        });
        self
    }

    /// The user. Default `postgres`.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.settings.user = user.into();
        self
    }

    /// The password. Without one a server that asks for it is `Denied`.
    #[must_use]
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.settings.password = Some(password.into());
        self
    }

    /// The database. Default: the user's name.
    #[must_use]
    pub fn database(mut self, database: impl Into<String>) -> Self {
        self.settings.database = database.into();
        self
    }

    /// The schema in which tables are made and looked for. Default: the server's, mostly `public`.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.settings.schema = Some(schema.into());
        self
    }

    /// Encryption. Default [`SslMode::Prefer`].
    #[must_use]
    pub fn ssl(mut self, mode: SslMode) -> Self {
        self.settings.ssl = mode;
        self
    }

    /// A PEM file with the certificates to trust, instead of the system's.
    #[must_use]
    pub fn root_certificate(mut self, file: impl Into<PathBuf>) -> Self {
        self.settings.root_certificate = Some(file.into());
        self
    }

    /// Which of several hosts will do. Default [`Target::Any`].
    #[must_use]
    pub fn target(mut self, target: Target) -> Self {
        self.settings.target = target;
        self
    }

    /// How transactions are kept apart. Default [`Isolation::Serializable`].
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.settings.isolation = isolation;
        self
    }

    /// Who makes integer keys. Default [`Keys::Sequence`].
    #[must_use]
    pub fn keys(mut self, keys: Keys) -> Self {
        self.settings.keys = keys;
        self
    }

    /// Whether batches of new rows go by `COPY`: not where the server has none. Default yes.
    #[must_use]
    pub fn copy(mut self, copy: bool) -> Self {
        self.settings.copy = copy;
        self
    }

    /// Whether statements stay prepared on their connection: not behind a proxy that gives each
    /// transaction another connection. Then no setting of the session is relied on either: locks
    /// are waited for as long as the server says. Default yes.
    #[must_use]
    pub fn named_statements(mut self, named: bool) -> Self {
        self.settings.named = named;
        self
    }

    /// The most connections open at once. Default 10.
    #[must_use]
    pub fn connections(mut self, most: usize) -> Self {
        self.settings.connections = most.max(1);
        self
    }

    /// How long to try to connect to one host. Default 10 s.
    #[must_use]
    pub fn connect_timeout(mut self, time: Duration) -> Self {
        self.settings.connect_timeout = time;
        self
    }

    /// How long to wait for a connection while all are in use; then it is `Busy`. Default 10 s.
    #[must_use]
    pub fn acquire_timeout(mut self, time: Duration) -> Self {
        self.settings.acquire_timeout = time;
        self
    }

    /// After how long without use a connection is closed. Default 5 minutes.
    #[must_use]
    pub fn idle_timeout(mut self, time: Duration) -> Self {
        self.settings.idle_timeout = time;
        self
    }

    /// How long to wait for a lock; then it is `Busy`. Default 5 s.
    #[must_use]
    pub fn busy_timeout(mut self, time: Duration) -> Self {
        self.settings.busy_timeout = time;
        self
    }

    /// How long a statement may run until it is cancelled, and how long the server may be silent;
    /// then it is `Timeout`. Zero: no limit. Default 5 minutes.
    #[must_use]
    pub fn statement_timeout(mut self, time: Duration) -> Self {
        self.settings.statement_timeout = time;
        self
    }

    /// Takes settings from a URL; see [`Postgres::open`](crate::Postgres::open)(crate::Postgres::open).
    ///
    /// # Errors
    /// `Config` for a malformed URL or an unknown setting.
    pub fn url(self, url: &str) -> Result<Self> {
        url::apply(self, url)
    }
}
