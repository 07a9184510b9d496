//! What sessions run on a connection.

use crate::batch;
use crate::connection::Connection;
use crate::query;
use crate::schema;
use crate::sql_text;
use bobak_core::{
    Error, ErrorKind, Outcome, Parameter, Result, ResultColumn, Row, Run, SchemaChange, Source,
    TableSchema,
};
use bobak_engine_common::{
    RowSteps, ServerBatch, ServerOperations, ServerWrite, is_row_error, reject_table_changes,
    reject_vectors,
};
use std::time::Duration;

impl ServerOperations for Connection {
    const ENGINE: &'static str = "mssql";

    fn begin(&mut self, is_callers: bool) -> Result<()> {
        Self::begin(self, is_callers)
    }

    fn write_alone<R>(
        &mut self,
        has_steps: bool,
        run: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        match has_steps {
            true => self.atomically(run),
            false => self.committing(run),
        }
    }

    fn retry_time(&self) -> Option<Duration> {
        Some(Duration::from_millis(u64::try_from(self.lock_timeout).unwrap_or(0)))
    }

    fn write(&mut self, write: &ServerWrite<'_>) -> Result<Outcome> {
        self.write_row(write)
    }

    /// A bulk load also fails for a reason that statements do not have: columns of another program's table.
    fn may_be_of_row(&self, error: &Error) -> bool {
        is_row_error(error.kind()) || error.kind() == ErrorKind::Engine && self.has_bulk
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
        reject_table_changes(changes, "SQL Server")?;
        reject_vectors(changes, "SQL Server")
    }

    fn no_alter_inside(&self) -> Option<&'static str> {
        Some(
            "SQL Server does not change schemas in a transaction with snapshot isolation: \
             change the schema outside a transaction",
        )
    }

    fn alter(&mut self, changes: &[SchemaChange], _: bool) -> Result<()> {
        let stored = crate::catalog::tables(self)?;
        let texts = schema::plan(&self.schema, stored, changes)?;
        self.atomically(|connection| {
            texts.iter().try_for_each(|(table, text)| connection.command(Some(table), text))
        })
    }
}
