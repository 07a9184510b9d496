//! A session: the contract's calls, one connection while it needs one.

use crate::connection::{Connection, Prepared};
use crate::cursor::Cursors;
use crate::engine::Inner;
use crate::error::locate;
use crate::facts::{Facts, SQL};
use crate::message::Message;
use crate::pool::Lease;
use crate::row::Spans;
use crate::value::Outside;
use crate::{alter, batch, catalog, query, singles, sql_text};
use bobak_core::{
    Batch, Change, Control, Cursor, CursorId, Error, ErrorKind, OnError, Outcome, Result, Row,
    RowBuffer, SchemaChange, Session, Source, TableSchema, Value, Write,
};
use std::cell::{RefCell, RefMut};
use std::sync::Arc;

/// The mark round one operation of a transaction.
pub(crate) const GUARD: &str = "SAVEPOINT bobak_operation";
pub(crate) const UNGUARD: &str = "RELEASE bobak_operation";
pub(crate) const BACK: &str = "ROLLBACK TO bobak_operation";

pub(crate) struct PgSession<'e> {
    state: RefCell<State<'e>>,
}

/// Everything that changes in a session.
pub(crate) struct State<'e> {
    pub inner: &'e Inner,
    /// The transaction's connection; outside one there is none between calls.
    pub lease: Option<Lease<'e>>,
    /// Whether a transaction is open.
    pub open: bool,
    /// The server has rolled the transaction back: only its end is still to come.
    pub failed: bool,
    /// Why, for who commits it all the same.
    reason: ErrorKind,
    /// The transaction has changed tables, which its rollback takes back.
    pub altered: bool,
    /// Marks by their names; the number is the server's name for it.
    marks: Vec<(String, u64)>,
    made: u64,
    pub cursors: Cursors<'e>,
    pub spans: Spans,
}

impl<'e> PgSession<'e> {
    pub fn new(inner: &'e Inner) -> Self {
        let state = State {
            inner,
            lease: None,
            open: false,
            failed: false,
            reason: ErrorKind::Serialization,
            altered: false,
            marks: Vec::new(),
            made: 0,
            cursors: Cursors::default(),
            spans: Spans::default(),
        };
        Self { state: RefCell::new(state) }
    }

    /// The state, for a call that is not from inside another.
    fn state(&self) -> Result<RefMut<'_, State<'e>>> {
        self.state.try_borrow_mut().map_err(|_| {
            let message =
                "the session is handing out rows: read them first, or use another session";
            Error::new(ErrorKind::Misuse, message)
        })
    }
}

