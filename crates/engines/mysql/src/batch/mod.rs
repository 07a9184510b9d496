//! Batches: runs of rows of one verb go in parts, each part by array operations.
//!
//! The result is that of writing row by row; see [`chunk`](crate::batch::chunk) for how chunks are sent.

mod chunk;

use crate::batch::chunk::ChunkSender;
use crate::connection::Connection;
use crate::database::Database;
use crate::keys::{KeyBytes, key_bytes};
use crate::narrow_tables::NarrowTables;
use crate::row_writes::write_row;
use crate::sql_texts::SqlTextCache;
use bobak_core::codec::EncodedRow;
use bobak_core::{
    ErrorKind, FieldSet, OnError, Outcome, Result, Row, Run, TableSchema, Verb, WriteBatch,
};
use bobak_engine_common::{is_row_error, refers_to_itself};
use std::collections::HashSet;

/// The most rows of one statement: more gain nothing that could be measured.
const MAX_ROWS: usize = 1_000;
/// The most bytes of one statement's rows, unless a single one has more.
const MAX_BYTES: usize = 1 << 20;
/// The most parameters of one statement.
const PARAMETERS: usize = 65_535;

/// Sends a batch in an open transaction.
pub(crate) struct Sender<'c> {
    pub connection: &'c mut Connection,
    pub sql_texts: &'c SqlTextCache,
    narrow_tables: &'c NarrowTables,
    pub on_error: OnError,
    each: &'c mut dyn FnMut(Result<Outcome>),
}

/// What rows of a part have in common.
#[derive(Clone, Copy)]
pub(crate) struct RunTarget<'b> {
    pub table: &'b TableSchema,
    pub verb: Verb,
    pub fields: FieldSet,
}

/// Sends a batch into the open transaction. After an error the caller undoes what was done.
pub(crate) fn send(
    connection: &mut Connection,
    database: &Database,
    batch: &WriteBatch,
    on_error: OnError,
    each: &mut dyn FnMut(Result<Outcome>),
) -> Result<()> {
    let Database { sql_texts, narrow_tables, .. } = database;
    let mut sender = Sender { connection, sql_texts, narrow_tables, on_error, each };
    batch.runs().try_for_each(|run| sender.run(&run))
}

impl Sender<'_> {
    fn run(&mut self, run: &Run<'_>) -> Result<()> {
        let target = RunTarget { table: run.table, verb: run.verb, fields: run.fields };
        let columns = run.table.columns().len() + run.table.key().len() + 1;
        let most = MAX_ROWS.min(PARAMETERS / columns).max(1);
        let mut part: Vec<EncodedRow<'_>> = Vec::with_capacity(most.min(run.rows as usize));
        let (mut first, mut bytes) = (run.first, 0);
        let mut keys = HashSet::new();
        for row in run.iter() {
            let key = self.key_to_keep_apart(&target, row)?;
            let is_there = key.as_ref().is_some_and(|key| keys.contains(key));
            let size = row.as_bytes().len();
            if !part.is_empty() && (part.len() == most || bytes + size > MAX_BYTES || is_there) {
                first = self.part(&target, &part, first)?;
                part.clear();
                keys.clear();
                bytes = 0;
            }
            keys.extend(key);
            part.push(row);
            bytes += size;
        }
        self.part(&target, &part, first).map(drop)
    }

    /// The row's key, for verbs whose parts have no two rows of one key.
    fn key_to_keep_apart(
        &self,
        target: &RunTarget<'_>,
        row: EncodedRow<'_>,
    ) -> Result<Option<KeyBytes>> {
        let table = target.table;
        match target.verb {
            Verb::Delete => key_bytes(table, |at| row.value(at)).map(Some),
            Verb::Update | Verb::Upsert => {
                let place = |at: usize| table.key().get(at).copied().unwrap_or(usize::MAX);
                key_bytes(table, |at| row.value(place(at))).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Sends a part and returns its results; returns the number of the row after it.
    fn part(&mut self, target: &RunTarget<'_>, rows: &[EncodedRow<'_>], first: u64) -> Result<u64> {
        let results = match self.is_exact(target, rows)? {
            true => ChunkSender::new(self, *target, first).send(rows)?,
            false => {
                let one = |(number, row): (u64, &EncodedRow<'_>)| self.one(target, *row, number);
                (first..).zip(rows).map(one).collect::<Result<_>>()?
            }
        };
        results.into_iter().for_each(&mut *self.each);
        Ok(first + rows.len() as u64)
    }

    /// Whether the server rounds no amount of the rows.
    fn is_exact(&mut self, target: &RunTarget<'_>, rows: &[EncodedRow<'_>]) -> Result<bool> {
        let RunTarget { table, verb, .. } = *target;
        for row in rows {
            match self.narrow_tables.check_row(self.connection, table, verb, row) {
                Err(error) if error.kind() == ErrorKind::OutOfRange => return Ok(false),
                other => other?,
            }
        }
        Ok(true)
    }

    /// One row, by the statements of a single write. An error that ends the batch is the outer one.
    pub(crate) fn one(
        &mut self,
        target: &RunTarget<'_>,
        row: EncodedRow<'_>,
        number: u64,
    ) -> Result<Result<Outcome>> {
        let RunTarget { table, verb, fields } = *target;
        let checked = self.narrow_tables.check_row(self.connection, table, verb, &row);
        let done = checked
            .and_then(|()| write_row(self.connection, self.sql_texts, table, verb, fields, &row));
        self.judged(done, number)
    }

    /// A row's result; or the error, where it ends the batch.
    pub(crate) fn judged(&self, done: Result<Outcome>, number: u64) -> Result<Result<Outcome>> {
        match done.map_err(|error| error.at_row(number)) {
            Err(error) if self.on_error == OnError::Stop || !is_row_error(error.kind()) => {
                Err(error)
            }
            other => Ok(other),
        }
    }
}

impl RunTarget<'_> {
    /// Whether the order of the rows could matter beyond their keys: another unique rule, or a
    /// reference inside the table.
    pub(crate) fn is_delicate(&self) -> bool {
        self.table.indexes().iter().any(|index| index.unique) || self.refers_to_itself()
    }

    pub(crate) fn refers_to_itself(&self) -> bool {
        refers_to_itself(self.table)
    }

    /// Whether the row has as many values as the verb wants.
    pub(crate) fn is_whole(&self, row: EncodedRow<'_>) -> bool {
        let wanted = match self.verb {
            Verb::Delete => self.table.key().len(),
            _ => self.table.columns().len(),
        };
        row.len() == wanted
    }
}
