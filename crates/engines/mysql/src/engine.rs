//! The engine: its connections, and what they share.

use crate::connect::Connector;
use crate::decode::Lent;
use crate::error::Phase;
use crate::pool::{self, Pool};
use crate::session::MySqlSession;
use crate::settings::{Host, MySqlBuilder, Settings};
use crate::texts::Texts;
use bobak_core::{
    Capabilities, Engine, Estimate, Result, Row, RowEstimates, Session, TableSchema, ValueRef,
};
use bobak_sql::Dialect;
use std::sync::Arc;

/// A database of a MariaDB or MySQL server, or of what speaks its protocol. Cheap to clone; its
/// connections are closed when the last clone is gone.
///
/// ```no_run
/// use bobak_core::Engine;
/// use bobak_mysql::MySql;
/// let engine = MySql::open("mysql://shop:secret@db1.example,db2.example/shop?tls=verify")?;
/// println!("{} tables", engine.tables()?.len());
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MySql {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub pool: Arc<Pool>,
    pub texts: Texts,
    /// The language of the server that was connected to first; the others are taken for its like.
    pub dialect: Dialect,
    estimates: RowEstimates,
}

impl Inner {
    /// How many rows the server's own planner expects in a table.
    fn ask_rows(&self, table: &TableSchema) -> Option<u64> {
        // Nobody is waited for: all connections may belong to who asks.
        let mut pooled = self.pool.try_acquire().ok()?;
        pooled.phase = Phase::Read;
        let text =
            format!("EXPLAIN SELECT * FROM {}", bobak_sql::quote(self.dialect, table.name()));
        let mut rows = None;
        let explained = pooled.each(Some(table), &text, Vec::new(), &mut |cells, names| {
            let row = Lent { cells, names };
            let place = names.iter().position(|name| name.eq_ignore_ascii_case("rows"));
            rows = place.and_then(|place| match row.get(place) {
                ValueRef::Int(rows) => u64::try_from(rows).ok(),
                ValueRef::Text(rows) => rows.parse().ok(),
                _ => None,
            });
            Ok(false)
        });
        explained.ok().and(rows)
    }
}

impl MySql {
    /// Settings to reach a server with; all others have defaults.
    pub fn builder(host: impl Into<String>, port: u16) -> MySqlBuilder {
        MySqlBuilder::new(vec![Host { name: host.into(), port }])
    }

    /// Connects to the server that a URL names:
    /// `mysql://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?SETTING=VALUE&…`, or `mariadb://…`.
    ///
    /// The settings are those of [`MySqlBuilder`], by their names; times are in milliseconds, `tls`
    /// is `off`, `require` or `verify`, `prepared` is `on` or `off`, `isolation` is
    /// `read_committed`, `repeatable_read` or `serializable`.
    ///
    /// # Errors
    /// `Config` for a wrong URL; those of [`MySqlBuilder::connect`].
    pub fn open(url: &str) -> Result<Self> {
        MySqlBuilder::from_url(url)?.connect()
    }

    pub(crate) fn with(settings: Settings) -> Result<Self> {
        let pool = pool::pool(Connector::new(settings));
        let dialect = pool.acquire()?.flavour.dialect;
        let (texts, estimates) = Default::default();
        Ok(Self { inner: Arc::new(Inner { pool, texts, dialect, estimates }) })
    }
}

impl Engine for MySql {
    fn name(&self) -> &'static str {
        "mysql"
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::NONE;
        capabilities.sql = true;
        capabilities.persistent = true;
        capabilities.concurrent_readers = true;
        capabilities.concurrent_writers = true;
        capabilities.nul_in_text = true;
        capabilities.implicit_ddl_commit = true;
        capabilities.finite_floats = true;
        capabilities.limited_key_length = true;
        capabilities.large_batches = true;
        capabilities
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(MySqlSession::new(&self.inner)))
    }

    fn estimate(&self, table: &TableSchema) -> Estimate {
        let rows = self.inner.estimates.rows(table, || self.inner.ask_rows(table));
        Estimate { rows, ..Estimate::default() }
    }

    /// Nothing to do: the server makes a commit durable before it answers.
    fn flush(&self) -> Result<()> {
        Ok(())
    }
}
