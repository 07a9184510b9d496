//! The databases of a server, each under its name.

use bobak_core::{Engine, Error, ErrorKind, Result, TableSchema};
use bobak_permissions::{Caller, ProtectedDatabase};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The most cached table schemas.
const MAX_CACHED_SCHEMAS: usize = 4_096;
/// The most bytes of a description that is cached.
const MAX_CACHED_LENGTH: usize = 64 << 10;

/// One database.
pub(crate) struct ServedDatabase {
    pub protected: Arc<ProtectedDatabase>,
    /// Schemas by the description that clients sent. The same description gives the same schema, so
    /// that engines find their prepared statements again.
    schemas: Mutex<HashMap<Box<[u8]>, Arc<TableSchema>>>,
}

/// All databases of a server.
pub(crate) struct Databases(Vec<Arc<ServedDatabase>>);

impl ServedDatabase {
    /// The schema that a description stands for.
    ///
    /// # Errors
    /// `Corrupt`, `Schema`.
    pub fn table(&self, description: &[u8]) -> Result<Arc<TableSchema>> {
        let lock = || self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = lock().get(description) {
            return Ok(Arc::clone(table));
        }
        let table = Arc::new(bobak_wire::read_schema(description)?);
        if description.len() <= MAX_CACHED_LENGTH {
            let mut schemas = lock();
            if schemas.len() >= MAX_CACHED_SCHEMAS {
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
            Arc::new(ServedDatabase { protected, schemas: Mutex::default() })
        };
        Self(databases.into_iter().map(database).collect())
    }

    /// The database with this name, or the first if it is empty, of those in which the caller has any
    /// permission.
    ///
    /// # Errors
    /// `Config`, without the names of other databases.
    pub fn find(&self, name: &str, caller: &Caller) -> Result<&Arc<ServedDatabase>> {
        let visible = self.0.iter().filter(|database| caller.can_see(database.protected.name()));
        let mut named = visible.filter(|d| name.is_empty() || d.protected.name() == name);
        let found = named.next();
        found.ok_or_else(|| {
            Error::new(ErrorKind::Config, format!("the server has no database '{name}'"))
        })
    }

    /// Makes all commits durable.
    ///
    /// # Errors
    /// That of the first engine that fails; the others are flushed nonetheless.
    pub fn flush(&self) -> Result<()> {
        let flushed: Vec<_> =
            self.0.iter().map(|database| database.protected.engine().flush()).collect();
        flushed.into_iter().collect()
    }
}
