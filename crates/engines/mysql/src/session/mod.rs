//! A session: what executes operations and transactions. It takes a connection from the pool for
//! each operation, and keeps one for the time of a transaction.

mod cursor;
mod explain;
mod query;
mod transaction;
mod value_parts;

use self::query::{QueryStatement, reject_control, schema_in_transaction, statement_of};
use crate::batch;
use crate::connection::Connection;
use crate::connection::pool::PooledConnection;
use crate::database::Database;
use crate::keys::push_bare_key;
use crate::row_writes::write_row;
use crate::schema::details;
use crate::session::cursor::{CursorReader, CursorStatement, OpenedCursor};
use crate::session::transaction::OpenTransaction;
use crate::sql_texts::SqlTextKind;
use crate::values::encode::{check_assigns, plain_all};
use bobak_core::engine::fallback;
use bobak_core::plan::{ExplainedQuery, PlanStep};
use bobak_core::{
    BulkChange, Cursor, CursorId, ErrorKind, Interrupt, Join, OnError, Outcome, Parameter, Result,
    ResultColumn, Row, RowBuffer, SchemaChange, SchemaDetails, Session, SideEffects, Source,
    TableSchema, TransactionControl, Value, ValueAddress, ValueRange, ValueState, Write,
    WriteBatch,
};
use bobak_engine_common::{ServerPhase, in_row_callback, not_open};
use bobak_sql::server::{mysql_alter, mysql_catalog};
use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A session of a [`MySql`](crate::MySql).
pub(crate) struct MySqlSession<'e> {
    engine: &'e Database,
    /// Borrowed for as long as an operation runs: one from inside another finds it taken.
    state: RefCell<SessionState>,
    in_transaction: Cell<bool>,
    /// Whether cursors return NULL for dates that do not exist.
    invalid_dates_are_null: Cell<bool>,
}

#[derive(Default)]
struct SessionState {
    transaction: Option<OpenTransaction>,
    cursors: BTreeMap<u64, CursorReader>,
    last_cursor: u64,
}

impl<'e> MySqlSession<'e> {
    pub(crate) fn new(engine: &'e Database) -> Self {
        let (state, in_transaction, invalid_dates_are_null) = Default::default();
        Self { engine, state, in_transaction, invalid_dates_are_null }
    }

    fn state(&self) -> Result<RefMut<'_, SessionState>> {
        self.state.try_borrow_mut().map_err(|_| in_row_callback())
    }

    /// Runs something on the transaction's connection, or on one of the pool.
    ///
    /// If a pooled connection broke while it was idle, a read is repeated on a new one, if `again` says so.
    fn run<R>(
        &self,
        phase: ServerPhase,
        again: impl Fn() -> bool,
        mut run: impl FnMut(&mut Connection) -> Result<R>,
    ) -> Result<R> {
        Interrupt::check()?;
        let mut state = self.state()?;
        state.free_transaction();
        if let Some(transaction) = &mut state.transaction {
            return transaction.run(run);
        }
        let mut pooled = self.engine.pool.acquire_owned()?;
        pooled.phase = phase;
        let done = run(&mut pooled);
        if self.was_gone(&done, &pooled) && phase == ServerPhase::Read && again() {
            self.forget(pooled);
            let mut pooled = self.engine.pool.acquire_owned()?;
            pooled.phase = phase;
            return run(&mut pooled);
        }
        if pooled.broken {
            self.forget(pooled);
        }
        done
    }

    /// Runs a query and hands its rows out.
    fn run_query(
        &self,
        statement: &QueryStatement<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let handed = Cell::new(false);
        self.run(
            ServerPhase::Read,
            || !handed.get(),
            |connection| {
                query::run(connection, statement, &mut |lent| {
                    handed.set(true);
                    row(lent)
                })
            },
        )
    }

    /// Whether the connection was gone before it was used.
    fn was_gone<R>(&self, done: &Result<R>, pooled: &PooledConnection) -> bool {
        pooled.is_reused()
            && pooled.broken
            && matches!(done, Err(error) if error.kind() == ErrorKind::Unreachable)
    }

    /// Closes a broken connection and the idle ones of the pool; the next connection tries the next host first.
    fn forget(&self, pooled: PooledConnection) {
        let host = pooled.host;
        drop(pooled);
        self.engine.pool.close_idle(|connection| connection.host == host);
        self.engine.pool.connector().0.avoid(host);
    }

    /// Begins a transaction: on a new connection, if that of the pool was lost while it was idle.
    fn begin(&self) -> Result<OpenTransaction> {
        let mut pooled = self.engine.pool.acquire_owned()?;
        if let Err(error) = pooled.begin() {
            let again = pooled.is_reused() && pooled.broken;
            if pooled.broken {
                self.forget(pooled);
            }
            if !again {
                return Err(error);
            }
            pooled = self.engine.pool.acquire_owned()?;
            pooled.begin()?;
        }
        Ok(OpenTransaction::begun(pooled))
    }

    fn open_statement(
        &self,
        state: &mut SessionState,
        opening: CursorStatement<'_>,
    ) -> Result<OpenedCursor> {
        state.free_transaction();
        if let Some(transaction) = &mut state.transaction {
            let connection = transaction.lend()?;
            return match CursorReader::inside(connection, opening) {
                Ok(mut opened) => {
                    if let Some(connection) = opened.connection.take() {
                        transaction.put(connection);
                    }
                    Ok(opened)
                }
                Err((error, connection)) => {
                    transaction.put(connection);
                    transaction.note(&error);
                    Err(error)
                }
            };
        }
        state.spare_connections(self.engine.pool.max_connections() / 2);
        let mut pooled = self.engine.pool.acquire_owned()?;
        pooled.phase = ServerPhase::Read;
        let used_before = pooled.is_reused();
        match CursorReader::on_pooled(pooled, opening.clone()) {
            // The connection was gone before it was used.
            Err(error) if used_before && error.kind() == ErrorKind::Unreachable => {
                let mut pooled = self.engine.pool.acquire_owned()?;
                pooled.phase = ServerPhase::Read;
                CursorReader::on_pooled(pooled, opening)
            }
            other => other,
        }
    }
}

