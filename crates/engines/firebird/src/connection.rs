//! A connection: its transaction, its prepared statements, and whether it still works; and the pool of them.

mod schema_transaction;
mod statements;

pub(crate) use schema_transaction::SchemaTexts;

use crate::catalog::CONSTRAINT;
use crate::error;
use crate::mode::Mode;
use crate::names::Names;
use crate::settings::Settings;
use crate::values::{Blobs, INLINE, encode, read_row, result_row};
use crate::wire::{
    Cell, ChannelSender, FirebirdChannel, FirebirdStatement, ReceivedRows, SentValue, ValueMessage,
    WireError, WireResult, cancel,
};
use bobak_core::{
    Error, ErrorKind, Interrupt, Interruptible, Result, ResultColumn, Row, TableSchema, Type,
    ValueRef,
};
use bobak_engine_common::{
    PreparedStatementCache, ServerPhase, ServerRow, StatementConnection, StatementValue,
    in_constraint,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many prepared statements a connection keeps.
const MAX_STATEMENTS: usize = 64;
/// How long to wait before what is in use is tried again; each time it is twice as long, up to the second.
pub(crate) const RETRY: (Duration, Duration) =
    (Duration::from_millis(1), Duration::from_millis(25));

/// A connection to a database.
#[derive(Debug)]
pub(crate) struct Connection {
    channel: FirebirdChannel,
    statements: PreparedStatementCache<Arc<FirebirdStatement>>,
    transaction: Option<i32>,
    pub names: Names,
    /// What it is doing.
    pub phase: ServerPhase,
    /// How long a call waits for a locked row.
    pub busy_timeout: Duration,
    /// The generators of tables' keys.
    pub generators: HashMap<u64, Option<Arc<str>>>,
    /// The generators of these tables have reached this key at least.
    pub reached: HashMap<u64, i64>,
    /// The number of changes of the schema that the pool knew of when it was opened.
    pub schema_changes: u64,
    broken: bool,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// Those of the network and the server.
    pub(crate) fn open(settings: &Settings) -> Result<Self> {
        let failed = |error| error::connecting(error, &settings.address.to_string());
        let mut channel = match FirebirdChannel::open(&settings.login_to(false)) {
            Err(WireError::Server(_)) if settings.create => {
                FirebirdChannel::open(&settings.login_to(true))
            }
            other => other,
        }
        .map_err(failed)?;
        channel.set_call_timeout(settings.statement_timeout).map_err(failed)?;
        let mut connection = Self {
            channel,
            statements: PreparedStatementCache::new(MAX_STATEMENTS),
            transaction: None,
            names: Names { is_short: true },
            phase: ServerPhase::Read,
            busy_timeout: settings.busy_timeout,
            generators: HashMap::new(),
            reached: HashMap::new(),
            schema_changes: 0,
            broken: false,
        };
        connection.names = Names { is_short: connection.is_version_3()? };
        Ok(connection)
    }

    /// Whether the server is one of version 3.
    fn is_version_3(&mut self) -> Result<bool> {
        let sql = "SELECT RDB$GET_CONTEXT('SYSTEM', 'ENGINE_VERSION') FROM RDB$DATABASE";
        let version = self.in_mode(Mode::Read, |connection| connection.texts(sql, &[]))?;
        Ok(version.first().is_none_or(|version| version.starts_with("3.")))
    }

    pub(crate) const fn is_broken(&self) -> bool {
        self.broken
    }

    /// The error as Bobak's; notes whether the connection is lost.
    #[cold]
    pub(crate) fn failed(&mut self, failed: WireError, table: Option<&TableSchema>) -> Error {
        if matches!(failed, WireError::Io(_)) {
            self.broken = true;
        }
        let violated = error::violated(&failed).map(str::to_owned);
        // Of a foreign key, the table that has it is named, whichever was written.
        let table = table.filter(|_| !error::is_foreign(&failed));
        let error = error::translate(failed, self.phase, table);
        match (error.kind(), violated) {
            (ErrorKind::Unreachable, _) => {
                self.broken = true;
                error
            }
            (ErrorKind::Interrupted, _) if std::mem::take(&mut self.channel.timed_out) => {
                Error::new(ErrorKind::Timeout, "the statement took longer than statement_timeout")
            }
            (ErrorKind::Interrupted, _) => Interrupt::check().err().unwrap_or(error),
            (_, Some(name)) if error.column().is_none() => {
                let look = |connection: &mut Self| Ok(connection.constraint(CONSTRAINT, &name));
                let found = match self.in_transaction() {
                    true => look(self),
                    false => self.in_mode(Mode::Read, look),
                };
                in_constraint(error, found.ok().flatten(), None)
            }
            _ => error,
        }
    }

    /// Begins a transaction.
    pub(crate) fn begin(&mut self, mode: Mode) -> Result<()> {
        self.begin_with(mode, &mode.parameters(self.busy_timeout))
    }

    fn begin_with(&mut self, mode: Mode, parameters: &[u8]) -> Result<()> {
        self.phase = ServerPhase::Read;
        let begun = self.channel.begin(parameters);
        self.transaction = Some(begun.map_err(|failed| self.failed(failed, None))?);
        self.phase = if mode == Mode::Read { ServerPhase::Read } else { ServerPhase::Inside };
        Ok(())
    }

    /// Ends the transaction.
    pub(crate) fn end(&mut self, commit: bool, table: Option<&TableSchema>) -> Result<()> {
        let Some(transaction) = self.transaction.take() else { return Ok(()) };
        self.phase = if commit { ServerPhase::Commit } else { ServerPhase::Inside };
        let ended = self.channel.end(transaction, commit);
        let ended = ended.map_err(|failed| self.failed(failed, table));
        if ended.is_err() && commit && !self.broken {
            // What cannot be committed is still open.
            let rolled_back = self.channel.end(transaction, false);
            self.broken |= rolled_back.is_err();
        }
        self.phase = ServerPhase::Read;
        ended
    }

    /// Runs something in a transaction of its own.
    pub(crate) fn in_mode<R>(
        &mut self,
        mode: Mode,
        run: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        self.begin(mode)?;
        let done = run(self);
        if self.broken {
            self.transaction = None;
            return done;
        }
        if mode == Mode::Read {
            if let Some(transaction) = self.transaction.take() {
                self.channel.end_later(transaction);
            }
            return done;
        }
        let ended = self.end(done.is_ok(), None);
        done.and_then(|done| ended.map(|()| done))
    }

    /// Runs something in another transaction, which is undone, next to the one that is open.
    pub(crate) fn in_another<R>(&mut self, run: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let (own, phase) = (self.transaction.take(), self.phase);
        let done = self.begin(Mode::Probe).and_then(|()| {
            let done = run(self);
            let ended = self.end(false, None);
            done.and_then(|done| ended.map(|()| done))
        });
        (self.transaction, self.phase) = (own, phase);
        done
    }

    fn current(&self) -> Result<i32> {
        self.transaction
            .ok_or_else(|| Error::new(ErrorKind::Misuse, "the transaction has ended already"))
    }

    /// Makes a call, again and again while a table that it changes is in use.
    fn patiently<R>(
        &mut self,
        table: Option<&TableSchema>,
        mut call: impl FnMut(&mut FirebirdChannel) -> WireResult<R>,
    ) -> Result<R> {
        Interrupt::check()?;
        let end = Instant::now() + self.busy_timeout;
        let mut pause = RETRY.0;
        let stoppable = stoppable(self.channel.sender());
        loop {
            match call(&mut self.channel) {
                Err(error) if error::is_in_use(&error) && Instant::now() < end => {
                    Interrupt::check()?;
                    std::thread::sleep(pause.min(end.saturating_duration_since(Instant::now())));
                    pause = (pause * 2).min(RETRY.1);
                }
                other => {
                    drop(stoppable);
                    return other.map_err(|failed| self.failed(failed, table));
                }
            }
        }
    }

    /// Runs a text without parameters, such as a savepoint's, or a change of the schema.
    pub(crate) fn command(&mut self, table: Option<&TableSchema>, sql: &str) -> Result<()> {
        let transaction = self.current()?;
        self.patiently(table, |channel| channel.run_text(transaction, sql))
    }

    /// The prepared statement of a text.
    pub(crate) fn prepared(
        &mut self,
        table: Option<&TableSchema>,
        sql: &str,
    ) -> Result<Arc<FirebirdStatement>> {
        if let Some(prepared) = self.statements.get(sql) {
            return Ok(Arc::clone(prepared));
        }
        let transaction = self.current()?;
        let made = self.patiently(table, |channel| channel.prepare(transaction, sql))?;
        let made = Arc::new(made);
        if let Some(old) = self.statements.insert(sql, Arc::clone(&made)) {
            self.channel.free(old.handle);
        }
        Ok(made)
    }

    /// The values as a statement takes them; long ones are sent ahead as BLOBs.
    fn message(
        &mut self,
        statement: &FirebirdStatement,
        table: Option<&TableSchema>,
        values: &[StatementValue<'_>],
    ) -> Result<ValueMessage> {
        let values = values.iter().map(|given| (given.place, given.ty, given.value.as_ref()));
        match self.sent_values(statement, table, values)? {
            sent if sent.is_empty() => Ok(ValueMessage::default()),
            sent => Ok(ValueMessage::new(&sent)),
        }
    }

    /// The same, not yet put together: values of columns at places, of types.
    pub(crate) fn sent_values<'v>(
        &mut self,
        statement: &FirebirdStatement,
        table: Option<&TableSchema>,
        values: impl ExactSizeIterator<Item = (Option<usize>, Type, ValueRef<'v>)>,
    ) -> Result<Vec<SentValue<'v>>> {
        if values.len() != statement.parameters.len() {
            let (given, wanted) = (values.len(), statement.parameters.len());
            return Err(Error::wrong_number(ErrorKind::Mismatch, given, wanted, "parameter"));
        }
        let transaction = self.current()?;
        let mut sent = Vec::with_capacity(values.len());
        let mut inline = 0;
        for (parameter, (place, ty, value)) in statement.parameters.iter().zip(values) {
            let made = encode(ty, parameter, value);
            let mut made = made.map_err(|error| StatementValue::locate(error, table, place))?;
            let bytes = made.bytes();
            inline += bytes.len();
            if bytes.len() > INLINE || inline > 4 * INLINE && bytes.len() > 100 {
                inline -= bytes.len();
                let blob = self.channel.create_blob(transaction, bytes);
                made = SentValue::Blob(blob.map_err(|failed| self.failed(failed, None))?);
            }
            sent.push(made);
        }
        Ok(sent)
    }

    /// Whether the server seems to be there.
    pub(crate) fn seems_open(&self) -> bool {
        self.channel.seems_open()
    }

    pub(crate) const fn in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// Runs a prepared statement once for each message, in few packets; those that failed, and why.
    pub(crate) fn run_all(
        &mut self,
        table: &TableSchema,
        statement: &FirebirdStatement,
        messages: Vec<ValueMessage>,
    ) -> Result<Vec<(usize, Error)>> {
        let transaction = self.current()?;
        let (mut done, mut failures) = (0, Vec::new());
        let stoppable = stoppable(self.channel.sender());
        let sent =
            self.channel.execute_all(transaction, statement, messages.into_iter(), &mut |one| {
                if let Err(error) = one {
                    failures.push((done, error));
                }
                done += 1;
            });
        drop(stoppable);
        sent.map_err(|failed| self.failed(failed, Some(table)))?;
        let failures = failures.into_iter();
        Ok(failures.map(|(at, error)| (at, self.failed(error, Some(table)))).collect())
    }

    /// Runs a statement whose one row comes with its execution.
    fn one(
        &mut self,
        table: Option<&TableSchema>,
        statement: &FirebirdStatement,
        message: &ValueMessage,
        view: &mut ServerRow,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let (transaction, mut rows) = (self.current()?, ReceivedRows::default());
        let has_row = self.patiently(table, |channel| {
            rows.clear();
            channel.execute_for_row(transaction, statement, message, &mut rows)
        })?;
        if has_row && !statement.columns.is_empty() {
            self.hand_out(transaction, statement, &rows, &mut Blobs::default(), view, row)?;
        }
        Ok(())
    }

    /// Passes the rows on that have arrived.
    fn hand_out(
        &mut self,
        transaction: i32,
        statement: &FirebirdStatement,
        rows: &ReceivedRows,
        blobs: &mut Blobs,
        view: &mut ServerRow,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<bool> {
        let width = statement.columns.len().max(1);
        self.read_blobs(transaction, rows, blobs)?;
        for at in 0..rows.cells.len() / width {
            read_row(view, rows, at, &statement.columns, blobs)?;
            if !row(view)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn read_blobs(
        &mut self,
        transaction: i32,
        rows: &ReceivedRows,
        blobs: &mut Blobs,
    ) -> Result<()> {
        blobs.clear();
        let named = rows.cells.iter().filter_map(|cell| match cell {
            Cell::Blob(blob) => Some(*blob),
            _ => None,
        });
        let named: Vec<i64> = named.collect();
        if named.is_empty() {
            return Ok(());
        }
        let read = self.channel.read_blobs(transaction, &named, &mut blobs.bytes, &mut blobs.ends);
        read.map_err(|failed| self.failed(failed, None))
    }

    /// The columns of a statement's result.
    pub(crate) fn result_columns(&mut self, sql: &str) -> Result<Vec<ResultColumn>> {
        let statement = self.prepared(None, sql)?;
        Ok(result_row(&statement.columns, None).columns().to_vec())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.channel.detach();
    }
}

/// Lets an [`Interrupt`] of this thread cancel what the connection does, until the returned guard is dropped.
fn stoppable(sender: ChannelSender) -> Option<Interruptible> {
    Interrupt::is_enabled().then(|| Interrupt::stop_by(move || cancel(&sender)))
}
