//! The engine of one caller.

use super::permission_session::PermissionSession;
use super::protected_database::ProtectedDatabase;
use super::recording_engine::RecordingEngine;
use super::statement_policy::StatementPolicyEngine;
use super::table_permissions::{TablePermissions, no_such_table, satisfies};
use crate::authentication::Caller;
use crate::policy::{CallerPermissions, Permission};
use bobak_changes::ActorEngine;
use bobak_core::check::CheckExpression;
use bobak_core::rules::FieldRules;
use bobak_core::{
    BackupContent, BackupFormat, BackupJob, Capabilities, Condition, Engine, Error, ErrorKind,
    Estimate, LengthLimit, Outcome, Result, Row, SchemaChange, Session, TableSchema, Value, Write,
};
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The most tables whose permissions are cached.
const MAX_CACHED_TABLES: usize = 1_024;

/// An engine that does what its caller's permissions allow, and rejects the rest, on every call.
///
/// * A table without any permission looks as if it did not exist.
/// * Rows that a row rule hides look as if they did not exist: reads skip them, updates do not find
///   them, deletes do not count them. Writing a row that violates a rule fails with `Denied`.
/// * Changed permissions apply at the next call: see [`Caller`].
/// * If tables of the database are tracked, the caller is recorded as the actor of each change.
pub struct PermissionEngine {
    database: Arc<ProtectedDatabase>,
    /// The engine, with the caller as the actor of changes.
    actor_engine: ActorEngine,
    caller: Caller,
    view: Mutex<Arc<PermissionView>>,
}

/// What the caller may do with each table, until its permissions change.
pub(super) struct PermissionView {
    /// `None` for the operator.
    permissions: Option<Arc<CallerPermissions>>,
    is_unrestricted: bool,
    /// By the id of the schema.
    tables: Mutex<HashMap<u64, Arc<TablePermissions>>>,
}

impl PermissionEngine {
    /// A database as a caller may use it.
    #[must_use]
    pub fn new(database: Arc<ProtectedDatabase>, caller: Caller) -> Self {
        // Replaced by the current permissions at the first call.
        let empty =
            PermissionView { permissions: None, is_unrestricted: false, tables: Mutex::default() };
        let actor_engine = database.actor_engine(caller.name());
        Self { database, actor_engine, caller, view: Mutex::new(Arc::new(empty)) }
    }

    /// The condition on the rows of a table that may be read; `None` for all.
    fn readable_rows(&self, table: &Arc<TableSchema>) -> Result<Option<Condition>> {
        let permissions = self.table(table, || stored_tables(&**self.database.engine()))?;
        Ok(permissions.check(Permission::Read, table)?.cloned())
    }

    /// The caller's current permissions.
    ///
    /// # Errors
    /// `Denied` if the caller's credentials are not valid any more.
    pub(super) fn view(&self) -> Result<Arc<PermissionView>> {
        let permissions = self.caller.permissions()?;
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current = match (&permissions, &view.permissions) {
            (Some(current), Some(cached)) => Arc::ptr_eq(current, cached),
            (None, None) => view.is_unrestricted,
            _ => false,
        };
        if !is_current {
            let database = self.database.name();
            let is_unrestricted = permissions.as_ref().is_none_or(|p| p.is_unrestricted(database));
            let tables = Mutex::default();
            *view = Arc::new(PermissionView { permissions, is_unrestricted, tables });
        }
        Ok(Arc::clone(&view))
    }

    /// What the caller may do with a table. `tables` reads the schema.
    ///
    /// # Errors
    /// As [`TablePermissions::of`].
    pub(super) fn table(
        &self,
        table: &TableSchema,
        tables: impl Fn() -> Result<Vec<TableSchema>>,
    ) -> Result<Arc<TablePermissions>> {
        let view = self.view()?;
        let lock = || view.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = lock().get(&table.id()) {
            return Ok(Arc::clone(cached));
        }
        let (found, is_cacheable) = match &view.permissions {
            Some(permissions) if !view.is_unrestricted => {
                TablePermissions::of(permissions, &self.database, table, &tables)?
            }
            _ => (TablePermissions::UNRESTRICTED, true),
        };
        let found = Arc::new(found);
        if !is_cacheable {
            return Ok(found);
        }
        let mut cached = lock();
        if cached.len() >= MAX_CACHED_TABLES {
            cached.clear();
        }
        cached.insert(table.id(), Arc::clone(&found));
        Ok(found)
    }

