//! A connection: its transaction, the calls on it, and whether it still works.

use crate::binds::binds;
use crate::catalog::CONSTRAINT;
use crate::dialect::OracleStatements;
use crate::driver::{
    BindKind, OracleBind, OracleCell, OracleColumn, OracleDone, OracleDriver, OracleFailure,
};
use crate::error;
use crate::pool::OracleConnector;
use crate::rows::{read_row, result_row};
use crate::values::parameter;
use bobak_core::{Deadline, Error, ErrorKind, Interrupt, Result, ResultColumn, Row, TableSchema};
use bobak_engine_common::{
    SavepointStep, ServerPhase, ServerRow, StatementConnection, StatementValue,
    TransactionConnection, in_constraint, kept_types,
};
use std::time::Duration;

/// What every session sets: the texts of the server's order are those of Bobak's.
const SETUP: &str = "ALTER SESSION SET NLS_SORT = 'BINARY' NLS_COMP = 'BINARY' TIME_ZONE = '+00:00' DDL_LOCK_TIMEOUT = ";
const CHARACTERS: &str =
    "SELECT \"VALUE\" FROM NLS_DATABASE_PARAMETERS WHERE PARAMETER = 'NLS_CHARACTERSET'";
/// The character set whose order is that of Unicode.
const UTF8: &str = "AL32UTF8";

/// A connection to a database.
#[derive(Debug)]
pub(crate) struct Connection {
    driver: Box<dyn OracleDriver>,
    pub connector: OracleConnector,
    /// The columns of the last result.
    columns: Vec<OracleColumn>,
    pub phase: ServerPhase,
    pub in_transaction: bool,
    broken: bool,
    /// How often it has changed a sequence.
    pub restarts: u32,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// Those of the network and the server; `Config` if the database has another character set.
    pub(crate) fn open(connector: &OracleConnector) -> Result<Self> {
        let place = connector.settings.target();
        let failed = |failure| error::connecting(&failure, &format!("{place:?}"));
        let mut connection = Self {
            driver: connector.driver.connect(&place).map_err(failed)?,
            connector: connector.clone(),
            columns: Vec::new(),
            phase: ServerPhase::Read,
            in_transaction: false,
            broken: false,
            restarts: 0,
        };
        let wait = connection.busy_timeout().as_millis().div_ceil(1_000).min(100_000);
        connection.command(None, &format!("{SETUP}{wait}"))?;
        let characters = connection.texts(CHARACTERS, &[])?.pop().unwrap_or_default();
        if characters != UTF8 {
            let message =
                format!("the database's character set is '{characters}', and Bobak needs {UTF8}");
            return Err(Error::new(ErrorKind::Config, message));
        }
        Ok(connection)
    }

