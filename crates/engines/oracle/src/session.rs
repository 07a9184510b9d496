//! What sessions run on a connection.

use crate::connection::Connection;
use crate::settings::OracleIsolation;
use crate::values::SERVER;
use crate::{batch, catalog, query, schema, sql_text};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Interrupt, Outcome, Parameter, Result, ResultColumn, RowLock, Run, SchemaChange, Select, Value,
};
use bobak_engine_common::{
    AddTableRow, ServerOperations, ServerPhase, ServerWrite, TransactionConnection,
};
use std::time::Duration;

/// What a transaction of the caller begins with, at that isolation.
const SERIALIZABLE: &str = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE";

impl ServerOperations for Connection {
    const ENGINE: &'static str = "oracle";
    const SERVER: &'static str = SERVER;
    const CATALOG: &[(&str, AddTableRow)] = &catalog::QUERIES;

    fn begin(&mut self, is_callers: bool) -> Result<()> {
        let isolation = self.connector.settings.isolation;
        if is_callers && isolation == OracleIsolation::Serializable {
            self.command(None, SERIALIZABLE)?;
        }
        self.phase = ServerPhase::Inside;
        self.in_transaction = true;
        Ok(())
    }

    fn retry_time(&self) -> Option<Duration> {
        Some(self.busy_timeout())
    }

    fn part(&self, run: &Run<'_>, rows: &[EncodedRow<'_>], _: bool) -> (usize, bool) {
        batch::part(run, rows)
    }

    fn send_together(
        &mut self,
        run: &Run<'_>,
        writes: &[ServerWrite<'_>],
        made: bool,
    ) -> Result<Vec<Outcome>> {
        batch::send(self, run, writes, made)
    }

    fn check_sql(text: &str) -> Result<bool> {
        sql_text::check(text)
    }

    fn sql_text(&self, text: &str, parameters: &[Parameter<'_>]) -> Result<String> {
        sql_text::sql_text(text, parameters.len())
    }

    fn lock_row(
        &mut self,
        select: &Select,
        lock: RowLock,
        values: &mut Vec<Value<'static>>,
    ) -> Result<bool> {
        query::lock_row(self, select, lock, values)
    }

    fn result_columns(&mut self, _: &str, _: &[Parameter<'_>]) -> Result<Vec<ResultColumn>> {
        Ok(Self::result_columns(self))
    }

    fn no_alter_inside(&self) -> Option<&'static str> {
        Some("Oracle commits when the schema is changed: change it outside a transaction")
    }

    fn alter(&mut self, changes: &[SchemaChange], _: bool) -> Result<()> {
        let stored = self.tables()?;
        let texts = schema::plan(stored, changes)?;
        texts.iter().try_for_each(|statement| {
            let table = Some(&statement.table);
            let done = self.command(table, &statement.text);
            if let (Err(_), Some(undo), false) = (&done, &statement.undo, self.is_broken()) {
                // The error that it is for matters more than its own.
                let _ = Interrupt::hold_off(|| self.command(table, undo));
            }
            done
        })
    }
}
