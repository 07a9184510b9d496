//! What a server gives, to whom, and through which doors.

use crate::Server;
use crate::database::Databases;
use crate::listener::Listener;
use crate::settings::Settings;
use bobak_core::{Engine, Error, ErrorKind, Result};
use bobak_rights::Access;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the builder is told about what happens.
pub(crate) type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// Collects the parts of a [`Server`].
#[derive(Default)]
#[must_use = "a server does nothing until `start`"]
pub struct ServerBuilder {
    databases: Vec<(String, Arc<dyn Engine>)>,
    tokens: Vec<String>,
    users: Vec<(String, String, Vec<String>)>,
    access: Option<Access>,
    tcp: Vec<String>,
    unix: Vec<PathBuf>,
    #[cfg(feature = "tls")]
    tls: Option<(PathBuf, PathBuf)>,
    plain: bool,
    settings: Settings,
    log: Option<Log>,
}

impl ServerBuilder {
    /// Gives a database under a name. The first is that of clients who name none.
    pub fn database(self, name: &str, engine: impl Engine) -> Self {
        self.shared_database(name, Arc::new(engine))
    }

    /// As [`database`](Self::database), of an engine that others use too.
    pub fn shared_database(mut self, name: &str, engine: Arc<dyn Engine>) -> Self {
        self.databases.push((name.to_owned(), engine));
        self
    }

    /// Lets in those that an [`Access`] knows, to do what it grants; a file, perhaps, that may change
    /// while the server runs.
    pub fn access(mut self, access: Access) -> Self {
        self.access = Some(access);
        self
    }

    /// Lets in whoever shows this token of at least 16 characters, to do everything.
    pub fn token(mut self, token: &str) -> Self {
        self.tokens.push(token.to_owned());
        self
    }

    /// Lets in this user, whose password has this hash, with roles of the [`Access`], or `admin`,
    /// which may do everything. See [`hash_password`](crate::hash_password).
    pub fn user(mut self, name: &str, hash: &str, roles: &[&str]) -> Self {
        let roles = roles.iter().map(|role| (*role).to_owned()).collect();
        self.users.push((name.to_owned(), hash.to_owned(), roles));
        self
    }

    /// Opens a door over TCP, at `host:port`; port 0 takes one that is free. With
    /// `tls`, which the feature of that name adds, all of them speak TLS.
    pub fn tcp(mut self, address: &str) -> Self {
        self.tcp.push(address.to_owned());
        self
    }

    /// Opens a door over a Unix socket, which only this user can open; it needs no token.
    pub fn unix(mut self, path: impl AsRef<Path>) -> Self {
        self.unix.push(path.as_ref().to_owned());
        self
    }

    /// Has the TCP doors speak TLS, with a chain of certificates and its key from PEM files.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, chain: impl AsRef<Path>, key: impl AsRef<Path>) -> Self {
        self.tls = Some((chain.as_ref().to_owned(), key.as_ref().to_owned()));
        self
    }

    /// Lets other machines come without TLS: tokens, passwords and records then cross the network
    /// as they are.
    pub fn without_tls(mut self) -> Self {
        self.plain = true;
        self
    }

    /// Sets limits and time-outs.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Is told, in a line each, who was refused or cut off, and why.
    pub fn log(mut self, log: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.log = Some(Arc::new(log));
        self
    }

    /// Opens the doors.
    ///
    /// # Errors
    /// `Config` where there is no database, where a door over TCP has nobody to let in, or would
    /// be open to other machines without TLS; `Io` where an address is taken.
    pub fn start(self) -> Result<Server> {
        let access = self.access.clone().unwrap_or_default();
        self.tokens.iter().try_for_each(|token| access.add_token(token))?;
        self.users.iter().try_for_each(|(name, hash, roles)| access.add_user(name, hash, roles))?;
        let mut databases = Databases::default();
        for (name, engine) in &self.databases {
            databases.add(name, Arc::clone(engine))?;
        }
        if databases.is_empty() {
            return Err(Error::new(ErrorKind::Config, "a server needs a database"));
        }
        if !self.tcp.is_empty() && access.is_empty() {
            let message = "a door over TCP needs a token, or a user with a password";
            return Err(Error::new(ErrorKind::Config, message));
        }
        let listeners = self.listeners()?;
        let log = self.log.unwrap_or_else(|| Arc::new(|_| ()));
        let told = Arc::clone(&log);
        access.log(move |line| told(line));
        Server::with(databases, access, self.settings, log, listeners)
    }

    fn listeners(&self) -> Result<Vec<Listener>> {
        #[cfg(feature = "tls")]
        let tls = match &self.tls {
            Some((chain, key)) => Some(crate::tls::identity(chain, key)?),
            None => None,
        };
        let mut listeners = Vec::new();
        for address in &self.tcp {
            #[cfg(feature = "tls")]
            if let Some(config) = &tls {
                let listener = Listener::tcp(address, true)?;
                listeners.push(Listener::Tls(listener, Arc::clone(config)));
                continue;
            }
            listeners.push(Listener::Tcp(Listener::tcp(address, self.plain)?));
        }
        for path in &self.unix {
            listeners.push(Listener::unix(path)?);
        }
        Ok(listeners)
    }
}
