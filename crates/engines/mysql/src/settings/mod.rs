//! How a server is reached: typed settings, each with its default.

mod url;

use bobak_core::{Result, choices, settings};
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
    /// authorities or by the file given by [`tls_ca`](MySqlBuilder::tls_ca).
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

choices!(Tls: "off" => Off, "require" => Require, "verify" => Verify);
choices!(
    Isolation: "read-committed" => ReadCommitted, "repeatable-read" => RepeatableRead,
    "serializable" => Serializable
);

/// One server: a name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    pub name: String,
    pub port: u16,
}

settings! {
    /// Settings that a server is reached with. Made by [`MySql::builder`](crate::MySql::builder).
    ///
    /// ```no_run
    /// use bobak_mysql::{MySql, Tls};
    /// use std::time::Duration;
    /// let engine = MySql::builder("db1.example", 3306)
    ///     .host("db2.example", 3306)
    ///     .user("shop").password("secret").database("shop")
    ///     .tls(Tls::Verify)
    ///     .statement_timeout(Duration::from_secs(30))
    ///     .connect()?;
    /// # Ok::<(), bobak_core::Error>(())
    /// ```
    #[derive(Clone)]
    pub struct MySqlBuilder with pub(crate) settings {
        /// The user.
        user: Option<String> = None, unit = "a name", default_text = "the driver's";
        /// The password.
        password: Option<String> = None, unit = "a password", secret = true;
        /// The database, which must exist.
        database: Option<String> = None, unit = "a name";
        /// A Unix socket on this machine, instead of hosts.
        socket: Option<PathBuf> = None, unit = "a file";
        /// Whether the connection is encrypted.
        tls: Tls = Tls::Off;
        /// The PEM file with the authorities that `verify` trusts.
        tls_ca: Option<PathBuf> = None, unit = "a file", default_text = "Mozilla's list of authorities";
        /// What transactions see of each other.
        isolation: Isolation = Isolation::RepeatableRead;
        /// Whether statements are prepared on the server and kept.
        ///
        /// A proxy that changes servers between statements needs `off`: values are then written into the text.
        prepared: bool = true;
        /// Galera's variable of this name: 1 makes reads wait until the node has what others have committed.
        wsrep_sync_wait: Option<u32> = None, max = 15, default_text = "the server's";
        /// The maximum number of connections.
        connections: usize = 16, min = 1;
        /// How long to try to connect to one host.
        connect_timeout: Duration = Duration::from_secs(10);
        /// How long a call waits for a lock, or for a connection, before it fails with `Busy`.
        ///
        /// Servers count locks in whole seconds: it is rounded up.
        busy_timeout: Duration = Duration::from_secs(5);
        /// How long a statement may run; 0 for no limit.
        ///
        /// `None` waits forever, even if the connection is dead. MariaDB ends the statement itself; MySQL ends reads,
        /// and the result of a write is given up.
        statement_timeout: Option<Duration> = Some(Duration::from_secs(300));
    } and {
        hosts: Vec<Host>,
    }
}

pub(crate) type Settings = MySqlBuilder;

impl MySqlBuilder {
    pub(crate) fn new(hosts: Vec<Host>) -> Self {
        Self { hosts, ..Self::default() }
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
        self.hosts.push(Host { name: name.into(), port });
        self
    }
}
