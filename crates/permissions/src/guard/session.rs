//! A session of an engine with a caller before it.

use super::engine::{Guarded, View, get};
use super::table::TablePermissions;
use crate::right::Right;
use bobak_core::feed::Trigger;
use bobak_core::{
    Batch, Change, Condition, Control, Cursor, Error, ErrorKind, OnError, Outcome, Result, Row,
    RowBuffer, SchemaChange, Select, Session, SideEffects, Source, SqlAuthorizer, TableSchema,
    Value, Write, atomically,
};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A session that does what its caller may do.
pub(super) struct GuardedSession<'e> {
    pub(super) guard: &'e Guarded,
    pub(super) inner: Box<dyn Session + 'e>,
    /// The view by which the engine asks about SQL, once it does.
    pub(super) asked: RefCell<Option<Arc<View>>>,
    /// Who is asked about SQL besides.
    pub(super) besides: RefCell<Option<Arc<dyn SqlAuthorizer>>>,
    /// Whether the SQL under way may put rows in the place of others.
    pub(super) replaces: Arc<AtomicBool>,
}

impl<'e> GuardedSession<'e> {
    pub(super) fn new(guard: &'e Guarded, inner: Box<dyn Session + 'e>) -> Self {
        Self {
            guard,
            inner,
            asked: RefCell::default(),
            besides: RefCell::default(),
            replaces: Arc::default(),
        }
    }

    /// What the caller may do with a table.
    pub(super) fn rights(&self, table: &TableSchema) -> Result<Arc<TablePermissions>> {
        self.guard.table(table, || self.inner.tables())
    }

    /// Hands a query over the rows that may be read to `run`.
    fn readable<R>(
        &self,
        select: &Select,
        run: impl FnOnce(&Source<'_>) -> Result<R>,
    ) -> Result<R> {
        let rights = self.rights(&select.table)?;
        let Some(rule) = rights.check(Right::Read, &select.table)? else {
            return run(&Source::Select(select));
        };
        let condition = Some(both(select.condition.clone(), rule));
        run(&Source::Select(&Select { condition, ..select.clone() }))
    }

    /// Runs `work` in a transaction, or inside the open one behind a mark: an error undoes all of
    /// it.
    pub(super) fn atomically<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        atomically(&*self.inner, "bobak_permissions", work)
    }
}

impl Session for GuardedSession<'_> {
    fn control(&self, step: Control<'_>) -> Result<()> {
        if step == Control::Begin && !self.guard.view()?.writes(self.guard.database()) {
            return self.begin_reading();
        }
        if step == Control::Commit
            && let Err(error) = self.guard.view()
        {
            // Who is not let in any more makes nothing last.
            let _ = self.inner.control(Control::Rollback);
            return Err(error);
        }
        self.inner.control(step)
    }

    fn in_transaction(&self) -> bool {
        self.inner.in_transaction()
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        let rights = self.rights(write.table)?;
        let written = match rights.writes_freely(write) {
            true => self.inner.write(write),
            false => self.write_by_rule(&rights, write),
        };
        written.map_err(|error| self.conceal(Some(write.table.name()), error))
    }

    fn change(&self, change: &Change<'_>) -> Result<u64> {
        let changed = self.change_by_rule(&*self.rights(change.table)?, change);
        changed.map_err(|error| self.conceal(Some(change.table.name()), error))
    }

    fn batch(
        &self,
        batch: &Batch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        let table = |row: u64| {
            let mut runs = batch.runs().filter(|run| run.first <= row);
            runs.by_ref().last().map(|run| run.table.name())
        };
        let conceal = |row: u64, error: Error| self.conceal(table(row), error);
        let mut row = 0;
        let mut each = |outcome: Result<Outcome>| {
            each(outcome.map_err(|error| conceal(row, error)));
            row += 1;
        };
        let done = self.batch_by_rule(batch, on_error, &mut each);
        done.map_err(|error| conceal(error.row().unwrap_or_default(), error))
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        let rights = self.rights(table)?;
        let rule = rights.check(Right::Read, table)?;
        get(rule, table, row, |row| self.inner.get(table, key, row))
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        match source {
            Source::Select(select) => self.readable(select, |source| self.inner.query(source, row)),
            Source::Sql { text, .. } => self.set_authorizer(text, || self.inner.query(source, row)),
        }
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        match source {
            Source::Select(select) => self.readable(select, |source| self.inner.open(source)),
            Source::Sql { text, .. } => self.set_authorizer(text, || self.inner.open(source)),
        }
    }

    fn fetch(&self, cursor: &mut Cursor, rows: &mut RowBuffer) -> Result<()> {
        // Who is not let in any more gets no more rows either.
        self.guard.view()?;
        self.inner.fetch(cursor, rows)
    }

    fn close(&self, cursor: &mut Cursor) {
        self.inner.close(cursor);
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.guard.visible(self.inner.tables()?)
    }

    fn triggers(&self) -> Result<Option<Vec<Trigger>>> {
        let view = self.guard.view()?;
        let mut triggers = self.inner.triggers()?;
        // Whoever sees a table may know what writes to it set off, as he sees it happen; of others he
        // is not to know that they are there.
        if let Some(triggers) = &mut triggers {
            triggers.retain(|trigger| view.sees(self.guard.database(), &trigger.table));
        }
        Ok(triggers)
    }

    fn side_effects(&self) -> Result<SideEffects> {
        let view = self.guard.view()?;
        let effects = self.inner.side_effects()?;
        Ok(effects.only(|table| view.sees(self.guard.database(), table)))
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.guard.check_alter(changes)?;
        self.guard.database().forget_schema();
        let altered = self.inner.alter(changes);
        self.guard.database().forget_schema();
        altered
    }

    fn execute(&self, sql: &str, parameters: &[Value<'_>]) -> Result<u64> {
        self.set_authorizer(sql, || self.inner.execute(sql, parameters))
    }

    fn begin_reading(&self) -> Result<()> {
        self.guard.view()?;
        let database = self.guard.database();
        let begun = if database.engine().capabilities().concurrent_writers {
            // There it keeps nobody waiting.
            self.inner.control(Control::Begin)
        } else {
            self.inner.begin_reading()
        };
        begun.map_err(|error| match error.kind() {
            ErrorKind::Unsupported => {
                let message = "a transaction would keep writers waiting here, and you may write nothing \
                               in this database: read without one";
                Error::new(ErrorKind::Denied, message)
            }
            _ => error,
        })
    }

    fn set_authorizer(&self, guard: Arc<dyn SqlAuthorizer>) -> Result<()> {
        self.ask_besides(guard)
    }

    fn set_actor(&self, who: Option<&str>) -> Result<()> {
        // Only who may do everything speaks for others.
        let own = who.map(|_| self.guard.caller_name());
        self.inner.set_actor(if self.guard.view()?.is_whole() { who } else { own })
    }
}

/// Both conditions, where there are two.
pub(super) fn both(condition: Option<Condition>, rule: &Condition) -> Condition {
    match condition {
        Some(condition) => Condition::And(vec![condition, rule.clone()]),
        None => rule.clone(),
    }
}