    /// The tables that the caller has a permission on, without foreign keys to others.
    pub(super) fn visible(&self, tables: Vec<TableSchema>) -> Result<Vec<TableSchema>> {
        let view = self.view()?;
        if view.is_unrestricted {
            return Ok(tables);
        }
        let can_see = |name: &str| view.can_see(&self.database, name);
        let visible = tables.into_iter().filter(|table| can_see(table.name()));
        visible.map(|table| hide_foreign_keys(table, &can_see)).collect()
    }

    /// Checks changes of the schema.
    pub(super) fn check_alter(&self, changes: &[SchemaChange]) -> Result<()> {
        let view = self.view()?;
        if view.is_unrestricted {
            return Ok(());
        }
        changes.iter().try_for_each(|change| self.check_change(&view, change))
    }

    fn check_change(&self, view: &PermissionView, change: &SchemaChange) -> Result<()> {
        let (table, is_new) = match change {
            SchemaChange::CreateTable(table) => (table, true),
            SchemaChange::AddColumn { table, .. }
            | SchemaChange::AddIndex { table, .. }
            | SchemaChange::AddReference { table, .. }
            | SchemaChange::AddForeignKey { table, .. } => (table, false),
            _ => {
                let message = "permission denied: this change of the schema needs all permissions";
                return Err(Error::new(ErrorKind::Denied, message));
            }
        };
        let name = table.name();
        let set = view.permissions.as_ref().map(|r| r.on(self.database.name(), name));
        let set = set.unwrap_or_default();
        if set.is_empty() && !is_new {
            return Err(no_such_table(name));
        }
        if !set.has(Permission::Schema) {
            return Err(Permission::Schema.denied(name));
        }
        check_constraints(change)?;
        // A foreign key would reveal whether its table exists, and block deletes there.
        let keys = table.all_foreign_keys();
        if let Some(hidden) = keys.iter().find(|r| !view.can_see(&self.database, &r.table)) {
            return Err(no_such_table(&hidden.table));
        }
        if checks_rows(change) {
            let referenced = keys.iter().map(|key| &*key.table);
            self.check_reads_all(view, referenced.chain([name]))?;
        }
        Ok(())
    }

    /// Rejects a change for which the database checks rows that the caller may not read: whether it succeeds would
    /// reveal what they hold.
    fn check_reads_all<'t>(
        &self,
        view: &PermissionView,
        mut tables: impl Iterator<Item = &'t str>,
    ) -> Result<()> {
        let database = self.database.name();
        let reads_all = |table: &&str| {
            let permissions = view.permissions.as_ref();
            permissions.is_some_and(|permissions| permissions.reads_all(database, table))
        };
        match tables.find(|table| !reads_all(table)) {
            None => Ok(()),
            Some(table) => {
                let message =
                    "permission denied: the database would check rows that you may not read";
                Err(Error::new(ErrorKind::Denied, message).in_table(table.to_owned()))
            }
        }
    }

    pub(super) fn caller_name(&self) -> &str {
        self.caller.name()
    }

    pub(super) fn database(&self) -> &Arc<ProtectedDatabase> {
        &self.database
    }
}

impl ProtectedDatabase {
    /// The engine for a caller, which does what the caller's permissions allow. The operator may do
    /// everything except what [no client may run](crate::read_only_policy) as SQL.
    #[must_use]
    pub fn engine_for(self: &Arc<Self>, caller: &Caller) -> Arc<dyn Engine> {
        if caller.is_operator() {
            return Arc::new(StatementPolicyEngine::new(Arc::clone(self.engine())));
        }
        Arc::new(PermissionEngine::new(Arc::clone(self), caller.clone()))
    }

