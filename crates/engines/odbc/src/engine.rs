//! The engine: its connections, and what the database behind them can do.

use crate::connection::OdbcConnector;
use crate::product::{Product, ProductKind};
use crate::settings::OdbcBuilder;
use bobak_core::{Capabilities, Engine, LengthLimit, Result, Session, TableSchema};
use bobak_engine_common::{Pool, ServerSession};
use std::sync::Arc;

/// A database that an ODBC driver reaches. Cheap to clone; its connections are closed when the last clone is gone.
///
/// ```no_run
/// use bobak_core::Engine;
/// use bobak_odbc::Odbc;
/// let engine = Odbc::open("odbc:Driver={PostgreSQL Unicode};Server=db1.example;Database=shop;UID=shop")?;
/// println!("{} tables", engine.tables()?.len());
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Odbc {
    pool: Arc<Pool<OdbcConnector>>,
    product: Arc<Product>,
}

impl OdbcBuilder {
    /// Connects once, so that wrong settings show here.
    ///
    /// # Errors
    /// `Config` if the data source or the driver is not installed; `Unreachable`, `Denied`, `Timeout`.
    pub fn connect(self) -> Result<Odbc> {
        let (connections, busy_timeout) = (self.connections, self.busy_timeout);
        let pool = Pool::shared(OdbcConnector(self), connections, busy_timeout);
        let product = Arc::clone(&pool.acquire()?.product);
        Ok(Odbc { pool, product })
    }
}

impl Odbc {
    /// Settings to connect with: `Driver={PostgreSQL Unicode};Server=…;Database=…`, or the name of a data source.
    pub fn builder(connection_string: impl Into<String>) -> OdbcBuilder {
        OdbcBuilder::new(connection_string.into())
    }

    /// Connects to what a URL names: `odbc:NAME?setting=value&…` for a data source, or
    /// `odbc:Driver={NAME};Server=…;…?setting=value&…`.
    ///
    /// The settings are those of [`OdbcBuilder`], by their names; times are in milliseconds. A `%`, `?` or `&` of the
    /// connection string is written as `%25`, `%3F` or `%26`.
    ///
    /// # Errors
    /// `Config` for a wrong URL; those of [`OdbcBuilder::connect`].
    pub fn open(url: &str) -> Result<Self> {
        OdbcBuilder::from_url(url)?.connect()
    }

    /// What the engine can do with a database of this name, as its driver reports it. Of a name that Bobak does not know,
    /// what it expects of any database.
    #[must_use]
    pub fn capabilities_with(database: &str) -> Capabilities {
        capabilities(ProductKind::of(database, ""))
    }
}

fn capabilities(kind: ProductKind) -> Capabilities {
    let is_known = matches!(kind, ProductKind::Postgres | ProductKind::MySql);
    let mut capabilities = Capabilities::NONE;
    capabilities.persistent = true;
    capabilities.concurrent_readers = true;
    capabilities.concurrent_writers = is_known;
    capabilities.subqueries = is_known;
    capabilities.limited_key_length = is_known;
    capabilities.large_batches = is_known;
    capabilities.foreign_keys = is_known;
    capabilities.update_actions = is_known;
    capabilities.add_reference = is_known;
    capabilities.alter_table = is_known;
    capabilities.deferred_references = kind == ProductKind::Postgres;
    capabilities.finite_floats = kind != ProductKind::Postgres;
    capabilities.unreused_keys = is_known;
    capabilities.generated_columns = is_known;
    capabilities.sql = is_known;
    capabilities.implicit_ddl_commit = kind == ProductKind::MySql;
    capabilities
}

impl Engine for Odbc {
    fn name(&self) -> &'static str {
        "odbc"
    }

    fn capabilities(&self) -> Capabilities {
        capabilities(self.product.kind)
    }

    fn length_limit(&self, table: &TableSchema, column: usize) -> Option<LengthLimit> {
        match self.product.kind {
            ProductKind::MySql => bobak_sql::mysql_length_limit(table, column),
            _ => None,
        }
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(ServerSession::new(&self.pool)))
    }
}