    /// Another connection to the same place.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn another(&self) -> Result<Self> {
        Self::open(&self.connector)
    }

    /// How long a call waits for a lock.
    pub(crate) const fn busy_timeout(&self) -> Duration {
        self.connector.settings.busy_timeout
    }

    /// Whether the server answers.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.driver.ping(Some(self.busy_timeout())).is_ok()
    }

    /// How long a read may take.
    fn read_limit(&self) -> Option<Duration> {
        let most = Duration::from_secs(86_400);
        let limit = self.connector.settings.statement_timeout;
        let shortest = Deadline::limit(limit.unwrap_or(most)).max(Duration::from_millis(1));
        (limit.is_some() || shortest < most).then_some(shortest)
    }

    /// The error as Bobak's; notes whether the connection is lost. Of a write, to wait too long is to wait for a lock, since the
    /// server does not say what it waits for.
    #[cold]
    fn failed(
        &mut self,
        failure: &OracleFailure,
        table: Option<&TableSchema>,
        is_write: bool,
    ) -> Error {
        self.broken |= error::is_lost(failure);
        let error = error::translate(failure, self.phase, table);
        match (failure, error::constraint(failure)) {
            (OracleFailure::TimedOut | OracleFailure::Server(1_013, _), _) => {
                if let Err(interrupted) = Interrupt::check() {
                    return interrupted;
                }
                let message = "the write took longer than busy_timeout: another transaction has locked this, or the server is slow";
                match is_write {
                    true => Error::new(ErrorKind::Busy, message),
                    false => Error::new(
                        ErrorKind::Timeout,
                        "the statement took longer than statement_timeout",
                    ),
                }
            }
            // A row of another table refers to the one that is deleted; or another program has named the constraint.
            (_, Some(name)) if error.column().is_none() => {
                let found = self.constraint(CONSTRAINT, name);
                in_constraint(error, found, table)
            }
            _ => error,
        }
    }

    /// Runs a text without parameters, such as a change of the schema.
    pub(crate) fn command(&mut self, table: Option<&TableSchema>, sql: &str) -> Result<()> {
        let limit = self.read_limit();
        self.execute(table, sql, &[Vec::new()], None, limit).map(drop)
    }

    /// Runs a statement for each row of binds: see [`OracleDriver::execute`].
    pub(crate) fn run_rows(
        &mut self,
        table: Option<&TableSchema>,
        sql: &str,
        rows: &[Vec<OracleBind<'_>>],
        returned: Option<BindKind>,
    ) -> Result<OracleDone> {
        Interrupt::check()?;
        let limit = Some(self.busy_timeout());
        self.execute(table, sql, rows, returned, limit)
    }

    fn execute(
        &mut self,
        table: Option<&TableSchema>,
        sql: &str,
        rows: &[Vec<OracleBind<'_>>],
        returned: Option<BindKind>,
        limit: Option<Duration>,
    ) -> Result<OracleDone> {
        self.columns.clear();
        let done = self.driver.execute(sql, rows, returned, limit);
        let is_write = self.phase == ServerPhase::Inside;
        done.map_err(|failure| self.failed(&failure, table, is_write))
    }

    /// Runs a query within this time, or one that locks rows: see [`StatementConnection::each`].
    ///
    /// # Errors
    /// Those of the server, and of `row`.
    pub(crate) fn each_within(
        &mut self,
        of: Option<(&TableSchema, &[usize])>,
        sql: &str,
        values: &[StatementValue<'_>],
        (limit, is_lock): (Option<Duration>, bool),
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        Interrupt::check()?;
        let table = of.map(|(table, _)| table);
        let types = of.map(|(table, shown)| kept_types(table, shown));
        let binds = StatementValue::all_sent(values, table, |given| {
            parameter(given.ty, given.value.as_ref())
        })?;
        let (mut view, mut rejected) = (ServerRow::default(), None);
        let mut take = |columns: &[OracleColumn], cells: &[OracleCell]| {
            let read = read_row(&mut view, columns, cells, types.as_deref());
            let taken = read.and_then(|()| Interrupt::check()).and_then(|()| row(&view));
            taken.unwrap_or_else(|error| {
                rejected = Some(error);
                false
            })
        };
        let done = self.driver.query(sql, &binds, limit, &mut take);
        self.columns = done.map_err(|failure| self.failed(&failure, table, is_lock))?;
        rejected.map_or(Ok(()), Err)
    }

    /// The columns of the last result.
    pub(crate) fn result_columns(&self) -> Vec<ResultColumn> {
        result_row(&self.columns, None).columns().to_vec()
    }
}

impl TransactionConnection for Connection {
    fn is_broken(&self) -> bool {
        self.broken
    }

    fn end(&mut self, commit: bool) -> Result<()> {
        let limit = self.connector.settings.statement_timeout;
        self.phase = if commit { ServerPhase::Commit } else { ServerPhase::Inside };
        let ended = if commit { self.driver.commit(limit) } else { self.driver.rollback(limit) };
        let ended = ended.map_err(|failure| match failure {
            // Whether it was committed, the next call on this connection would not say.
            OracleFailure::TimedOut => {
                let failure = OracleFailure::Lost("the server did not respond in time".to_owned());
                self.failed(&failure, None, false)
            }
            failure => self.failed(&failure, None, false),
        });
        if ended.is_err() && commit && !self.broken {
            self.broken = self.driver.rollback(limit).is_err();
        }
        self.phase = ServerPhase::Read;
        self.in_transaction = false;
        ended
    }

    fn savepoint(&mut self, step: SavepointStep, name: &str) -> Result<()> {
        if step == SavepointStep::Release {
            // Oracle forgets them with the transaction only.
            return Ok(());
        }
        let limit = self.connector.settings.statement_timeout;
        self.execute(None, &step.text(name), &[Vec::new()], None, limit).map(drop)
    }
}

impl StatementConnection for Connection {
    type Dialect = OracleStatements;

    fn dialect(&self) -> OracleStatements {
        OracleStatements
    }

    fn run(
        &mut self,
        table: Option<&TableSchema>,
        sql: &str,
        values: &[StatementValue<'_>],
    ) -> Result<u64> {
        let binds = [binds(table, values)?];
        self.run_rows(table, sql, &binds, None).map(|done| done.count)
    }

    fn each(
        &mut self,
        of: Option<(&TableSchema, &[usize])>,
        sql: &str,
        values: &[StatementValue<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let limit = self.read_limit();
        self.each_within(of, sql, values, (limit, false), row)
    }
}
