//! Sessions: which connection an operation runs on, and transactions.

pub(crate) mod batch;
pub(crate) mod checkpoints;
mod commit_queue;
mod cursor;
pub(crate) mod database;
mod exhausted_keys;
mod explain;
mod foreign_key_error;
mod group_commit;
mod nearest;
pub(crate) mod query;
mod replace;
mod replay;
mod session_connection;
mod sync;
mod template;
mod transaction;
mod value_parts;
pub(crate) mod vector_cache;
pub(crate) mod write;

use crate::connection::Connection;
use crate::connection::shared_cursor::column_names;
use crate::connection::typed_text_cache::TypedText;
use crate::connection::{changes_connection, reject_transaction_steps, reject_vacuum, runs_schema};
use crate::error::misuse;
use crate::pool::PooledConnection;
use crate::schema::{details, tables};
use crate::session::database::Database;
use bobak_core::engine::fallback;
use bobak_core::plan::{ExplainedQuery, PlanStep};
use bobak_core::{
    BulkChange, Cursor, CursorId, Error, ErrorKind, Interrupt, Join, OnError, Outcome, Parameter,
    QueryTemplate, Result, ResultColumn, Row, RowBuffer, SchemaChange, SchemaDetails, Session,
    SideEffects, SlotValues, Source, SqlAuthorizer, TableSchema, TransactionControl, Value,
    ValueAddress, ValueRange, ValueState, Write, WriteBatch,
};
use cursor::{FetchOutput, OpenCursor, not_open};
use query::SqlText;
use session_connection::{AccessMode, SessionConnection};
use std::cell::{Cell, RefCell};
use std::io::Read;
use std::sync::Arc;

/// A session. Outside transactions it has no connection: each operation borrows one.
pub(crate) struct SqliteSession<'e> {
    engine: &'e Database,
    /// Only a few at a time, so they are searched. Declared before the state to be dropped first:
    /// a rollback would buffer rows that nobody can fetch any more.
    cursors: RefCell<Vec<(u64, OpenCursor<'e>)>>,
    state: RefCell<SessionState<'e>>,
    next_cursor: Cell<u64>,
    /// See [`Session::in_transaction`].
    in_transaction: Cell<bool>,
    /// Whether the open transaction can write.
    writes: Cell<bool>,
    /// Decides which SQL text may run.
    authorizer: RefCell<Option<Arc<dyn SqlAuthorizer>>>,
}

/// The state of a session. An operation borrows it while it runs.
#[derive(Debug)]
enum SessionState<'e> {
    /// No transaction.
    Idle,
    /// In a transaction, on the writing connection.
    Open(PooledConnection<'e>),
    /// SQLite has ended the transaction after an error. Only `Rollback`, or `Commit`, which
    /// fails, leaves this state: no later write may be committed by itself by mistake.
    Lost,
}

impl<'e> SqliteSession<'e> {
    pub(crate) fn new(engine: &'e Database) -> Self {
        Self {
            engine,
            state: RefCell::new(SessionState::Idle),
            cursors: RefCell::default(),
            next_cursor: Cell::new(1),
            in_transaction: Cell::new(false),
            writes: Cell::new(false),
            authorizer: RefCell::default(),
        }
    }

    /// The connection for an operation: the transaction's, or one for this operation.
    fn connection(&self, mode: AccessMode) -> Result<SessionConnection<'_, 'e>> {
        let mut using = self.lend()?;
        using.enter(mode)?;
        Ok(using)
    }

