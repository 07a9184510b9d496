//! Sessions: operations and transactions over the shared state.
//!
//! A transaction works on a copy of the state, which shares everything unchanged with the published one. Commit
//! publishes the copy. A savepoint is another such copy. Outside a transaction, a write of one row changes the published
//! state in place: readers that still hold the old state keep the parts that they see.

use crate::select::{ResultRow, Results};
use crate::shared::{NAME, SharedState};
use crate::state::DatabaseState;
use crate::table::TableState;
use crate::write::WriteExecutor;
use crate::{alter, change, explain};
use bobak_core::codec::{self, EncodedRow, FRAME};
use bobak_core::engine::fallback;
use bobak_core::plan::{ExplainedQuery, PlanStep};
use bobak_core::{
    BulkChange, Cursor, CursorId, Error, ErrorKind, Interrupt, OnError, Outcome, Result, Row,
    RowBuffer, SchemaChange, Select, Session, Source, TableSchema, TransactionControl, Value,
    Write, WriteBatch,
};
use bobak_engine_common::{
    ColumnMap, HeldWriteLock, LocalTransaction, SavepointStack, in_row_callback,
};
use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The approximate number of bytes per block of a cursor.
const BLOCK_BYTES: usize = 64 * 1024;
/// Up to so many rows are changed in place; more are changed in a copy, so that readers do not wait.
const MAX_ROWS_IN_PLACE: usize = 64;

/// A session of the memory engine.
pub(super) struct MemorySession<'e> {
    shared: &'e SharedState,
    /// Borrowed as long as a call runs: so a call from inside a row's closure is found out.
    inner: RefCell<SessionState<'e>>,
    in_transaction: Cell<bool>,
}

struct SessionState<'e> {
    transaction: Option<SavepointStack<Transaction<'e>>>,
    /// A reusable buffer for rows.
    buffer: Vec<u8>,
    row: Vec<u8>,
    cursors: BTreeMap<CursorId, Results>,
    next_cursor: u64,
}

struct Transaction<'e> {
    shared: &'e SharedState,
    state: Arc<DatabaseState>,
    /// Other writers wait until it is dropped.
    _lock: HeldWriteLock<'e>,
}

impl<'e> MemorySession<'e> {
    pub fn new(shared: &'e SharedState) -> Self {
        let inner = SessionState {
            transaction: None,
            buffer: Vec::new(),
            row: Vec::new(),
            cursors: BTreeMap::new(),
            next_cursor: 1,
        };
        Self { shared, inner: RefCell::new(inner), in_transaction: Cell::new(false) }
    }

    #[inline]
    fn enter(&self) -> Result<RefMut<'_, SessionState<'e>>> {
        self.inner.try_borrow_mut().map_err(|_| in_row_callback())
    }

    /// The table as a read sees it; the result keeps it alive.
    fn read(&self, inner: &mut SessionState<'e>, schema: &TableSchema) -> Result<Arc<TableState>> {
        let published;
        let state: &DatabaseState = match &inner.transaction {
            Some(transaction) => &transaction.state,
            None => {
                published = self.shared.read();
                &published
            }
        };
        let position = state.find(schema)?;
        state.tables.get(position).map(Arc::clone).ok_or_else(|| {
            Error::new(ErrorKind::Schema, "the table does not exist").in_table(schema.name())
        })
    }

    /// Where the schema's columns are in its table, if not in the same places.
    fn map(&self, schema: &TableSchema) -> Result<Option<Arc<ColumnMap>>> {
        match &self.enter()?.transaction {
            Some(transaction) => transaction.state.map(schema),
            None => self.shared.read().map(schema),
        }
    }

    /// The result of an operation; if it failed because the table's columns are elsewhere, that of `mapped`.
    fn or_mapped<R>(
        &self,
        table: &TableSchema,
        result: Result<R>,
        mapped: impl FnOnce(&ColumnMap) -> Result<R>,
    ) -> Result<R> {
        match result {
            Err(error) if error.kind() == ErrorKind::Schema => match self.map(table) {
                Ok(Some(map)) => mapped(&map),
                _ => Err(error),
            },
            result => result,
        }
    }

    fn results(&self, inner: &mut SessionState<'e>, select: &Select) -> Result<Results> {
        select.check_lock(inner.transaction.is_some())?;
        select.check_search(NAME, true)?;
        Results::new(self.read(inner, &select.table)?, select)
    }
}

