//! Sessions: which connection an operation runs on, and the steps of transactions.

use crate::connection::{Connection, is_no_transaction};
use crate::cursor::{Fetched, OpenCursor, not_open};
use crate::engine::Inner;
use crate::error::{misuse, translate};
use crate::gate::Lease;
use crate::standing::{HandingOut, Writing};
use crate::{alter, batch, query, tables, write};
use bobak_core::{
    Batch, BulkChange, Cursor, CursorId, Error, ErrorKind, Interrupt, OnError, Outcome, Result,
    Row, RowBuffer, SchemaChange, Session, SideEffects, Source, SqlAuthorizer, TableSchema,
    TransactionControl, Value, ValueRef, Write,
};
use bobak_sql::Dialect;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// A session. It has no connection but in a transaction: each operation borrows one.
pub(crate) struct SqliteSession<'e> {
    engine: &'e Inner,
    /// A few at a time: found by looking through them. Before the transaction, so that they are
    /// dropped first: its rollback would read to its end what somebody may fetch still.
    cursors: RefCell<Vec<(u64, OpenCursor<'e>)>>,
    state: Cell<State<'e>>,
    next_cursor: Cell<u64>,
    /// See [`Session::in_transaction`].
    in_transaction: Cell<bool>,
    /// Whom to ask about SQL text.
    guard: RefCell<Option<Arc<dyn SqlAuthorizer>>>,
}

/// Where the session stands. Taken out of its cell by each operation, which leaves `Lent` there.
#[derive(Debug)]
enum State<'e> {
    /// No transaction.
    Idle,
    /// In a transaction, on the writing connection.
    Open(Lease<'e>),
    /// SQLite ended the transaction by itself, after an error. Only a rollback, or a commit, which
    /// then fails, leads out: nothing may be written as though it were part of it.
    Lost,
    /// An operation is running, further up in the stack.
    Lent,
}

/// A connection in use by one operation; afterwards the session is as before.
struct Use<'s, 'e> {
    session: &'s SqliteSession<'e>,
    lease: Option<Lease<'e>>,
    in_transaction: bool,
    /// Keeps cursors out of the way of a write, where they would be in it.
    writing: Option<Writing<'e>>,
}

/// What an operation wants of its connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wants {
    Read,
    /// One statement, which commits where there is no transaction.
    Write,
    /// Statements that are committed by one of their own.
    Transaction,
}

impl<'e> SqliteSession<'e> {
    pub(crate) fn new(engine: &'e Inner) -> Self {
        Self {
            engine,
            state: Cell::new(State::Idle),
            cursors: RefCell::default(),
            next_cursor: Cell::new(1),
            in_transaction: Cell::new(false),
            guard: RefCell::default(),
        }
    }

    /// The connection for an operation: the transaction's, else one for this operation alone.
    #[inline]
    fn connection(&self, wants: Wants) -> Result<Use<'_, 'e>> {
        Interrupt::check()?;
        let using = self.any_connection(wants)?;
        if wants != Wants::Read && using.in_transaction {
            using.before_engine_write()?;
        }
        Ok(using)
    }

    /// The connection for an operation that runs SQL text: the extension has prepared it,
    /// and the authorizer has accepted the text.
    fn text_connection(&self, wants: Wants, sql: &str) -> Result<Use<'_, 'e>> {
        Interrupt::check()?;
        let mut using = self.any_connection(wants)?;
        if !using.in_transaction
            && let Some(extension) = self.engine.extension()
        {
            using.get().begin_extension(extension)?;
        }
        let guard = self.guard.borrow().clone();
        if let Some(guard) = guard {
            using.get().check_text(sql, &guard)?;
        }
        Ok(using)
    }

    #[inline]
    fn any_connection(&self, wants: Wants) -> Result<Use<'_, 'e>> {
        let (lease, in_transaction) = match self.state.replace(State::Lent) {
            State::Open(lease) => (Some(lease), true),
            State::Idle => (None, false),
            other => return Err(self.refuse(other)),
        };
        let mut using = Use { session: self, lease, in_transaction, writing: None };
        if using.lease.is_none() {
            using.lease = Some(match wants {
                Wants::Read => self.engine.read()?,
                Wants::Write | Wants::Transaction => self.engine.write()?,
            });
        }
        if wants != Wants::Read {
            using.get().spill_cursors();
            using.writing = self.engine.begin_writing();
        }
        if wants == Wants::Write {
            using.before_commit()?;
        }
        Ok(using)
    }

