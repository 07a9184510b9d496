//! The engine: its connections.

use crate::columns::length_limit;
use crate::driver::{OracleConnect, OracleNet};
use crate::pool::{Pool, pool};
use crate::settings::OracleBuilder;
use bobak_core::{Capabilities, Engine, LengthLimit, Result, Session, TableSchema};
use bobak_engine_common::{ServerSession, server_capabilities};
use std::sync::Arc;

/// A schema of an Oracle database, version 19c or later. Cheap to clone; its connections are closed when the last clone is gone.
///
/// ```no_run
/// use bobak_core::Engine;
/// use bobak_oracle::Oracle;
/// let engine = Oracle::open("oracle://shop:secret@db1.example/orclpdb1")?;
/// println!("{} tables", engine.tables()?.len());
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Oracle {
    pool: Arc<Pool>,
}

impl OracleBuilder {
    /// Connects once, so that wrong settings show here.
    ///
    /// # Errors
    /// `Config` if there is no such service, or the database has another character set than AL32UTF8; `Unreachable`, `Denied`,
    /// `Timeout`.
    pub fn connect(self) -> Result<Oracle> {
        self.connect_through(Arc::new(OracleNet))
    }

    /// Connects through another driver, for tests.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    #[doc(hidden)]
    pub fn connect_through(self, driver: Arc<dyn OracleConnect>) -> Result<Oracle> {
        let pool = pool(self, driver);
        drop(pool.acquire()?);
        Ok(Oracle { pool })
    }
}

impl Oracle {
    /// Settings to connect with: the server's host, and the name of the service there.
    pub fn builder(host: impl Into<String>, service: impl Into<String>) -> OracleBuilder {
        OracleBuilder::new(host.into(), service.into())
    }

    /// Connects to what a URL names: `oracle://user:password@host:port/service?setting=value&…`.
    ///
    /// The settings are those of [`OracleBuilder`], by their names; times are in milliseconds.
    ///
    /// # Errors
    /// `Config` for a wrong URL; those of [`OracleBuilder::connect`].
    pub fn open(url: &str) -> Result<Self> {
        OracleBuilder::from_url(url)?.connect()
    }
}

impl Engine for Oracle {
    fn name(&self) -> &'static str {
        "oracle"
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(ServerSession::new(&self.pool)))
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = server_capabilities();
        capabilities.implicit_ddl_commit = true;
        capabilities
    }

    fn length_limit(&self, table: &TableSchema, column: usize) -> Option<LengthLimit> {
        length_limit(table, column)
    }
}
