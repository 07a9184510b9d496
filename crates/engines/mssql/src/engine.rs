//! The engine: its connections.

use crate::columns::length_limit;
use crate::connection::{Connection, MssqlConnector};
use crate::settings::MssqlBuilder;
use bobak_core::{Capabilities, Engine, LengthLimit, Result, Session, TableSchema};
use bobak_engine_common::{Pool, ServerSession, server_capabilities};
use std::sync::Arc;

/// A database of SQL Server, version 2017 or later. Cheap to clone; its connections are closed when the last clone is gone.
///
/// ```no_run
/// use bobak_core::Engine;
/// use bobak_mssql::Mssql;
/// let engine = Mssql::open("mssql://shop:secret@db1.example/shop")?;
/// println!("{} tables", engine.tables()?.len());
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mssql {
    pool: Arc<Pool<MssqlConnector>>,
}

impl MssqlBuilder {
    /// Connects once, so that wrong settings show here.
    ///
    /// # Errors
    /// `Config` if there is no such database, or what listens is no SQL Server; `Unreachable`, `Denied`, `Timeout`.
    pub fn connect(self) -> Result<Mssql> {
        if self.create {
            Connection::create_database(&self)?;
        }
        let (connections, busy_timeout) = (self.connections, self.busy_timeout);
        let pool = Pool::shared(MssqlConnector(self), connections, busy_timeout);
        drop(pool.acquire()?);
        Ok(Mssql { pool })
    }
}

impl Mssql {
    /// Settings to connect with: the server's host, and the name of the database there.
    pub fn builder(host: impl Into<String>, database: impl Into<String>) -> MssqlBuilder {
        MssqlBuilder::new(host.into(), database.into())
    }

    /// Connects to what a URL names: `mssql://user:password@host:port/database?setting=value&…`.
    ///
    /// The settings are those of [`MssqlBuilder`], by their names; times are in milliseconds.
    ///
    /// # Errors
    /// `Config` for a wrong URL; those of [`MssqlBuilder::connect`].
    pub fn open(url: &str) -> Result<Self> {
        MssqlBuilder::from_url(url)?.connect()
    }
}

impl Engine for Mssql {
    fn name(&self) -> &'static str {
        "mssql"
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(ServerSession::new(&self.pool)))
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = server_capabilities();
        capabilities.update_actions = true;
        capabilities.implicit_ddl_commit = true;
        capabilities.finite_floats = true;
        capabilities
    }

    fn length_limit(&self, table: &TableSchema, column: usize) -> Option<LengthLimit> {
        length_limit(table, column)
    }
}
