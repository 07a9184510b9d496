//! A session with the rules of its engine's records in front of it.

use super::engine_rules::EngineRules;
use super::table_rules::TableRules;
use bobak_core::change_log::Trigger;
use bobak_core::engine::fallback;
use bobak_core::plan::{ExplainedQuery, PlanStep};
use bobak_core::{
    Assign, BulkChange, Cursor, Error, ErrorKind, Join, OnError, Outcome, Parameter, QueryTemplate,
    Result, Row, RowBuffer, SchemaChange, SchemaDetails, Session, SideEffects, SlotValues, Source,
    SqlAuthorizer, TableSchema, TransactionControl, Value, ValueAddress, ValueRange, ValueState,
    Verb, Write, WriteBatch, atomically,
};
use std::cell::{Cell, Ref, RefCell};
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

/// Where a session goes back to.
type ReturnSlot<'e> = Arc<Mutex<Option<Box<dyn Session + 'e>>>>;

/// A session that normalizes and validates rows before they are written, and runs hooks.
pub(crate) struct RuleSession<'e> {
    /// `None` while a hook uses it.
    inner: RefCell<Option<Box<dyn Session + 'e>>>,
    pub(super) rules: &'e EngineRules,
    /// Whether the open transaction replays changes, which were checked when they were made.
    replays: Cell<bool>,
    /// Whether deleted rows are being changed, which a condition has found.
    pub(super) shows_deleted: Cell<bool>,
    /// How many hooks are running, each inside of the one before.
    pub(super) depth: usize,
    /// Where the inner session goes when a hook has ended.
    return_to: Option<ReturnSlot<'e>>,
}

impl<'e> RuleSession<'e> {
    pub(super) fn new(inner: Box<dyn Session + 'e>, rules: &'e EngineRules) -> Self {
        let (inner, replays) = (RefCell::new(Some(inner)), Cell::new(false));
        let shows_deleted = Cell::new(false);
        Self { inner, rules, replays, shows_deleted, depth: 0, return_to: None }
    }

    /// The session of a hook. Dropping it returns the inner session.
    pub(super) fn lent(
        inner: Box<dyn Session + 'e>,
        outer: &Self,
        return_to: ReturnSlot<'e>,
    ) -> Self {
        let mut lent = Self::new(inner, outer.rules);
        lent.depth = outer.depth + 1;
        lent.return_to = Some(return_to);
        lent
    }

    /// The session behind this one.
    ///
    /// # Errors
    /// `Misuse` while a hook uses it.
    pub(super) fn inner(&self) -> Result<Ref<'_, Box<dyn Session + 'e>>> {
        let inner = self.inner.try_borrow().map_err(|_| in_use())?;
        Ref::filter_map(inner, Option::as_ref).map_err(|_| in_use())
    }

    pub(super) fn take_inner(&self) -> Result<Box<dyn Session + 'e>> {
        self.inner.try_borrow_mut().ok().and_then(|mut inner| inner.take()).ok_or_else(in_use)
    }

    pub(super) fn put_inner(&self, session: Option<Box<dyn Session + 'e>>) {
        self.inner.replace(session);
    }

    /// The rules of a table.
    pub(super) fn rules_of(&self, table: &TableSchema) -> Option<Arc<TableRules>> {
        if self.replays.get() { None } else { self.rules.of(table) }
    }

    /// Whether changes are replayed: rows are then written and read as they are.
    pub(super) fn is_replaying(&self) -> bool {
        self.replays.get()
    }

    /// Runs `work` in a transaction, or under a savepoint of the open one. An error undoes all of it.
    pub(super) fn atomically<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        atomically(self, "bobak_rules", work)
    }

    /// Updates many rows: at once if what is assigned says enough, else row by row.
    pub(super) fn update_many(
        &self,
        rules: &TableRules,
        change: &BulkChange<'_>,
        assign: &[Assign],
    ) -> Result<u64> {
        let depends_on_row = |assign: &Assign| match assign {
            Assign::Set { .. } => false,
            Assign::Add { column, .. } => rules.has_rule(*column),
        };
        if rules.has_hooks(Verb::Update)
            || rules.needs_whole_rows()
            || assign.iter().any(depends_on_row)
        {
            return fallback::change(self, change);
        }
        let assign = rules.apply_to_assignments(change.table, assign)?;
        self.inner()?.change(&BulkChange { assign: Some(&assign), ..*change })
    }
}

impl Drop for RuleSession<'_> {
    fn drop(&mut self) {
        if let Some(slot) = &self.return_to {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = self.inner.take();
        }
    }
}

fn in_use() -> Error {
    Error::new(ErrorKind::Misuse, "the session is in use by a hook or by a query's callback")
}

/// Implements methods by those of the inner session.
macro_rules! delegate {
    ($(fn $method:ident(&self $(, $argument:ident: $type:ty)*) -> $result:ty;)+) => {
        $(fn $method(&self $(, $argument: $type)*) -> $result {
            self.inner()?.$method($($argument),*)
        })+
    };
}

