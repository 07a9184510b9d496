//! How a server is reached: typed settings, each with its default.

mod url;

use bobak_core::Result;
use std::path::PathBuf;
use std::time::Duration;

/// Whether the connection to the server is encrypted; all but `Off` need the feature `tls`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Tls {
    /// Plain. For a server on the same machine or in a trusted network. The default.
    #[default]
    Off,
    /// Encrypted, without verification of the server.
    Require,
    /// Encrypted; the server's certificate must be valid for its host name, by Mozilla's list of
    /// authorities or by the file given with [`tls_ca`](MySqlBuilder::tls_ca).
    Verify,
}

/// What transactions see of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Isolation {
    /// Each statement sees what was committed before it.
    ReadCommitted,
    /// A transaction reads what was committed before its first read. InnoDB's own default, and
    /// this one's.
    #[default]
    RepeatableRead,
    /// As `RepeatableRead`, and what was read is locked.
    Serializable,
}

/// Settings that a server is reached with. Made by [`MySql::builder`](crate::MySql::builder).
///
/// ```no_run
/// use bobak_mysql::{MySql, Tls};
/// use std::time::Duration;
/// let engine = MySql::builder("db1.example", 3306)
///     .host("db2.example", 3306)
///     .user("shop").password("secret").database("shop")
///     .tls(Tls::Verify)
///     .statement_timeout(Some(Duration::from_secs(30)))
///     .connect()?;
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct MySqlBuilder {
    pub(crate) settings: Settings,
}

/// One server: a name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    pub name: String,
    pub port: u16,
}

#[derive(Clone)]
pub(crate) struct Settings {
    pub hosts: Vec<Host>,
    pub socket: Option<PathBuf>,
    pub user: Option<String>,
    pub password: Option<String>,
    pub database: Option<String>,
    pub tls: Tls,
    pub tls_ca: Option<PathBuf>,
    pub connect_timeout: Duration,
    pub busy_timeout: Duration,
    pub statement_timeout: Option<Duration>,
    pub connections: usize,
    pub prepared: bool,
    pub isolation: Isolation,
    pub wsrep_sync_wait: Option<u32>,
}

impl MySqlBuilder {
    pub(crate) fn new(hosts: Vec<Host>) -> Self {
        Self {
            settings: Settings {
                hosts,
                socket: None,
                user: None,
                password: None,
                database: None,
                tls: Tls::default(),
                tls_ca: None,
                connect_timeout: Duration::from_secs(10),
                busy_timeout: Duration::from_secs(5),
                statement_timeout: Some(Duration::from_secs(300)),
                connections: 16,
                prepared: true,
                isolation: Isolation::default(),
                wsrep_sync_wait: None,
            },
        }
    }

    /// Reads settings from a URL: see [`MySql::open`](crate::MySql::open).
    ///
    /// # Errors
    /// `Config`, without the password.
    pub fn from_url(text: &str) -> Result<Self> {
        url::parse(text)
    }

    /// One more server with the same data, such as a node of a Galera cluster: it is gone to when
    /// those before cannot be reached.
    pub fn host(mut self, name: impl Into<String>, port: u16) -> Self {
        self.settings.hosts.push(Host { name: name.into(), port });
        self
    }

    /// A Unix socket on this machine, instead of hosts.
    pub fn socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.socket = Some(path.into());
        self
    }

    /// The user. Default: the driver's.
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.settings.user = Some(user.into());
        self
    }

    /// The password. Default: none.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.settings.password = Some(password.into());
        self
    }

    /// The database, which must be there.
    pub fn database(mut self, database: impl Into<String>) -> Self {
        self.settings.database = Some(database.into());
        self
    }

    /// Whether the connection is encrypted. Default [`Tls::Off`].
    pub const fn tls(mut self, tls: Tls) -> Self {
        self.settings.tls = tls;
        self
    }

    /// A PEM file with the authorities that [`Tls::Verify`] believes.
    pub fn tls_ca(mut self, path: impl Into<PathBuf>) -> Self {
        self.settings.tls_ca = Some(path.into());
        self
    }

    /// How long to wait for a connection to each host. Default 10 s.
    pub const fn connect_timeout(mut self, time: Duration) -> Self {
        self.settings.connect_timeout = time;
        self
    }

    /// How long to wait for a lock, and for a free connection of the pool. Default 5 s. Servers
    /// count locks in whole seconds: it is rounded up.
    pub const fn busy_timeout(mut self, time: Duration) -> Self {
        self.settings.busy_timeout = time;
        self
    }

    /// How long a statement may run. Default 300 s; `None` waits without limit, even if the connection is dead. MariaDB
    /// ends the statement itself. MySQL ends only reads; for writes the client stops waiting for the reply.
    pub const fn statement_timeout(mut self, time: Option<Duration>) -> Self {
        self.settings.statement_timeout = time;
        self
    }

    /// The most connections at the same time, 1 at least. Default 16.
    pub fn connections(mut self, connections: usize) -> Self {
        self.settings.connections = connections.max(1);
        self
    }

    /// Whether statements are prepared on the server and kept. Default `true`; a proxy that changes
    /// servers between statements needs `false`: values are then written into the text.
    pub const fn prepared(mut self, prepared: bool) -> Self {
        self.settings.prepared = prepared;
        self
    }

    /// What transactions see of each other. Default [`Isolation::RepeatableRead`].
    pub const fn isolation(mut self, isolation: Isolation) -> Self {
        self.settings.isolation = isolation;
        self
    }

    /// Galera's variable of this name: 1 makes reads wait until the node has what others have
    /// committed. Default: as the server says.
    pub const fn wsrep_sync_wait(mut self, bits: u32) -> Self {
        self.settings.wsrep_sync_wait = Some(bits);
        self
    }
}

impl std::fmt::Debug for MySqlBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.settings.fmt(f)
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the password.
        f.debug_struct("MySql")
            .field("hosts", &self.hosts)
            .field("socket", &self.socket)
            .field("user", &self.user)
            .field("database", &self.database)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}