/// The operations on tables whose columns are where the schema has them.
impl MemorySession<'_> {
    fn write_direct(&self, write: &Write<'_>) -> Result<Outcome> {
        Interrupt::check()?;
        let inner = &mut *self.enter()?;
        inner.row.clear();
        codec::encode_slice(&mut inner.row, write.values)
            .map_err(|error| error.in_table(write.table.name()))?;
        let row = EncodedRow::new(inner.row.get(FRAME..).unwrap_or_default());
        let buffer = &mut inner.buffer;
        match &mut inner.transaction {
            Some(transaction) => write_row(&mut transaction.state, write, row, buffer),
            None => {
                let _lock = self.shared.writer.pass()?;
                self.shared.change(|state| write_row(state, write, row, buffer))
            }
        }
    }

    fn change_direct(&self, change: &BulkChange<'_>) -> Result<u64> {
        let inner = &mut *self.enter()?;
        let _lock = match inner.transaction {
            Some(_) => None,
            None => Some(self.shared.writer.hold()?),
        };
        let slots = change::concerned(self.read(inner, change.table)?, change.condition);
        Interrupt::check()?;
        let run = |state: &mut Arc<DatabaseState>| {
            let position = state.find(change.table)?;
            let state = Arc::make_mut(state);
            match change.assign {
                Some(assign) => change::update(state, position, change.table, &slots, assign),
                None => change::delete(state, position, &slots),
            }
        };
        match &mut inner.transaction {
            Some(transaction) => run(&mut transaction.state),
            None if slots.is_empty() => Ok(0),
            None if slots.len() <= MAX_ROWS_IN_PLACE => self.shared.change(run),
            None => {
                let mut state = Arc::clone(&self.shared.read());
                let changed = run(&mut state)?;
                self.shared.publish(state)?;
                Ok(changed)
            }
        }
    }

    fn get_direct(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        let inner = &mut *self.enter()?;
        let found = match &inner.transaction {
            Some(transaction) => transaction.state.get(table, key)?,
            None => self.shared.read().get(table, key)?,
        };
        match found {
            Some(bytes) => row(&EncodedRow::new(&bytes)).map(|()| true),
            None => Ok(false),
        }
    }

    fn query_direct(
        &self,
        select: &Select,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let inner = &mut *self.enter()?;
        let mut results = self.results(inner, select)?;
        while let Some(true) = results.next(|found| row(found.as_row()))? {}
        Ok(())
    }

    fn explain_direct(&self, select: &Select) -> Result<PlanStep> {
        let table = self.read(&mut *self.enter()?, &select.table)?;
        Ok(explain::step(&table, select))
    }

    fn open_direct(&self, select: &Select) -> Result<Cursor> {
        let inner = &mut *self.enter()?;
        let columns = Arc::new(Source::select_columns(select));
        let results = self.results(inner, select)?;
        let id = CursorId(inner.next_cursor);
        inner.next_cursor += 1;
        inner.cursors.insert(id, results);
        Ok(Cursor::new(id, columns))
    }
}