    /// As [`engine_for`](Self::engine_for), and changes of tracked tables record the operator's name, too.
    #[must_use]
    pub fn recording_engine_for(self: &Arc<Self>, caller: &Caller) -> Arc<dyn Engine> {
        if caller.is_operator() {
            let engine = RecordingEngine::new(Arc::clone(self), caller.name());
            return Arc::new(StatementPolicyEngine::new(Arc::new(engine)));
        }
        self.engine_for(caller)
    }

    /// Which rows a caller may read, for rows that come from elsewhere than the caller's engine, such as a feed of
    /// changes.
    #[must_use]
    pub fn readable_rows(self: &Arc<Self>, caller: &Caller) -> ReadableRows {
        ReadableRows(PermissionEngine::new(Arc::clone(self), caller.clone()))
    }
}

/// Which rows a caller may read, by the caller's current permissions.
pub struct ReadableRows(PermissionEngine);

impl ReadableRows {
    /// The condition on the rows of a table that the caller may read; `None` for all.
    ///
    /// # Errors
    /// `Schema` if the caller has no permission on the table; `Denied` if it may not read it.
    pub fn of(&self, table: &Arc<TableSchema>) -> Result<Option<Condition>> {
        self.0.readable_rows(table)
    }

    /// As [`of`](Self::of), without any I/O: `None` if the answer is not known without reading the schema.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn known(&self, table: &TableSchema) -> Result<Option<Option<Condition>>> {
        let view = self.0.view()?;
        let tables = view.tables.lock().unwrap_or_else(PoisonError::into_inner);
        match tables.get(&table.id()) {
            Some(known) => known.check(Permission::Read, table).map(|rows| Some(rows.cloned())),
            None => Ok(None),
        }
    }
}

/// All that can be read by name.
fn stored_tables(engine: &dyn Engine) -> Result<Vec<TableSchema>> {
    engine.session()?.tables_and_views()
}

/// Whether the database checks existing rows against the change.
fn checks_rows(change: &SchemaChange) -> bool {
    match change {
        SchemaChange::AddIndex { table, index } => {
            table.indexes().get(*index).is_none_or(|index| index.unique)
        }
        SchemaChange::AddColumn { table, column } => {
            table.columns().get(*column).is_none_or(|column| {
                let is_checked = column.check.is_some() || column.reference.is_some();
                is_checked || column.unique
            })
        }
        SchemaChange::CreateTable(_) => false,
        _ => true,
    }
}

/// Rejects a CHECK that is not one expression over the table's own columns, whatever the engine would
/// make of it: SQLite accepts calls of any function.
fn check_constraints(change: &SchemaChange) -> Result<()> {
    let (table, new) = match change {
        SchemaChange::CreateTable(table) => (table, table.columns()),
        SchemaChange::AddColumn { table, column } => {
            (table, std::slice::from_ref(table.column_at(*column)?))
        }
        _ => return Ok(()),
    };
    for column in new {
        // A schema has parsed the expressions of generated columns already.
        if let Some(check) = &column.check {
            let parsed = CheckExpression::parse(check, table);
            parsed.map_err(|error| error.in_column(column.name.clone()))?;
        }
    }
    Ok(())
}

impl PermissionView {
    pub fn is_unrestricted(&self) -> bool {
        self.is_unrestricted
    }

    pub fn permissions(&self) -> Option<&Arc<CallerPermissions>> {
        self.permissions.as_ref()
    }

    /// Whether anything may be written in the database.
    pub fn can_write(&self, database: &ProtectedDatabase) -> bool {
        let permissions = self.permissions.as_ref();
        self.is_unrestricted || permissions.is_some_and(|p| p.can_write(database.name()))
    }

    /// Whether the caller may know of a table.
    pub fn can_see(&self, database: &ProtectedDatabase, table: &str) -> bool {
        let permissions = self.permissions.as_ref();
        self.is_unrestricted
            || permissions.is_some_and(|p| !p.on(database.name(), table).is_empty())
    }
}

