//! The engine: its connections, and what they share.

use crate::connect::Connector;
use crate::pool::Pool;
use crate::session::MySqlSession;
use crate::settings::{Host, MySqlBuilder, Settings};
use crate::texts::Texts;
use bobak_core::{Capabilities, Engine, Result, Session};
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
        let pool = Arc::new(Pool::new(Connector::new(settings)));
        let dialect = pool.take()?.flavour.dialect;
        Ok(Self { inner: Arc::new(Inner { pool, texts: Texts::default(), dialect }) })
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
        capabilities.nul_in_texts = true;
        capabilities.schema_commits_alone = true;
        capabilities.finite_floats = true;
        capabilities.short_keys = true;
        capabilities
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(MySqlSession::new(&self.inner)))
    }

    /// Nothing to do: the server makes a commit durable before it answers.
    fn flush(&self) -> Result<()> {
        Ok(())
    }
}
