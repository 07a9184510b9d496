//! Sessions: what executes operations and transactions.

use super::fallback;
#[cfg(doc)]
use super::plan::QueryPlan;
use super::plan::{ExplainedQuery, PlanStep};
use crate::change_log::{Trigger, counter_schema};
use crate::{
    Assign, BulkChange, Cursor, Error, ErrorKind, Join, OnError, Outcome, Parameter, QueryTemplate,
    Result, ResultColumn, Row, RowBuffer, SchemaChange, SchemaDetails, SideEffects, SlotValues,
    Source, SqlAuthorizer, TableSchema, TransactionControl, Value, ValueAddress, ValueRange,
    ValueState, Write, WriteBatch,
};
use std::io::Read;
use std::sync::Arc;

/// A connection to an engine: executes operations and transactions.
///
/// One thread uses a session at a time. Dropping a session MUST roll back its open transaction. See
/// the [module](super) for the contract that all methods share, and for the errors that any of them
/// may return.
pub trait Session: Send {
    /// Required. Begins, commits or rolls back a transaction, or handles a savepoint.
    ///
    /// # Errors
    /// `Misuse` for a step that does not fit: a commit without a begin, a begin inside a
    /// transaction, an unknown savepoint. `Begin`: `Busy` if another writer does not finish within
    /// the busy timeout. After a failed `Commit` the transaction MUST be rolled back, unless the
    /// error is `Unknown`.
    fn control(&self, step: TransactionControl<'_>) -> Result<()>;

    /// Required. Whether a transaction is open: from a successful `Begin` or
    /// [`begin_reading`](Self::begin_reading) until a `Commit` or `Rollback` returns.
    ///
    /// If an error ends the transaction in the engine, this MUST stay `true` until the caller ends it
    /// with `Commit`, which then fails, or `Rollback`: no later operation may be committed by itself
    /// by mistake. It MUST work while rows are handed out.
    fn in_transaction(&self) -> bool;

    /// Required. Writes one row.
    ///
    /// # Errors
    /// See the contract; `NotFound` for an update if no row has the key, `Conflict` if its version
    /// differs.
    fn write(&self, write: &Write<'_>) -> Result<Outcome>;

    /// Required. Runs a query and passes its rows to `row` one by one, until `row` returns `false`.
    /// This is the fastest way to read.
    ///
    /// An engine without SQL calls [`Source::as_select`]. While the query runs, the session can do
    /// nothing else: a call from inside `row` MUST return `Misuse`, except
    /// [`in_transaction`](Self::in_transaction) and [`close`](Self::close).
    ///
    /// # Errors
    /// See the contract, and those of `row`, which end the query.
    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()>;

    /// The columns of an SQL text that this session has just run by [`query`](Self::query), and that returned no rows. It
    /// MUST NOT run the text again. Default: `None`; callers then know no columns of a text that writes, and
    /// [open](Self::open) one that reads, which runs it twice.
    ///
    /// # Errors
    /// See the contract.
    fn result_columns(
        &self,
        text: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Vec<ResultColumn>>> {
        let _ = (text, parameters);
        Ok(None)
    }

    /// Runs a join of the engine's own tables and passes its rows to `row` one by one, until `row` returns `false`.
    /// Returns `false`, before any I/O, if the engine does not run this join: the caller then reads the tables by
    /// queries and joins the rows itself. Default: that. A server may have to be asked first; no row is passed on then.
    ///
    /// The rows MUST be those that the caller would make, in the same order. An error of a calculation in a row that
    /// the filters, the offset or the limit leave out MAY be returned.
    ///
    /// An engine that restricts which rows a query reads MUST do so here, or return `false`.
    ///
    /// # Errors
    /// As [`query`](Self::query); `OutOfRange` for a number that is too large.
    fn join(&self, join: &Join, row: &mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<bool> {
        let _ = (join, row);
        Ok(false)
    }

    /// How the engine would run a query, without running it: see [`QueryPlan::ask`]. Returns `None`, before any I/O, if it
    /// does not run this join: see [`join`](Self::join). Default: `Unsupported`.
    ///
    /// A step's [`table`](PlanStep::table) is the name that the statement gives the table; `ask` replaces it.
    ///
    /// # Errors
    /// `Unsupported`, before any I/O, if the engine has no plans; as [`query`](Self::query).
    fn explain(&self, query: &ExplainedQuery<'_>) -> Result<Option<Vec<PlanStep>>> {
        let _ = query;
        let message = "the engine does not show how it runs queries";
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// Required. Lists the tables, in any order; inside a transaction, those it sees. The change
    /// log's [own tables](crate::change_log::is_change_log_table) are left out.
    ///
    /// # Errors
    /// See the contract.
    fn tables(&self) -> Result<Vec<TableSchema>>;

    /// Lists the views, as schemas that say [so](TableSchema::is_view), in any order. A view whose query fails is left
    /// out. They can be read as tables are; an engine MUST reject writes to them with `Unsupported`. Default: none.
    ///
    /// # Errors
    /// As [`tables`](Self::tables).
    fn views(&self) -> Result<Vec<TableSchema>> {
        Ok(Vec::new())
    }

    /// Lists all that can be read by name: the tables, then the views.
    ///
    /// # Errors
    /// As [`tables`](Self::tables).
    fn tables_and_views(&self) -> Result<Vec<TableSchema>> {
        let mut all = self.tables()?;
        all.extend(self.views()?);
        Ok(all)
    }

    /// Required. Changes the schema: all of the changes or none; inside a transaction, as part of it.
    ///
    /// # Errors
    /// `Schema` if a table exists already or is missing; `Unsupported` for a rule that the engine
    /// cannot enforce, and for [`Track`](SchemaChange::Track) without change capture; see the
    /// contract.
    fn alter(&self, changes: &[SchemaChange]) -> Result<()>;

    /// Updates or deletes all rows that match a condition, and returns their number. Default: a
    /// query, and one write for each row.
    ///
    /// # Errors
    /// See the contract; `OutOfRange` if a sum overflows.
    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        fallback::change(self, change)
    }

    /// Runs the writes of a batch in order, in one transaction of its own or as part of the open
    /// one. Default: one [`write`](Self::write) for each row.
    ///
    /// `each` MUST be called once for each row, in order, with its result and an error's
    /// [row number](Error::row). With [`OnError::Stop`], the first error undoes the whole batch and
    /// is returned; `each` may have been called for earlier rows, which are undone too. With
    /// [`OnError::Continue`], only the failing rows are left out.
    ///
    /// # Errors
    /// See the contract. With `Continue`, errors that concern the whole batch: `Busy`,
    /// `Serialization`, `Interrupted`, a lost connection.
    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        fallback::batch(self, batch, on_error, each)
    }

    /// Runs a prepared query with these values of its slots, and returns the number of rows that an update changed, 0 for a
    /// query, whose rows it passes to `row` until that returns `false`. Default: `None`, without having done anything: callers
    /// then run the query itself.
    ///
    /// A [layer](super::SessionLayer) does not pass this on: the query would bypass it.
    ///
    /// # Errors
    /// See the contract, and those of `row`.
    fn run_template(
        &self,
        template: &QueryTemplate,
        values: &SlotValues<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<Option<u64>> {
        let _ = (template, values, row);
        Ok(None)
    }

    /// Looks a row up by its key and passes it to `row`, all columns in schema order; returns `false`
    /// if there is none. Default: a query.
    ///
    /// # Errors
    /// See the contract, and those of `row`.
    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        fallback::get(self, table, key, row)
    }

    /// Reads a range of one value, which is bytes, and appends it to `bytes`; returns `None` if no row has the key. Default:
    /// a lookup of the row.
    ///
    /// An engine whose [capabilities](crate::Capabilities::value_parts) say so MUST NOT have the whole value in memory for
    /// it. Outside a transaction each call sees a state of its own: the caller compares what the calls return.
    ///
    /// # Errors
    /// As [`ValueAddress::check`]; see the contract.
    fn read_part(
        &self,
        value: &ValueAddress<'_>,
        range: ValueRange,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<ValueState>> {
        fallback::read_part(value, range, bytes, |row| self.get(value.table, value.key, row))
    }

    /// Replaces one value, which is bytes, by the `length` bytes that `source` returns; returns `false` if no row has the
    /// key. The row's version and time of modification change as by [`change`](Self::change). Default: reads the source
    /// into memory, and calls `change`.
    ///
    /// An error of the source MUST leave the value as it was.
    ///
    /// # Errors
    /// As [`ValueAddress::check_written`]; `Misuse` if the source has fewer or more bytes; those of the source; see the
    /// contract.
    fn write_value(
        &self,
        value: &ValueAddress<'_>,
        length: u64,
        source: &mut dyn Read,
    ) -> Result<bool> {
        fallback::write_value(value, length, source, |change| self.change(change))
    }

    /// Opens a cursor, to fetch rows in parts while the session does other things. The rows MUST be
    /// those of this moment, whatever the session writes later. Default: reads all rows into the
    /// cursor; an engine that overrides this overrides [`fetch`](Self::fetch) and
    /// [`close`](Self::close) too.
    ///
    /// # Errors
    /// See the contract.
    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        fallback::open(self, source)
    }

    /// Clears `rows` and fills it with the cursor's next rows: about 64 KiB, and at least one row;
    /// none after the last row.
    ///
    /// # Errors
    /// See the contract; `Misuse` for a cursor that is not open.
    fn fetch(&self, cursor: &mut Cursor, rows: &mut RowBuffer) -> Result<()> {
        cursor.next_part(rows)
    }

    /// Closes a cursor. Does nothing if it is closed already.
    fn close(&self, cursor: &mut Cursor) {
        cursor.close();
    }

    /// Runs an SQL statement without returning rows, and returns the number of rows changed.
    /// Default: `Unsupported`.
    ///
    /// # Errors
    /// `Unsupported` if the engine has no SQL; `Syntax`; see the contract.
    fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        let _ = (sql, parameters);
        Err(Error::new(ErrorKind::Unsupported, "the engine has no SQL"))
    }

    /// Begins a read-only transaction: it sees the state of this moment and never blocks a writer.
    /// It ends as other transactions do; a write in it MUST fail. Default: `Unsupported`.
    ///
    /// # Errors
    /// As [`TransactionControl::Begin`]; `Unsupported` if a reader would block writers.
    fn begin_reading(&self) -> Result<()> {
        let message = "the engine has no read-only transactions";
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// For a transaction that has just begun, and that runs the statements of somebody who may only read: whatever writes MUST
    /// fail, also a function that a statement calls, as far as the database can prevent it; and what a statement can leave on
    /// the session's connection, such as a lock or a variable, MUST be gone when the transaction has ended. Default: nothing,
    /// for engines that [authorize](Self::set_authorizer) each statement, or whose SQL has no such functions.
    ///
    /// # Errors
    /// Those of the connection.
    fn forbid_writes(&self) -> Result<()> {
        Ok(())
    }

    /// Begins a transaction that applies changes recorded earlier. Until it ends, triggers on the named
    /// tables and all foreign keys have no effect: what they did is among the changes. Change capture
    /// continues. Default: `Begin`, unless foreign keys concern one of the tables.
    ///
    /// # Errors
    /// As [`TransactionControl::Begin`]; `Unsupported` if the engine cannot disable them.
    fn begin_replay(&self, tables: &[&str]) -> Result<()> {
        fallback::reject_foreign_keys(&self.tables()?, tables)?;
        self.control(TransactionControl::Begin)
    }

    /// From now on, cursors return NULL for dates that do not exist, which are
    /// [`SchemaDetails::invalid_dates`]. Default: `Unsupported`, for engines that store none.
    ///
    /// # Errors
    /// `Unsupported` if the engine cannot do that.
    fn read_invalid_dates_as_null(&self) -> Result<()> {
        let message = "dates that do not exist, such as 0000-00-00, are read as NULL by the \
                       engine that stores them alone: connect to that database itself";
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// Names the actor who makes the changes of the open transaction, for the change log. The caller
    /// sets it right after `Begin`, and resets it with `None` right before `Commit`; only if a table
    /// is tracked. Default: a [`change`](Self::change) of the change log's own table.
    ///
    /// # Errors
    /// `Schema` if no table is tracked; see the contract.
    fn set_actor(&self, actor: Option<&str>) -> Result<()> {
        let value = actor.map_or(Value::Null, |actor| Value::from(actor.to_owned()));
        let assign = [Assign::Set { column: 3, value }];
        let change = BulkChange { table: counter_schema(), condition: None, assign: Some(&assign) };
        self.change(&change).map(|_| ())
    }

    /// Lists the triggers of the tables, those of change capture included, in any order; `None` if
    /// the engine has no triggers or cannot list them. Default: `None`.
    ///
    /// # Errors
    /// As [`tables`](Self::tables).
    fn triggers(&self) -> Result<Option<Vec<Trigger>>> {
        Ok(None)
    }

    /// Lists what the database has that the schemas of [`tables`](Self::tables) do not express: rules that a
    /// copy of the tables would lose, tables that have no schema, views, triggers except those of change
    /// capture; and the foreign keys that rows break. Default: nothing, for engines that have only what schemas
    /// express and enforce foreign keys.
    ///
    /// # Errors
    /// As [`tables`](Self::tables).
    fn schema_details(&self) -> Result<SchemaDetails> {
        Ok(SchemaDetails::default())
    }

    /// What writes change beyond the rows they name, for caches. Default: the effects of foreign
    /// keys. An engine with triggers MUST override this.
    ///
    /// # Errors
    /// As [`tables`](Self::tables).
    fn side_effects(&self) -> Result<SideEffects> {
        self.tables().map(|tables| SideEffects::of_references(&tables))
    }

    /// Installs an authorizer for this session's SQL, replacing the previous one. Default:
    /// `Unsupported`.
    ///
    /// The authorizer MUST see every action that a statement would take, with views expanded, before
    /// the statement runs. Rejecting one fails the statement. Operations other than SQL text are not
    /// checked.
    ///
    /// # Errors
    /// `Unsupported` if the engine cannot analyze SQL statements.
    fn set_authorizer(&self, authorizer: Arc<dyn SqlAuthorizer>) -> Result<()> {
        let _ = authorizer;
        let message = "the engine cannot tell what an SQL statement does";
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}
