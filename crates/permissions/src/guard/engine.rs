//! The engine that a caller gets.

use super::protected::Protected;
use super::session::GuardedSession;
use super::table::{TablePermissions, keeps, no_such_table};
use crate::caller::Caller;
use crate::policy::Rights;
use crate::right::Right;
use bobak_core::feed::Named;
use bobak_core::{
    BackupContent, BackupJob, Capabilities, ColumnSchema, Condition, Engine, Error, ErrorKind,
    Estimate, Outcome, Result, Row, SchemaChange, Session, TableSchema, Value, Write,
};
use bobak_sql::changes_rows;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Most tables whose rights are remembered.
const MOST_TABLES: usize = 1_024;

/// An engine that does what its caller may do, and refuses the rest: on every way in.
///
/// * A table that the caller has no right on is, in every answer, as one that is not there.
/// * Rows that a rule keeps from the caller are as if they were not there: reads pass over them,
///   updates find none, deletes count none. A row that would come to be against a rule is refused
///   with `Denied`.
/// * The caller's rights are those of the moment: see [`Caller`].
/// * Where a table of the database is tracked, each change has the caller's name beside it.
pub struct Guarded {
    database: Arc<Protected>,
    /// The engine as it writes in the caller's name.
    named: Named,
    caller: Caller,
    view: Mutex<Arc<View>>,
}

/// The tables as the caller may see them, for as long as its rights stay the same.
pub(super) struct View {
    rights: Option<Arc<Rights>>,
    whole: bool,
    /// By the schema's number.
    tables: Mutex<HashMap<u64, Arc<TablePermissions>>>,
}

impl Guarded {
    /// A database for a caller.
    #[must_use]
    pub fn new(database: Arc<Protected>, caller: Caller) -> Self {
        // The right ones are looked up at the first call.
        let nothing = View { rights: None, whole: false, tables: Mutex::default() };
        let (engine, theirs) = (Arc::clone(database.engine()), Arc::clone(&database));
        let is_wanted = move |session: &dyn Session| theirs.tracks().ask(session);
        let named = Named::new(engine, caller.name(), changes_rows, is_wanted);
        Self { database, named, caller, view: Mutex::new(Arc::new(nothing)) }
    }

    /// Which rows of a table may be read.
    pub(super) fn readable(&self, table: &Arc<TableSchema>) -> Result<Option<Condition>> {
        let rights = self.table(table, || self.database.engine().tables())?;
        Ok(rights.check(Right::Read, table)?.cloned())
    }

    /// The view by the rights of this moment.
    ///
    /// # Errors
    /// `Denied` where the caller is not let in any more.
    pub(super) fn view(&self) -> Result<Arc<View>> {
        let rights = self.caller.rights()?;
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        let same = match (&rights, &view.rights) {
            (Some(now), Some(then)) => Arc::ptr_eq(now, then),
            (None, None) => view.whole,
            _ => false,
        };
        if !same {
            let whole = rights.as_ref().is_none_or(|rights| rights.is_whole(self.database.name()));
            *view = Arc::new(View { rights, whole, tables: Mutex::default() });
        }
        Ok(Arc::clone(&view))
    }

    /// What may be done with a table; `tables` reads the database's.
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
        if let Some(known) = lock().get(&table.id()) {
            return Ok(Arc::clone(known));
        }
        let (found, lasts) = match &view.rights {
            Some(rights) if !view.whole => {
                TablePermissions::of(rights, &self.database, table, &tables)?
            }
            _ => (TablePermissions::WHOLE, true),
        };
        let found = Arc::new(found);
        if !lasts {
            return Ok(found);
        }
        let mut known = lock();
        if known.len() >= MOST_TABLES {
            known.clear();
        }
        known.insert(table.id(), Arc::clone(&found));
        Ok(found)
    }

    /// Those of the tables that the caller has a right on, without what they tell of others.
    pub(super) fn visible(&self, tables: Vec<TableSchema>) -> Result<Vec<TableSchema>> {
        let view = self.view()?;
        if view.whole {
            return Ok(tables);
        }
        let sees = |name: &str| view.sees(&self.database, name);
        tables.into_iter().filter(|table| sees(table.name())).map(|t| hide(t, &sees)).collect()
    }

    /// Whether a change of the schema is allowed.
    pub(super) fn check_alter(&self, changes: &[SchemaChange]) -> Result<()> {
        let view = self.view()?;
        if view.whole {
            return Ok(());
        }
        for change in changes {
            let (table, is_new) = match change {
                SchemaChange::CreateTable(table) => (table, true),
                SchemaChange::AddColumn { table, .. } | SchemaChange::AddIndex { table, .. } => {
                    (table, false)
                }
                _ => return Err(Right::Schema.refusal("")),
            };
            let name = table.name();
            let set = view.rights.as_ref().map(|r| r.set_on(self.database.name(), name));
            let set = set.unwrap_or_default();
            if set.is_empty() && !is_new {
                return Err(no_such_table(name));
            }
            if !set.has(Right::Schema) {
                return Err(Right::Schema.refusal(name));
            }
            // A foreign key says whether its table is there, and holds its rows.
            let mut references = table.columns().iter().filter_map(|c| c.reference.as_ref());
            let hidden = references.find(|r| !view.sees(&self.database, &r.table));
            if let Some(hidden) = hidden {
                return Err(no_such_table(&hidden.table));
            }
        }
        Ok(())
    }

    pub(super) fn caller_name(&self) -> &str {
        self.caller.name()
    }

    pub(super) fn database(&self) -> &Arc<Protected> {
        &self.database
    }
}

