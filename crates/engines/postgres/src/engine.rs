//! The engine.

use crate::database::Database;
use crate::session::PgSession;
use crate::settings::PostgresBuilder;
use bobak_core::{
    Capabilities, Engine, Estimate, Outcome, Result, Row, Session, TableSchema, Value, Write,
};
use bobak_engine_common::server_capabilities;
use std::sync::Arc;

/// A database on PostgreSQL, or on a server that speaks its protocol. Cheap to clone; its connections close when
/// the last clone is dropped.
///
/// ```no_run
/// use bobak_core::Engine;
/// use bobak_postgres::{Isolation, Postgres};
///
/// let engine = Postgres::open("postgres://ada:secret@localhost:5432/app?sslmode=require")?;
/// assert!(engine.tables()?.is_empty());
///
/// let engine = Postgres::builder()
///     .host("db1", 5432)
///     .host("db2", 5432)
///     .isolation(Isolation::ReadCommitted)
///     .open()?;
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Postgres {
    database: Arc<Database>,
}

impl Postgres {
    /// Settings for opening a database.
    pub fn builder() -> PostgresBuilder {
        PostgresBuilder::default()
    }

    /// Opens a database by its URL,
    /// `postgres://user:password@host:port,host:port/database?setting=value&…`.
    ///
    /// The settings are those of [`PostgresBuilder`], by their names, and `host` for
    /// [`socket`](PostgresBuilder::socket); times are in milliseconds.
    ///
    /// # Errors
    /// `Config` for a malformed URL, or if the database does not exist; `Unreachable`, `Denied`, `Timeout`.
    pub fn open(url: &str) -> Result<Self> {
        Self::builder().url(url)?.open()
    }
}

impl PostgresBuilder {
    /// Opens the database with one connection, so that wrong settings show at once.
    ///
    /// # Errors
    /// `Config` for contradictory settings, or if the database does not exist; `Unreachable`, `Denied`, `Timeout`.
    pub fn open(mut self) -> Result<Postgres> {
        self.hosts = self.hosts();
        Ok(Postgres { database: Arc::new(Database::open(self)?) })
    }
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Postgres").field(&self.database.settings).finish()
    }
}

impl Engine for Postgres {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = server_capabilities();
        capabilities.subqueries = true;
        capabilities.update_actions = true;
        capabilities.deferred_references = true;
        capabilities.alter_table = true;
        capabilities.online_ddl = true;
        capabilities.generated_columns = true;
        capabilities.search = true;
        capabilities.search_in_transaction = true;
        capabilities.vectors = true;
        capabilities.explain = true;
        capabilities.value_parts = true;
        capabilities
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(PgSession::new(&self.database)))
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        PgSession::new(&self.database).write(write)
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        PgSession::new(&self.database).get(table, key, row)
    }

    fn estimate(&self, table: &TableSchema) -> Estimate {
        Estimate { rows: self.database.estimated_rows(table), ..Estimate::default() }
    }

    fn flush(&self) -> Result<()> {
        // When the server confirms a commit, it is as durable as the server's settings require.
        Ok(())
    }
}
