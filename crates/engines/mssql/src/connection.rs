//! A connection: its transaction, the calls on it, and whether it still works.

use crate::catalog::CONSTRAINT;
use crate::dialect::MssqlStatements;
use crate::error;
use crate::rows::{read_row, result_row};
use crate::settings::{MssqlIsolation, Settings};
use crate::values::parameter;
use crate::wire::{
    SentKind, TdsChannel, TdsError, TdsValue, TokenReader, TransactionStep, push_call,
};
use bobak_core::{
    Error, ErrorKind, Interrupt, Result, ResultColumn, Row, TableSchema, Type, ValueRef,
};
use bobak_engine_common::{
    Connector, SavepointStep, ServerPhase, ServerRow, StatementConnection, StatementDialect,
    StatementValue, TransactionConnection, in_constraint, kept_types,
};
use std::time::Duration;

/// How the transactions of a database are isolated.
const OPTIONS: &str = "SELECT snapshot_isolation_state, is_read_committed_snapshot_on FROM sys.databases WHERE name = @P1";

/// A connection to a database.
#[derive(Debug)]
pub(crate) struct Connection {
    channel: TdsChannel,
    /// The schema in which tables are created and found.
    pub schema: String,
    /// Whether batches use the bulk load.
    pub has_bulk: bool,
    pub isolation: MssqlIsolation,
    /// How long a call waits for a lock, in milliseconds.
    pub lock_timeout: u128,
    /// What it is doing.
    pub phase: ServerPhase,
    broken: bool,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// Those of the network and the server.
    pub(crate) fn open(settings: &Settings) -> Result<Self> {
        Self::open_database(settings, &settings.address.database)
    }

    fn open_database(settings: &Settings, database: &str) -> Result<Self> {
        let failed = |error| error::connecting(error, &settings.address.to_string());
        let mut channel = TdsChannel::open(&settings.login_to(database)).map_err(failed)?;
        let limit = channel.set_call_timeout(settings.statement_timeout);
        limit.map_err(|error| failed(error.into()))?;
        let mut connection = Self {
            channel,
            schema: "dbo".to_owned(),
            has_bulk: settings.bulk,
            isolation: settings.isolation,
            lock_timeout: settings.busy_timeout.as_millis().min(i32::MAX as u128),
            phase: ServerPhase::Read,
            broken: false,
        };
        let lock_timeout = connection.lock_timeout;
        let setup = format!(
            "SET XACT_ABORT OFF; SET QUOTED_IDENTIFIER ON; SET LOCK_TIMEOUT {lock_timeout};"
        );
        connection.command(None, &setup)?;
        let schema = connection.texts("SELECT SCHEMA_NAME()", &[])?.pop();
        connection.schema = schema.filter(|name| !name.is_empty()).unwrap_or(connection.schema);
        Ok(connection)
    }

    /// Creates the database of the settings, with snapshot isolation, unless it exists.
    ///
    /// # Errors
    /// Those of the network and the server.
    pub(crate) fn create_database(settings: &Settings) -> Result<()> {
        let mut connection = Self::open_database(settings, "master")?;
        let name = [StatementValue::of_type(Type::Text, &*settings.address.database)];
        if !connection.integers(None, "SELECT DB_ID(@P1)", &name)?.is_empty() {
            return Ok(());
        }
        let quoted = MssqlStatements.quoted(&settings.address.database);
        connection.command(None, &format!("CREATE DATABASE {quoted}"))?;
        let mut missing = Vec::new();
        connection.each(None, OPTIONS, &name, &mut |row| {
            let options = ["ALLOW_SNAPSHOT_ISOLATION", "READ_COMMITTED_SNAPSHOT"];
            let is_off = |at: usize| row.get(at) == ValueRef::Int(0);
            missing.extend((0..).zip(options).filter(|(at, _)| is_off(*at)).map(|(_, name)| name));
            Ok(true)
        })?;
        missing.iter().try_for_each(|option| {
            connection.command(None, &format!("ALTER DATABASE {quoted} SET {option} ON"))
        })
    }

    /// Whether the server seems to be there.
    pub(crate) fn seems_open(&self) -> bool {
        self.channel.seems_open()
    }

    /// Whether a transaction is open: some errors end it.
    pub(crate) const fn in_transaction(&self) -> bool {
        self.channel.in_transaction()
    }

    /// The error as Bobak's; notes whether the connection is lost.
    #[cold]
    fn failed(&mut self, failed: TdsError, table: Option<&TableSchema>) -> Error {
        match &failed {
            TdsError::Io(_) => self.broken = true,
            TdsError::Server(server) => self.broken |= server.severity >= 20,
            TdsError::Cancelled if std::mem::take(&mut self.channel.timed_out) => {
                let message = "the statement took longer than statement_timeout";
                return Error::new(ErrorKind::Timeout, message);
            }
            TdsError::Cancelled | TdsError::Tls(_) => {}
        }
        let constraint = error::constraint(&failed);
        let error = error::translate(failed, self.phase, table);
        match (error.kind(), constraint) {
            (ErrorKind::Unreachable, _) => self.broken = true,
            (ErrorKind::Interrupted, _) => return Interrupt::check().err().unwrap_or(error),
            // A row of another table refers to the one that is deleted; or another program has named the constraint.
            (_, Some(name)) if error.column().is_none() => {
                let found = self.constraint(CONSTRAINT, &name);
                return in_constraint(error, found, table);
            }
            _ => {}
        }
        error
    }

