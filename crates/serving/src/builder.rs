//! The builder of a server: databases, accounts, listeners and settings, for every protocol.

use crate::audit_log::LogSink;
use crate::listener::Listener;
use bobak_core::{Engine, Error, ErrorKind, Result};
use bobak_permissions::Access;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A server of one protocol, as a [`ServerBuilder`] starts it.
pub trait ProtocolServer: Sized {
    /// Its limits and timeouts.
    type Settings: Default;

    /// Starts to serve.
    ///
    /// # Errors
    /// `Io` if the system has no threads or sockets left.
    fn serve(parts: ServerParts<Self::Settings>) -> Result<Self>;
}

/// The checked parts of a server.
pub struct ServerParts<S> {
    /// At least one; names are unique.
    pub databases: Vec<(String, Arc<dyn Engine>)>,
    /// Users, tokens and roles.
    pub access: Access,
    /// Limits and timeouts.
    pub settings: S,
    /// Receives the lines of the audit log.
    pub log: LogSink,
    /// The open listening sockets.
    pub listeners: Vec<Listener>,
    /// Where an administrator's backups go.
    pub backups: BackupFolders,
}

/// Where an administrator makes backups and finds archives. Without a folder there are none.
#[derive(Clone, Debug, Default)]
pub struct BackupFolders {
    /// The folder of the backups, created with the first one.
    pub backups: Option<PathBuf>,
    /// The folder with an archive `NAME.changes` of each database.
    pub archives: Option<PathBuf>,
}

/// Where the certificate of a server comes from.
#[cfg(feature = "tls")]
enum TlsSource {
    /// Files: the chain and the key.
    Files(PathBuf, PathBuf),
    Config(Arc<rustls::ServerConfig>),
}

/// Collects the parts of a server, and starts it.
#[must_use = "a server does nothing until `start`"]
pub struct ServerBuilder<S: ProtocolServer> {
    databases: Vec<(String, Arc<dyn Engine>)>,
    tokens: Vec<String>,
    users: Vec<(String, String, Vec<String>)>,
    access: Option<Access>,
    tcp: Vec<String>,
    unix: Vec<PathBuf>,
    #[cfg(feature = "tls")]
    tls: Option<TlsSource>,
    without_tls: bool,
    backups: BackupFolders,
    settings: S::Settings,
    log: Option<LogSink>,
}

impl<S: ProtocolServer> Default for ServerBuilder<S> {
    fn default() -> Self {
        Self {
            databases: Vec::new(),
            tokens: Vec::new(),
            users: Vec::new(),
            access: None,
            tcp: Vec::new(),
            unix: Vec::new(),
            #[cfg(feature = "tls")]
            tls: None,
            without_tls: false,
            backups: BackupFolders::default(),
            settings: S::Settings::default(),
            log: None,
        }
    }
}

impl<S: ProtocolServer> ServerBuilder<S> {
    /// Serves a database under a name. The first one is the default of clients that name none.
    pub fn database(self, name: &str, engine: impl Engine) -> Self {
        self.shared_database(name, Arc::new(engine))
    }

    /// As [`database`](Self::database), with an engine that others use too.
    pub fn shared_database(mut self, name: &str, engine: Arc<dyn Engine>) -> Self {
        self.databases.push((name.to_owned(), engine));
        self
    }

    /// Authenticates clients by the users and tokens of an [`Access`], with the permissions that it
    /// grants. It may read a file that changes while the server runs.
    pub fn access(mut self, access: Access) -> Self {
        self.access = Some(access);
        self
    }

    /// Accepts this token, of at least 16 characters, with all permissions.
    pub fn token(mut self, token: &str) -> Self {
        self.tokens.push(token.to_owned());
        self
    }

    /// Accepts this user, whose password has this hash, with roles of the [`Access`] or `admin`, the
    /// role with all permissions. See [`hash_password`](bobak_permissions::hash_password).
    pub fn user(mut self, name: &str, hash: &str, roles: &[&str]) -> Self {
        let roles = roles.iter().map(|role| (*role).to_owned()).collect();
        self.users.push((name.to_owned(), hash.to_owned(), roles));
        self
    }

    /// Listens on TCP at `host:port`; port 0 picks a free one. With `tls`, from the feature of that
    /// name, all TCP listeners use TLS.
    pub fn tcp(mut self, address: &str) -> Self {
        self.tcp.push(address.to_owned());
        self
    }

