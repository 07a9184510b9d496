//! The engine: its connections, and what they share.

use crate::database::Database;
use crate::session::MySqlSession;
use crate::settings::{Host, MySqlBuilder, Tls};
use bobak_core::{Capabilities, Engine, Estimate, LengthLimit, Result, Session, TableSchema};
use bobak_engine_common::server_capabilities;
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
    database: Arc<Database>,
}

impl MySqlBuilder {
    /// Connects once, so that wrong settings show here.
    ///
    /// # Errors
    /// `Unreachable`, `Denied`, `Timeout`; `Schema` if the database is missing; `Unsupported` if TLS is requested and the
    /// server has none; `Config` if this program was built without TLS.
    pub fn connect(self) -> Result<MySql> {
        if self.tls != Tls::Off && !cfg!(feature = "tls") {
            let message = "this program was built without TLS for MariaDB and MySQL: enable the \
                           feature `mysql-tls` of bobak";
            return Err(bobak_core::url::config(message));
        }
        Ok(MySql { database: Arc::new(Database::open(self)?) })
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
    /// The settings are those of [`MySqlBuilder`], by their names; times are in milliseconds.
    ///
    /// # Errors
    /// `Config` for a wrong URL; those of [`MySqlBuilder::connect`].
    pub fn open(url: &str) -> Result<Self> {
        MySqlBuilder::from_url(url)?.connect()
    }
}

impl Engine for MySql {
    fn name(&self) -> &'static str {
        "mysql"
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = server_capabilities();
        capabilities.subqueries = true;
        capabilities.nul_in_text = true;
        capabilities.implicit_ddl_commit = true;
        capabilities.finite_floats = true;
        capabilities.update_actions = true;
        capabilities.alter_table = true;
        capabilities.generated_columns = true;
        capabilities.vectors = true;
        capabilities.explain = true;
        capabilities.value_parts = true;
        capabilities.search = self.database.dialect == bobak_sql::Dialect::MariaDb;
        capabilities
    }

    fn length_limit(&self, table: &TableSchema, column: usize) -> Option<LengthLimit> {
        bobak_sql::mysql_length_limit(table, column)
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(MySqlSession::new(&self.database)))
    }

    fn estimate(&self, table: &TableSchema) -> Estimate {
        let rows = self.database.estimated_rows(table);
        Estimate { rows, ..Estimate::default() }
    }

    /// Nothing to do: the server makes a commit durable before it answers.
    fn flush(&self) -> Result<()> {
        Ok(())
    }
}