impl View {
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    pub fn rights(&self) -> Option<&Arc<Rights>> {
        self.rights.as_ref()
    }

    /// Whether anything may be written in the database.
    pub fn writes(&self, database: &Protected) -> bool {
        let rights = self.rights.as_ref();
        self.whole || rights.is_some_and(|rights| rights.writes(database.name()))
    }

    /// Whether a table may be known.
    pub fn sees(&self, database: &Protected, table: &str) -> bool {
        let rights = self.rights.as_ref();
        self.whole || rights.is_some_and(|r| !r.set_on(database.name(), table).is_empty())
    }
}

impl Engine for Guarded {
    fn name(&self) -> &'static str {
        self.database.engine().name()
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.database.engine().capabilities();
        let rights = self.caller.rights();
        let sql = match &rights {
            Ok(Some(rights)) => rights.has_sql(self.database.name()),
            Ok(None) => true,
            Err(_) => false,
        };
        capabilities.sql &= sql;
        capabilities
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        self.view()?;
        Ok(Box::new(GuardedSession::new(self, self.named.session()?)))
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        let engine = self.database.engine();
        let is_free = self.table(write.table, || engine.tables())?.writes_freely(write);
        // Beside others' if nobody wants to know whose it is.
        if is_free && self.database.tracks().known() == Some(false) {
            return engine.write(write).map_err(|error| match self.named.session() {
                Ok(session) => {
                    let session = GuardedSession::new(self, session);
                    session.conceal(Some(write.table.name()), error)
                }
                Err(unable) => unable,
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
        let rights = self.table(table, || engine.tables())?;
        let rule = rights.check(Right::Read, table)?;
        get(rule, table, row, |row| engine.get(table, key, row))
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
        let rights = self.table(table, || self.database.engine().tables());
        let readable =
            rights.is_ok_and(|rights| matches!(rights.check(Right::Read, table), Ok(None)));
        if readable { self.database.engine().estimate(table) } else { Estimate::default() }
    }

    fn flush(&self) -> Result<()> {
        self.view()?;
        self.database.engine().flush()
    }

    fn backup(&self, job: BackupJob<'_>) -> Result<BackupContent> {
        if self.view()?.whole {
            return self.database.engine().backup(job);
        }
        let message = "a backup is only for who may do everything";
        Err(Error::new(ErrorKind::Denied, message))
    }
}

/// Hands out a row, unless the rule keeps it from the caller.
pub(super) fn get(
    rule: Option<&Condition>,
    table: &TableSchema,
    row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ask: impl FnOnce(&mut dyn FnMut(&dyn Row) -> Result<()>) -> Result<bool>,
) -> Result<bool> {
    if rule.is_none() {
        return ask(row);
    }
    let mut kept = false;
    ask(&mut |found| {
        kept = keeps(rule, table, found);
        if kept { row(found) } else { Ok(()) }
    })?;
    Ok(kept)
}

/// A table without the foreign keys that lead to tables that the caller does not see.
fn hide(table: TableSchema, sees: &impl Fn(&str) -> bool) -> Result<TableSchema> {
    let leads = |column: &ColumnSchema| column.reference.as_ref().is_some_and(|r| !sees(&r.table));
    if !table.columns().iter().any(leads) {
        return Ok(table);
    }
    table.map_columns(|mut column| {
        if leads(&column) {
            column.reference = None;
        }
        column
    })
}