impl Session for MemorySession<'_> {
    fn tables(&self) -> Result<Vec<TableSchema>> {
        let state = match &self.enter()?.transaction {
            Some(transaction) => Arc::clone(&transaction.state),
            None => Arc::clone(&self.shared.read()),
        };
        let schemas = state.tables.iter().map(|table| &table.schema);
        let theirs =
            schemas.filter(|schema| !bobak_core::change_log::is_change_log_table(schema.name()));
        Ok(theirs.map(|schema| TableSchema::clone(schema)).collect())
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        if let Some(transaction) = &mut self.enter()?.transaction {
            transaction.state = Arc::new(alter::alter(&transaction.state, changes)?);
            return Ok(());
        }
        let _lock = self.shared.writer.hold()?;
        let state = Arc::clone(&self.shared.read());
        self.shared.publish(Arc::new(alter::alter(&state, changes)?))
    }

    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        let inner = &mut *self.enter()?;
        let begin = || {
            let lock = self.shared.writer.hold()?;
            let state = Arc::clone(&self.shared.read());
            Ok(Transaction { shared: self.shared, state, _lock: lock })
        };
        let result = SavepointStack::control(&mut inner.transaction, step, begin);
        self.in_transaction.set(inner.transaction.is_some());
        result
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction.get()
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        let written = self.write_direct(write);
        self.or_mapped(write.table, written, |map| map.write(self, write))
    }

    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        let changed = self.change_direct(change);
        self.or_mapped(change.table, changed, |map| map.change(self, change))
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        for run in batch.runs() {
            if matches!(self.map(run.table), Ok(Some(_))) {
                return fallback::batch(self, batch, on_error, each);
            }
        }
        let inner = &mut *self.enter()?;
        let buffer = &mut inner.buffer;
        match &mut inner.transaction {
            Some(transaction) => {
                let before = (on_error == OnError::Stop).then(|| Arc::clone(&transaction.state));
                let result = run_batch(&mut transaction.state, buffer, batch, on_error, each);
                if let (Err(_), Some(before)) = (&result, before) {
                    transaction.state = before;
                }
                result
            }
            None => {
                let _lock = self.shared.writer.hold()?;
                let mut state = Arc::clone(&self.shared.read());
                run_batch(&mut state, buffer, batch, on_error, each)?;
                self.shared.publish(state)
            }
        }
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        let found = self.get_direct(table, key, row);
        self.or_mapped(table, found, |_| fallback::get(self, table, key, row))
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        if fallback::nearest(self, source, || self.enter(), row)? {
            return Ok(());
        }
        let select = source.as_select(NAME)?;
        let passed = self.query_direct(select, row);
        self.or_mapped(&select.table, passed, |map| self.query_direct(&map.select(select), row))
    }

    fn explain(&self, query: &ExplainedQuery<'_>) -> Result<Option<Vec<PlanStep>>> {
        let ExplainedQuery::Source(source) = query else { return Ok(None) };
        let select = source.as_select(NAME)?;
        let explained = self.explain_direct(select);
        let step = self
            .or_mapped(&select.table, explained, |map| self.explain_direct(&map.select(select)))?;
        Ok(Some(vec![step]))
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        if source.is_nearest() {
            return fallback::open(self, source);
        }
        let select = source.as_select(NAME)?;
        let opened = self.open_direct(select);
        self.or_mapped(&select.table, opened, |map| self.open_direct(&map.select(select)))
    }

    fn fetch(&self, cursor: &mut Cursor, rows: &mut RowBuffer) -> Result<()> {
        let Ok(id) = cursor.id() else { return cursor.next_part(rows) };
        let inner = &mut *self.enter()?;
        rows.clear();
        let results = inner.cursors.get_mut(&id).ok_or_else(Cursor::not_open)?;
        while rows.bytes() < BLOCK_BYTES {
            let pushed = results.next(|row| match row {
                ResultRow::Whole(row) => {
                    rows.push_encoded(row);
                    Ok(())
                }
                ResultRow::Other(row) => rows.push(row),
            })?;
            if pushed.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn close(&self, cursor: &mut Cursor) {
        let Ok(id) = cursor.id() else { return cursor.close() };
        if let Ok(mut inner) = self.enter() {
            inner.cursors.remove(&id);
        }
    }
}

impl LocalTransaction for Transaction<'_> {
    type Mark = Arc<DatabaseState>;

    fn mark(&mut self) -> Arc<DatabaseState> {
        Arc::clone(&self.state)
    }

    fn return_to(&mut self, mark: &Arc<DatabaseState>) -> Result<()> {
        self.state = Arc::clone(mark);
        Ok(())
    }

    fn commit(self) -> Result<()> {
        self.shared.publish(self.state)
    }
}

#[inline]
fn write_row(
    state: &mut Arc<DatabaseState>,
    write: &Write<'_>,
    row: EncodedRow<'_>,
    buffer: &mut Vec<u8>,
) -> Result<Outcome> {
    let writer = WriteExecutor::new(state, write.table, write.verb, write.fields)?;
    writer.write(Arc::make_mut(state), row, buffer)
}

/// Writes one row without a session.
pub(super) fn write_one(shared: &SharedState, write: &Write<'_>) -> Result<Outcome> {
    let mut row = Vec::new();
    codec::encode_slice(&mut row, write.values)
        .map_err(|error| error.in_table(write.table.name()))?;
    let row = EncodedRow::new(row.get(FRAME..).unwrap_or_default());
    let _lock = shared.writer.pass()?;
    shared.change(|state| write_row(state, write, row, &mut Vec::new()))
}

fn run_batch(
    state: &mut Arc<DatabaseState>,
    buffer: &mut Vec<u8>,
    batch: &WriteBatch,
    on_error: OnError,
    each: &mut dyn FnMut(Result<Outcome>),
) -> Result<()> {
    for run in batch.runs() {
        let new_writer = |state| WriteExecutor::new(state, run.table, run.verb, run.fields);
        let writer = match (new_writer(state), on_error) {
            (Ok(writer), _) => writer,
            (Err(error), OnError::Stop) => return Err(error.at_row(run.first)),
            (Err(_), OnError::Continue) => {
                for row in run.first..run.first + run.rows {
                    let missing = new_writer(state).map(|_| Outcome::Ignored);
                    each(missing.map_err(|error| error.at_row(row)));
                }
                continue;
            }
        };
        let state = Arc::make_mut(state);
        for (row, number) in run.iter().zip(run.first..) {
            // With `Continue`, rows before an error stay, so the batch cannot be interrupted.
            if number % 256 == 0 && on_error == OnError::Stop {
                Interrupt::check()?;
            }
            match writer.write(state, row, buffer) {
                Ok(outcome) => each(Ok(outcome)),
                Err(error) if on_error == OnError::Stop => return Err(error.at_row(number)),
                Err(error) => each(Err(error.at_row(number))),
            }
        }
    }
    Ok(())
}