    /// Listens on a Unix socket that only this user can open. Clients need no token there.
    pub fn unix(mut self, path: impl AsRef<Path>) -> Self {
        self.unix.push(path.as_ref().to_owned());
        self
    }

    /// Uses TLS on the TCP listeners, with a certificate chain and its key from PEM files. If the certificate has expired,
    /// the server starts all the same, and logs that clients will reject it. Files that change are read again, so that a
    /// renewed certificate needs no restart.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, chain: impl AsRef<Path>, key: impl AsRef<Path>) -> Self {
        self.tls = Some(TlsSource::Files(chain.as_ref().to_owned(), key.as_ref().to_owned()));
        self
    }

    /// Uses TLS on the TCP listeners, as this configuration says: see [`tls_config`](crate::tls_config).
    #[cfg(feature = "tls")]
    pub fn tls_with(mut self, config: Arc<rustls::ServerConfig>) -> Self {
        self.tls = Some(TlsSource::Config(config));
        self
    }

    /// Lets other machines connect without TLS. Tokens, passwords and records then cross the network
    /// unencrypted.
    pub fn without_tls(mut self) -> Self {
        self.without_tls = true;
        self
    }

    /// Lets administrators make backups over HTTP, and restore them, also to a moment if there are archives.
    pub fn backups(mut self, folders: BackupFolders) -> Self {
        self.backups = folders;
        self
    }

    /// Sets limits, timeouts and the protocol's other settings.
    pub fn settings(mut self, settings: S::Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Receives the lines of the audit log: which clients were rejected or disconnected, and why.
    pub fn log(mut self, log: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.log = Some(Arc::new(log));
        self
    }

    /// Opens the listeners and starts the server.
    ///
    /// # Errors
    /// `Config` if there is no database, or two with one name; if there is a TCP listener but no
    /// token and no user; if other machines could connect without TLS. `Io` if an address is in use.
    pub fn start(self) -> Result<S> {
        let config = |message: String| Err(Error::new(ErrorKind::Config, message));
        let access = self.access.clone().unwrap_or_default();
        self.tokens.iter().try_for_each(|token| access.add_token(token))?;
        self.users.iter().try_for_each(|(name, hash, roles)| access.add_user(name, hash, roles))?;
        if self.databases.is_empty() {
            return config("a server needs at least one database".to_owned());
        }
        for (index, (name, _)) in self.databases.iter().enumerate() {
            let is_taken = self.databases.iter().take(index).any(|(other, _)| other == name);
            if name.is_empty() || is_taken {
                return config(format!("each database needs a unique name, not '{name}'"));
            }
        }
        if !self.tcp.is_empty() && access.is_empty() {
            return config("a TCP listener needs a token, or a user with a password".to_owned());
        }
        let log = self.log.clone().unwrap_or_else(|| Arc::new(|_| ()));
        let listeners = self.open_listeners(&log)?;
        let access_log = Arc::clone(&log);
        access.log(move |line| access_log(line));
        let (databases, settings, backups) = (self.databases, self.settings, self.backups);
        S::serve(ServerParts { databases, access, settings, log, listeners, backups })
    }

    fn open_listeners(&self, log: &LogSink) -> Result<Vec<Listener>> {
        #[cfg(feature = "tls")]
        let tls = self.tls_config(log)?;
        #[cfg(not(feature = "tls"))]
        let _ = log;
        let mut listeners = Vec::new();
        for address in &self.tcp {
            #[cfg(feature = "tls")]
            if let Some(config) = &tls {
                let listener = Listener::tcp(address, true)?;
                listeners.push(Listener::Tls(listener, Arc::clone(config)));
                continue;
            }
            listeners.push(Listener::Tcp(Listener::tcp(address, self.without_tls)?));
        }
        for path in &self.unix {
            listeners.push(Listener::unix(path)?);
        }
        Ok(listeners)
    }

    #[cfg(feature = "tls")]
    fn tls_config(&self, log: &LogSink) -> Result<Option<Arc<rustls::ServerConfig>>> {
        Ok(match &self.tls {
            None => None,
            Some(TlsSource::Config(config)) => Some(Arc::clone(config)),
            Some(TlsSource::Files(chain, key)) => {
                let files = crate::CertificateFiles::open(chain, key, Arc::clone(log))?;
                if let Some(line) = crate::tls::time_warning(chain) {
                    log(&line);
                }
                Some(Arc::new(crate::tls_config(Arc::new(files))?))
            }
        })
    }
}
