//! What a server gives, to whom, and through which doors: the same for every protocol.

use crate::listener::Listener;
use bobak_core::{Engine, Error, ErrorKind, Result};
use bobak_permissions::Access;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Is told, in a line each, what happens.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// A server of some protocol, as a [`Builder`] starts it.
pub trait Serve: Sized {
    /// Its limits and time-outs.
    type Settings: Default;

    /// Begins to serve.
    ///
    /// # Errors
    /// `Io` where the system has no threads or sockets left.
    fn serve(parts: Parts<Self::Settings>) -> Result<Self>;
}

/// What a server is made of, checked.
pub struct Parts<S> {
    /// One at least, each with a name of its own.
    pub databases: Vec<(String, Arc<dyn Engine>)>,
    /// Who comes in, and may do what.
    pub access: Access,
    /// Limits and time-outs.
    pub settings: S,
    /// Where it says what happens.
    pub log: Log,
    /// Its open doors.
    pub listeners: Vec<Listener>,
}

/// Collects the parts of a server.
#[must_use = "a server does nothing until `start`"]
pub struct Builder<S: Serve> {
    databases: Vec<(String, Arc<dyn Engine>)>,
    tokens: Vec<String>,
    users: Vec<(String, String, Vec<String>)>,
    access: Option<Access>,
    tcp: Vec<String>,
    unix: Vec<PathBuf>,
    #[cfg(feature = "tls")]
    tls: Option<(PathBuf, PathBuf)>,
    plain: bool,
    settings: S::Settings,
    log: Option<Log>,
}

impl<S: Serve> Default for Builder<S> {
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
            plain: false,
            settings: S::Settings::default(),
            log: None,
        }
    }
}

impl<S: Serve> Builder<S> {
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

    /// Sets limits, time-outs, and what else the protocol lets choose.
    pub fn settings(mut self, settings: S::Settings) -> Self {
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
    /// `Config` where there is no database, or two of one name; where a door over TCP has nobody to
    /// let in, or would be open to other machines without TLS; `Io` where an address is taken.
    pub fn start(self) -> Result<S> {
        let config = |message: String| Err(Error::new(ErrorKind::Config, message));
        let access = self.access.clone().unwrap_or_default();
        self.tokens.iter().try_for_each(|token| access.add_token(token))?;
        self.users.iter().try_for_each(|(name, hash, roles)| access.add_user(name, hash, roles))?;
        if self.databases.is_empty() {
            return config("a server needs a database".to_owned());
        }
        for (place, (name, _)) in self.databases.iter().enumerate() {
            let twice = self.databases.iter().take(place).any(|(other, _)| other == name);
            if name.is_empty() || twice {
                return config(format!("a database needs a name of its own, not '{name}'"));
            }
        }
        if !self.tcp.is_empty() && access.is_empty() {
            return config("a door over TCP needs a token, or a user with a password".to_owned());
        }
        let listeners = self.listeners()?;
        let log = self.log.unwrap_or_else(|| Arc::new(|_| ()));
        let told = Arc::clone(&log);
        access.log(move |line| told(line));
        let (databases, settings) = (self.databases, self.settings);
        S::serve(Parts { databases, access, settings, log, listeners })
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
