//! The state of a session, and atomic operations on its connection.
//!
//! In a transaction, PostgreSQL rejects all statements after an error. Each operation is therefore enclosed in a
//! savepoint, which is rolled back if the operation fails, unless [something else](UndoPoint) undoes it.

use crate::connection::pool::PooledConnection;
use crate::connection::{Connection, PreparedStatement};
use crate::database::Database;
use crate::error::locate;
use crate::protocol::message::Message;
use crate::protocol::row::ValueSpans;
use crate::protocol::value::Outside;
use crate::session::open_cursors::OpenCursors;
use crate::session::undo::UndoPoint;
use crate::table_info::{SQL, TableInfo};
use bobak_core::{Error, ErrorKind, Interrupt, Result, Row, TableSchema, Value, ValueRef};
use bobak_engine_common::{NarrowAmounts, Savepoints};
use bobak_sql::Dialect;
use bobak_sql::server::SqlServer;
use std::sync::Arc;

/// The state of a session.
pub(crate) struct SessionState<'e> {
    pub database: &'e Database,
    /// The transaction's connection; `None` between calls outside of a transaction.
    pub pooled: Option<PooledConnection<'e>>,
    /// Whether a transaction is open.
    pub open: bool,
    /// Whether the server has rolled the transaction back, so that it can only be ended.
    pub failed: bool,
    /// Why, for a caller that commits it nevertheless.
    pub reason: ErrorKind,
    /// Whether the transaction has changed tables. A rollback reverts that.
    pub altered: bool,
    /// Whether the transaction runs statements of somebody who may only read.
    pub only_reads: bool,
    pub savepoints: Savepoints,
    /// What undoes the next operation of this call: nothing was done since.
    pub unused: Option<UndoPoint>,
    /// The same for the next call.
    pub next_unused: Option<UndoPoint>,
    pub cursors: OpenCursors<'e>,
    pub spans: ValueSpans,
}

/// A session's connection, for what reads and changes schemas.
pub(crate) struct ServerConnection<'s, 'e> {
    state: &'s mut SessionState<'e>,
    connection: &'s mut Connection,
}

impl SqlServer for ServerConnection<'_, '_> {
    fn dialect(&self) -> Dialect {
        SQL
    }