    /// Runs an operation that is the engine's own matter, unless a transaction is open.
    fn outside<R>(&self, run: impl FnOnce() -> Option<R>) -> Option<R> {
        match self.state.replace(State::Lent) {
            State::Idle => {
                let _using =
                    Use { session: self, lease: None, in_transaction: false, writing: None };
                run()
            }
            other => {
                self.state.set(other);
                None
            }
        }
    }

    #[cold]
    fn refuse(&self, state: State<'e>) -> Error {
        let message = match state {
            State::Lost => "the transaction was rolled back by an error before: begin it again",
            _ => "the session is in the middle of another call",
        };
        self.state.set(state);
        misuse(message)
    }

    fn begin_on(
        &self,
        lease: impl FnOnce() -> Result<Lease<'e>>,
        begin: &[&'static str],
    ) -> Result<()> {
        match self.state.replace(State::Lent) {
            State::Idle => {}
            State::Open(lease) => {
                self.state.set(State::Open(lease));
                return Err(misuse("a transaction is open already"));
            }
            other => return Err(self.refuse(other)),
        }
        let mut using = Use { session: self, lease: None, in_transaction: false, writing: None };
        let lease = using.lease.insert(lease()?);
        lease.spill_cursors();
        if let Some(extension) = self.engine.extension() {
            lease.begin_extension(extension)?;
        }
        begin.iter().try_for_each(|sql| lease.run(sql))?;
        using.in_transaction = true;
        self.in_transaction.set(true);
        Ok(())
    }

    /// Commits or rolls back; either way the transaction is over.
    fn end(&self, sql: &'static str) -> Result<()> {
        let state = self.state.replace(State::Idle);
        if let State::Lent = state {
            return Err(self.refuse(state));
        }
        self.in_transaction.set(false);
        let mut lease = match state {
            State::Open(lease) => lease,
            State::Lost if sql == "ROLLBACK" => return Ok(()),
            State::Lost => {
                return Err(misuse("the transaction was rolled back by an error before"));
            }
            _ => return Err(misuse("no transaction is open")),
        };
        lease.spill_cursors();
        // What a failed commit leaves open, the lease rolls back when it is dropped.
        let _writing = match sql {
            "ROLLBACK" => None,
            _ => self.engine.begin_commit()?,
        };
        if sql == "COMMIT" && lease.replay.is_some() {
            lease.restore_triggers()?;
        }
        let id = lease.text_statement(sql)?;
        match Interrupt::hold_off(|| lease.db.execute(id, std::iter::empty::<ValueRef<'_>>())) {
            Err(failure) if sql == "ROLLBACK" && is_no_transaction(&failure) => Ok(()),
            result => result.map_err(|failure| translate(failure, None)),
        }
    }

    fn mark(&self, word: &str, name: &str) -> Result<()> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            let message = format!("'{name}' is no savepoint's name: letters, digits and _ are");
            return Err(misuse(&message));
        }
        match self.state.replace(State::Lent) {
            State::Open(lease) => self.state.set(State::Open(lease)),
            State::Idle => {
                self.state.set(State::Idle);
                return Err(misuse("no transaction is open"));
            }
            other => return Err(self.refuse(other)),
        }
        let mut using = self.any_connection(Wants::Write)?;
        // The prefix keeps the user's names apart from the engine's own.
        using.get().run_text(&format!("{word} user_{name}"), &[])?;
        Ok(())
    }

    /// Runs `work` in a transaction, or inside the open one behind a mark: an error undoes all of
    /// it.
    fn atomically(&self, work: impl FnOnce(&mut Connection) -> Result<()>) -> Result<()> {
        self.connection(Wants::Transaction)?.atomically(work)
    }

    /// As [`atomically`](Self::atomically), for a statement that writes.
    fn text_atomically(
        &self,
        sql: &str,
        work: impl FnOnce(&mut Connection) -> Result<()>,
    ) -> Result<()> {
        let mut using = self.text_connection(Wants::Transaction, sql)?;
        let in_transaction = using.in_transaction;
        let id = using.get().text_statement(sql)?;
        using.get().check_statement(id, in_transaction)?;
        using.atomically(work)
    }

    /// Whether the SQL only reads: found out on the connection that would run it.
    fn reads_only(using: &mut Use<'_, 'e>, sql: &str) -> Result<bool> {
        let connection = using.get();
        let id = connection.text_statement(sql)?;
        Ok(connection.db.is_read_only_statement(id))
    }

