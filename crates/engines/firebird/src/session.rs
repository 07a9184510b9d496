//! What sessions run on a connection.

use crate::alter::complete_abandoned;
use crate::connection::Connection;
use crate::mode::Mode;
use crate::values::SERVER;
use crate::{batch, catalog, query, sql_text};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Interrupt, Parameter, Result, ResultColumn, RowLock, Run, SchemaChange, SchemaDetails, Select,
    TableSchema, Value, Verb,
};
use bobak_engine_common::{
    AddTableRow, Connector, Pool, SavepointStep, ServerBatch, ServerOperations,
    TransactionConnection, reject_other_changes,
};
use std::sync::Arc;
use std::time::Duration;

impl TransactionConnection for Connection {
    fn is_broken(&self) -> bool {
        Self::is_broken(self)
    }

    fn end(&mut self, commit: bool) -> Result<()> {
        Self::end(self, commit, None)
    }

    fn savepoint(&mut self, step: SavepointStep, name: &str) -> Result<()> {
        self.command(None, &step.text(name))
    }
}

impl ServerOperations for Connection {
    const ENGINE: &'static str = "firebird";
    const SERVER: &'static str = SERVER;
    const CATALOG: &[(&str, AddTableRow)] = &catalog::QUERIES;
    const HAS_VECTORS: bool = true;

    fn begin(&mut self, is_callers: bool) -> Result<()> {
        Self::begin(self, if is_callers { Mode::Snapshot } else { Mode::Committed })
    }

    fn read_alone<R>(&mut self, run: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.in_mode(Mode::Read, run)
    }

    fn write_alone<R>(&mut self, _: bool, run: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.in_mode(Mode::Committed, run)
    }

    fn retry_time(&self) -> Option<Duration> {
        Some(self.busy_timeout)
    }

    fn part(&self, run: &Run<'_>, rows: &[EncodedRow<'_>], _: bool) -> (usize, bool) {
        (rows.len().min(batch::ROWS), run.verb == Verb::Insert && rows.len() > 1)
    }

    fn send_part(
        sender: &mut ServerBatch<'_, Self>,
        run: &Run<'_>,
        rows: &[EncodedRow<'_>],
        (first, made): (u64, bool),
    ) -> Result<()> {
        batch::inserts(sender, run, rows, (first, made))
    }

    fn check_sql(text: &str) -> Result<bool> {
        sql_text::check(text)
    }

    fn sql_text(&self, text: &str, parameters: &[Parameter<'_>]) -> Result<String> {
        sql_text::sql_text(text, parameters)
    }

    fn lock_row(
        &mut self,
        select: &Select,
        lock: RowLock,
        values: &mut Vec<Value<'static>>,
    ) -> Result<bool> {
        query::lock_row(self, &select.table, lock, values)
    }

    fn result_columns(
        &mut self,
        text: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<ResultColumn>> {
        let text = sql_text::sql_text(text, parameters)?;
        Self::result_columns(self, &text)
    }

    fn views(&mut self) -> Result<Vec<TableSchema>> {
        crate::catalog::views(self)
    }

    fn schema_details(&mut self) -> Result<SchemaDetails> {
        let mut details = self.lost_tables()?;
        crate::losses::add(self, &mut details)?;
        Ok(details)
    }

    fn check_changes(changes: &[SchemaChange]) -> Result<()> {
        reject_other_changes(changes, SERVER)
    }

    fn no_alter_inside(&self) -> Option<&'static str> {
        Some(
            "Firebird makes changes of the schema known when it commits: change the \
             schema outside a transaction",
        )
    }

    fn alter(&mut self, changes: &[SchemaChange], _: bool) -> Result<()> {
        crate::alter::run(self, changes)
    }

    fn alter_alone<C>(pool: &Arc<Pool<C>>, changes: &[SchemaChange]) -> Result<()>
    where
        C: Connector<Connection = Self>,
    {
        // The statements of connections that are not in use hold tables.
        pool.close_idle(|_| true);
        let mut pooled = pool.acquire_owned()?;
        let done = pooled.alter(changes, false);
        pool.connector().note_schema_change();
        if pooled.is_broken() {
            drop(pooled);
            // Of a change that has not ended; the error that it is for matters more than its own.
            let _ = Interrupt::hold_off(|| {
                pool.acquire_owned().map(|mut other| complete_abandoned(&mut other))
            });
        }
        done
    }

    fn before_replay(&mut self) -> Result<()> {
        self.forget_statements()
    }
}
