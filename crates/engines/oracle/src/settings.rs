//! How a database is reached.

use crate::driver::OraclePlace;
use bobak_core::settings::Configurable;
use bobak_core::url::config;
use bobak_core::{Result, choices, settings};
use bobak_engine_common::ServerAddress;
use std::path::PathBuf;
use std::time::Duration;

/// How transactions are isolated from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OracleIsolation {
    /// Each sees what was committed when it began; one that changes what another has changed since fails.
    #[default]
    Serializable,
    /// Each statement sees what was committed when it began.
    ReadCommitted,
}

settings! {
    /// Settings of the engine; all have defaults but the place. Made by [`Oracle::builder`](crate::Oracle::builder).
    #[derive(Clone)]
    pub struct OracleBuilder with pub(crate) settings {
        /// Whether the connection is encrypted, with a certificate for the host that a trusted authority has signed.
        tls: bool = false;
        /// The folder of a wallet, `ewallet.pem`: certificates to trust, or the client's own.
        wallet: Option<PathBuf> = None, unit = "a folder", default_text = "none";
        /// How transactions are isolated from each other.
        isolation: OracleIsolation = OracleIsolation::Serializable;
        /// The name that the server shows for the connections.
        application_name: String = "bobak".to_owned(), unit = "a name";
        /// The maximum number of connections.
        connections: usize = 8, min = 1;
        /// How long to try to connect.
        connect_timeout: Duration = Duration::from_secs(10);
        /// How long a call waits for a connection, or a write for the server and for rows that another transaction has
        /// locked, before it fails with `Busy`.
        busy_timeout: Duration = Duration::from_secs(5);
        /// How long the server may be silent during a query or a change of the schema; 0 for no limit.
        statement_timeout: Option<Duration> = Some(Duration::from_secs(300));
    } and {
        address: ServerAddress,
    }
}

choices!(
    OracleIsolation: "serializable" => Serializable, "read-committed" => ReadCommitted
);

/// The port of a server out of the box; there is no such user.
const DEFAULTS: (u16, &str) = (1521, "");
const USAGE: &str = "write oracle://user:password@host:port/service";

impl OracleBuilder {
    pub(crate) fn new(host: String, service: String) -> Self {
        let address = ServerAddress::new(host, service, DEFAULTS);
        Self { address, ..Self::default() }
    }

    /// The server's port. Default: 1521.
    pub fn port(mut self, port: u16) -> Self {
        self.address.port = port;
        self
    }

    /// The user and the password.
    pub fn login(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        (self.address.user, self.address.password) = (user.into(), password.into());
        self
    }

    /// Reads settings from a URL: see [`Oracle::open`](crate::Oracle::open).
    ///
    /// # Errors
    /// `Config`, without the password.
    pub fn from_url(url: &str) -> Result<Self> {
        let (address, settings) = ServerAddress::parse(url, ("oracle", USAGE), DEFAULTS)?;
        if address.user.is_empty() {
            return Err(config(USAGE));
        }
        let mut builder = Self { address, ..Self::default() };
        builder.set_query(settings)?;
        Ok(builder)
    }

    /// Where a connection goes.
    pub(crate) fn target(&self) -> OraclePlace {
        OraclePlace {
            host: self.address.host.clone(),
            port: self.address.port,
            service: self.address.database.clone(),
            user: self.address.user.clone(),
            password: self.address.password.clone(),
            tls: self.tls,
            wallet: self.wallet.as_ref().map(|folder| folder.display().to_string()),
            program: self.application_name.clone(),
            timeout: self.connect_timeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_the_service() {
        let url = "oracle://ada:p%40ss@db1:1522/shop?connections=3&isolation=read-committed";
        let builder = OracleBuilder::from_url(url).unwrap();
        assert_eq!((&*builder.address.user, &*builder.address.password), ("ada", "p@ss"));
        assert_eq!(format!("{:?}", builder.target()), "db1:1522/shop");
        assert_eq!(builder.connections, 3);
        assert_eq!(builder.isolation, OracleIsolation::ReadCommitted);
        for wrong in [
            "oracle:",
            "oracle://db1",
            "oracle://db1/shop",
            "oracle:///x",
            "oracle://a:b@h:x/y",
            "oracle://a:b@h/d?speed=1",
            "oracle://a:b@h/d?isolation=none",
        ] {
            assert!(OracleBuilder::from_url(wrong).is_err(), "{wrong}");
        }
    }
}