    /// Runs `work`; where a table is missing, looks for new tables and runs it once
    /// more, unless `done` says that a second run would repeat an effect.
    fn with_fresh_tables<R>(&self, done: &Cell<bool>, work: impl Fn() -> Result<R>) -> Result<R> {
        let result = work();
        let idle = match self.state.replace(State::Lent) {
            State::Idle => {
                self.state.set(State::Idle);
                true
            }
            other => {
                self.state.set(other);
                false
            }
        };
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

    fn open_cursor(
        &self,
        sql: &str,
        values: &[Value<'_>],
        is_text: bool,
    ) -> Result<(OpenCursor<'e>, Vec<String>)> {
        let mut using = match is_text {
            true => self.text_connection(Wants::Read, sql)?,
            false => self.connection(Wants::Read)?,
        };
        if !Self::reads_only(&mut using, sql)? {
            drop(using);
            let mut opened = None;
            self.text_atomically(sql, |connection| {
                opened = Some(OpenCursor::of_write(connection, sql, values)?);
                Ok(())
            })?;
            return opened.ok_or_else(not_open);
        }
        if using.in_transaction || self.engine.is_single() {
            return OpenCursor::on_shared(using.get(), sql, values);
        }
        match (using.lease.take(), self.engine.blocking_readers()) {
            (Some(lease), None) => OpenCursor::on_reader(lease, sql, values),
            (Some(lease), Some(pool)) => OpenCursor::on_standing_reader(lease, pool, sql, values),
            (None, _) => Err(not_open()),
        }
    }
}

impl Session for SqliteSession<'_> {
    fn tables(&self) -> Result<Vec<TableSchema>> {
        tables::read(self.connection(Wants::Read)?.get())
    }

    fn side_effects(&self) -> Result<SideEffects> {
        // Not as SQL of the session, about which a guard is asked.
        tables::side_effects(self.connection(Wants::Read)?.get())
    }

    fn triggers(&self) -> Result<Option<Vec<bobak_core::change_log::Trigger>>> {
        tables::triggers(self.connection(Wants::Read)?.get()).map(Some)
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.atomically(|connection| alter::apply(connection, changes))
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
        let mut using = self.connection(Wants::Write)?;
        write::write_row(using.get(), write.table, write.verb, write.fields, write.values)
    }

    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        let mut using = self.connection(Wants::Write)?;
        let statement = bobak_sql::change(Dialect::Sqlite, change);
        using
            .get()
            .run_text(&statement.text, &statement.parameters)
            .map_err(|error| error.in_table(change.table.name().to_owned()))
    }

    fn batch(
        &self,
        batch: &Batch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
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
        let mut using = self.connection(Wants::Read)?;
        let _handing_out = using.begin_handing_out()?;
        query::get(using.get(), table, key, row)
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let statement = query::statement(source);
        let (sql, values) = (&statement.text, &statement.parameters);
        let table = query::table_of(source);
        if table.is_none() {
            query::refuse_transaction_steps(sql)?;
        }
        if table.is_some() {
            let mut using = self.connection(Wants::Read)?;
            let _handing_out = using.begin_handing_out()?;
            return query::each_row(using.get(), sql, values, table, row);
        }
        let handed_out = Cell::new(false);
        let row = RefCell::new(|found: &dyn Row| {
            handed_out.set(true);
            row(found)
        });
        self.with_fresh_tables(&handed_out, || {
            let row = &mut *row.borrow_mut();
            let mut using = self.text_connection(Wants::Read, sql)?;
            if Self::reads_only(&mut using, sql)? {
                let _handing_out = using.begin_handing_out()?;
                return query::each_row(using.get(), sql, values, table, row);
            }
            drop(using);
            self.text_atomically(sql, |connection| {
                query::each_row(connection, sql, values, table, row)
            })
        })
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        let statement = query::statement(source);
        query::refuse_transaction_steps(&statement.text)?;
        let is_text = matches!(source, Source::Sql { .. });
        let open = || self.open_cursor(&statement.text, &statement.parameters, is_text);
        let (cursor, names) =
            self.with_fresh_tables(&Cell::new(!is_text), open).map_err(|error| {
                match query::table_of(source) {
                    Some(table) => error.in_table(table.name().to_owned()),
                    None => error,
                }
            })?;
        let id = self.next_cursor.get();
        self.next_cursor.set(id + 1);
        self.cursors.borrow_mut().push((id, cursor));
        let columns = match source {
            Source::Select(select) => Source::select_names(select),
            Source::Sql { .. } => names,
        };
        Ok(Cursor::new(CursorId(id), Arc::new(columns)))
    }