    /// Begins a transaction, ends it or marks a savepoint.
    pub(crate) fn transact(&mut self, step: TransactionStep<'_>) -> Result<()> {
        Interrupt::check()?;
        self.channel.transact(step).map_err(|failed| self.failed(failed, None))
    }

    /// Runs a text without parameters, such as a savepoint's, or a change of the schema.
    pub(crate) fn command(&mut self, table: Option<&TableSchema>, sql: &str) -> Result<()> {
        Interrupt::check()?;
        let done = self.channel.run_text(sql, &mut |_| true);
        done.map(drop).map_err(|failed| self.failed(failed, table))
    }

    /// Sends a bulk load: its statement, then its rows.
    pub(crate) fn load(&mut self, table: &TableSchema, sql: &str, rows: &[u8]) -> Result<()> {
        self.command(Some(table), sql)?;
        let done = self.channel.load(rows);
        done.map(drop).map_err(|failed| self.failed(failed, Some(table)))
    }

    /// The collation of the database, as the protocol has it.
    pub(crate) const fn collation(&self) -> [u8; 5] {
        self.channel.collation
    }

    /// The columns of the last result.
    pub(crate) fn result_columns(&self) -> Vec<ResultColumn> {
        result_row(self.channel.columns(), None).columns().to_vec()
    }
}

/// Opens connections.
#[derive(Debug)]
pub(crate) struct MssqlConnector(pub Settings);

impl Connector for MssqlConnector {
    type Connection = Connection;

    fn connect(&self) -> Result<Connection> {
        Connection::open(&self.0)
    }

    fn is_usable(&self, connection: &mut Connection, _: Duration) -> bool {
        connection.seems_open()
    }

    fn is_reusable(&self, connection: &mut Connection) -> bool {
        !connection.broken && !connection.in_transaction()
    }
}

impl TransactionConnection for Connection {
    fn is_broken(&self) -> bool {
        self.broken
    }

    fn has_ended(&self, _: &Error) -> bool {
        self.broken || !self.in_transaction()
    }

    fn end(&mut self, commit: bool) -> Result<()> {
        if !self.in_transaction() {
            self.phase = ServerPhase::Read;
            return Ok(());
        }
        self.phase = if commit { ServerPhase::Commit } else { ServerPhase::Inside };
        let step = if commit { TransactionStep::Commit } else { TransactionStep::Rollback("") };
        let ended = Interrupt::hold_off(|| self.transact(step));
        if ended.is_err() && commit && !self.broken && self.in_transaction() {
            let rolled_back = self.transact(TransactionStep::Rollback(""));
            self.broken |= rolled_back.is_err();
        }
        self.phase = ServerPhase::Read;
        ended
    }

    fn savepoint(&mut self, step: SavepointStep, name: &str) -> Result<()> {
        self.transact(match step {
            SavepointStep::Set => TransactionStep::Save(name),
            SavepointStep::RollBackTo => TransactionStep::Rollback(name),
            // SQL Server forgets them with the transaction only.
            SavepointStep::Release => return Ok(()),
        })
    }
}

impl StatementConnection for Connection {
    type Dialect = MssqlStatements;

    fn dialect(&self) -> MssqlStatements {
        MssqlStatements
    }

    fn run(
        &mut self,
        table: Option<&TableSchema>,
        sql: &str,
        values: &[StatementValue<'_>],
    ) -> Result<u64> {
        Interrupt::check()?;
        let sent = StatementValue::all_sent(values, table, sent)?;
        let done = self.channel.call(|out| push_call(out, sql, &sent), &mut |_| true);
        let written = done.map_err(|failed| self.failed(failed, table))?;
        // The rows of a result are counted, too.
        Ok(if self.channel.columns().is_empty() { written } else { 0 })
    }

    fn each(
        &mut self,
        of: Option<(&TableSchema, &[usize])>,
        sql: &str,
        values: &[StatementValue<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        Interrupt::check()?;
        let table = of.map(|(table, _)| table);
        let types = of.map(|(table, shown)| kept_types(table, shown));
        let sent = StatementValue::all_sent(values, table, sent)?;
        let (mut view, mut rejected) = (ServerRow::default(), None);
        let mut take = |reader: &TokenReader| {
            let read = read_row(&mut view, reader, types.as_deref());
            let taken = read.and_then(|()| row(&view));
            taken.unwrap_or_else(|error| {
                rejected = Some(error);
                false
            })
        };
        let done = self.channel.call(|out| push_call(out, sql, &sent), &mut take);
        done.map_err(|failed| self.failed(failed, table))?;
        rejected.map_or(Ok(()), Err)
    }
}

fn sent<'v>(given: &'v StatementValue<'_>) -> Result<(SentKind, TdsValue<'v>)> {
    parameter(given.ty, given.value.as_ref())
}
