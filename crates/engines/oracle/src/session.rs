//! What sessions run on a connection.

use crate::batch;
use crate::connection::Connection;
use crate::query;
use crate::schema;
use crate::sql_text;
use bobak_core::{
    Interrupt, Outcome, Parameter, Result, ResultColumn, Row, Run, SchemaChange, Source,
    TableSchema,
};
use bobak_engine_common::{
    RowSteps, ServerBatch, ServerOperations, ServerWrite, TransactionConnection,
    reject_table_changes, reject_vectors,
};
use std::time::Duration;

impl ServerOperations for Connection {
    const ENGINE: &'static str = "oracle";

    fn begin(&mut self, is_callers: bool) -> Result<()> {
        Self::begin(self, is_callers)
    }

    fn retry_time(&self) -> Option<Duration> {
        Some(self.busy_timeout())
    }

    fn write(&mut self, write: &ServerWrite<'_>) -> Result<Outcome> {
        self.write_row(write)
    }

    fn send_run(sender: &mut ServerBatch<'_, Self>, run: &Run<'_>) -> Result<()> {
        batch::send_run(sender, run)
    }

    fn check_sql(text: &str) -> Result<bool> {
        sql_text::check(text)
    }

    fn query(
        &mut self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        query::run(self, source, row)
    }

    fn result_columns(&mut self, _: &str, _: &[Parameter<'_>]) -> Result<Vec<ResultColumn>> {
        Ok(Self::result_columns(self))
    }

    fn execute(&mut self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        sql_text::execute(self, sql, parameters)
    }

    fn tables(&mut self) -> Result<Vec<TableSchema>> {
        crate::catalog::tables(self)
    }

    fn check_changes(changes: &[SchemaChange]) -> Result<()> {
        reject_table_changes(changes, "Oracle")?;
        reject_vectors(changes, "Oracle")
    }

    fn no_alter_inside(&self) -> Option<&'static str> {
        Some("Oracle commits when the schema is changed: change it outside a transaction")
    }

    fn alter(&mut self, changes: &[SchemaChange], _: bool) -> Result<()> {
        let stored = crate::catalog::tables(self)?;
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