    fn ask(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row),
    ) -> Result<()> {
        self.state.ask(self.connection, sql, values, row)
    }

    fn run(&mut self, table: &TableSchema, sql: &str) -> Result<()> {
        self.connection.statement(sql, |_| {}).map_err(|error| locate(error, table))
    }
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
            only_reads: false,
            savepoints: Savepoints::default(),
            unused: None,
            next_unused: None,
            cursors: OpenCursors::default(),
            spans: ValueSpans::default(),
        }
    }

    /// Runs one operation on the session's connection. Outside of a transaction the connection then returns to the
    /// pool.
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
        self.unused = self.next_unused.take();
        let mut pooled = match self.pooled.take() {
            Some(pooled) => pooled,
            None => self.take()?,
        };
        let done = run(self, &mut pooled);
        if self.open {
            self.pooled = Some(pooled);
        } else if pooled.status != b'I' && !pooled.is_broken {
            // The caller's SQL has begun a transaction, which must not leak to other sessions.
            pooled.simple("ROLLBACK", |_| {})?;
            drop(pooled);
            done?;
            let message = "begin and end transactions by API calls, not by SQL";
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        done
    }

    /// Takes a connection from the pool. If all are in use, a cursor of this session gives its connection up.
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

    /// Runs an atomic operation: `ask` appends its requests, and `on` receives the replies. After an error, an open
    /// transaction can go on.
    ///
    /// `writes` says that the operation commits if no transaction is open.
    ///
    /// # Errors
    /// Those of the server and the connection, and of `ask` and `on`.
    pub fn operation(
        &mut self,
        connection: &mut Connection,
        writes: bool,
        ask: impl FnOnce(&mut Connection) -> Result<()>,
        on: impl FnMut(Message<'_>) -> Result<()>,
    ) -> Result<()> {
        let point = self.protect(connection);
        if let Err(error) = ask(connection) {
            connection.out.clear();
            connection.check_after_error();
            self.nothing_done(point);
            return Err(error);
        }
        point.release(connection);
        if writes && !self.open {
            connection.set_commit_pending();
        }
        connection.sync();
        connection.send("sending it")?;
        let interruptible = connection.interruptible();
        let done = connection.finish(on);
        drop(interruptible);
        self.settle(connection, point, done)
    }

    /// As [`operation`](Self::operation), for an `ask` that sends requests while it appends them. If it fails, the
    /// server first rolls back what was sent.
    ///
    /// # Errors
    /// As [`operation`](Self::operation).
    pub fn batch_operation(
        &mut self,
        connection: &mut Connection,
        ask: impl FnOnce(&mut Connection) -> Result<()>,
        on: impl FnMut(Message<'_>) -> Result<()>,
    ) -> Result<()> {
        let point = self.protect(connection);
        let requested = ask(connection);
        if connection.is_broken {
            let done = requested.and(connection.finish(on));
            return self.settle(connection, point, done);
        }
        match &requested {
            Ok(()) => point.release(connection),
            Err(_) => point.undo(connection),
        }
        connection.sync();
        connection.send("sending rows")?;
        let done = self.settle_after(connection, point, on);
        if requested.is_err() && !self.failed {
            self.nothing_done(point);
        }
        match (done, requested) {
            // A COPY that was aborted because of a value that cannot be sent.
            (Err(said), Err(own)) if said.kind() == ErrorKind::Interrupted => Err(own),
            // The server's error concerns an earlier row than the value that cannot be sent.
            (done, requested) => done.and(requested),
        }
    }

    fn settle_after(
        &mut self,
        connection: &mut Connection,
        point: UndoPoint,
        on: impl FnMut(Message<'_>) -> Result<()>,
    ) -> Result<()> {
        let interruptible = connection.interruptible();
        let done = connection.finish(on);
        drop(interruptible);
        self.settle(connection, point, done)
    }

    /// Handles the result of an operation: if it failed in a transaction, goes back to `point`.
    ///
    /// # Errors
    /// That of the operation.
    pub fn settle<R>(
        &mut self,
        connection: &mut Connection,
        point: UndoPoint,
        done: Result<R>,
    ) -> Result<R> {
        let error = match done {
            Ok(value) if connection.status != b'E' => return Ok(value),
            Ok(_) => Error::new(ErrorKind::Engine, "the server aborted the transaction"),
            Err(error) => error,
        };
        connection.check_after_error();
        self.forget_if_outdated(connection, &error);
        if !self.open {
            return Err(error);
        }
        let is_lost = connection.is_broken || error.kind() == ErrorKind::Serialization;
        let is_undone = match point {
            _ if is_lost => false,
            _ if connection.status != b'E' => true,
            UndoPoint::Nothing => false,
            point => self.undo(connection, point).is_ok(),
        };
        if !is_undone {
            self.give_up(connection);
        }
        Err(error)
    }

    /// If a table has changed, or a prepared statement no longer exists, forgets what is known, so that it is queried
    /// again.
    pub fn forget_if_outdated(&self, connection: &mut Connection, error: &Error) {
        let code = crate::error::server(error).map(|said| said.code());
        if matches!(code, Some("0A000" | "26000" | "22P03" | "22P04" | "42P01" | "42703" | "42804"))
        {
            connection.forget_statements();
            self.database.table_info().clear();
        }
    }

    /// Rolls back a transaction that cannot go on, to release its locks.
    pub fn give_up(&mut self, connection: &mut Connection) {
        self.failed = true;
        self.reason =
            if connection.is_broken { ErrorKind::Unreachable } else { ErrorKind::Serialization };
        self.cursors.fail_inside();
        connection.drop_deferred();
        if !connection.is_broken && connection.simple("ROLLBACK", |_| {}).is_err() {
            connection.is_broken = true;
        }
    }

    /// Prepares a statement, or takes it from the cache.
    ///
    /// # Errors
    /// Those of the server, such as `Schema` for a missing table, and of the connection.
    pub fn prepare(
        &mut self,
        connection: &mut Connection,
        sql: &str,
        types: &[u32],
    ) -> Result<Arc<PreparedStatement>> {
        if let Some(known) = connection.prepared(sql) {
            return Ok(known);
        }
        let point = self.protect(connection);
        let name = connection.prepare_begin(sql, types);
        point.release(connection);
        connection.sync();
        connection.send("preparing a statement")?;
        let done = connection.prepare_end(sql, name);
        let prepared = self.settle(connection, point, done)?;
        self.nothing_done(point);
        Ok(prepared)
    }

    /// Runs a short statement that writes nothing important, and calls `on` for each row.
    ///
    /// # Errors
    /// Those of the server and the connection.
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
                connection.bind(&prepared, "", Outside::Rejected, value)?;
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

    /// The connection, for what reads and changes schemas.
    pub fn server<'s>(&'s mut self, connection: &'s mut Connection) -> ServerConnection<'s, 'e> {
        ServerConnection { state: self, connection }
    }

    /// What is known about a table; queried at the first use.
    ///
    /// # Errors
    /// `Schema` if the table or a column is missing; those of the connection.
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
        let narrow = NarrowAmounts::new(table, |place| columns.columns.get(place)?.decimals());
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
        Ok(TableInfo::new(table, types, narrow, sequence))
    }
}
