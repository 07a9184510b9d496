//! How a database is reached.

use crate::wire::{TdsLogin, TlsSettings};
use bobak_core::settings::Configurable;
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
        address: ServerAddress,
    }
}

choices!(
    Encrypt: "disable" => Disable, "prefer" => Prefer, "require" => Require, "verify" => Verify
);
choices!(
    MssqlIsolation: "snapshot" => Snapshot, "serializable" => Serializable
);

pub(crate) type Settings = MssqlBuilder;

/// The port of a server out of the box, and its user.
const DEFAULTS: (u16, &str) = (1433, "sa");
const USAGE: &str = "write mssql://user:password@host:port/database";

impl MssqlBuilder {
    pub(crate) fn new(host: String, database: String) -> Self {
        let address = ServerAddress::new(host, database, DEFAULTS);
        Self { address, ..Self::default() }
    }

    /// The server's port. Default: 1433.
    pub fn port(mut self, port: u16) -> Self {
        self.address.port = port;
        self
    }

    /// The user and the password. Default: `sa`, without a password.
    pub fn login(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        (self.address.user, self.address.password) = (user.into(), password.into());
        self
    }

    /// Reads settings from a URL: see [`Mssql::open`](crate::Mssql::open).
    ///
    /// # Errors
    /// `Config`, without the password.
    pub fn from_url(url: &str) -> Result<Self> {
        let (address, settings) = ServerAddress::parse(url, ("mssql", USAGE), DEFAULTS)?;
        let mut builder = Self { address, ..Self::default() };
        builder.set_query(settings)?;
        Ok(builder)
    }

    /// How the client logs in, to a database of this name.
    pub(crate) fn login_to<'s>(&'s self, database: &'s str) -> TdsLogin<'s> {
        let tls = TlsSettings {
            verifies: self.encrypt == Encrypt::Verify,
            root_file: self.root_certificates.as_deref(),
        };
        TdsLogin {
            host: &self.address.host,
            port: self.address.port,
            database,
            user: &self.address.user,
            password: &self.address.password,
            application: &self.application_name,
            tls: (self.encrypt != Encrypt::Disable).then_some(tls),
            requires_tls: matches!(self.encrypt, Encrypt::Require | Encrypt::Verify),
            timeout: self.connect_timeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_the_database() {
        let url = "mssql://ada:p%40ss@db1:1434/shop?connections=3&encrypt=verify";
        let builder = MssqlBuilder::from_url(url).unwrap();
        assert_eq!((&*builder.address.user, &*builder.address.password), ("ada", "p@ss"));
        assert_eq!((&*builder.address.to_string(), builder.connections), ("db1:1434/shop", 3));
        assert_eq!(builder.encrypt, Encrypt::Verify);
        let builder = MssqlBuilder::from_url("mssql://[::1]/shop").unwrap();
        assert_eq!(
            (&*builder.address.host, builder.address.port, &*builder.address.database),
            ("::1", 1433, "shop")
        );
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
