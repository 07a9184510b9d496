//! The settings of a remote engine.

use crate::Remote;
use crate::transport::{Transport, TransportConnector};
use bobak_core::{Result, settings, url::config};
use bobak_wire::Credentials;
use std::io::{Read, Write};
#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

settings! {
    /// Settings to reach a server with; all have defaults. See [`Remote::builder`].
    #[derive(Clone)]
    pub struct RemoteBuilder with pub(crate) settings {
        /// The database, by its name on the server.
        ///
        /// In `bobak://` URLs the path names it.
        database: String = String::new(), key = "db", unit = "a name", default_text = "the server's first";
        /// The access token to authenticate with.
        token: Option<String> = None, unit = "a token", secret = true;
        /// The user to authenticate as, with a password.
        user: Option<String> = None, unit = "a name";
        /// The user's password.
        password: Option<String> = None, unit = "a password", secret = true;
        /// Whether TCP connections use TLS; the server's certificate must be for its host.
        ///
        /// Needs the feature `tls`.
        tls: bool = false;
        /// The PEM file with the certificates to trust.
        ca: Option<PathBuf> = None, unit = "a file", default_text = "the system's certificates";
        /// The maximum number of connections over sockets.
        connections: usize = 64, min = 1;
        /// How long to try to connect to each of a server's addresses.
        connect_timeout: Duration = Duration::from_secs(10);
        /// How long the server may be silent while a reply is awaited, over sockets; 0 for no limit.
        ///
        /// A statement that takes longer fails with `Timeout` or `Unknown`.
        timeout: Option<Duration> = Some(Duration::from_secs(60));
    }
}

impl RemoteBuilder {
    /// Opens a database over TCP, at `host:port`.
    ///
    /// # Errors
    /// `Unreachable`, also for a certificate that is not trusted; `Denied` if the server rejects the
    /// user; `Config` if it has no such database, or if there is no certificate to trust;
    /// `Unsupported` if it speaks another version.
    pub fn open_tcp(self, address: impl Into<String>) -> Result<Remote> {
        let address = address.into();
        if !self.tls {
            return self.open(Transport::Tcp(address));
        }
        #[cfg(feature = "tls")]
        {
            let trust = crate::tls::trust(self.ca.as_deref())?;
            self.open(Transport::Tls(address, trust))
        }
        #[cfg(not(feature = "tls"))]
        Err(config("this program was built without TLS: enable the feature `remote-tls` of bobak"))
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
        let credentials = match (self.token, self.user, self.password) {
            (Some(token), None, None) => Credentials::Token(token),
            (None, Some(name), Some(password)) => Credentials::User { name, password },
            (None, None, None) => Credentials::None,
            (Some(_), ..) => return Err(config("a token, or a user with a password: not both")),
            _ => return Err(config("user and password go together")),
        };
        let connector = TransportConnector {
            transport,
            database: self.database,
            credentials,
            connect_timeout: self.connect_timeout,
            timeout: self.timeout,
        };
        let acquire_timeout = self.timeout.unwrap_or(Duration::from_secs(60));
        Remote::with(connector, self.connections, acquire_timeout)
    }
}
