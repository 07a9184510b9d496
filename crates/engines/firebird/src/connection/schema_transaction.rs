//! What changes of the schema need of a connection: transactions that reserve tables, and statements that are not kept.

use super::{Connection, RETRY};
use crate::mode::Mode;
use bobak_core::{ErrorKind, Interrupt, Result, TableSchema};
use bobak_engine_common::StatementConnection;
use std::time::Instant;

/// Statements without parameters, with the tables that their errors name.
pub(crate) type SchemaTexts = Vec<(TableSchema, String)>;

impl Connection {
    /// Runs statements in the open transaction.
    pub(crate) fn commands(&mut self, texts: &[(TableSchema, String)]) -> Result<()> {
        texts.iter().try_for_each(|(table, text)| self.command(Some(table), text))
    }

    /// Forgets the prepared statements, which would hold tables that a change of the schema needs.
    pub(crate) fn forget_statements(&mut self) -> Result<()> {
        for statement in self.statements.take_all() {
            self.channel.free(statement.handle);
        }
        self.generators.clear();
        self.reached.clear();
        // The answers come with that to a call that does nothing else.
        self.in_mode(Mode::Committed, |_| Ok(()))
    }

    /// The integer of a query's row, if it has one. The statement is not kept, so that it does not hold its tables.
    pub(crate) fn once(&mut self, table: &TableSchema, sql: &str) -> Result<Option<i64>> {
        let found = self.integers(Some((table, &[])), sql, &[]);
        if let Some(statement) = self.statements.remove(sql) {
            self.channel.free(statement.handle);
        }
        found.map(|found| found.first().copied())
    }

    /// Whether a query has a row.
    pub(crate) fn has_row(&mut self, table: &TableSchema, sql: &str) -> Result<bool> {
        self.once(table, sql).map(|row| row.is_some())
    }

    /// Changes the schema in a transaction that lets no other write to these tables, by their names in the catalog. It is
    /// repeated while something that it needs is in use. An error of the commit is one of `named`.
    pub(crate) fn change_schema(
        &mut self,
        reserved: &[String],
        named: Option<&TableSchema>,
        mut run: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let (end, mut pause) = (Instant::now() + self.busy_timeout, RETRY.0);
        loop {
            match self.try_change(reserved, named, &mut run) {
                Err(error) if error.kind() == ErrorKind::Busy && Instant::now() < end => {
                    Interrupt::check()?;
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(RETRY.1);
                }
                other => return other,
            }
        }
    }

    fn try_change(
        &mut self,
        reserved: &[String],
        named: Option<&TableSchema>,
        run: &mut impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let parameters = Mode::Committed.reserving(self.busy_timeout, reserved);
        self.begin_with(Mode::Committed, &parameters)?;
        let done = run(self);
        if self.broken {
            self.transaction = None;
            return done;
        }
        let ended = self.end(done.is_ok(), named);
        done.and(ended)
    }

    /// Ends the connection when it is given back, so that what it has not finished is seen to be unfinished.
    pub(crate) const fn give_up(&mut self) {
        self.broken = true;
    }
}
