//! Sessions. A session has a connection only during a call or a transaction.

pub(crate) mod cursor;
mod explain;
pub(crate) mod fetch;
pub(crate) mod open_cursors;
pub(crate) mod outcome;
pub(crate) mod query;
pub(crate) mod row_writes;
pub(crate) mod sql_text;
pub(crate) mod state;
mod transaction;
mod typed;
pub(crate) mod undo;
mod value_parts;

use self::state::SessionState;
use crate::batch;
use crate::database::Database;
use crate::protocol::row::PgColumn;
use crate::schema::alter;
use bobak_core::engine::fallback;
use bobak_core::plan::{ExplainedQuery, PlanStep};
use bobak_core::{
    BulkChange, Cursor, Interrupt, Join, OnError, Outcome, Parameter, Result, ResultColumn, Row,
    RowBuffer, SchemaChange, SchemaDetails, Session, SideEffects, Source, TableSchema,
    TransactionControl, Value, ValueAddress, ValueRange, ValueState, Write, WriteBatch,
};
use bobak_engine_common::in_row_callback;
use bobak_sql::server::{postgres_catalog as catalog, postgres_details};
use std::cell::{Cell, RefCell, RefMut};
use std::io::Read;
use std::sync::Arc;

pub(crate) struct PgSession<'e> {
    state: RefCell<SessionState<'e>>,
    in_transaction: Cell<bool>,
}

impl<'e> PgSession<'e> {
    pub fn new(database: &'e Database) -> Self {
        Self { state: RefCell::new(SessionState::new(database)), in_transaction: Cell::new(false) }
    }

    /// Borrows the state.
    ///
    /// # Errors
    /// `Misuse` for a call from inside another, such as in the callback of a query.
    fn state(&self) -> Result<RefMut<'_, SessionState<'e>>> {
        self.state.try_borrow_mut().map_err(|_| in_row_callback())
    }
}

impl Session for PgSession<'_> {
    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        let mut state = self.state()?;
        // What begins and ends transactions is not to be ended itself.
        let done = Interrupt::hold_off(|| match step {
            TransactionControl::Begin => state.begin(),
            TransactionControl::Commit => state.end(true),
            TransactionControl::Rollback => state.end(false),
            _ => state.mark(step),
        });
        match step {
            TransactionControl::Begin if done.is_ok() => self.in_transaction.set(true),
            TransactionControl::Commit | TransactionControl::Rollback => {
                self.in_transaction.set(false)
            }
            _ => {}
        }
        done
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction.get()
    }

    fn forbid_writes(&self) -> Result<()> {
        self.state()?.forbid_writes()
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        write.table.check_written(write.verb)?;
        let mut state = self.state()?;
        state.with(|state, connection| row_writes::write(state, connection, write))
    }

    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        change.table.check_writable()?;
        let mut state = self.state()?;
        state.with(|state, connection| sql_text::change(state, connection, change))
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
        state.with(|state, connection| batch::run(state, connection, batch, on_error, each))
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        let mut state = self.state()?;
        state.with(|state, connection| query::get(state, connection, table, key, row))
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        if fallback::nearest(self, source, || self.state(), row)? {
            return Ok(());
        }
        let mut state = self.state()?;
        state.with(|state, connection| query::run(state, connection, source, row))
    }

    fn result_columns(
        &self,
        text: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Vec<ResultColumn>>> {
        let source = Source::Sql { text, parameters };
        let mut state = self.state()?;
        state.with(|state, connection| {
            let prepared = query::prepare(state, connection, &source)?.prepared;
            Ok(Some(prepared.columns.iter().map(PgColumn::described).collect()))
        })
    }

    fn read_part(
        &self,
        value: &ValueAddress<'_>,
        range: ValueRange,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<ValueState>> {
        self.read_part_of(value, range, bytes)
    }

    fn write_value(
        &self,
        value: &ValueAddress<'_>,
        length: u64,
        source: &mut dyn Read,
    ) -> Result<bool> {
        self.write_value_of(value, length, source)
    }

    fn join(&self, join: &Join, row: &mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<bool> {
        let mut state = self.state()?;
        state.with(|state, connection| query::run_join(state, connection, join, row))
    }

    fn explain(&self, query: &ExplainedQuery<'_>) -> Result<Option<Vec<PlanStep>>> {
        self.explain_query(query)
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        if source.is_nearest() {
            return fallback::open(self, source);
        }
        crate::session::cursor::open(&mut *self.state()?, source)
    }

    fn fetch(&self, cursor: &mut Cursor, rows: &mut RowBuffer) -> Result<()> {
        rows.clear();
        let Ok(id) = cursor.id() else { return cursor.next_part(rows) };
        crate::session::cursor::fetch(&mut *self.state()?, id, rows)
    }

    fn close(&self, cursor: &mut Cursor) {
        let Ok(id) = cursor.id() else { return cursor.close() };
        if let Ok(mut state) = self.state() {
            crate::session::cursor::close(&mut state, id);
        }
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        let mut state = self.state()?;
        state.with(|state, connection| catalog::tables(&mut state.server(connection)))
    }

    fn views(&self) -> Result<Vec<TableSchema>> {
        let mut state = self.state()?;
        state.with(|state, connection| catalog::views(&mut state.server(connection)))
    }

    fn side_effects(&self) -> Result<SideEffects> {
        bobak_core::engine::fallback::query_side_effects(
            self,
            bobak_sql::side_effects(bobak_sql::Dialect::Postgres),
        )
    }

    fn schema_details(&self) -> Result<SchemaDetails> {
        let mut state = self.state()?;
        state.with(|state, connection| postgres_details::read(&mut state.server(connection)))
    }

    fn triggers(&self) -> Result<Option<Vec<bobak_core::change_log::Trigger>>> {
        let mut state = self.state()?;
        state.with(|state, connection| catalog::triggers(&mut state.server(connection))).map(Some)
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        let mut state = self.state()?;
        // A cursor's own connection would make the change wait for itself.
        state.drain_inside()?;
        state.cursors.release_all()?;
        state.with(|state, connection| alter::run(state, connection, changes))
    }

    fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        let mut state = self.state()?;
        state.with(|state, connection| sql_text::execute(state, connection, sql, parameters))
    }

    fn set_actor(&self, actor: Option<&str>) -> Result<()> {
        // A setting that ends with the transaction: the counter's row would be fought over.
        match actor {
            Some(name) => self
                .execute("SELECT set_config('bobak.actor', ?, true)", &[name.into()])
                .map(|_| ()),
            None => Ok(()),
        }
    }
}

impl Drop for PgSession<'_> {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        if state.open {
            // Nobody is left to tell; a line that breaks here is rolled back too.
            let _ = state.end(false);
        }
    }
}
