//! A connection to a server: its prepared statements, the server's dialect, and whether it works.

pub(crate) mod connector;
mod describe;
pub(crate) mod placeholders;
pub(crate) mod pool;

use crate::connection::connector::ServerConnector;
use crate::error;
use crate::values::decode::{BorrowedRow, DecodedValue, Decoder};
use crate::values::encode::plain_all;
use crate::values::instants::{self, Instants, origin};
use bobak_core::{Interrupt, Interruptible, Result, ResultColumn, Row, TableSchema, Value};
use bobak_engine_common::{PreparedStatementCache, ServerPhase};
use bobak_sql::{Dialect, changes_session, server::SqlServer};
use mysql::error::DriverError;
use mysql::prelude::Queryable;
use mysql::{Binary, Column, Conn, Params, QueryResult, Statement, Text, Value as Wire};
use std::sync::Arc;

/// How many prepared statements a connection caches.
const MAX_STATEMENTS: usize = 128;

/// If at most this many rows of an abandoned result remain, they are read; else the statement is cancelled.
const MAX_SKIPPED: usize = 256;

/// What kind of server it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flavour {
    pub dialect: Dialect,
    /// Whether a lock timeout rolls back the transaction, not only the statement.
    pub lock_wait_ends_transaction: bool,
    /// The most bytes of a packet, and so of a value, that the server takes.
    pub max_packet: usize,
}

/// The bytes of a packet that are left for what is not a value.
const PACKET_OVERHEAD: usize = 1 << 10;

/// A connection to a server.
pub(crate) struct Connection {
    conn: Conn,
    connector: Arc<ServerConnector>,
    /// The index of its host.
    pub host: usize,
    pub flavour: Flavour,
    statements: PreparedStatementCache<Statement>,
    /// What it is doing.
    pub phase: ServerPhase,
    /// Whether it cannot be used any more.
    pub broken: bool,
    /// Whether statements may have left something in the server's session, such as a lock, so that no other caller may use it.
    pub session_changed: bool,
}

/// Called with each row's values and the columns. It returns whether to go on.
pub(crate) type OnRow<'r> = dyn FnMut(&[DecodedValue], &[ResultColumn]) -> Result<bool> + 'r;

/// The result of a statement that wrote.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WriteResult {
    /// Rows inserted, deleted, or changed.
    pub affected: u64,
    /// Rows that an UPDATE matched, changed or not.
    pub matched: u64,
    /// The generated key of a single new row.
    pub last_key: u64,
}

/// The result of a statement, not yet read.
pub(crate) struct StatementResult<'c> {
    rows: ResultSet<'c>,
    canceller: Canceller,
    /// Which columns are instants, if the statement is SQL text of a program.
    instants: Option<Arc<Instants>>,
}

