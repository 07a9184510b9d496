//! A session of one caller.
//!
//! It implements [`Session`] rather than a layer that delegates by default: a method that is missing
//! here must go through the checked ones, and never past them.

use super::permission_engine::{PermissionEngine, PermissionView, get_visible};
use super::referring_tables::ReferringReads;
use super::table_permissions::TablePermissions;
use crate::policy::Permission;
use bobak_core::change_log::Trigger;
use bobak_core::engine::fallback;
use bobak_core::plan::{ExplainedQuery, PlanStep};
use bobak_core::{
    BulkChange, Condition, Cursor, Error, ErrorKind, Join, OnError, Outcome, Parameter, Result,
    Row, RowBuffer, SchemaChange, SchemaDetails, Select, Session, SideEffects, Source,
    SqlAuthorizer, TableSchema, TransactionControl, Value, ValueAddress, ValueRange, ValueState,
    Write, WriteBatch, atomically,
};
use std::cell::RefCell;
use std::io::Read;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// A session that does what its caller's permissions allow.
pub(super) struct PermissionSession<'e> {
    pub(super) engine: &'e PermissionEngine,
    pub(super) inner: Box<dyn Session + 'e>,
    /// The permissions that the installed authorizer checks; `None` before the first SQL.
    pub(super) authorized: RefCell<Option<Arc<PermissionView>>>,
    /// An additional authorizer, from the listener.
    pub(super) additional: RefCell<Option<Arc<dyn SqlAuthorizer>>>,
    /// Whether the running SQL may replace rows.
    pub(super) replaces: Arc<AtomicBool>,
    /// Which tables the running SQL reads for foreign keys.
    pub(super) referring: Arc<Mutex<ReferringReads>>,
}

impl<'e> PermissionSession<'e> {
    pub(super) fn new(engine: &'e PermissionEngine, inner: Box<dyn Session + 'e>) -> Self {
        Self {
            engine,
            inner,
            authorized: RefCell::default(),
            additional: RefCell::default(),
            replaces: Arc::default(),
            referring: Arc::default(),
        }
    }

    /// What the caller may do with a table.
    pub(super) fn permissions_on(&self, table: &TableSchema) -> Result<Arc<TablePermissions>> {
        self.engine.table(table, || self.inner.tables_and_views())
    }

    /// Runs a query, restricted to the rows that the caller may read.
    fn with_readable_rows<R>(
        &self,
        select: &Select,
        run: impl FnOnce(&Source<'_>) -> Result<R>,
    ) -> Result<R> {
        let permissions = self.permissions_on(&select.table)?;
        reject_subqueries(select.condition.as_ref())?;
        let read = permissions.check(Permission::Read, &select.table)?;
        // A lock stops other writers, so it needs the right to write the row.
        let update = match select.lock {
            Some(_) => permissions.check(Permission::Update, &select.table)?,
            None => None,
        };
        if read.or(update).is_none() {
            return run(&Source::Select(select));
        }
        let mut condition = select.condition.clone();
        for rule in read.into_iter().chain(update) {
            condition = Some(and(condition, rule));
        }
        run(&Source::Select(&Select { condition, ..select.clone() }))
    }

    /// Whether the caller may read all rows of all tables of a join.
    ///
    /// # Errors
    /// `Schema` and `Denied` for a table that it may not read at all.
    fn reads_all_of(&self, join: &Join) -> Result<bool> {
        let mut tables = Vec::new();
        join.for_each_table(&mut |table| tables.push(table));
        join.for_each_subquery(&mut |query| tables.push(&query.table));
        let mut reads_all = true;
        for table in tables {
            let permissions = self.permissions_on(table)?;
            reads_all &= permissions.check(Permission::Read, table)?.is_none();
        }
        Ok(reads_all)
    }

    /// The plan of a query of one table, of which the caller may read all rows. Other plans show row rules, estimates of rows
    /// that the caller may not read, and tables behind a view or a partitioned table.
    fn explain_readable(&self, query: &ExplainedQuery<'_>) -> Result<Option<Vec<PlanStep>>> {
        let denied = || {
            let message = "permission denied: the plan of a query needs permission to read all rows of its \
                           table, and all permissions for a view or several tables";
            Error::new(ErrorKind::Denied, message)
        };
        let ExplainedQuery::Source(Source::Select(select)) = query else { return Err(denied()) };
        let table = &select.table;
        reject_subqueries(select.condition.as_ref())?;
        let permissions = self.permissions_on(table)?;
        let rule = permissions.check(Permission::Read, table)?;
        let is_view = self.inner.views()?.iter().any(|view| view.name() == table.name());
        if rule.is_some() || is_view {
            return Err(denied());
        }
        let steps = self.inner.explain(query)?;
        let mut shows_others = false;
        for step in steps.iter().flatten() {
            step.for_each(&mut |step| {
                let name = step.table.as_deref().unwrap_or(table.name());
                shows_others |= !name.eq_ignore_ascii_case(table.name());
            });
        }
        if shows_others { Err(denied()) } else { Ok(steps) }
    }

    /// Runs `work` in a transaction, or under a savepoint of the open one. An error undoes all of it.
    pub(super) fn atomically<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        atomically(&*self.inner, "bobak_permissions", work)
    }
}

