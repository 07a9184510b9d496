//! How a database is reached.

use bobak_core::settings::Configurable;
use bobak_core::url::{config, decode};
use bobak_core::{Result, settings};
use std::time::Duration;

settings! {
    /// Settings of the engine; all have defaults but the connection string. Made by [`Odbc::builder`](crate::Odbc::builder).
    #[derive(Clone)]
    pub struct OdbcBuilder with pub(crate) settings {
        /// The maximum number of connections.
        connections: usize = 8, min = 1;
        /// How long to try to connect. Drivers count whole seconds: it is rounded up.
        connect_timeout: Duration = Duration::from_secs(10);
        /// How long a call waits for a lock, or for a connection, before it fails with `Busy`. Locks: on PostgreSQL and
        /// MariaDB only.
        busy_timeout: Duration = Duration::from_secs(5);
        /// How long a statement may run; 0 for no limit. Drivers count whole seconds, and some ignore it.
        statement_timeout: Option<Duration> = Some(Duration::from_secs(300));
        /// The most rows of one array: of a batch that is written, of a block that is read.
        array_rows: usize = 1_000, min = 1, max = 100_000;
    } and {
        connection_string: String,
    }
}

pub(crate) type Settings = OdbcBuilder;

impl OdbcBuilder {
    pub(crate) fn new(connection_string: String) -> Self {
        // A name alone is a data source's.
        let connection_string = match connection_string.contains('=') {
            true => connection_string,
            false => format!("DSN={connection_string}"),
        };
        Self { connection_string, ..Self::default() }
    }

    /// Reads settings from a URL: see [`Odbc::open`](crate::Odbc::open).
    ///
    /// # Errors
    /// `Config`, without the password.
    pub fn from_url(url: &str) -> Result<Self> {
        let usage = || config("write odbc:NAME for a data source, or odbc:Driver={NAME};Server=…");
        let rest = url.strip_prefix("odbc:").ok_or_else(usage)?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        if place.is_empty() {
            return Err(usage());
        }
        let mut builder = Self::new(decode(place)?);
        builder.set_query(query)?;
        Ok(builder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_data_sources_or_drivers() {
        let builder = OdbcBuilder::from_url("odbc:shop?connections=3").unwrap();
        assert_eq!((&*builder.connection_string, builder.connections), ("DSN=shop", 3));
        let builder = OdbcBuilder::from_url("odbc:Driver={A B};Pwd=a%3Fb").unwrap();
        assert_eq!(builder.connection_string, "Driver={A B};Pwd=a?b");
        assert!(OdbcBuilder::from_url("odbc:").is_err());
        assert!(OdbcBuilder::from_url("odbc:shop?speed=1").is_err());
    }
}