/// The rows, from the binary or the text protocol.
enum ResultSet<'c> {
    Prepared(QueryResult<'c, 'c, 'c, Binary>),
    Plain(QueryResult<'c, 'c, 'c, Text>),
}

/// Cancels the statement that a connection is running, over another connection.
#[derive(Clone)]
pub(crate) struct Canceller {
    connector: Arc<ServerConnector>,
    host: usize,
    connection: u32,
}

impl Connection {
    pub(crate) fn new(
        conn: Conn,
        connector: Arc<ServerConnector>,
        host: usize,
        flavour: Flavour,
    ) -> Self {
        Self {
            conn,
            connector,
            host,
            flavour,
            statements: PreparedStatementCache::new(MAX_STATEMENTS),
            phase: ServerPhase::Read,
            broken: false,
            session_changed: false,
        }
    }

    /// Whether the server still answers.
    pub(crate) fn is_responsive(&mut self) -> bool {
        self.conn.ping().is_ok()
    }

    /// Runs a text without parameters, such as a COMMIT.
    pub(crate) fn command(&mut self, text: &str) -> Result<()> {
        let done = self.conn.query_drop(text);
        done.map_err(|error| self.failed(error, None))
    }

    /// Runs a statement that returns no rows.
    pub(crate) fn run(
        &mut self,
        table: Option<&TableSchema>,
        sql: &str,
        parameters: Vec<Wire>,
    ) -> Result<WriteResult> {
        self.note_session_change(sql, table.is_none());
        let done = self.start(sql, parameters, false).and_then(|reply| {
            let done = reply.done();
            reply.finish().map(|()| done)
        });
        done.map_err(|error| self.failed(error, table))
    }

    /// Runs a statement and calls `row` for each row, until it returns `false`.
    pub(crate) fn each(
        &mut self,
        table: Option<&TableSchema>,
        sql: &str,
        parameters: Vec<Wire>,
        row: &mut OnRow<'_>,
    ) -> Result<()> {
        let mut outcome = Ok(());
        let read = match self.start(sql, parameters, table.is_none()) {
            Ok(reply) => hand_out(reply, table, row, &mut outcome),
            Err(error) => Err(error),
        };
        if let Err(error) = read {
            let error = self.failed(error, table);
            // Where the reader had enough, its word comes first.
            return outcome.and(Err(error));
        }
        match table {
            None => outcome.and_then(|()| self.reject_conversions()),
            Some(_) => outcome,
        }
    }

    /// Rejects what a statement of a program compared after a conversion that lost something: the server would
    /// compare a date with a text that is none, and only warns.
    ///
    /// # Errors
    /// `Mismatch`, with the server's warning.
    pub(crate) fn reject_conversions(&mut self) -> Result<()> {
        if self.conn.warnings() == 0 {
            return Ok(());
        }
        let warnings = self.conn.query_iter("SHOW WARNINGS").and_then(Iterator::collect);
        let warnings: Vec<mysql::Row> = warnings.map_err(|error| self.failed(error, None))?;
        let message = |row: mysql::Row| {
            let (_, code, message) = mysql::from_row_opt::<(String, u16, String)>(row).ok()?;
            (code == TRUNCATED_VALUE).then_some(message)
        };
        match warnings.into_iter().find_map(message) {
            Some(message) => Err(error::conversion(&message)),
            None => Ok(()),
        }
    }

    /// The rows of a statement that gives few.
    pub(crate) fn rows(
        &mut self,
        table: Option<&TableSchema>,
        sql: &str,
        parameters: Vec<Wire>,
    ) -> Result<Vec<Vec<DecodedValue>>> {
        let mut rows = Vec::new();
        self.each(table, sql, parameters, &mut |cells, _| {
            rows.push(cells.to_vec());
            Ok(true)
        })?;
        Ok(rows)
    }

    /// Runs an insert whose keys the server makes; gives them in the rows' order. On MySQL, which
    /// has no RETURNING, of a single row only.
    pub(crate) fn insert_for_keys(
        &mut self,
        table: &TableSchema,
        sql: &str,
        parameters: Vec<Wire>,
    ) -> Result<Vec<i64>> {
        if self.flavour.dialect == Dialect::MariaDb {
            let mut keys = Vec::new();
            self.each(Some(table), sql, parameters, &mut |cells, _| {
                keys.extend(cells.iter().filter_map(|cell| match cell {
                    DecodedValue::Int(key) => Some(*key),
                    _ => None,
                }));
                Ok(true)
            })?;
            return Ok(keys);
        }
        let done = self.run(Some(table), sql, parameters)?;
        Ok(i64::try_from(done.last_key).into_iter().collect())
    }

    /// Runs a statement once for each set of parameters, in order, in as few messages as the server
    /// allows. After an error those before it are done.
    pub(crate) fn bulk(
        &mut self,
        table: &TableSchema,
        sql: &str,
        rows: Vec<Vec<Wire>>,
    ) -> Result<()> {
        // One packet has whole rows.
        let is_long = |row: &Vec<Wire>| !self.fits(row.iter().map(length).sum());
        if self.flavour.dialect != Dialect::MariaDb
            || !self.connector.settings.prepared
            || rows.iter().any(is_long)
        {
            return rows.into_iter().try_for_each(|row| self.run(Some(table), sql, row).map(drop));
        }
        let done = self.statement(sql).and_then(|statement| {
            self.conn.exec_batch(&statement, rows.into_iter().map(Params::Positional))
        });
        done.map_err(|error| self.failed(error, Some(table)))
    }

    /// Sends a statement. If it is SQL text of a program, its columns have types, and exact decimal numbers.
    pub(crate) fn start(
        &mut self,
        sql: &str,
        parameters: Vec<Wire>,
        is_sql: bool,
    ) -> mysql::Result<StatementResult<'_>> {
        self.note_session_change(sql, is_sql);
        // The driver sends long values apart; the server would end the connection at one that is too long.
        if !parameters.iter().all(|value| self.fits(length(value))) {
            return Err(mysql::Error::DriverError(DriverError::PacketTooLarge));
        }
        if !self.connector.settings.prepared {
            return self.start_plain(sql, &parameters, is_sql);
        }
        let statement = match self.statement(sql) {
            Ok(statement) => statement,
            // Some statements, DDL of old servers among them, can't be prepared.
            Err(mysql::Error::MySqlError(error)) if error.code == 1295 => {
                return self.start_plain(sql, &parameters, is_sql);
            }
            Err(error) => return Err(error),
        };
        let instants = match statement.columns() {
            _ if !is_sql => None,
            columns if columns.iter().all(|column| origin(column).is_none()) => {
                Some(Arc::default())
            }
            columns => Some(self.instants(&columns)?),
        };
        let parameters =
            if parameters.is_empty() { Params::Empty } else { Params::Positional(parameters) };
        let canceller = self.canceller();
        let _stoppable = canceller.stoppable();
        let rows = self.conn.exec_iter(&statement, parameters).map(ResultSet::Prepared)?;
        Ok(StatementResult { rows, canceller, instants })
    }

    /// Notes whether a caller's SQL leaves something in the server's session: then no other caller may use it.
    fn note_session_change(&mut self, sql: &str, is_sql: bool) {
        self.session_changed |= is_sql && changes_session(self.flavour.dialect.syntax(), sql);
    }

    fn start_plain(
        &mut self,
        sql: &str,
        parameters: &[Wire],
        is_sql: bool,
    ) -> mysql::Result<StatementResult<'_>> {
        let text = placeholders::inlined(sql, parameters)?;
        if !self.fits(text.len()) {
            return Err(mysql::Error::DriverError(DriverError::PacketTooLarge));
        }
        let instants = if is_sql { Some(self.instants(&[])?) } else { None };
        let canceller = self.canceller();
        let _stoppable = canceller.stoppable();
        let rows = self.conn.query_iter(text).map(ResultSet::Plain)?;
        Ok(StatementResult { rows, canceller, instants })
    }

    /// The instants of the database. They are read if they are not known, or if one of `columns` is not among them.
    fn instants(&mut self, columns: &[Column]) -> mysql::Result<Arc<Instants>> {
        let is_known =
            |known: &Instants| columns.iter().filter_map(origin).all(|c| known.contains_key(&c));
        if let Some(known) = self.connector.instants().filter(|known| is_known(known)) {
            return Ok(known);
        }
        let read = Arc::new(instants::read(&mut self.conn, columns)?);
        self.connector.set_instants(Some(Arc::clone(&read)));
        Ok(read)
    }

    /// The text's prepared statement, from the cache where it is there.
    fn statement(&mut self, sql: &str) -> mysql::Result<Statement> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.conn.prep(sql)?;
        if let Some(old) = self.statements.insert(sql, statement.clone()) {
            self.conn.close(old)?;
        }
        Ok(statement)
    }

    /// Whether the server takes a packet with this many bytes of values.
    const fn fits(&self, bytes: usize) -> bool {
        bytes.saturating_add(PACKET_OVERHEAD) <= self.flavour.max_packet
    }

    /// Forgets the prepared statements and the types of columns: after a change of the schema.
    pub(crate) fn forget_statements(&mut self) {
        self.connector.set_instants(None);
        for statement in self.statements.take_all() {
            if self.conn.close(statement).is_err() {
                self.broken = true;
            }
        }
    }

    /// The error as Bobak's; notes whether the connection is gone.
    #[cold]
    pub(crate) fn failed(
        &mut self,
        error: mysql::Error,
        table: Option<&TableSchema>,
    ) -> bobak_core::Error {
        if error::is_fatal(&error) {
            self.broken = true;
            if !matches!(error, mysql::Error::MySqlError(_)) {
                // Nobody waits for the statement that still runs there.
                self.connector.kill(self.host, self.conn.connection_id());
            }
        }
        error::translate(error, self.phase, table, self.flavour.lock_wait_ends_transaction)
    }

    fn canceller(&self) -> Canceller {
        let connection = self.conn.connection_id();
        Canceller { connector: Arc::clone(&self.connector), host: self.host, connection }
    }
}

