//! What sessions run on a connection.

use crate::batch;
use crate::connection::Connection;
use crate::product::ProductKind;
use crate::query;
use crate::schema;
use bobak_core::{
    OnError, Outcome, Parameter, Result, Row, Run, SchemaChange, Source, TableSchema, Verb,
    WriteBatch,
};
use bobak_engine_common::{
    RowSteps, ServerBatch, ServerOperations, ServerPhase, ServerWrite, TransactionConnection,
};
use std::time::Duration;

impl ServerOperations for Connection {
    const ENGINE: &'static str = "odbc";

    fn begin(&mut self, is_callers: bool) -> Result<()> {
        Self::begin(self, is_callers)
    }

    fn read_alone<R>(&mut self, run: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.phase = ServerPhase::Read;
        run(self)
    }

    fn write_alone<R>(
        &mut self,
        has_steps: bool,
        run: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        if has_steps {
            return self.atomically(run);
        }
        self.phase = ServerPhase::Write;
        run(self)
    }

    fn retry_time(&self) -> Option<Duration> {
        None
    }

    fn has_savepoints(&self) -> bool {
        self.product.kind != ProductKind::Other
    }

    fn has_steps(verb: Verb) -> bool {
        !matches!(verb, Verb::Insert | Verb::Update | Verb::Delete)
    }

    fn write(&mut self, write: &ServerWrite<'_>) -> Result<Outcome> {
        self.write_row(write)
    }

    fn send_run(sender: &mut ServerBatch<'_, Self>, run: &Run<'_>) -> Result<()> {
        batch::send_run(sender, run)
    }

    /// To a database that may have no savepoints, in arrays, or else row by row.
    fn send_alone(
        &mut self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        if !self.has_savepoints() && self.has_arrays && batch::is_all_inserts(batch) {
            self.begin(false)?;
            let sent = batch::send_at_once(self, batch);
            let ended = self.end(matches!(sent, Ok(Some(_))));
            if let Some(outcomes) = sent? {
                ended?;
                outcomes.into_iter().for_each(|outcome| each(Ok(outcome)));
                return Ok(());
            }
        }
        self.atomically(|connection| connection.send(batch, on_error, each))
    }

    fn check_sql(text: &str) -> Result<bool> {
        query::check(text)
    }

    fn query(
        &mut self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        query::run(self, source, row)
    }

    fn execute(&mut self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        query::execute(self, sql, parameters)
    }

    fn tables(&mut self) -> Result<Vec<TableSchema>> {
        schema::tables(self)
    }

    fn views(&mut self) -> Result<Vec<TableSchema>> {
        schema::views(self)
    }

    fn check_changes(changes: &[SchemaChange]) -> Result<()> {
        schema::reject_unsupported(changes)
    }

    fn no_alter_inside(&self) -> Option<&'static str> {
        (self.product.kind == ProductKind::MySql).then_some(
            "this server commits at each schema change: change the schema outside a transaction",
        )
    }

    fn alter(&mut self, changes: &[SchemaChange], is_inside: bool) -> Result<()> {
        let has_steps = !is_inside && self.product.kind != ProductKind::MySql;
        let alter = |connection: &mut Self| schema::alter(connection, changes);
        if is_inside { alter(self) } else { self.write_alone(has_steps, alter) }
    }
}