    /// The connection for an operation that runs SQL text: the extension has prepared it, the
    /// authorizer has accepted the text, and it is in stored units.
    fn text_connection(
        &self,
        mode: AccessMode,
        text: SqlText<'_>,
    ) -> Result<(SessionConnection<'_, 'e>, Arc<TypedText>)> {
        Interrupt::check()?;
        reject_vacuum(self.engine.settings(), text.sql)?;
        let mut using = self.lend()?;
        using.enter_for_text(mode)?;
        bobak_sql::check_value_count(text.parameters.len(), using.get().max_parameters)?;
        using.get().reject_other_than_query(text.sql)?;
        if mode.writes() {
            using.get().take_quoted_strings(runs_schema(text.sql));
        }
        if mode.writes() && !self.engine.is_single() && changes_connection(text.sql) {
            self.engine.writer().disable_reads();
        }
        if !using.in_transaction()
            && let Some(extension) = self.engine.extension()
        {
            using.get().begin_extension(extension)?;
        }
        let authorizer = self.authorizer.borrow().clone();
        if let Some(authorizer) = &authorizer {
            using.get().check_text(text.sql, authorizer)?;
        }
        let changing = authorizer.as_deref().filter(|authorizer| !authorizer.lasts());
        let typed = using.get().typed_text(text.sql, text.parameters, changing)?;
        if let Some(authorizer) = authorizer.filter(|_| typed.is_rewritten()) {
            using.get().check_text(typed.text(text.sql), &authorizer)?;
        }
        Ok((using, typed))
    }

    /// The session's state for one operation, which enters it. (One call for both would copy the result.)
    #[inline(always)]
    fn lend(&self) -> Result<SessionConnection<'_, 'e>> {
        let state = self.state.try_borrow_mut().map_err(|_| in_use())?;
        Ok(SessionConnection { engine: self.engine, pooled: None, state, writing: None })
    }

    /// Runs an operation of the database itself, unless a transaction is open.
    fn outside<R>(&self, run: impl FnOnce() -> Option<R>) -> Option<R> {
        let state = self.state.try_borrow_mut().ok()?;
        if matches!(*state, SessionState::Idle) { run() } else { None }
    }

    /// Runs `work` in a transaction, or in a savepoint of the open one. An error undoes all of
    /// it.
    fn atomically(&self, work: impl FnOnce(&mut Connection) -> Result<()>) -> Result<()> {
        self.connection(AccessMode::Transaction)?.atomically(work)
    }

    /// As [`atomically`](Self::atomically), for an SQL text that writes: `work` gets it in stored
    /// units.
    fn text_atomically(
        &self,
        text: SqlText<'_>,
        work: impl FnOnce(&mut Connection, &str) -> Result<()>,
    ) -> Result<()> {
        let (mut using, typed) = self.text_connection(AccessMode::Transaction, text)?;
        let in_transaction = using.in_transaction();
        let sql = typed.text(text.sql);
        let id = using.get().text_statement(sql)?;
        using.get().check_statement(id, in_transaction)?;
        using.atomically(|connection| work(connection, sql))
    }

    /// Whether an SQL text only reads, on the connection that would run it.
    fn reads_only(using: &mut SessionConnection<'_, 'e>, sql: &str) -> Result<bool> {
        let connection = using.get();
        let id = connection.text_statement(sql)?;
        Ok(connection.db.is_read_only_statement(id))
    }

    /// Runs `work`; where a table is missing, looks for new tables and runs it once
    /// more, unless `done` says that a second run would repeat an effect.
    fn with_fresh_tables<R>(&self, done: &Cell<bool>, work: impl Fn() -> Result<R>) -> Result<R> {
        let result = work();
        let state = self.state.try_borrow();
        let idle = state.is_ok_and(|state| matches!(*state, SessionState::Idle));
        match result {
            Err(error) if idle && !done.get() && error.kind() == ErrorKind::Schema => {
                let first = RefCell::new(Some(error));
                self.engine.with_fresh_tables(|| match first.take() {
                    Some(error) => Err(error),
                    None => work(),
                })
            }
            result => result,
        }
    }
}