impl SqlServer for Connection {
    fn dialect(&self) -> Dialect {
        self.flavour.dialect
    }

    fn ask(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row),
    ) -> Result<()> {
        self.each(None, sql, plain_all(values), &mut |cells, columns| {
            row(&BorrowedRow { cells, columns });
            Ok(true)
        })
    }

    fn run(&mut self, table: &TableSchema, sql: &str) -> Result<()> {
        Self::run(self, Some(table), sql, Vec::new()).map(drop)
    }
}

impl Canceller {
    pub(crate) fn cancel(&self) {
        self.connector.kill_query(self.host, self.connection);
    }

    /// Lets an [`Interrupt`] of this thread cancel the running statement, until the returned guard is dropped.
    fn stoppable(&self) -> Option<Interruptible> {
        Interrupt::is_enabled().then(|| {
            let canceller = self.clone();
            Interrupt::stop_by(move || canceller.cancel())
        })
    }
}

/// The server's code for a value that it cut or made 0 to compare it.
const TRUNCATED_VALUE: u16 = 1292;

/// The number of bytes of a value.
fn length(value: &Wire) -> usize {
    if let Wire::Bytes(bytes) = value { bytes.len() } else { 16 }
}

/// Hands rows out until there are no more or `row` says so; then nothing of the answer is left.
fn hand_out(
    mut reply: StatementResult<'_>,
    table: Option<&TableSchema>,
    row: &mut OnRow<'_>,
    outcome: &mut Result<()>,
) -> mysql::Result<()> {
    let decoder = reply.decoder();
    let mut cells = Vec::with_capacity(8);
    let _stoppable = reply.canceller.stoppable();
    while let Some(next) = reply.next() {
        let read = decoder.read(next?, &mut cells, table);
        let goes_on = read.and_then(|()| row(&cells, decoder.columns()));
        if !matches!(goes_on, Ok(true)) {
            *outcome = goes_on.map(drop);
            reply.abandon();
            return Ok(());
        }
    }
    Ok(())
}