impl Session for PermissionSession<'_> {
    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        if step == TransactionControl::Begin
            && !self.engine.view()?.can_write(self.engine.database())
        {
            return self.begin_reading().map_err(no_transaction);
        }
        if step == TransactionControl::Commit
            && let Err(error) = self.engine.view()
        {
            // Credentials that are no longer valid must not commit anything.
            let _ = self.inner.control(TransactionControl::Rollback);
            return Err(error);
        }
        self.inner.control(step)
    }

    fn in_transaction(&self) -> bool {
        self.inner.in_transaction()
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        let permissions = self.permissions_on(write.table)?;
        let written = match permissions.needs_no_check(write) {
            true => self.inner.write(write),
            false => self.write_checked(&permissions, write),
        };
        written.map_err(|error| self.redact(Some(write.table.name()), error))
    }

    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        let changed = self.change_checked(&*self.permissions_on(change.table)?, change);
        changed.map_err(|error| self.redact(Some(change.table.name()), error))
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        let table = |row: u64| {
            let mut runs = batch.runs().filter(|run| run.first <= row);
            runs.by_ref().last().map(|run| run.table.name())
        };
        let redact = |row: u64, error: Error| self.redact(table(row), error);
        let mut row = 0;
        let mut each = |outcome: Result<Outcome>| {
            each(outcome.map_err(|error| redact(row, error)));
            row += 1;
        };
        let done = self.batch_checked(batch, on_error, &mut each);
        done.map_err(|error| redact(error.row().unwrap_or_default(), error))
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        let permissions = self.permissions_on(table)?;
        let rule = permissions.check(Permission::Read, table)?;
        get_visible(rule, table, row, |row| self.inner.get(table, key, row))
    }

    fn read_part(
        &self,
        value: &ValueAddress<'_>,
        range: ValueRange,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<ValueState>> {
        let permissions = self.permissions_on(value.table)?;
        match permissions.check(Permission::Read, value.table)? {
            None => self.inner.read_part(value, range, bytes),
            // The rule and the bytes are of one state of the row.
            Some(_) => fallback::read_part(value, range, bytes, |row| {
                self.get(value.table, value.key, row)
            }),
        }
    }

    fn write_value(
        &self,
        value: &ValueAddress<'_>,
        length: u64,
        source: &mut dyn Read,
    ) -> Result<bool> {
        let permissions = self.permissions_on(value.table)?;
        let refers = permissions.foreign_keys.iter().any(|check| check.position == value.column);
        let written = match permissions.check(Permission::Update, value.table)? {
            None if !refers => self.inner.write_value(value, length, source),
            _ => fallback::write_value(value, length, source, |change| {
                self.change_checked(&permissions, change)
            }),
        };
        written.map_err(|error| self.redact(Some(value.table.name()), error))
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        match source {
            Source::Select(select) => {
                self.with_readable_rows(select, |source| self.inner.query(source, row))
            }
            Source::Sql { text, .. } => self.run_sql(text, || self.inner.query(source, row)),
        }
    }

    /// The database runs joins of tables of which the caller may read all rows: an error of a calculation could reveal what
    /// is in others. Callers join the rows of other tables themselves.
    fn join(&self, join: &Join, row: &mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<bool> {
        if self.reads_all_of(join)? { self.inner.join(join, row) } else { Ok(false) }
    }

    fn explain(&self, query: &ExplainedQuery<'_>) -> Result<Option<Vec<PlanStep>>> {
        if let ExplainedQuery::Source(Source::Sql { text, .. }) = query {
            return self.run_sql(text, || self.inner.explain(query));
        }
        if self.engine.view()?.is_unrestricted() {
            return self.inner.explain(query);
        }
        match query {
            // The queries that a caller joins itself have plans of their own.
            ExplainedQuery::Join(_) => Ok(None),
            ExplainedQuery::Source(_) => self.explain_readable(query),
        }
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        match source {
            Source::Select(select) => {
                self.with_readable_rows(select, |source| self.inner.open(source))
            }
            Source::Sql { text, .. } => self.run_sql(text, || self.inner.open(source)),
        }
    }

    fn fetch(&self, cursor: &mut Cursor, rows: &mut RowBuffer) -> Result<()> {
        // Credentials that are no longer valid must not read the rest of a cursor.
        self.engine.view()?;
        self.inner.fetch(cursor, rows)
    }

    fn close(&self, cursor: &mut Cursor) {
        self.inner.close(cursor);
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.engine.visible(self.inner.tables()?)
    }

    fn views(&self) -> Result<Vec<TableSchema>> {
        self.engine.visible(self.inner.views()?)
    }

    fn triggers(&self) -> Result<Option<Vec<Trigger>>> {
        let view = self.engine.view()?;
        let mut triggers = self.inner.triggers()?;
        // Triggers of a visible table are no secret, since their effects show. Those of hidden tables
        // would reveal that the tables exist.
        if let Some(triggers) = &mut triggers {
            triggers.retain(|trigger| view.can_see(self.engine.database(), &trigger.table));
        }
        Ok(triggers)
    }

    fn schema_details(&self) -> Result<SchemaDetails> {
        let view = self.engine.view()?;
        let mut details = self.inner.schema_details()?;
        let can_see = |table: &str| view.can_see(self.engine.database(), table);
        details.losses.retain(|loss| can_see(&loss.table));
        details.broken_keys.retain(|key| can_see(&key.table) && can_see(&key.parent));
        details.invalid_dates.retain(|dates| can_see(&dates.table));
        details.computed_indexes.retain(|index| can_see(&index.loss.table));
        Ok(details)
    }

    fn side_effects(&self) -> Result<SideEffects> {
        let view = self.engine.view()?;
        let effects = self.inner.side_effects()?;
        Ok(effects.only(|table| view.can_see(self.engine.database(), table)))
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.engine.check_alter(changes)?;
        self.engine.database().forget_schema();
        let altered = self.inner.alter(changes);
        self.engine.database().forget_schema();
        altered
    }

    fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        self.run_sql(sql, || self.inner.execute(sql, parameters))
    }

    fn begin_reading(&self) -> Result<()> {
        self.engine.view()?;
        let database = self.engine.database();
        if database.engine().capabilities().concurrent_writers {
            // A transaction does not block writers there.
            self.inner.control(TransactionControl::Begin)
        } else {
            self.inner.begin_reading()
        }
    }

    fn set_authorizer(&self, authorizer: Arc<dyn SqlAuthorizer>) -> Result<()> {
        self.set_additional_authorizer(authorizer)
    }

    fn set_actor(&self, actor: Option<&str>) -> Result<()> {
        // Only a caller with all permissions may act in another name.
        let own = actor.map(|_| self.engine.caller_name());
        self.inner.set_actor(if self.engine.view()?.is_unrestricted() { actor } else { own })
    }
}

/// Rejects a condition over rows of other tables, whose permissions nobody would check. Callers run such a query by
/// itself, since this engine has no [`subqueries`](bobak_core::Capabilities::subqueries).
pub(super) fn reject_subqueries(condition: Option<&Condition>) -> Result<()> {
    if condition.is_some_and(Condition::has_subquery) {
        let message = "a condition over rows of another table must be a query of its own";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    Ok(())
}

/// Combines an optional condition with a rule.
pub(super) fn and(condition: Option<Condition>, rule: &Condition) -> Condition {
    match condition {
        Some(condition) => Condition::And(vec![condition, rule.clone()]),
        None => rule.clone(),
    }
}

/// The error if a caller that may not write begins a transaction, and the engine has none for readers.
fn no_transaction(error: Error) -> Error {
    if error.kind() != ErrorKind::Unsupported {
        return error;
    }
    let message = "permission denied: you may not write in this database, and a transaction to read would block writers: \
                   read without one";
    Error::new(ErrorKind::Denied, message)
}
