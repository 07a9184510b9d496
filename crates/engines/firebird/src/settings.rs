//! How a database is reached.

use crate::wire::Login;
use bobak_core::settings::Configurable;
use bobak_core::{Result, settings};
use bobak_engine_common::ServerAddress;
use std::time::Duration;

settings! {
    /// Settings of the engine; all have defaults but the place. Made by [`Firebird::builder`](crate::Firebird::builder).
    #[derive(Clone)]
    pub struct FirebirdBuilder with pub(crate) settings {
        /// The maximum number of connections.
        connections: usize = 8, min = 1;
        /// How long to try to connect.
        connect_timeout: Duration = Duration::from_secs(10);
        /// How long a call waits for a row that another transaction has locked, or for a connection, before it fails with
        /// `Busy`.
        busy_timeout: Duration = Duration::from_secs(5);
        /// How long a statement may run; 0 for no limit.
        statement_timeout: Option<Duration> = Some(Duration::from_secs(300));
        /// The role of the user; empty for none.
        role: String = String::new();
        /// Whether a database that does not exist is created, with pages of 16 KB and the character set UTF-8.
        create: bool = false;
        /// Whether commits of a database that is created wait for the disk. Without it they reach the operating system: they
        /// survive the end of the server, but not a power cut.
        forced_writes: bool = true;
    } and {
        address: ServerAddress,
    }
}

pub(crate) type Settings = FirebirdBuilder;

/// The port of a server out of the box, and its user.
const DEFAULTS: (u16, &str) = (3050, "SYSDBA");
const USAGE: &str = "write firebird://user:password@host:port/path-or-alias";

impl FirebirdBuilder {
    pub(crate) fn new(host: String, database: String) -> Self {
        let address = ServerAddress::new(host, database, DEFAULTS);
        Self { address, ..Self::default() }
    }

    /// The server's port. Default: 3050.
    pub fn port(mut self, port: u16) -> Self {
        self.address.port = port;
        self
    }

    /// The user and the password. Default: `SYSDBA`, without a password.
    pub fn login(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        (self.address.user, self.address.password) = (user.into(), password.into());
        self
    }

    /// Reads settings from a URL: see [`Firebird::open`](crate::Firebird::open).
    ///
    /// # Errors
    /// `Config`, without the password.
    pub fn from_url(url: &str) -> Result<Self> {
        let (address, settings) = ServerAddress::parse(url, ("firebird", USAGE), DEFAULTS)?;
        let mut builder = Self { address, ..Self::default() };
        builder.set_query(settings)?;
        Ok(builder)
    }

    /// How the client logs in.
    pub(crate) fn login_to(&self, creates: bool) -> Login<'_> {
        Login {
            host: &self.address.host,
            port: self.address.port,
            database: &self.address.database,
            user: &self.address.user,
            password: &self.address.password,
            role: Some(self.role.as_str()).filter(|role| !role.is_empty()),
            creates,
            forces_writes: self.forced_writes,
            timeout: self.connect_timeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_the_database() {
        let builder =
            FirebirdBuilder::from_url("firebird://ada:p%40ss@db1:3051/shop?connections=3").unwrap();
        assert_eq!((&*builder.address.user, &*builder.address.password), ("ada", "p@ss"));
        assert_eq!((&*builder.address.to_string(), builder.connections), ("db1:3051/shop", 3));
        // A path of the server's begins with a second slash.
        let builder = FirebirdBuilder::from_url("firebird://[::1]//var/db/shop.fdb").unwrap();
        assert_eq!(
            (&*builder.address.host, builder.address.port, &*builder.address.database),
            ("::1", 3050, "/var/db/shop.fdb")
        );
        for wrong in [
            "firebird:",
            "firebird://db1",
            "firebird:///x",
            "firebird://h:x/y",
            "firebird://h/d?speed=1",
        ] {
            assert!(FirebirdBuilder::from_url(wrong).is_err(), "{wrong}");
        }
    }
}