    fn fetch(&self, cursor: &mut Cursor, rows: &mut RowBuffer) -> Result<()> {
        rows.clear();
        let cursor = cursor.id()?;
        let fetched = match self.cursors.borrow_mut().iter_mut().find(|(id, _)| *id == cursor.0) {
            Some((_, open)) => open.fetch(rows)?,
            None => return Err(not_open()),
        };
        match fetched {
            Fetched::Done => Ok(()),
            Fetched::NeedsConnection(shared) => {
                let mut using = self.connection(Wants::Read)?;
                shared.fetch(using.get(), rows)
            }
        }
    }

    fn close(&self, cursor: &mut Cursor) {
        let Ok(cursor) = cursor.id() else { return };
        let mut cursors = self.cursors.borrow_mut();
        let place = cursors.iter().position(|(id, _)| *id == cursor.0);
        let closed = place.map(|place| cursors.swap_remove(place).1);
        drop(cursors);
        let shared = closed.and_then(OpenCursor::into_shared);
        // Without a connection at hand it is closed by whoever has it next.
        if let Some(shared) = shared {
            let mut state = self.state.replace(State::Lent);
            if let State::Open(lease) = &mut state {
                shared.close(lease);
            }
            self.state.set(state);
        }
    }

    fn execute(&self, sql: &str, parameters: &[Value<'_>]) -> Result<u64> {
        query::refuse_transaction_steps(sql)?;
        self.with_fresh_tables(&Cell::new(false), || {
            let mut using = self.text_connection(Wants::Write, sql)?;
            let in_transaction = using.in_transaction;
            let id = using.get().text_statement(sql)?;
            using.get().check_statement(id, in_transaction)?;
            using.get().run_text(sql, parameters)
        })
    }

    fn begin_reading(&self) -> Result<()> {
        if self.engine.is_single() || self.engine.blocking_readers().is_some() {
            let message = "a transaction that only reads would keep writers waiting: the database has \
                           no log, or but one connection";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        // SQLite looks at the database only when something is read.
        let begin = &["BEGIN", "SELECT 1 FROM sqlite_schema LIMIT 1"];
        self.begin_on(|| self.engine.read(), begin)
    }

    fn begin_replay(&self, tables: &[&str]) -> Result<()> {
        let lease = || {
            let mut lease = self.engine.write()?;
            lease.begin_replay();
            Ok(lease)
        };
        self.begin_on(lease, &["BEGIN IMMEDIATE"])?;
        let mut using = self.connection(Wants::Write)?;
        let dropped = using.get().drop_triggers(tables);
        drop(using);
        if dropped.is_err() {
            self.control(TransactionControl::Rollback)?;
        }
        dropped
    }

    fn set_authorizer(&self, guard: Arc<dyn SqlAuthorizer>) -> Result<()> {
        *self.guard.borrow_mut() = Some(guard);
        Ok(())
    }
}

impl<'e> Use<'_, 'e> {
    /// Runs `work` in a transaction, or inside the open one behind a mark: an error undoes all of
    /// it.
    fn atomically(mut self, work: impl FnOnce(&mut Connection) -> Result<()>) -> Result<()> {
        let (inside, mut writing) = (self.in_transaction, self.writing.take());
        self.get().atomically(inside, |connection| {
            work(connection)?;
            match &mut writing {
                Some(writing) if !inside => writing.before_commit(),
                _ => Ok(()),
            }
        })
    }

    /// Tells the extension that the open transaction writes to the database's own tables.
    fn before_engine_write(&self) -> Result<()> {
        match self.lease.as_ref().and_then(|lease| lease.extension.as_ref()) {
            Some(extension) => extension.before_engine_write(),
            None => Ok(()),
        }
    }

    #[inline]
    fn get(&mut self) -> &mut Lease<'e> {
        self.lease.as_mut().expect("a connection in use has its lease")
    }

    #[inline]
    fn begin_handing_out(&self) -> Result<Option<HandingOut<'e>>> {
        if self.in_transaction { Ok(None) } else { self.session.engine.begin_handing_out() }
    }

    /// To be called before a statement that commits, unless a transaction is open.
    #[inline]
    fn before_commit(&mut self) -> Result<()> {
        match &mut self.writing {
            Some(writing) if !self.in_transaction => writing.before_commit(),
            _ => Ok(()),
        }
    }
}

impl Drop for Use<'_, '_> {
    #[inline]
    fn drop(&mut self) {
        let state = match self.lease.take() {
            Some(lease) if self.in_transaction && lease.db.is_autocommit() => State::Lost,
            Some(lease) if self.in_transaction => State::Open(lease),
            _ => State::Idle,
        };
        self.session.state.set(state);
    }
}
