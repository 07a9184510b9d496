//! How a database is reached.

use crate::wire::{TdsLogin, TlsSettings};
use bobak_core::settings::Configurable;
use bobak_core::url::config;
use bobak_core::{Result, choices, settings};
use bobak_engine_common::ServerAddress;
use std::path::PathBuf;
use std::time::Duration;

/// Whether the connection is encrypted, and what the server's certificate must prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Encrypt {
    /// Never: passwords and data are readable on the network.
    Disable,
    /// If the server can, whatever its certificate.
    Prefer,
    /// Always, whatever the certificate: it keeps listeners out, not impostors.
    #[default]
    Require,
    /// Always, with a certificate for the host's name that a trusted authority has signed.
    Verify,
}

/// How transactions are isolated from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MssqlIsolation {
    /// Each sees what was committed when it first read; the database must allow it.
    #[default]
    Snapshot,
    /// As if one ran after the other: reads lock what they have read.
    Serializable,
}

settings! {
    /// Settings of the engine; all have defaults but the place. Made by [`Mssql::builder`](crate::Mssql::builder).
    #[derive(Clone)]
    pub struct MssqlBuilder with pub(crate) settings {
        /// Whether the connection is encrypted, and what the server's certificate must prove.
        encrypt: Encrypt = Encrypt::Require;
        /// The PEM file with the certificates to trust; it implies that the certificate is verified.
        root_certificates: Option<PathBuf> = None, unit = "a file", default_text = "the system's certificates";
        /// How transactions are isolated from each other.
        isolation: MssqlIsolation = MssqlIsolation::Snapshot;
        /// Whether batches of new rows use the bulk load.
        bulk: bool = true;
        /// The name that the server shows for the connections.
        application_name: String = "bobak".to_owned(), unit = "a name";
        /// Whether a database that does not exist is created, with snapshot isolation.
        create: bool = false;
        /// The maximum number of connections.
        connections: usize = 8, min = 1;
        /// How long to try to connect.
        connect_timeout: Duration = Duration::from_secs(10);
        /// How long a call waits for a row that another transaction has locked, or for a connection, before it fails with
        /// `Busy`.
        busy_timeout: Duration = Duration::from_secs(5);
        /// How long the server may be silent during a statement; 0 for no limit.
        statement_timeout: Option<Duration> = Some(Duration::from_secs(300));
    } and {
        host: String,
        port: u16,
        database: String,
        user: String,
        password: String,
    }
}

choices!(
    Encrypt: "disable" => Disable, "prefer" => Prefer, "require" => Require, "verify" => Verify
);
choices!(
    MssqlIsolation: "snapshot" => Snapshot, "serializable" => Serializable
);

pub(crate) type Settings = MssqlBuilder;

/// The port of a server out of the box.
const PORT: u16 = 1433;
const USAGE: &str = "write mssql://user:password@host:port/database";

impl MssqlBuilder {
    pub(crate) fn new(host: String, database: String) -> Self {
        let user = "sa".to_owned();
        Self { host, port: PORT, database, user, password: String::new(), ..Self::default() }
    }

    /// The server's port. Default: 1433.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// The user and the password. Default: `sa`, without a password.
    pub fn login(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        (self.user, self.password) = (user.into(), password.into());
        self
    }

    /// Reads settings from a URL: see [`Mssql::open`](crate::Mssql::open).
    ///
    /// # Errors
    /// `Config`, without the password.
    pub fn from_url(url: &str) -> Result<Self> {
        let rest = url.strip_prefix("mssql://").ok_or_else(|| config(USAGE))?;
        let address = ServerAddress::parse(rest, PORT, USAGE)?;
        let mut builder = Self::new(address.host, address.database).port(address.port);
        if let Some((user, password)) = address.login {
            builder = builder.login(user, password);
        }
        builder.set_query(address.settings)?;
        Ok(builder)
    }

    /// How the client logs in, to a database of this name.
    pub(crate) fn login_to<'s>(&'s self, database: &'s str) -> TdsLogin<'s> {
        let tls = TlsSettings {
            verifies: self.encrypt == Encrypt::Verify,
            root_file: self.root_certificates.as_deref(),
        };
        TdsLogin {
            host: &self.host,
            port: self.port,
            database,
            user: &self.user,
            password: &self.password,
            application: &self.application_name,
            tls: (self.encrypt != Encrypt::Disable).then_some(tls),
            requires_tls: matches!(self.encrypt, Encrypt::Require | Encrypt::Verify),
            timeout: self.connect_timeout,
        }
    }

    /// The place, for messages.
    pub(crate) fn place(&self) -> String {
        format!("{}:{}/{}", self.host, self.port, self.database)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_the_database() {
        let url = "mssql://ada:p%40ss@db1:1434/shop?connections=3&encrypt=verify";
        let builder = MssqlBuilder::from_url(url).unwrap();
        assert_eq!((&*builder.user, &*builder.password), ("ada", "p@ss"));
        assert_eq!((builder.place().as_str(), builder.connections), ("db1:1434/shop", 3));
        assert_eq!(builder.encrypt, Encrypt::Verify);
        let builder = MssqlBuilder::from_url("mssql://[::1]/shop").unwrap();
        assert_eq!((&*builder.host, builder.port, &*builder.database), ("::1", 1433, "shop"));
        for wrong in [
            "mssql:",
            "mssql://db1",
            "mssql:///x",
            "mssql://h:x/y",
            "mssql://h/d?speed=1",
            "mssql://h/d?isolation=none",
        ] {
            assert!(MssqlBuilder::from_url(wrong).is_err(), "{wrong}");
        }
    }
}
