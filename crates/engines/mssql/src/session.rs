//! What sessions run on a connection.

use crate::connection::Connection;
use crate::settings::MssqlIsolation;
use crate::values::SERVER;
use crate::wire::TransactionStep;
use crate::{batch, catalog, schema, sql_text, texts};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Error, ErrorKind, Outcome, Parameter, Result, ResultColumn, RowLock, Run, SchemaChange, Select,
    Value,
};
use bobak_engine_common::{
    AddTableRow, ServerOperations, ServerPhase, ServerWrite, StatementConnection, is_row_error,
    key_of_row,
};
use std::time::Duration;

impl ServerOperations for Connection {
    const ENGINE: &'static str = "mssql";
    const SERVER: &'static str = SERVER;
    const CATALOG: &[(&str, AddTableRow)] = &catalog::QUERIES;

    fn begin(&mut self, is_callers: bool) -> Result<()> {
        self.phase = ServerPhase::Read;
        // The session keeps the level: what commits by itself has it, too.
        let level = match (is_callers, self.isolation) {
            (false, _) => 2,
            (true, MssqlIsolation::Snapshot) => 5,
            (true, MssqlIsolation::Serializable) => 4,
        };
        self.transact(TransactionStep::Begin(level))?;
        self.phase = ServerPhase::Inside;
        Ok(())
    }

    fn write_alone<R>(
        &mut self,
        has_steps: bool,
        run: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        if has_steps {
            return self.atomically(run);
        }
        self.phase = ServerPhase::Commit;
        let done = run(self);
        self.phase = ServerPhase::Read;
        done
    }

    fn retry_time(&self) -> Option<Duration> {
        Some(Duration::from_millis(u64::try_from(self.lock_timeout).unwrap_or(0)))
    }

    /// A bulk load also fails for a reason that statements do not have: columns of another program's table.
    fn may_be_of_row(&self, error: &Error) -> bool {
        is_row_error(error.kind()) || error.kind() == ErrorKind::Engine && self.has_bulk
    }

    fn part(&self, run: &Run<'_>, rows: &[EncodedRow<'_>], made: bool) -> (usize, bool) {
        batch::part(self, run, rows, made)
    }

    fn send_together(
        &mut self,
        run: &Run<'_>,
        writes: &[ServerWrite<'_>],
        made: bool,
    ) -> Result<Vec<Outcome>> {
        batch::together(self, run.table, writes, made)
    }

    fn check_sql(text: &str) -> Result<bool> {
        sql_text::check(text)
    }

    fn sql_text(&self, text: &str, parameters: &[Parameter<'_>]) -> Result<String> {
        sql_text::sql_text(text, parameters.len())
    }

    /// Of the rows of the transaction's moment: one that another has changed since cannot be locked.
    fn lock_row(
        &mut self,
        select: &Select,
        lock: RowLock,
        values: &mut Vec<Value<'static>>,
    ) -> Result<bool> {
        let (table, usual) = (&select.table, self.lock_timeout);
        let milliseconds = match lock {
            RowLock::Wait => usual,
            RowLock::WaitAtMost(time) => time.as_millis().min(i32::MAX as u128),
            _ => 0,
        };
        let get = texts::lock(table, table.key().first().copied());
        let sql = format!("SET LOCK_TIMEOUT {milliseconds}; {get}; SET LOCK_TIMEOUT {usual}");
        let (key, mut is_there) = (key_of_row(&self.dialect(), table, values), false);
        self.each(Some((table, &[])), &sql, &key, &mut |_| {
            is_there = true;
            Ok(true)
        })?;
        Ok(is_there)
    }

    fn result_columns(&mut self, _: &str, _: &[Parameter<'_>]) -> Result<Vec<ResultColumn>> {
        Ok(Self::result_columns(self))
    }

    fn no_alter_inside(&self) -> Option<&'static str> {
        Some(
            "SQL Server does not change schemas in a transaction with snapshot isolation: \
             change the schema outside a transaction",
        )
    }

    fn alter(&mut self, changes: &[SchemaChange], _: bool) -> Result<()> {
        let stored = self.tables()?;
        let texts = schema::plan(&self.schema, stored, changes)?;
        self.atomically(|connection| {
            texts.iter().try_for_each(|(table, text)| connection.command(Some(table), text))
        })
    }
}
