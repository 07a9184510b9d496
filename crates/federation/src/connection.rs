//! The federation's tables on one connection of its database.

use crate::attached::{AttachedEngines, AttachedTables};
use crate::sessions::{EngineSessions, WriteTarget};
use crate::table::{MODULE, TableModule};
use bobak_core::{Error, ErrorKind, Result, TableSchema};
use bobak_sql::{Dialect, quote};
use bobak_sqlite::extension::{
    ConnectionExtension, ExtendedConnection, Extension, StatementAction,
};
use std::sync::Arc;

/// The virtual tables and schemas that exist on a connection.
#[derive(Debug)]
pub(crate) struct ConnectionTables {
    sessions: Arc<EngineSessions>,
    /// The version of the catalog that they represent.
    version: u64,
    /// How many attached engines have a schema.
    schemas: usize,
    /// The virtual tables, each with its engine's position.
    tables: Vec<(usize, Arc<TableSchema>)>,
}

impl ConnectionTables {
    pub(crate) fn sessions(&self) -> &Arc<EngineSessions> {
        &self.sessions
    }

    fn attached(&self) -> &AttachedEngines {
        self.sessions.attached()
    }

    /// Creates and drops schemas and virtual tables until they represent the current catalog.
    fn update(&mut self, connection: &mut ExtendedConnection<'_>) -> Result<()> {
        let attached = Arc::clone(self.sessions.attached());
        let version = attached.version();
        let catalog = attached.catalog();
        let schema = |engine: usize| match attached.all().get(engine) {
            _ if attached.is_standalone() && engine == 0 => "main".to_owned(),
            Some(attached) => quote(Dialect::Sqlite, &attached.name),
            None => String::new(),
        };
        for engine in self.schemas..attached.all().len() {
            if !(attached.is_standalone() && engine == 0) {
                // A schema in memory can be written whatever the connection's own flags are, also
                // if its file is read-only.
                let name = schema(engine);
                connection.execute(&format!("ATTACH 'file::memory:?mode=memory' AS {name}"))?;
            }
            self.schemas = engine + 1;
        }
        let is_gone = |(engine, table): &(usize, Arc<TableSchema>)| {
            let now = catalog.table(*engine, table.name());
            !now.is_some_and(|now| Arc::ptr_eq(now, table))
        };
        while let Some(at) = self.tables.iter().position(is_gone) {
            let (engine, table) = self.tables.swap_remove(at);
            let name = quote(Dialect::Sqlite, table.name());
            connection.execute(&format!("DROP TABLE {}.{name}", schema(engine)))?;
        }
        for (engine, table) in new_tables(&catalog, &self.tables) {
            let name = quote(Dialect::Sqlite, table.name());
            let schema = schema(engine);
            connection.execute(&format!(
                "CREATE VIRTUAL TABLE {schema}.{name} USING {MODULE}({engine})"
            ))?;
            self.tables.push((engine, table));
        }
        self.version = version;
        Ok(())
    }

    /// The schemas that SQL may not change: tables of attached engines change by their own calls.
    fn protected_schemas(&self) -> Vec<String> {
        let own: &[&str] = if self.attached().is_standalone() { &["main", "temp"] } else { &[] };
        let attached = self.attached().all().iter().map(|engine| engine.name.clone());
        own.iter().map(|name| (*name).to_owned()).chain(attached).collect()
    }
}

impl Extension for AttachedEngines {
    fn connect(
        self: Arc<Self>,
        connection: &mut ExtendedConnection<'_>,
    ) -> Result<Box<dyn ConnectionExtension>> {
        let sessions = Arc::new(EngineSessions::new(&self));
        connection.register_module(MODULE, TableModule(Arc::clone(&sessions)))?;
        let mut functions = self.functions().iter();
        functions.try_for_each(|function| connection.register_function(function))?;
        Ok(Box::new(ConnectionTables { sessions, version: 0, schemas: 0, tables: Vec::new() }))
    }

    fn refresh_tables(&self, error: Error) -> Result<()> {
        self.refresh_after(error)
    }
}

impl ConnectionExtension for ConnectionTables {
    fn begin(&mut self, connection: &mut ExtendedConnection<'_>) -> Result<()> {
        if self.version != self.attached().version() {
            let updated = connection.define_tables(|connection| self.update(connection));
            connection.deny(changes_schema, self.protected_schemas());
            updated?;
        }
        self.sessions.release_claim();
        Ok(())
    }

    fn check_statement(
        &self,
        actions: &[StatementAction],
        returns_rows: bool,
        in_transaction: bool,
    ) -> Result<()> {
        check_write_target(self.attached(), actions, returns_rows, None)?;
        let writes_main = |action: &StatementAction| {
            write_target(self.attached(), action) == Some(WriteTarget::Main)
        };
        if in_transaction && actions.iter().any(writes_main) {
            self.sessions.claim_writes(WriteTarget::Main)?;
        }
        Ok(())
    }

    fn before_engine_write(&self) -> Result<()> {
        self.sessions.claim_writes(WriteTarget::Main)
    }
}

/// Rejects a statement that writes to two engines, or to an engine other than `only`, and one that returns what it wrote
/// to an attached engine: SQLite does not know what the engine generated.
pub(crate) fn check_write_target(
    attached: &AttachedEngines,
    actions: &[StatementAction],
    returns_rows: bool,
    only: Option<WriteTarget>,
) -> Result<()> {
    let mut seen = only;
    for target in actions.iter().filter_map(|action| write_target(attached, action)) {
        if returns_rows && target != WriteTarget::Main {
            let message = format!(
                "RETURNING is not available for tables of {}: read the rows after the statement",
                attached.target_name(target)
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        match seen {
            Some(other) if other != target => {
                let (other, target) = (attached.target_name(other), attached.target_name(target));
                let message = format!(
                    "a statement or transaction can write to one engine only, not to {other} and \
                     {target}"
                );
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            _ => seen = Some(target),
        }
    }
    Ok(())
}

/// The tables of the catalog that do not exist on the connection yet.
fn new_tables(
    catalog: &AttachedTables,
    existing: &[(usize, Arc<TableSchema>)],
) -> Vec<(usize, Arc<TableSchema>)> {
    let all = catalog.tables.iter().enumerate();
    all.flat_map(|(engine, tables)| tables.iter().map(move |table| (engine, Arc::clone(table))))
        .filter(|(engine, table)| {
            existing.iter().all(|(other, known)| other != engine || !Arc::ptr_eq(known, table))
        })
        .collect()
}

/// The engine that an action writes to.
fn write_target(attached: &AttachedEngines, action: &StatementAction) -> Option<WriteTarget> {
    match action {
        StatementAction::Write { database, .. } if database == "temp" => None,
        StatementAction::Write { database, .. } => {
            Some(attached.position(database).map_or(WriteTarget::Main, WriteTarget::Attached))
        }
        StatementAction::Schema(database) if database != "temp" => Some(WriteTarget::Main),
        _ => None,
    }
}

/// Whether an action changes one of the protected schemas.
fn changes_schema(action: &StatementAction, protected: &[String]) -> bool {
    let is_protected = |name: &str| protected.iter().any(|one| one.eq_ignore_ascii_case(name));
    match action {
        StatementAction::Schema(database) => is_protected(database),
        StatementAction::Detach(name) => is_protected(name),
        StatementAction::Attach => is_protected("main"),
        _ => false,
    }
}
