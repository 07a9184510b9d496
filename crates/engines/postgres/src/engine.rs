//! The engine: its settings, its connections, and what it knows of tables.

use crate::facts::{Facts, SQL};
use crate::message::Message;
use crate::pool::{self, Pool};
use crate::session::PgSession;
use crate::settings::{PostgresBuilder, Settings};
use bobak_core::{
    Capabilities, Engine, Estimate, Outcome, Result, Row, RowEstimates, Session, TableSchema,
    Value, Write,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A database of PostgreSQL, or of a server that speaks its protocol. Cheap to clone; its
/// connections are closed when the last clone is gone.
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
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub settings: Arc<Settings>,
    pub pool: Pool,
    facts: Mutex<HashMap<u64, Arc<Facts>>>,
    estimates: RowEstimates,
}

impl Postgres {
    /// Settings to open a database with.
    #[must_use]
    pub fn builder() -> PostgresBuilder {
        PostgresBuilder::default()
    }

    /// Opens a database by its URL,
    /// `postgres://user:password@host:port,host:port/database?setting=value&…`.
    ///
    /// | setting | values |
    /// |---|---|
    /// | `sslmode` | `prefer`, `disable`, `require`, `verify-ca`, `verify-full` |
    /// | `sslrootcert` | a PEM file with the certificates to trust |
    /// | `target` | `any`, `read-write`, `read-only`: which of several hosts will do |
    /// | `host` | the folder of a Unix socket, or a host, instead of those in the URL |
    /// | `schema` | where tables are made and looked for |
    /// | `isolation` | `serializable`, `repeatable-read`, `read-committed` |
    /// | `keys` | `sequence`, `server`: who makes integer keys |
    /// | `copy` | `on`, `off`: whether the server has `COPY` |
    /// | `statements` | `named`, `unnamed`: the latter behind a proxy in transaction mode |
    /// | `connections` | the most at once; 10 |
    /// | `connect_timeout`, `acquire_timeout`, `idle_timeout`, `busy_timeout`, `timeout` | in milliseconds |
    ///
    /// # Errors
    /// `Config` for a malformed URL, and where there is no such database; `Unreachable`, `Denied`,
    /// `Timeout`.
    pub fn open(url: &str) -> Result<Self> {
        Self::builder().url(url)?.open()
    }

    pub(crate) fn with_settings(settings: Settings) -> Result<Self> {
        let settings = Arc::new(settings);
        let pool = pool::pool(&settings);
        drop(pool.acquire()?);
        let (facts, estimates) = Default::default();
        Ok(Self { inner: Arc::new(Inner { settings, pool, facts, estimates }) })
    }
}

impl Inner {
    /// What is known of the tables, by their schemas' numbers.
    pub fn facts(&self) -> MutexGuard<'_, HashMap<u64, Arc<Facts>>> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many rows the server's own planner expects in a table; it looks at the size of the
    /// table's files too, where no statistics were gathered yet.
    fn ask_rows(&self, table: &TableSchema) -> Option<u64> {
        // Nobody is waited for: all connections may belong to who asks.
        let mut pooled = self.pool.try_acquire().ok()?;
        let name = bobak_sql::quote(SQL, table.name());
        let mut rows = None;
        let explained = pooled.simple(&format!("EXPLAIN SELECT * FROM {name}"), |message| {
            if let (Message::Row(body), None) = (message, rows) {
                rows = expected_rows(&String::from_utf8_lossy(body));
            }
        });
        explained.ok().and(rows)
    }
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Postgres").field(&self.inner.settings).finish()
    }
}

impl Engine for Postgres {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::NONE;
        capabilities.sql = true;
        capabilities.persistent = true;
        capabilities.concurrent_readers = true;
        capabilities.concurrent_writers = true;
        // About 2,700 bytes, after compression.
        capabilities.limited_key_length = true;
        capabilities.large_batches = true;
        capabilities
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(PgSession::new(&self.inner)))
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        PgSession::new(&self.inner).write(write)
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        PgSession::new(&self.inner).get(table, key, row)
    }

    fn estimate(&self, table: &TableSchema) -> Estimate {
        let rows = self.inner.estimates.rows(table, || self.inner.ask_rows(table));
        Estimate { rows, ..Estimate::default() }
    }

    fn flush(&self) -> Result<()> {
        // A commit is as durable as the server's own settings say when it is answered.
        Ok(())
    }
}

/// The number in `Seq Scan on person  (cost=0.00..1.50 rows=50 width=44)`.
fn expected_rows(line: &str) -> Option<u64> {
    let (_, rest) = line.rsplit_once(" rows=")?;
    rest.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_from_a_plan() {
        let line = "Seq Scan on \"a rows=7 b\"  (cost=0.00..1.50 rows=50 width=44)";
        assert_eq!(expected_rows(line), Some(50));
        assert_eq!(expected_rows("  estimated row count: 50"), None);
    }
}
