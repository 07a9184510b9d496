//! What sessions run on a connection.

use crate::connection::Connection;
use crate::product::ProductKind;
use crate::{batch, query, schema};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Error, ErrorKind, OnError, Outcome, Parameter, Result, Row, Run, SchemaChange, SchemaDetails,
    Select, TableSchema, Verb, WriteBatch,
};
use bobak_engine_common::{ServerOperations, ServerPhase, ServerWrite, TransactionConnection};
use odbc_sys::ConnectionAttribute;
use std::time::Duration;

impl ServerOperations for Connection {
    const ENGINE: &'static str = "odbc";
    const SERVER: &'static str = "ODBC";
    const FEW: usize = 2;

    fn begin(&mut self, is_callers: bool) -> Result<()> {
        if !self.product.has_transactions {
            let message = "the ODBC driver has no transactions";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        self.phase = ServerPhase::Read;
        let done = self.channel.set(ConnectionAttribute::AUTOCOMMIT, 0);
        done.map_err(|failed| self.failed(failed, None))?;
        if self.channel.is_autocommit() {
            let message =
                "the ODBC driver says that it has transactions, but it does not begin one";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        self.phase = ServerPhase::Inside;
        if is_callers && self.product.kind == ProductKind::Postgres {
            self.command("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
        }
        Ok(())
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

    fn part(&self, run: &Run<'_>, rows: &[EncodedRow<'_>], made: bool) -> (usize, bool) {
        batch::part(self, run, rows, made)
    }

    fn send_together(
        &mut self,
        run: &Run<'_>,
        writes: &[ServerWrite<'_>],
        made: bool,
    ) -> Result<Vec<Outcome>> {
        batch::send(self, run, writes, made)
    }

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

    fn sql_text(&self, text: &str, parameters: &[Parameter<'_>]) -> Result<String> {
        query::sql_text(self, text, parameters)
    }

    fn select(
        &mut self,
        select: &Select,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        query::run(self, select, row)
    }

    fn tables(&mut self) -> Result<Vec<TableSchema>> {
        schema::tables(self)
    }

    fn views(&mut self) -> Result<Vec<TableSchema>> {
        schema::views(self)
    }

    fn schema_details(&mut self) -> Result<SchemaDetails> {
        schema::details(self)
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
