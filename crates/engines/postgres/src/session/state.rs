//! What a session has in hand, and how its operations are run: wholly or not at all.

use crate::connection::pool::PooledConnection;
use crate::connection::{Connection, Prepared};
use crate::database::Database;
use crate::error::locate;
use crate::protocol::message::Message;
use crate::protocol::row::ValueSpans;
use crate::protocol::value::Outside;
use crate::session::open_cursors::OpenCursors;
use crate::table_info::{SQL, TableInfo};
use bobak_core::{Error, ErrorKind, Interrupt, Result, Row, TableSchema, Value, ValueRef};
use std::sync::Arc;

/// The mark round one operation of a transaction.
pub(crate) const SAVEPOINT: &str = "SAVEPOINT bobak_operation";
pub(crate) const RELEASE: &str = "RELEASE bobak_operation";
pub(crate) const ROLLBACK_TO: &str = "ROLLBACK TO bobak_operation";

/// Everything that changes in a session.
pub(crate) struct SessionState<'e> {
    pub database: &'e Database,
    /// The transaction's connection; outside one there is none between calls.
    pub pooled: Option<PooledConnection<'e>>,
    /// Whether a transaction is open.
    pub open: bool,
    /// The server has rolled the transaction back: only its end is still to come.
    pub failed: bool,
    /// Why, for who commits it all the same.
    pub reason: ErrorKind,
    /// The transaction has changed tables, which its rollback takes back.
    pub altered: bool,
    /// Marks by their names; the number is the server's name for it.
    pub savepoints: Vec<(String, u64)>,
    pub made: u64,
    pub cursors: OpenCursors<'e>,
    pub spans: ValueSpans,
}

impl<'e> SessionState<'e> {
    pub fn new(database: &'e Database) -> Self {
        Self {
            database,
            pooled: None,
            open: false,
            failed: false,
            reason: ErrorKind::Serialization,
            altered: false,
            savepoints: Vec::new(),
            made: 0,
            cursors: OpenCursors::default(),
            spans: ValueSpans::default(),
        }
    }

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
        Interrupt::check()?;
        let mut pooled = match self.pooled.take() {
            Some(pooled) => pooled,
            None => self.take()?,
        };
        let done = run(self, &mut pooled);
        if self.open {
            self.pooled = Some(pooled);
        } else if pooled.status != b'I' && !pooled.is_broken {
            // A statement of the user's has begun a transaction: it is not his any more.
            pooled.simple("ROLLBACK", |_| {})?;
            drop(pooled);
            done?;
            let message = "transactions are begun and ended by calls, not by SQL";
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        done
    }

    /// A connection; where all are in use one of the session's own cursors gives up its.
    ///
    /// # Errors
    /// As [`Pool::acquire`](crate::connection::pool::Pool::acquire).
    pub fn take(&mut self) -> Result<PooledConnection<'e>> {
        if self.cursors.hold_connection() {
            match self.database.pool.try_acquire() {
                Err(error) if error.kind() == ErrorKind::Busy => self.cursors.release_one()?,
                other => return other,
            }
        }
        self.database.pool.acquire()
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
            connection.utility(SAVEPOINT);
        }
        if let Err(error) = ask(connection) {
            connection.out.clear();
            connection.check_after_error();
            return Err(error);
        }
        if self.open {
            connection.utility(RELEASE);
        } else if writes {
            connection.set_commit_pending();
        }
        connection.sync();
        connection.send("sending it")?;
        let interruptible = connection.interruptible();
        let done = connection.finish(on);
        drop(interruptible);
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
        connection.utility(SAVEPOINT);
        let asked = ask(connection);
        if connection.is_broken {
            let done = asked.and(connection.finish(on));
            return self.settle(connection, done);
        }
        if asked.is_err() {
            connection.utility(ROLLBACK_TO);
        }
        connection.utility(RELEASE);
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
        let interruptible = connection.interruptible();
        let done = connection.finish(on);
        drop(interruptible);
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
        connection.check_after_error();
        self.forget_if_outdated(connection, &error);
        if !self.open {
            return Err(error);
        }
        if connection.is_broken || error.kind() == ErrorKind::Serialization {
            self.give_up(connection);
            return Err(error);
        }
        if connection.status == b'E' {
            connection.utility(ROLLBACK_TO);
            connection.utility(RELEASE);
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
            self.database.table_info().clear();
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
            connection.utility(SAVEPOINT);
        }
        let name = connection.prepare_begin(sql, types);
        if self.open {
            connection.utility(RELEASE);
        }
        connection.sync();
        connection.send("preparing a statement")?;
        let done = connection.prepare_end(sql, name);
        self.settle(connection, done)
    }

    /// Runs a short statement as an operation that writes nothing, or nothing that matters, and
    /// hands out its rows.
    ///
    /// # Errors
    /// Those of the server and the line.
    pub fn ask(
        &mut self,
        connection: &mut Connection,
        sql: &str,
        values: &[Value<'_>],
        mut on: impl FnMut(&dyn Row),
    ) -> Result<()> {
        let prepared = self.prepare(connection, sql, &[])?;
        let mut spans = ValueSpans::default();
        self.operation(
            connection,
            false,
            |connection| {
                let value = |at: usize| values.get(at).map_or(ValueRef::Null, Value::as_ref);
                connection.bind(&prepared, "", Outside::Refused, value)?;
                connection.execute("", 0);
                Ok(())
            },
            |message| {
                if let Message::Row(body) = message {
                    on(&spans.of(body, &prepared.columns));
                }
                Ok(())
            },
        )
    }

    /// What is known of a table.
    ///
    /// # Errors
    /// `Schema` where the table or a column is missing; those of the line.
    pub fn table_info(
        &mut self,
        connection: &mut Connection,
        table: &Arc<TableSchema>,
    ) -> Result<Arc<TableInfo>> {
        if let Some(known) = self.database.table_info().get(&table.id()) {
            return Ok(Arc::clone(known));
        }
        let table_info =
            self.query_table_info(connection, table).map_err(|error| locate(error, table))?;
        let table_info = Arc::new(table_info);
        self.database.table_info().insert(table.id(), Arc::clone(&table_info));
        Ok(table_info)
    }

    fn query_table_info(
        &mut self,
        connection: &mut Connection,
        table: &Arc<TableSchema>,
    ) -> Result<TableInfo> {
        let all = bobak_sql::get(SQL, table);
        let columns = self.prepare(connection, &all, &[])?;
        let types = columns.columns.iter().map(|column| column.oid).collect();
        let mut sequence = None;
        if table.key_generation() == bobak_core::KeyGeneration::Engine
            && let Some(key) = table.key().first().and_then(|place| table.columns().get(*place))
        {
            let text = "SELECT pg_get_serial_sequence($1, $2)";
            let name = bobak_sql::quote(SQL, table.name());
            let values = [Value::from(name), Value::from(key.name.to_string())];
            self.ask(connection, text, &values, |row| {
                if let ValueRef::Text(name) = row.get(0) {
                    sequence = Some(name.to_owned());
                }
            })?;
        }
        Ok(TableInfo::new(table, types, sequence))
    }
}