impl Engine for PermissionEngine {
    fn name(&self) -> &'static str {
        self.database.engine().name()
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.database.engine().capabilities();
        let permissions = self.caller.permissions();
        let sql = match &permissions {
            Ok(Some(permissions)) => permissions.can_use_sql(self.database.name()),
            Ok(None) => true,
            Err(_) => false,
        };
        capabilities.sql &= sql;
        // A subquery as a query of its own is checked like every other.
        capabilities.subqueries = false;
        capabilities
    }

    fn length_limit(&self, table: &TableSchema, column: usize) -> Option<LengthLimit> {
        self.database.engine().length_limit(table, column)
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        self.view()?;
        Ok(Box::new(PermissionSession::new(self, self.actor_engine.session()?)))
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        let engine = self.database.engine();
        let is_free = self.table(write.table, || stored_tables(&**engine))?.needs_no_check(write);
        // Without an actor to record, the write may share a transaction with other callers'.
        if is_free && self.database.tracking().cached() == Some(false) {
            return engine.write(write).map_err(|error| match self.actor_engine.session() {
                Ok(session) => {
                    let session = PermissionSession::new(self, session);
                    session.redact(Some(write.table.name()), error)
                }
                Err(session_error) => session_error,
            });
        }
        self.session()?.write(write)
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        let engine = self.database.engine();
        let permissions = self.table(table, || stored_tables(&**engine))?;
        let rule = permissions.check(Permission::Read, table)?;
        get_visible(rule, table, row, |row| engine.get(table, key, row))
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.visible(self.database.engine().tables()?)
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.check_alter(changes)?;
        self.database.forget_schema();
        let altered = self.database.engine().alter(changes);
        self.database.forget_schema();
        altered
    }

    fn estimate(&self, table: &TableSchema) -> Estimate {
        let permissions = self.table(table, || stored_tables(&**self.database.engine()));
        let readable = permissions.is_ok_and(|permissions| {
            matches!(permissions.check(Permission::Read, table), Ok(None))
        });
        if readable { self.database.engine().estimate(table) } else { Estimate::default() }
    }

    fn field_rules(&self, table: &TableSchema) -> Vec<FieldRules> {
        self.database.engine().field_rules(table)
    }

    fn flush(&self) -> Result<()> {
        self.view()?;
        self.database.engine().flush()
    }

    fn backup_format(&self) -> Option<BackupFormat> {
        self.database.engine().backup_format()
    }

    fn backup_key(&self) -> Option<&dyn Any> {
        self.database.engine().backup_key()
    }

    fn backup(&self, job: BackupJob<'_>) -> Result<BackupContent> {
        if self.view()?.is_unrestricted {
            return self.database.engine().backup(job);
        }
        let message = "a backup needs all permissions on the database";
        Err(Error::new(ErrorKind::Denied, message))
    }
}

/// Passes a row on unless the rule hides it. Returns whether it did.
pub(super) fn get_visible(
    rule: Option<&Condition>,
    table: &TableSchema,
    row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    get: impl FnOnce(&mut dyn FnMut(&dyn Row) -> Result<()>) -> Result<bool>,
) -> Result<bool> {
    if rule.is_none() {
        return get(row);
    }
    let mut is_visible = false;
    get(&mut |found| {
        is_visible = satisfies(rule, table, found);
        if is_visible { row(found) } else { Ok(()) }
    })?;
    Ok(is_visible)
}

/// A table without foreign keys to tables that the caller cannot see.
fn hide_foreign_keys(table: TableSchema, can_see: &impl Fn(&str) -> bool) -> Result<TableSchema> {
    if table.all_foreign_keys().iter().all(|key| can_see(&key.table)) {
        return Ok(table);
    }
    let builder = table.into_builder().map_columns(|mut column| {
        column.reference = column.reference.filter(|reference| can_see(&reference.table));
        column
    });
    builder.map_foreign_keys(|key| can_see(&key.table).then_some(key)).build()
}
