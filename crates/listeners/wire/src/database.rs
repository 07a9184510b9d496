//! The databases that a server gives, each under its name.

use bobak_core::{Engine, Error, ErrorKind, Result, TableSchema};
use bobak_permissions::{Caller, ProtectedDatabase};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Most descriptions of tables that are remembered.
const SCHEMAS: usize = 4_096;
/// The longest that is.
const LONGEST: usize = 64 << 10;

/// One database.
pub(crate) struct Database {
    pub protected: Arc<ProtectedDatabase>,
    /// Descriptions that clients sent: whoever sends the same gets the same table, so that engines
    /// find their prepared statements again.
    schemas: Mutex<HashMap<Box<[u8]>, Arc<TableSchema>>>,
}

/// All of a server.
pub(crate) struct Databases(Vec<Arc<Database>>);

impl Database {
    /// The table that a description stands for.
    ///
    /// # Errors
    /// `Corrupt`, `Schema`.
    pub fn table(&self, description: &[u8]) -> Result<Arc<TableSchema>> {
        let lock = || self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = lock().get(description) {
            return Ok(Arc::clone(table));
        }
        let table = Arc::new(bobak_wire::read_schema(description)?);
        if description.len() <= LONGEST {
            let mut schemas = lock();
            if schemas.len() >= SCHEMAS {
                schemas.clear();
            }
            schemas.insert(description.into(), Arc::clone(&table));
        }
        Ok(table)
    }
}

impl Databases {
    pub fn new(databases: Vec<(String, Arc<dyn Engine>)>) -> Self {
        let database = |(name, engine): (String, _)| {
            let protected = ProtectedDatabase::new(&name, engine);
            Arc::new(Database { protected, schemas: Mutex::default() })
        };
        Self(databases.into_iter().map(database).collect())
    }

    /// The database with this name, the first where it is empty; of those that the caller has any
    /// right on.
    ///
    /// # Errors
    /// `Config`. Which there are is not told.
    pub fn find(&self, name: &str, caller: &Caller) -> Result<&Arc<Database>> {
        let known = self.0.iter().filter(|database| caller.can_see(database.protected.name()));
        let mut named = known.filter(|d| name.is_empty() || d.protected.name() == name);
        let found = named.next();
        found.ok_or_else(|| {
            Error::new(ErrorKind::Config, format!("the server has no database '{name}'"))
        })
    }

    /// Makes all that was committed durable.
    ///
    /// # Errors
    /// The first engine's that fails; the others are flushed all the same.
    pub fn flush(&self) -> Result<()> {
        let flushed: Vec<_> =
            self.0.iter().map(|database| database.protected.engine().flush()).collect();
        flushed.into_iter().collect()
    }
}