impl Session for SqliteSession<'_> {
    fn tables(&self) -> Result<Vec<TableSchema>> {
        tables::read(self.connection(AccessMode::Read)?.get())
    }

    fn views(&self) -> Result<Vec<TableSchema>> {
        tables::views(self.connection(AccessMode::Read)?.get())
    }

    fn side_effects(&self) -> Result<SideEffects> {
        // Not by the session's SQL, which the authorizer would check.
        tables::side_effects(self.connection(AccessMode::Read)?.get())
    }

    fn schema_details(&self) -> Result<SchemaDetails> {
        details::read(self.connection(AccessMode::Read)?.get())
    }

    fn triggers(&self) -> Result<Option<Vec<bobak_core::change_log::Trigger>>> {
        tables::triggers(self.connection(AccessMode::Read)?.get()).map(Some)
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.alter_schema(changes)
    }

    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        match step {
            TransactionControl::Begin => {
                self.begin_on(|| self.engine.write(), &["BEGIN IMMEDIATE"])
            }
            TransactionControl::Commit => self.end("COMMIT"),
            TransactionControl::Rollback => self.end("ROLLBACK"),
            TransactionControl::Savepoint(name) => self.mark("SAVEPOINT", name),
            TransactionControl::Release(name) => self.mark("RELEASE", name),
            TransactionControl::RollbackTo(name) => self.mark("ROLLBACK TO", name),
        }
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction.get()
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        Interrupt::check()?;
        if let Some(written) =
            self.outside(|| Some(Interrupt::hold_off(|| self.engine.write_one(write))))
        {
            return written;
        }
        let mut using = self.lend()?;
        using.enter(AccessMode::Write)?;
        write::write_row(using.get(), write.table, write.verb, write.fields, write.values)
    }

    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        write::change(self.connection(AccessMode::Write)?.get(), change)
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
        if batch.is_empty() {
            return Ok(());
        }
        Interrupt::check()?;
        if let Some(sent) =
            self.outside(|| Interrupt::hold_off(|| self.engine.share_batch(batch, on_error, each)))
        {
            return sent;
        }
        self.atomically(|connection| batch::send(connection, batch, on_error, each))
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        let mut using = self.lend()?;
        using.enter(AccessMode::Read)?;
        let _callback = using.begin_callback()?;
        query::get(using.get(), table, key, row)
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let enter = || {
            let using = self.connection(AccessMode::Query)?;
            Ok((using.begin_callback()?, using))
        };
        if self.nearest_by_array(source, row)? || fallback::nearest(self, source, enter, row)? {
            return Ok(());
        }
        self.check_lock(source)?;
        if let Source::Select(select) = source {
            let mut using = self.lend()?;
            using.enter(AccessMode::Query)?;
            let _callback = using.begin_callback()?;
            return using.get().each_selected(select, row);
        }
        let statement = query::statement(source);
        let (sql, values) = (&statement.text, &statement.parameters);
        reject_transaction_steps(sql)?;
        let handed_out = Cell::new(false);
        let types = query::parameter_types(source);
        let text = SqlText { sql, parameters: &types };
        let row = RefCell::new(|found: &dyn Row| {
            handed_out.set(true);
            row(found)
        });
        self.with_fresh_tables(&handed_out, || {
            let row = &mut *row.borrow_mut();
            let (mut using, typed) = self.text_connection(AccessMode::Read, text)?;
            let (sql, mut typed_row) = (typed.text(sql), typed.rows(row));
            if Self::reads_only(&mut using, sql)? {
                let _callback = using.begin_callback()?;
                return using.get().each_row(sql, values, None, &mut typed_row);
            }
            drop(using);
            self.text_atomically(text, |connection, sql| {
                connection.each_row(sql, values, None, &mut typed_row)
            })
        })
    }

    fn result_columns(
        &self,
        text: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Vec<ResultColumn>>> {
        let types = Parameter::types(parameters);
        let text = SqlText { sql: text, parameters: &types };
        let (mut using, typed) = self.text_connection(AccessMode::Read, text)?;
        let names = column_names(using.get(), typed.text(text.sql))?;
        Ok(Some(typed.columns(names)))
    }

    fn run_template(
        &self,
        template: &QueryTemplate,
        values: &SlotValues<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<Option<u64>> {
        self.run_template_here(template, values, row)
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
        let mut using = self.lend()?;
        using.enter(AccessMode::Query)?;
        let _callback = using.begin_callback()?;
        using.get().each_joined(join, row)
    }

    fn explain(&self, query: &ExplainedQuery<'_>) -> Result<Option<Vec<PlanStep>>> {
        self.explain_query(query)
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        if source.is_nearest() {
            return fallback::open(self, source);
        }
        self.check_lock(source)?;
        let statement = query::statement(source);
        let (sql, values) = (&*statement.text, &*statement.parameters);
        let (cursor, columns) = match source {
            Source::Select(select) => {
                let using = self.connection(AccessMode::Read)?;
                let opened = self.open_reading(using, sql, values);
                let (cursor, _) =
                    opened.map_err(|error| error.in_table(select.table.name().to_owned()))?;
                (cursor, Source::select_columns(select))
            }
            Source::Sql { .. } => {
                reject_transaction_steps(sql)?;
                let types = query::parameter_types(source);
                let text = SqlText { sql, parameters: &types };
                let open = || self.open_cursor(text, values);
                let (cursor, names, typed) = self.with_fresh_tables(&Cell::new(false), open)?;
                (cursor, typed.columns(names))
            }
        };
        let id = self.next_cursor.get();
        self.next_cursor.set(id + 1);
        self.cursors.borrow_mut().push((id, cursor));
        Ok(Cursor::new(CursorId(id), Arc::new(columns)))
    }

    fn fetch(&self, cursor: &mut Cursor, rows: &mut RowBuffer) -> Result<()> {
        rows.clear();
        let Ok(cursor) = cursor.id() else { return cursor.next_part(rows) };
        let fetched = match self.cursors.borrow_mut().iter_mut().find(|(id, _)| *id == cursor.0) {
            Some((_, open)) => open.fetch(rows)?,
            None => return Err(not_open()),
        };
        match fetched {
            FetchOutput::Done => Ok(()),
            FetchOutput::NeedsConnection(shared) => {
                let mut using = self.connection(AccessMode::Read)?;
                shared.fetch(using.get(), rows)
            }
        }
    }

    fn close(&self, cursor: &mut Cursor) {
        let Ok(cursor) = cursor.id() else { return cursor.close() };
        let mut cursors = self.cursors.borrow_mut();
        let place = cursors.iter().position(|(id, _)| *id == cursor.0);
        let closed = place.map(|place| cursors.swap_remove(place).1);
        drop(cursors);
        let shared = closed.and_then(OpenCursor::into_shared);
        // If the connection is not available now, its next user closes the cursor.
        if let Some(shared) = shared
            && let Ok(mut state) = self.state.try_borrow_mut()
            && let SessionState::Open(pooled) = &mut *state
        {
            shared.close(pooled);
        }
    }

    fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        reject_transaction_steps(sql)?;
        let values = Parameter::values(parameters);
        let types = Parameter::types(parameters);
        let text = SqlText { sql, parameters: &types };
        self.with_fresh_tables(&Cell::new(false), || {
            let (mut using, typed) = self.text_connection(AccessMode::Write, text)?;
            let in_transaction = using.in_transaction();
            let sql = typed.text(sql);
            let id = using.get().text_statement(sql)?;
            using.get().check_statement(id, in_transaction)?;
            using.get().run_text(sql, &values)
        })
    }

    fn begin_reading(&self) -> Result<()> {
        self.begin_read_only()
    }

    fn begin_replay(&self, tables: &[&str]) -> Result<()> {
        self.begin_replaying(tables)
    }

    fn set_authorizer(&self, authorizer: Arc<dyn SqlAuthorizer>) -> Result<()> {
        *self.authorizer.borrow_mut() = Some(authorizer);
        Ok(())
    }
}

#[cold]
fn in_use() -> Error {
    misuse("the session is in use by another call")
}
