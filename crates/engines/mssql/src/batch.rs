//! Batches: new rows go in a bulk load, or several in one statement if the server makes their keys. If one fails, they are
//! sent again in halves, until the few around the wrong row are sent one by one.

use crate::bulk;
use crate::connection::{Connection, TypedValue};
use crate::texts;
use crate::writes::{MssqlWrite, no_key_returned, out_of_keys};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Error, ErrorKind, GeneratedKey, Interrupt, OnError, Outcome, Result, Row, Run, TableSchema,
    Type, ValueRef, Verb, WriteBatch,
};
use bobak_engine_common::{
    SavepointStep, TransactionConnection, is_row_error, kept_type, needs_key,
};

/// The rows of one bulk load.
const ROWS: usize = 5_000;
/// Fewer rows are sent one by one.
const FEW: usize = 4;

/// Sends a batch in an open transaction. After an error the caller undoes what was done.
///
/// # Errors
/// As [`Session::batch`](bobak_core::Session::batch).
pub(crate) fn send(
    connection: &mut Connection,
    batch: &WriteBatch,
    on_error: OnError,
    each: &mut dyn FnMut(Result<Outcome>),
) -> Result<()> {
    let mut sender = Sender { connection, on_error, each };
    batch.runs().try_for_each(|run| sender.run(&run))
}

struct Sender<'c> {
    connection: &'c mut Connection,
    on_error: OnError,
    each: &'c mut dyn FnMut(Result<Outcome>),
}

impl Sender<'_> {
    fn run(&mut self, run: &Run<'_>) -> Result<()> {
        let rows: Vec<EncodedRow<'_>> = run.iter().collect();
        if run.verb != Verb::Insert {
            return self.singly(run, &rows, run.first);
        }
        let mut number = run.first;
        for alike in rows.chunk_by(|a, b| needs_key(run.table, a) == needs_key(run.table, b)) {
            let made = alike.first().is_some_and(|row| needs_key(run.table, row));
            let most = if made { texts::rows_per_insert(run.table) } else { ROWS };
            for part in alike.chunks(most.max(1)) {
                self.inserts(run, part, number, made)?;
                number += part.len() as u64;
            }
        }
        Ok(())
    }

    fn inserts(
        &mut self,
        run: &Run<'_>,
        rows: &[EncodedRow<'_>],
        first: u64,
        made: bool,
    ) -> Result<()> {
        Interrupt::check()?;
        let has_columns = texts::written(run.table, made).next().is_some();
        if rows.len() < FEW || !has_columns || !made && !self.connection.has_bulk {
            return self.singly(run, rows, first);
        }
        match self.together(run, rows, made) {
            Ok(keys) => {
                for at in 0..rows.len() {
                    (self.each)(Ok(Outcome::Inserted(
                        keys.get(at).copied().map(GeneratedKey::Int),
                    )));
                }
                Ok(())
            }
            Err(error) if is_row_error(error.kind()) || self.is_foreign(&error) => {
                if !self.connection.in_transaction() {
                    return Err(error);
                }
                self.halves(run, rows, first, made)
            }
            Err(error) => Err(error),
        }
    }

    fn halves(
        &mut self,
        run: &Run<'_>,
        rows: &[EncodedRow<'_>],
        first: u64,
        made: bool,
    ) -> Result<()> {
        let (left, right) = rows.split_at(rows.len() / 2);
        self.inserts(run, left, first, made)?;
        self.inserts(run, right, first + left.len() as u64, made)
    }

    /// Whether a bulk load failed for a reason that statements do not have: columns of another program's table.
    fn is_foreign(&self, error: &Error) -> bool {
        error.kind() == ErrorKind::Engine && self.connection.has_bulk
    }

    /// Inserts all rows, or none; the keys that the server made.
    fn together(&mut self, run: &Run<'_>, rows: &[EncodedRow<'_>], made: bool) -> Result<Vec<i64>> {
        let table = run.table;
        for row in rows {
            MssqlWrite { table, verb: run.verb, fields: run.fields, row }.check()?;
        }
        if !made {
            return bulk::load(self.connection, table, rows).map(|()| Vec::new());
        }
        let mut keys = self.insert_rows(table, rows)?;
        if keys.len() != rows.len() {
            return Err(no_key_returned(table));
        }
        // They were made in the order of the rows.
        keys.sort_unstable();
        Ok(keys)
    }

    /// Inserts rows whose keys the server makes, and returns those.
    fn insert_rows(&mut self, table: &TableSchema, rows: &[EncodedRow<'_>]) -> Result<Vec<i64>> {
        let values: Vec<TypedValue<'_>> = rows
            .iter()
            .flat_map(|row| {
                texts::written(table, true).map(|place| (kept_type(table, place), row.get(place)))
            })
            .collect();
        let sql = texts::insert_rows(table, rows.len());
        let mut keys = Vec::with_capacity(rows.len());
        let done =
            self.connection.each(Some(table), &sql, &values, Some(&[Type::I64]), &mut |row| {
                if let ValueRef::Int(key) = row.get(0) {
                    keys.push(key);
                }
                Ok(true)
            });
        done.map_err(|error| out_of_keys(error, table))?;
        Ok(keys)
    }

    fn singly(&mut self, run: &Run<'_>, rows: &[EncodedRow<'_>], first: u64) -> Result<()> {
        for (number, row) in (first..).zip(rows) {
            Interrupt::check()?;
            let row = MssqlWrite { table: run.table, verb: run.verb, fields: run.fields, row };
            match self.single(&row).map_err(|error| error.at_row(number)) {
                Err(error)
                    if self.on_error == OnError::Stop
                        || !is_row_error(error.kind())
                        || !self.connection.in_transaction() =>
                {
                    return Err(error);
                }
                outcome => (self.each)(outcome),
            }
        }
        Ok(())
    }

    /// Writes a row. One of several steps that fails must leave nothing, if the batch goes on without it.
    fn single(&mut self, row: &MssqlWrite<'_>) -> Result<Outcome> {
        if !row.has_steps() || self.on_error == OnError::Stop {
            return row.run(self.connection);
        }
        self.connection.savepoint(SavepointStep::Set, "bobak_row")?;
        let done = row.run(self.connection);
        if done.is_err() && !self.connection.is_broken() && self.connection.in_transaction() {
            self.connection.savepoint(SavepointStep::RollBackTo, "bobak_row")?;
        }
        done
    }
}
