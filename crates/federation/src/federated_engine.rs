//! An engine whose SQL sees attached engines, for servers.

use crate::federated_session::FederatedSession;
use crate::federation::Federation;
use bobak_core::{
    Capabilities, Engine, EngineLayer, Error, ErrorKind, Outcome, Result, Row, SchemaChange,
    Session, TableSchema, Value, Write,
};
use bobak_sqlite::Sqlite;
use std::sync::Arc;

/// A main engine without SQLite's SQL, and a federation that runs SQL over its tables and those of attached
/// engines. All other operations are the main engine's.
///
/// A statement that names tables of the main engine only runs there, unchanged, if that engine has SQL of its
/// own. SQL in a transaction of the main engine is part of that transaction.
///
/// ```
/// use bobak_core::{Engine, Source};
/// use bobak_federation::FederatedEngine;
/// use bobak_memory::Memory;
/// use std::sync::Arc;
/// let engine = FederatedEngine::attach(Arc::new(Memory::new()), Vec::new(), 1 << 20)?;
/// let mut rows = 0;
/// engine.session()?.query(&Source::Sql { text: "SELECT 1", parameters: &[] }, &mut |_| {
///     rows += 1;
///     Ok(true)
/// })?;
/// assert_eq!(rows, 1);
/// # Ok::<(), bobak_core::Error>(())
/// ```
pub struct FederatedEngine {
    main: Arc<dyn Engine>,
    pub(crate) federation: Federation,
}

/// The name of the main engine in SQL.
pub(crate) const MAIN: &str = "main";

impl FederatedEngine {
    /// The main engine with SQL over its tables and those of attached engines, which SQL names `name.table`.
    /// An SQL host, such as SQLite, is returned itself, extended by the attached engines.
    ///
    /// `max_value_bytes` is the maximum size of a value that SQL can create: clients may run it.
    ///
    /// # Errors
    /// `Config` for a name that is taken or reserved; those of [`Federation::embedded`].
    pub fn attach(
        main: Arc<dyn Engine>,
        attached: Vec<(String, Arc<dyn Engine>)>,
        max_value_bytes: u32,
    ) -> Result<Arc<dyn Engine>> {
        let mut names = vec![MAIN, "temp"];
        for (name, _) in &attached {
            if name.is_empty() || names.iter().any(|other| other.eq_ignore_ascii_case(name)) {
                let message = format!("no engine can be attached as '{name}': the name is taken");
                return Err(Error::new(ErrorKind::Config, message));
            }
            names.push(name);
        }
        if let Some(host) = main.sql_host() {
            if !attached.is_empty() {
                Federation::embedded(host, attached, Vec::new())?;
            }
            return Ok(main);
        }
        if attached.is_empty() && main.capabilities().sql {
            return Ok(main);
        }
        let mut engines = vec![(MAIN.to_owned(), Arc::clone(&main))];
        engines.extend(attached);
        let builder = Sqlite::builder()
            .max_value_bytes(Some(max_value_bytes))
            .max_ahead_bytes(max_value_bytes as usize);
        let federation = Federation::standalone_on(builder, engines, Vec::new())?;
        Ok(Arc::new(Self { main, federation }))
    }

    pub(crate) fn main(&self) -> &dyn Engine {
        &*self.main
    }
}

impl EngineLayer for FederatedEngine {
    fn inner(&self) -> &dyn Engine {
        &*self.main
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.main.capabilities();
        capabilities.sql = true;
        capabilities
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(FederatedSession::new(self, self.main.session()?)))
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.main.write(write)
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        self.main.get(table, key, row)
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.main.tables()
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        let altered = self.main.alter(changes);
        self.federation.invalidate_tables();
        altered
    }
}

impl std::fmt::Debug for FederatedEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FederatedEngine").field("main", &self.main.name()).finish_non_exhaustive()
    }
}