impl<'e> State<'e> {
    /// Runs one operation on the session's connection, which goes back afterwards where no
    /// transaction is open.
    ///
    /// # Errors
    /// `Misuse` in a transaction that has failed; those of `run` and of connecting.
    pub fn with<R>(
        &mut self,
        run: impl FnOnce(&mut Self, &mut Connection) -> Result<R>,
    ) -> Result<R> {
        if self.failed {
            let message = "the transaction was rolled back by the server: begin it again";
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        let mut lease = match self.lease.take() {
            Some(lease) => lease,
            None => self.take()?,
        };
        let done = run(self, &mut lease);
        if self.open {
            self.lease = Some(lease);
        } else if lease.status != b'I' && !lease.is_broken {
            // A statement of the user's has begun a transaction: it is not his any more.
            lease.simple("ROLLBACK", |_| {})?;
            drop(lease);
            done?;
            let message = "transactions are begun and ended by calls, not by SQL";
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        done
    }

    /// A connection; where all are in use one of the session's own cursors gives up its.
    ///
    /// # Errors
    /// As [`Pool::take`](crate::pool::Pool::take).
    pub fn take(&mut self) -> Result<Lease<'e>> {
        if self.cursors.hold_a_connection() {
            match self.inner.pool.take_within(std::time::Duration::ZERO) {
                Err(error) if error.kind() == ErrorKind::Busy => self.cursors.release_one()?,
                other => return other,
            }
        }
        self.inner.pool.take()
    }

    /// Runs one operation whose requests `ask` appends, and whose answers `on` takes: wholly or not
    /// at all, and in a transaction so that the session goes on after an error.
    ///
    /// `writes` says that outside a transaction the operation commits.
    ///
    /// # Errors
    /// Those of the server and the line, and of `ask` and `on`.
    pub fn operation(
        &mut self,
        connection: &mut Connection,
        writes: bool,
        ask: impl FnOnce(&mut Connection) -> Result<()>,
        on: impl FnMut(Message<'_>) -> Result<()>,
    ) -> Result<()> {
        if self.open {
            connection.utility(GUARD);
        }
        if let Err(error) = ask(connection) {
            connection.out.clear();
            connection.trouble();
            return Err(error);
        }
        if self.open {
            connection.utility(UNGUARD);
        } else if writes {
            connection.stake();
        }
        connection.sync();
        connection.send("sending it")?;
        let done = connection.finish(on);
        self.settle(connection, done)
    }

    /// As [`operation`](Self::operation), where `ask` sends what it appends as it grows: an error of
    /// its own comes after the server has undone the rest.
    ///
    /// # Errors
    /// As [`operation`](Self::operation).
    pub fn batch_operation(
        &mut self,
        connection: &mut Connection,
        ask: impl FnOnce(&mut Connection) -> Result<()>,
        on: impl FnMut(Message<'_>) -> Result<()>,
    ) -> Result<()> {
        connection.utility(GUARD);
        let asked = ask(connection);
        if connection.is_broken {
            let done = asked.and(connection.finish(on));
            return self.settle(connection, done);
        }
        if asked.is_err() {
            connection.utility(BACK);
        }
        connection.utility(UNGUARD);
        connection.sync();
        connection.send("sending rows")?;
        let done = self.settle_after(connection, on);
        match (done, asked) {
            // A COPY that was stopped for what could not be sent.
            (Err(said), Err(own)) if said.kind() == ErrorKind::Interrupted => Err(own),
            // What the server refused came before what could not be sent.
            (done, asked) => done.and(asked),
        }
    }

    fn settle_after(
        &mut self,
        connection: &mut Connection,
        on: impl FnMut(Message<'_>) -> Result<()>,
    ) -> Result<()> {
        let done = connection.finish(on);
        self.settle(connection, done)
    }

    /// After an operation of a transaction: goes back to its beginning where it failed.
    ///
    /// # Errors
    /// That of the operation.
    pub fn settle<R>(&mut self, connection: &mut Connection, done: Result<R>) -> Result<R> {
        let error = match done {
            Ok(value) if connection.status != b'E' => return Ok(value),
            Ok(_) => Error::new(ErrorKind::Engine, "the server gave the transaction up"),
            Err(error) => error,
        };
        connection.trouble();
        self.forget_if_outdated(connection, &error);
        if !self.open {
            return Err(error);
        }
        if connection.is_broken || error.kind() == ErrorKind::Serialization {
            self.give_up(connection);
            return Err(error);
        }
        if connection.status == b'E' {
            connection.utility(BACK);
            connection.utility(UNGUARD);
            connection.sync();
            let back = connection.send("undoing it").and_then(|()| connection.finish(|_| Ok(())));
            if back.is_err() {
                self.give_up(connection);
            }
        }
        Err(error)
    }

    /// Where a table is not as it was known, or a prepared statement is not there any more, what is
    /// known is asked anew the next time.
    fn forget_if_outdated(&self, connection: &mut Connection, error: &Error) {
        let code = crate::error::server(error).map(|said| said.code());
        if matches!(code, Some("0A000" | "26000" | "22P03" | "22P04" | "42P01" | "42703" | "42804"))
        {
            connection.forget_statements();
            self.inner.facts().clear();
        }
    }

    /// The transaction can't go on: it is rolled back now, so that it holds nobody up.
    pub fn give_up(&mut self, connection: &mut Connection) {
        self.failed = true;
        self.reason =
            if connection.is_broken { ErrorKind::Unreachable } else { ErrorKind::Serialization };
        self.cursors.fail_inside();
        if !connection.is_broken && connection.simple("ROLLBACK", |_| {}).is_err() {
            connection.is_broken = true;
        }
    }

    /// The statement, prepared.
    ///
    /// # Errors
    /// Those of the server, such as `Schema` for a table that is missing, and of the line.
    pub fn prepare(
        &mut self,
        connection: &mut Connection,
        sql: &str,
        types: &[u32],
    ) -> Result<Arc<Prepared>> {
        if let Some(known) = connection.prepared(sql) {
            return Ok(known);
        }
        if self.open {
            connection.utility(GUARD);
        }
        let name = connection.prepare_begin(sql, types);
        if self.open {
            connection.utility(UNGUARD);
        }
        connection.sync();
        connection.send("preparing a statement")?;
        let done = connection.prepare_end(sql, name);
        self.settle(connection, done)
    }

    /// What is known of a table.
    ///
    /// # Errors
    /// `Schema` where the table or a column is missing; those of the line.
    pub fn facts(
        &mut self,
        connection: &mut Connection,
        table: &Arc<TableSchema>,
    ) -> Result<Arc<Facts>> {
        if let Some(known) = self.inner.facts().get(&table.id()) {
            return Ok(Arc::clone(known));
        }
        let facts = self.ask_facts(connection, table).map_err(|error| locate(error, table))?;
        let facts = Arc::new(facts);
        self.inner.facts().insert(table.id(), Arc::clone(&facts));
        Ok(facts)
    }

    fn ask_facts(
        &mut self,
        connection: &mut Connection,
        table: &Arc<TableSchema>,
    ) -> Result<Facts> {
        let all = bobak_sql::get(SQL, table);
        let columns = self.prepare(connection, &all, &[])?;
        let types = columns.columns.iter().map(|column| column.oid).collect();
        let mut sequence = None;
        if table.key_generation() == bobak_core::KeyGeneration::Engine
            && let Some(key) = table.key().first().and_then(|place| table.columns().get(*place))
        {
            let text = "SELECT pg_get_serial_sequence($1, $2)";
            let asked = self.prepare(connection, text, &[])?;
            let name = bobak_sql::quote(SQL, table.name());
            let values = [Value::from(name), Value::from(key.name.to_string())];
            let mut spans = Spans::default();
            self.operation(
                connection,
                false,
                |connection| {
                    let value = |place: usize| {
                        values.get(place).map_or_else(Default::default, Value::as_ref)
                    };
                    connection.bind(&asked, "", Outside::Refused, value)?;
                    connection.execute("", 0);
                    Ok(())
                },
                |message| {
                    if let Message::Row(body) = message
                        && let bobak_core::ValueRef::Text(name) =
                            spans.of(body, &asked.columns).get(0)
                    {
                        sequence = Some(name.to_owned());
                    }
                    Ok(())
                },
            )?;
        }
        Ok(Facts::new(table, types, sequence))
    }

    fn begin(&mut self) -> Result<()> {
        if self.open {
            return Err(Error::new(ErrorKind::Misuse, "a transaction is open already"));
        }
        use crate::settings::Isolation;
        let text = match self.inner.settings.isolation {
            Isolation::Serializable => "BEGIN ISOLATION LEVEL SERIALIZABLE",
            Isolation::RepeatableRead => "BEGIN ISOLATION LEVEL REPEATABLE READ",
            Isolation::ReadCommitted => "BEGIN ISOLATION LEVEL READ COMMITTED",
        };
        self.with(|state, connection| {
            connection.utility(text);
            connection.sync();
            connection.send("beginning a transaction")?;
            let begun = connection.finish(|_| Ok(()));
            if begun.is_err() {
                connection.trouble();
            }
            state.open = begun.is_ok();
            begun
        })
    }

    /// Commits or rolls back.
    fn end(&mut self, commit: bool) -> Result<()> {
        if !self.open {
            return Err(Error::new(ErrorKind::Misuse, "no transaction is open"));
        }
        let failed = std::mem::take(&mut self.failed);
        self.marks.clear();
        let drained = if failed { Ok(()) } else { self.drain_inside() };
        self.open = false;
        let altered = std::mem::take(&mut self.altered);
        let Some(mut lease) = self.lease.take() else {
            return Ok(());
        };
        if altered {
            self.inner.facts().clear();
            lease.forget_statements();
        }
        if failed || lease.is_broken {
            if !commit {
                return Ok(());
            }
            let message = "the transaction was rolled back before its commit: begin it again";
            return Err(Error::new(self.reason, message));
        }
        let mut rolled_back = false;
        lease.utility(if commit { "COMMIT" } else { "ROLLBACK" });
        if commit {
            lease.stake();
        }
        lease.sync();
        let sent = lease.send(if commit { "committing" } else { "rolling back" });
        let done = sent.and_then(|()| {
            lease.finish(|message| {
                if let Message::Done(tag) = message {
                    rolled_back = tag == b"ROLLBACK";
                }
                Ok(())
            })
        });
        match done {
            Ok(()) if commit && rolled_back => {
                Err(Error::new(ErrorKind::Engine, "the server rolled the transaction back"))
            }
            // A broken line has rolled back too.
            Err(error) if !commit && lease.is_broken => {
                drop(error);
                Ok(())
            }
            Err(error) => {
                lease.trouble();
                Err(error)
            }
            Ok(()) => drained,
        }
    }

    /// Reads the rest of the transaction's cursors: they do not outlive what comes.
    fn drain_inside(&mut self) -> Result<()> {
        if !self.cursors.any_inside() {
            return Ok(());
        }
        let mut cursors = std::mem::take(&mut self.cursors);
        let drained = self.with(|state, connection| cursors.drain_inside(state, connection));
        self.cursors = cursors;
        drained
    }

    fn mark(&mut self, step: Control<'_>) -> Result<()> {
        if !self.open {
            return Err(Error::new(
                ErrorKind::Misuse,
                "savepoints are of a transaction, and none is open",
            ));
        }
        let name = match step {
            Control::Savepoint(name) | Control::Release(name) | Control::RollbackTo(name) => name,
            _ => "",
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            let message = format!("'{name}' is no name for a savepoint: letters, digits and _ are");
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        if let Control::Savepoint(name) = step {
            self.made += 1;
            let number = self.made;
            self.simple_step(&format!("SAVEPOINT bobak_mark_{number}"))?;
            self.marks.push((name.to_owned(), number));
            return Ok(());
        }
        let place = self.marks.iter().rposition(|(mark, _)| mark == name);
        let Some((place, number)) = place.and_then(|at| Some((at, self.marks.get(at)?.1))) else {
            return Err(Error::new(ErrorKind::Misuse, format!("there is no savepoint '{name}'")));
        };
        if let Control::Release(_) = step {
            self.simple_step(&format!("RELEASE bobak_mark_{number}"))?;
            self.marks.truncate(place);
            return Ok(());
        }
        self.drain_inside()?;
        self.simple_step(&format!("ROLLBACK TO bobak_mark_{number}"))?;
        self.marks.truncate(place + 1);
        if self.altered {
            self.inner.facts().clear();
            if let Some(lease) = &mut self.lease {
                lease.forget_statements();
            }
        }
        Ok(())
    }

    fn simple_step(&mut self, sql: &str) -> Result<()> {
        self.with(|state, connection| {
            let done = connection.simple(sql, |_| {});
            if done.is_err() {
                state.give_up(connection);
            }
            done
        })
    }
}

impl Session for PgSession<'_> {
    fn control(&self, step: Control<'_>) -> Result<()> {
        let mut state = self.state()?;
        match step {
            Control::Begin => state.begin(),
            Control::Commit => state.end(true),
            Control::Rollback => state.end(false),
            _ => state.mark(step),
        }
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        let mut state = self.state()?;
        state.with(|state, connection| singles::write(state, connection, write))
    }

    fn change(&self, change: &Change<'_>) -> Result<u64> {
        let mut state = self.state()?;
        state.with(|state, connection| sql_text::change(state, connection, change))
    }

    fn batch(
        &self,
        batch: &Batch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
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
        let mut state = self.state()?;
        state.with(|state, connection| query::run(state, connection, source, row))
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        crate::cursor::open(&mut *self.state()?, source)
    }

    fn fetch(&self, cursor: CursorId, rows: &mut RowBuffer) -> Result<()> {
        rows.clear();
        crate::cursor::fetch(&mut *self.state()?, cursor, rows)
    }

    fn close(&self, cursor: CursorId) {
        if let Ok(mut state) = self.state() {
            crate::cursor::close(&mut state, cursor);
        }
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        let mut state = self.state()?;
        state.with(catalog::tables)
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        let mut state = self.state()?;
        // A cursor's own connection would make the change wait for itself.
        state.drain_inside()?;
        state.cursors.release_all()?;
        state.with(|state, connection| alter::run(state, connection, changes))
    }

    fn execute(&self, sql: &str, parameters: &[Value<'_>]) -> Result<u64> {
        let mut state = self.state()?;
        state.with(|state, connection| sql_text::execute(state, connection, sql, parameters))
    }

    fn name_caller(&self, who: Option<&str>) -> Result<()> {
        // A setting that ends with the transaction: the counter's row would be fought over.
        match who {
            Some(who) => self
                .execute("SELECT set_config('bobak.who', ?, true)", &[Value::from(who)])
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