impl Session for RuleSession<'_> {
    delegate! {
        fn tables(&self) -> Result<Vec<TableSchema>>;
        fn views(&self) -> Result<Vec<TableSchema>>;
        fn alter(&self, changes: &[SchemaChange]) -> Result<()>;
        fn fetch(&self, cursor: &mut Cursor, rows: &mut RowBuffer) -> Result<()>;
        fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64>;
        fn begin_reading(&self) -> Result<()>;
        fn forbid_writes(&self) -> Result<()>;
        fn set_actor(&self, actor: Option<&str>) -> Result<()>;
        fn triggers(&self) -> Result<Option<Vec<Trigger>>>;
        fn schema_details(&self) -> Result<SchemaDetails>;
        fn side_effects(&self) -> Result<SideEffects>;
        fn set_authorizer(&self, authorizer: Arc<dyn SqlAuthorizer>) -> Result<()>;
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        self.live_source(source, |source| self.inner()?.query(source, row))
    }

    fn join(&self, join: &Join, row: &mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<bool> {
        self.inner()?.join(&*self.live_join(join)?, row)
    }

    fn explain(&self, query: &ExplainedQuery<'_>) -> Result<Option<Vec<PlanStep>>> {
        match query {
            ExplainedQuery::Source(source) => self.live_source(source, |source| {
                self.inner()?.explain(&ExplainedQuery::Source(*source))
            }),
            ExplainedQuery::Join(join) => {
                self.inner()?.explain(&ExplainedQuery::Join(&*self.live_join(join)?))
            }
        }
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        self.live_source(source, |source| self.inner()?.open(source))
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        self.get_live(table, key, row)
    }

    fn run_template(
        &self,
        template: &QueryTemplate,
        values: &SlotValues<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<Option<u64>> {
        match self.rules.concern(template) {
            true => Ok(None),
            false => self.inner()?.run_template(template, values, row),
        }
    }

    fn read_part(
        &self,
        value: &ValueAddress<'_>,
        range: ValueRange,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<ValueState>> {
        let rules = self.rules_of(value.table);
        match rules.map_or(Ok(None), |rules| self.hidden_by(&rules, value.table))? {
            None => self.inner()?.read_part(value, range, bytes),
            Some(_) => {
                let get = |row: &mut dyn FnMut(&dyn Row) -> Result<()>| {
                    self.get_live(value.table, value.key, row)
                };
                fallback::read_part(value, range, bytes, get)
            }
        }
    }

    fn write_value(
        &self,
        value: &ValueAddress<'_>,
        length: u64,
        source: &mut dyn Read,
    ) -> Result<bool> {
        match self.rules_of(value.table) {
            None => self.inner()?.write_value(value, length, source),
            Some(_) => {
                fallback::write_value(value, length, source, |change| Session::change(self, change))
            }
        }
    }

    fn in_transaction(&self) -> bool {
        // Hooks run in a transaction.
        self.inner().map_or(true, |inner| inner.in_transaction())
    }

    fn close(&self, cursor: &mut Cursor) {
        if let Ok(inner) = self.inner() {
            inner.close(cursor);
        }
    }

    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        let inner = self.inner()?;
        let done = inner.control(step);
        if !inner.in_transaction() {
            self.replays.set(false);
        }
        done
    }

    fn begin_replay(&self, tables: &[&str]) -> Result<()> {
        self.inner()?.begin_replay(tables)?;
        self.replays.set(true);
        Ok(())
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        match self.rules_of(write.table) {
            Some(rules) => self.write_row(&rules, write),
            None => self.inner()?.write(write),
        }
    }

    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        let condition = self.live_condition(change.condition)?;
        let change = &BulkChange { condition: condition.as_deref(), ..*change };
        match (self.rules_of(change.table), change.assign) {
            (Some(rules), Some(assign)) => self.update_live(&rules, change, assign),
            (Some(rules), None) => self.delete_many(&rules, change),
            (None, _) => self.inner()?.change(change),
        }
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        self.write_batch(batch, on_error, each)
    }
}

impl TableRules {
    /// The assignments with normalized and valid values.
    fn apply_to_assignments(&self, table: &TableSchema, assign: &[Assign]) -> Result<Vec<Assign>> {
        let mut values = vec![Value::Null; table.columns().len()];
        for step in assign {
            if let (Assign::Set { column, value }, true) = (step, self.has_rule(step.column()))
                && let Some(slot) = values.get_mut(*column)
            {
                *slot = value.clone();
            }
        }
        let set = assign.iter().map(Assign::column).filter(|column| self.has_rule(*column));
        let set = set.collect();
        self.normalize(table, set, &mut values)?;
        self.check(table, set, &values, false)?;
        let replaced = |step: &Assign| match values.get(step.column()) {
            Some(value) if set.contains(step.column()) => {
                Assign::Set { column: step.column(), value: value.clone() }
            }
            _ => step.clone(),
        };
        Ok(assign.iter().map(replaced).collect())
    }
}
