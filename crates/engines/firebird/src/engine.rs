//! The engine: its connections.

use crate::columns::length_limit;
use crate::pool::{Pool, pool};
use crate::settings::FirebirdBuilder;
use bobak_core::{Capabilities, Engine, LengthLimit, Result, Session, TableSchema};
use bobak_engine_common::{ServerSession, server_capabilities};
use std::sync::Arc;

/// A database of a Firebird server, version 3 or later. Cheap to clone; its connections are closed when the last clone is
/// gone.
///
/// ```no_run
/// use bobak_core::Engine;
/// use bobak_firebird::Firebird;
/// let engine = Firebird::open("firebird://shop:secret@db1.example/shop")?;
/// println!("{} tables", engine.tables()?.len());
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Firebird {
    pool: Arc<Pool>,
}

impl FirebirdBuilder {
    /// Connects once, so that wrong settings show here. If a process was killed while it changed a table, completes its change.
    ///
    /// # Errors
    /// `Config` if there is no such database, or what listens is no Firebird server; `Unreachable`, `Denied`, `Timeout`.
    pub fn connect(self) -> Result<Firebird> {
        let pool = pool(self);
        crate::alter::complete_abandoned(&mut *pool.acquire_owned()?);
        Ok(Firebird { pool })
    }
}

impl Firebird {
    /// Settings to connect with: the server's host, and the path or the alias of the database there.
    pub fn builder(host: impl Into<String>, database: impl Into<String>) -> FirebirdBuilder {
        FirebirdBuilder::new(host.into(), database.into())
    }

    /// Connects to what a URL names: `firebird://user:password@host:port/path-or-alias?setting=value&…`. An absolute path
    /// begins with a second slash.
    ///
    /// The settings are those of [`FirebirdBuilder`], by their names; times are in milliseconds.
    ///
    /// # Errors
    /// `Config` for a wrong URL; those of [`FirebirdBuilder::connect`].
    pub fn open(url: &str) -> Result<Self> {
        FirebirdBuilder::from_url(url)?.connect()
    }
}

impl Engine for Firebird {
    fn name(&self) -> &'static str {
        "firebird"
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(ServerSession::new(&self.pool)))
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = server_capabilities();
        capabilities.vectors = true;
        capabilities.update_actions = true;
        capabilities.alter_table = true;
        capabilities.implicit_ddl_commit = true;
        capabilities.finite_floats = true;
        capabilities
    }

    fn length_limit(&self, table: &TableSchema, column: usize) -> Option<LengthLimit> {
        length_limit(table, column)
    }
}