impl StatementResult<'_> {
    /// The next row; nothing after the last.
    pub(crate) fn next(&mut self) -> Option<mysql::Result<mysql::Row>> {
        match &mut self.rows {
            ResultSet::Prepared(result) => result.next(),
            ResultSet::Plain(result) => result.next(),
        }
    }

    /// What reads its rows.
    pub(crate) fn decoder(&self) -> Decoder {
        let instants = self.instants.as_deref();
        match &self.rows {
            ResultSet::Prepared(result) => Decoder::new(result.columns().as_ref(), instants),
            ResultSet::Plain(result) => Decoder::new(result.columns().as_ref(), instants),
        }
    }

    fn done(&self) -> WriteResult {
        let (affected, last_key, info) = match &self.rows {
            ResultSet::Prepared(result) => {
                (result.affected_rows(), result.last_insert_id(), result.info_str())
            }
            ResultSet::Plain(result) => {
                (result.affected_rows(), result.last_insert_id(), result.info_str())
            }
        };
        // "Rows matched: 1  Changed: 0  Warnings: 0"
        let matched = info.strip_prefix("Rows matched: ").and_then(|rest| {
            let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
            digits.parse().ok()
        });
        WriteResult {
            affected,
            matched: matched.unwrap_or(affected),
            last_key: last_key.unwrap_or_default(),
        }
    }

    /// Reads what is left, for its errors.
    fn finish(mut self) -> mysql::Result<()> {
        while let Some(row) = self.next() {
            row?;
        }
        Ok(())
    }

    /// Reads some rows that nobody wants; whether that was all.
    pub(crate) fn read_away(&mut self) -> bool {
        (0..MAX_SKIPPED).any(|_| self.next().is_none())
    }

    /// What ends the statement.
    pub(crate) fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// Gets rid of rows that nobody wants: of many by ending the statement.
    fn abandon(mut self) {
        if !self.read_away() {
            self.canceller.cancel();
        }
        // Dropping the result reads the remaining rows.
    }
}
