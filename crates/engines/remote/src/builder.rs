//! The settings of a remote engine.

use crate::Remote;
use crate::transport::{Connector, Transport};
use bobak_core::Result;
use bobak_wire::Credentials;
use std::io::{Read, Write};
#[cfg(unix)]
use std::path::Path;
#[cfg(feature = "tls")]
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

/// Settings of a remote engine; all have defaults. See [`Remote::builder`].
#[derive(Clone, Debug)]
pub struct RemoteBuilder {
    database: String,
    credentials: Credentials,
    connect_timeout: Duration,
    timeout: Option<Duration>,
    connections: usize,
    #[cfg(feature = "tls")]
    authorities: Option<PathBuf>,
}

impl Default for RemoteBuilder {
    fn default() -> Self {
        Self {
            database: String::new(),
            credentials: Credentials::None,
            connect_timeout: Duration::from_secs(10),
            timeout: Some(Duration::from_secs(60)),
            connections: 64,
            #[cfg(feature = "tls")]
            authorities: None,
        }
    }
}

impl RemoteBuilder {
    /// The name of the database on the server. Default: the server's first.
    #[must_use]
    pub fn database(mut self, name: impl Into<String>) -> Self {
        self.database = name.into();
        self
    }

    /// Authenticates with an access token.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.credentials = Credentials::Token(token.into());
        self
    }

    /// Authenticates with a user name and password.
    #[must_use]
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.credentials = Credentials::User { name: name.into(), password: password.into() };
        self
    }

    /// The timeout for connecting to each of the server's addresses. Default: 10 s.
    #[must_use]
    pub const fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// The timeout for each reply, over sockets; `None` waits without limit. A statement that takes longer fails with
    /// `Timeout` or `Unknown`. Default: 60 s.
    #[must_use]
    pub const fn timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }

    /// The maximum number of connections over sockets, at least 1. Default: 64.
    #[must_use]
    pub const fn connections(mut self, most: usize) -> Self {
        self.connections = most;
        self
    }

    /// A PEM file with trusted certificates, instead of the system's.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn trust(mut self, file: impl Into<PathBuf>) -> Self {
        self.authorities = Some(file.into());
        self
    }

    /// Opens a database over TCP, at `host:port`.
    ///
    /// # Errors
    /// `Unreachable`; `Denied` if authentication fails; `Config` if the server has no such database; `Unsupported` if it
    /// speaks another version of the protocol.
    pub fn open_tcp(self, address: impl Into<String>) -> Result<Remote> {
        self.open(Transport::Tcp(address.into()))
    }

    /// Opens a database over TCP with TLS, at `host:port`; the server's certificate must be for
    /// that host.
    ///
    /// # Errors
    /// As [`open_tcp`](Self::open_tcp); `Unreachable` for a certificate that is not trusted;
    /// `Config` if there is no trusted certificate at all.
    #[cfg(feature = "tls")]
    pub fn open_tls(self, address: impl Into<String>) -> Result<Remote> {
        let trust = crate::tls::trust(self.authorities.as_deref())?;
        self.open(Transport::Tls(address.into(), trust))
    }

    /// Opens a database over a Unix socket.
    ///
    /// # Errors
    /// As [`open_tcp`](Self::open_tcp).
    #[cfg(unix)]
    pub fn open_unix(self, path: impl AsRef<Path>) -> Result<Remote> {
        self.open(Transport::Unix(path.as_ref().to_owned()))
    }

    /// Starts a program, and speaks to it through its standard input and output. The program ends when the engine is
    /// dropped.
    ///
    /// # Errors
    /// As [`open_tcp`](Self::open_tcp).
    pub fn open_program<A: Into<String>>(
        self,
        program: impl Into<String>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Remote> {
        let arguments = arguments.into_iter().map(Into::into);
        self.open(Transport::Program(std::iter::once(program.into()).chain(arguments).collect()))
    }

    /// Speaks to a server through two connected streams. The engine cannot reconnect.
    ///
    /// # Errors
    /// As [`open_tcp`](Self::open_tcp).
    pub fn open_pipes(
        self,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Result<Remote> {
        self.open(Transport::Pipes(Mutex::new(Some((Box::new(reader), Box::new(writer))))))
    }

    fn open(self, transport: Transport) -> Result<Remote> {
        let connector = Connector {
            transport,
            database: self.database,
            credentials: self.credentials,
            connect_timeout: self.connect_timeout,
            timeout: self.timeout,
        };
        let acquire_timeout = self.timeout.unwrap_or(Duration::from_secs(60));
        Remote::with(connector, self.connections, acquire_timeout)
    }
}