impl SessionState {
    /// Makes the transaction's connection free, which a cursor may be reading on.
    fn free_transaction(&mut self) {
        let Some(transaction) = &mut self.transaction else { return };
        for reader in self.cursors.values_mut().filter(|reader| reader.holds_transaction()) {
            if let Some(connection) = reader.drain() {
                transaction.put(connection);
            }
        }
    }

    /// Leaves cursors no more than so many connections: the oldest are read into memory.
    fn spare_connections(&mut self, most: usize) {
        let mut held = self.cursors.values().filter(|reader| reader.holds_pooled()).count();
        for reader in self.cursors.values_mut().filter(|reader| reader.holds_pooled()) {
            if held <= most.saturating_sub(1) {
                break;
            }
            reader.drain();
            held -= 1;
        }
    }
}

impl Session for MySqlSession<'_> {
    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        let mut state = self.state()?;
        state.free_transaction();
        let Some(transaction) = &mut state.transaction else {
            if step != TransactionControl::Begin {
                return Err(not_open());
            }
            state.transaction = Some(self.begin()?);
            self.in_transaction.set(true);
            return Ok(());
        };
        if transaction.control(step)? {
            return Ok(());
        }
        self.in_transaction.set(false);
        let commit = step == TransactionControl::Commit;
        state.transaction.take().map_or(Ok(()), |transaction| transaction.end(commit))
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction.get()
    }

    fn forbid_writes(&self) -> Result<()> {
        match &mut self.state()?.transaction {
            Some(transaction) => transaction.run(Connection::forbid_writes),
            None => Err(not_open()),
        }
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        write.table.check_written(write.verb)?;
        let Write { table, verb, fields, values } = *write;
        self.run(
            ServerPhase::Write,
            || false,
            |connection| {
                self.engine.narrow_tables.check_row(connection, table, verb, &values)?;
                write_row(connection, &self.engine.sql_texts, table, verb, fields, &values)
            },
        )
    }

    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        change.table.check_writable()?;
        check_assigns(change)?;
        self.run(
            ServerPhase::Write,
            || false,
            |connection| {
                self.engine.narrow_tables.check_change(connection, change)?;
                let statement = bobak_sql::change(connection.flavour.dialect, change);
                let parameters = plain_all(&statement.parameters);
                let done = connection.run(Some(change.table), &statement.text, parameters)?;
                Ok(if change.assign.is_some() { done.matched } else { done.affected })
            },
        )
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        if batch.check_writable().is_err() {
            let send = |rows: &WriteBatch, each: &mut dyn FnMut(Result<Outcome>)| {
                self.batch(rows, on_error, each)
            };
            return batch.send_writable(on_error, each, send);
        }
        let mut state = self.state()?;
        if batch.is_empty() {
            return Ok(());
        }
        let send = |connection: &mut Connection| {
            batch::send(connection, self.engine, batch, on_error, each)
        };
        state.free_transaction();
        if let Some(transaction) = &mut state.transaction {
            return transaction.run_steps(send);
        }
        let mut transaction = self.begin()?;
        let sent = transaction.run(send);
        let ended = transaction.end(sent.is_ok());
        sent.and(ended)
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        let mut parameters = Vec::with_capacity(key.len());
        push_bare_key(table, &key, &mut parameters)?;
        let found = Cell::new(false);
        self.run(
            ServerPhase::Read,
            || !found.get(),
            |connection| {
                let text =
                    self.engine.sql_texts.text(connection.flavour.dialect, table, SqlTextKind::Get);
                connection.each(Some(table), &text, parameters.clone(), &mut |cells, columns| {
                    found.set(true);
                    row(&crate::values::decode::BorrowedRow { cells, columns }).map(|()| true)
                })
            },
        )?;
        Ok(found.get())
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        if fallback::nearest(self, source, || self.state(), row)? {
            return Ok(());
        }
        let inside = self.in_transaction.get();
        self.run_query(&statement_of(self.engine.dialect, source, inside)?, row)
    }

    fn result_columns(
        &self,
        text: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Vec<ResultColumn>>> {
        let source = Source::Sql { text, parameters };
        let statement = statement_of(self.engine.dialect, &source, self.in_transaction.get())?;
        self.run(
            ServerPhase::Read,
            || true,
            |connection| connection.result_columns(&statement.text),
        )
    }

    fn read_part(
        &self,
        value: &ValueAddress<'_>,
        range: ValueRange,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<ValueState>> {
        self.read_part_of(value, range, bytes)
    }

    fn join(&self, join: &Join, row: &mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<bool> {
        let Some(statement) = query::join_of(self.engine.dialect, join) else { return Ok(false) };
        self.run_query(&statement, row).map(|()| true)
    }

    fn explain(&self, query: &ExplainedQuery<'_>) -> Result<Option<Vec<PlanStep>>> {
        self.explain_query(query)
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        if source.is_nearest() {
            return fallback::open(self, source);
        }
        let mut state = self.state()?;
        let statement = statement_of(self.engine.dialect, source, self.in_transaction.get())?;
        let (table, parameters) = (statement.table.clone(), &*statement.parameters);
        let invalid_dates_are_null = self.invalid_dates_are_null.get();
        let sql = &statement.text;
        let opening = CursorStatement { table, sql, parameters, invalid_dates_are_null };
        let opened = self.open_statement(&mut state, opening)?;
        state.last_cursor += 1;
        let id = state.last_cursor;
        state.cursors.insert(id, opened.reader);
        Ok(Cursor::new(CursorId(id), Arc::new(statement.columns.unwrap_or(opened.columns))))
    }

    fn fetch(&self, cursor: &mut Cursor, rows: &mut RowBuffer) -> Result<()> {
        let Ok(id) = cursor.id() else { return cursor.next_part(rows) };
        let mut state = self.state()?;
        let reader = state.cursors.get_mut(&id.0).ok_or_else(Cursor::not_open)?;
        let (done, freed) = reader.fetch(rows);
        if let (Some(connection), Some(transaction)) = (freed, &mut state.transaction) {
            transaction.put(connection);
        }
        done
    }

    fn close(&self, cursor: &mut Cursor) {
        let Ok(id) = cursor.id() else { return cursor.close() };
        // From inside a query it can't be closed: it goes with the session.
        let Ok(mut state) = self.state() else { return };
        let freed = state.cursors.remove(&id.0).and_then(CursorReader::end);
        if let (Some(connection), Some(transaction)) = (freed, &mut state.transaction) {
            transaction.put(connection);
        }
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.run(ServerPhase::Read, || true, |connection| mysql_catalog::read(connection))
    }

    fn views(&self) -> Result<Vec<TableSchema>> {
        self.run(ServerPhase::Read, || true, |connection| mysql_catalog::views(connection))
    }

    fn side_effects(&self) -> Result<SideEffects> {
        bobak_core::engine::fallback::query_side_effects(
            self,
            bobak_sql::side_effects(bobak_sql::Dialect::MySql),
        )
    }

    fn schema_details(&self) -> Result<SchemaDetails> {
        self.run(ServerPhase::Read, || true, details::read)
    }

    fn read_invalid_dates_as_null(&self) -> Result<()> {
        self.invalid_dates_are_null.set(true);
        Ok(())
    }

    fn triggers(&self) -> Result<Option<Vec<bobak_core::change_log::Trigger>>> {
        let triggers =
            self.run(ServerPhase::Read, || true, |connection| mysql_catalog::triggers(connection))?;
        // Who may not make triggers is shown none.
        Ok((!triggers.is_empty()).then_some(triggers))
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        let mut state = self.state()?;
        if state.transaction.is_some() {
            return Err(schema_in_transaction());
        }
        // Their answers hold the tables.
        state.spare_connections(0);
        drop(state);
        self.run(
            ServerPhase::Write,
            || false,
            |connection| {
                mysql_alter::run(connection, changes)?;
                connection.forget_statements();
                Ok(())
            },
        )
    }

    fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        reject_control(sql, self.state()?.transaction.is_some())?;
        let (text, values) = query::with_parameters(self.engine.dialect, sql, parameters)?;
        let changes_schema = query::changes_schema(sql);
        self.run(
            ServerPhase::Write,
            || false,
            |connection| {
                let done = connection.run(None, &text, values.clone())?;
                if changes_schema {
                    connection.forget_statements();
                }
                Ok(done.matched.max(done.affected))
            },
        )
    }
}

impl Drop for MySqlSession<'_> {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        for reader in std::mem::take(&mut state.cursors).into_values() {
            if let (Some(connection), Some(transaction)) = (reader.end(), &mut state.transaction) {
                transaction.put(connection);
            }
        }
        if let Some(transaction) = state.transaction.take() {
            // Of a connection that is lost, the server rolls it back.
            let _ = transaction.end(false);
        }
    }
}
