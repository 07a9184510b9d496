//! A part of a batch by array operations: many rows of one verb and table, of different keys where
//! the verb looks for them.
//!
//! * New rows are one INSERT of many; where the server rejects it, its halves, down to the row that
//!   is wrong.
//! * Of updates and upserts the rows that are there are found and locked by one SELECT; then the
//!   updates are one bulk message, in order, and the new rows one INSERT.
//! * Deletes are one DELETE.
//!
//! Whatever the server rejects is undone and done again by halves or row by row, so that each row
//! has the result that it would have alone.

use crate::batch::{RunTarget, Sender};
use crate::keys::{KeyBytes, key_bytes, push_bare_key, push_key};
use crate::row_writes::{conflict, push_update, push_values};
use crate::sql_texts::SqlTextKind;
use crate::values::decode::{BorrowedRow, DecodedValue};
use bobak_core::codec::EncodedRow;
use bobak_core::{GeneratedKey, OnError, Outcome, Result, Row, ValueRef, Verb};
use bobak_engine_common::{is_row_error, needs_key, no_key_returned, no_such_row, reject_null};
use bobak_sql::Dialect;
use mysql::Value as Wire;
use std::collections::HashMap;

type RowResults = Vec<Result<Outcome>>;

/// Sends a chunk.
pub(crate) struct ChunkSender<'s, 'c, 'b> {
    sender: &'s mut Sender<'c>,
    target: RunTarget<'b>,
    /// The number of its first row.
    first: u64,
}

/// What happens to a row whose key was looked for.
#[derive(Clone, Copy, PartialEq)]
enum UpsertStep {
    Insert,
    Update,
}

impl<'s, 'c, 'b> ChunkSender<'s, 'c, 'b> {
    pub(crate) fn new(sender: &'s mut Sender<'c>, target: RunTarget<'b>, first: u64) -> Self {
        Self { sender, target, first }
    }

    /// Sends the rows; gives a result for each, in order.
    pub(crate) fn send(mut self, rows: &[EncodedRow<'b>]) -> Result<RowResults> {
        let mut results = Vec::with_capacity(rows.len());
        if rows.len() < 2 || rows.iter().any(|row| !self.target.is_whole(*row)) {
            self.singly(rows, 0, &mut results)?;
            return Ok(results);
        }
        match self.target.verb {
            Verb::Insert | Verb::InsertOrIgnore | Verb::InsertOrReplace => {
                self.inserts(rows, 0, &mut results)?;
            }
            Verb::Update => self.updates(rows, &mut results)?,
            Verb::Upsert => self.upserts(rows, &mut results)?,
            Verb::UpsertOn(_) => self.singly(rows, 0, &mut results)?,
            Verb::Delete => self.deletes(rows, 0, &mut results)?,
        }
        Ok(results)
    }

    fn number(&self, at: usize) -> u64 {
        self.first + at as u64
    }

    /// Row by row; the first is at place `at` of the part.
    fn singly(
        &mut self,
        rows: &[EncodedRow<'b>],
        at: usize,
        results: &mut RowResults,
    ) -> Result<()> {
        for (row, at) in rows.iter().zip(at..) {
            let number = self.number(at);
            results.push(self.sender.one(&self.target, *row, number)?);
        }
        Ok(())
    }

    /// New rows: those with a key and those without by statements of their own.
    fn inserts(
        &mut self,
        rows: &[EncodedRow<'b>],
        at: usize,
        results: &mut RowResults,
    ) -> Result<()> {
        let mut at = at;
        let table = self.target.table;
        for run in rows.chunk_by(|a, b| needs_key(table, a) == needs_key(table, b)) {
            let without_key = run.first().is_some_and(|row| needs_key(table, row));
            let mut rest = run;
            while !rest.is_empty() {
                let (now, later) = rest.split_at(statement_size(rest.len()).min(rest.len()));
                match self.can_join(without_key) {
                    true => self.in_halves(now, at, results, &|part, rows| {
                        part.insert_all(rows, without_key)
                    })?,
                    false => self.singly(now, at, results)?,
                }
                at += now.len();
                rest = later;
            }
        }
        Ok(())
    }

    fn needs_key(&self, row: &EncodedRow<'b>) -> bool {
        needs_key(self.target.table, row)
    }

    /// Sends rows by one statement; if it fails, in halves.
    fn in_halves(
        &mut self,
        rows: &[EncodedRow<'b>],
        at: usize,
        results: &mut RowResults,
        all: &impl Fn(&mut Self, &[EncodedRow<'b>]) -> Result<Vec<Outcome>>,
    ) -> Result<()> {
        if rows.len() < 2 {
            return self.singly(rows, at, results);
        }
        match all(self, rows) {
            Ok(outcomes) => {
                results.extend(outcomes.into_iter().map(Ok));
                Ok(())
            }
            Err(error) if is_row_error(error.kind()) => {
                let (left, right) = rows.split_at(rows.len() / 2);
                self.in_halves(left, at, results, all)?;
                self.in_halves(right, at + left.len(), results, all)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether one statement can insert several rows: if it makes their keys, these must come back.
    fn can_join(&self, without_key: bool) -> bool {
        !without_key || self.sender.connection.flavour.dialect == Dialect::MariaDb
    }

    fn insert_all(&mut self, rows: &[EncodedRow<'b>], without_key: bool) -> Result<Vec<Outcome>> {
        let table = self.target.table;
        let verb = match self.target.verb {
            Verb::InsertOrReplace => Verb::InsertOrReplace,
            _ => Verb::Insert,
        };
        let mut parameters = Vec::with_capacity(rows.len() * table.columns().len());
        for row in rows {
            push_values(table, row, without_key, &mut parameters)?;
        }
        let connection = &mut *self.sender.connection;
        let kind = SqlTextKind::Insert { verb, rows: rows.len(), without_key };
        let sql = self.sender.sql_texts.text(connection.flavour.dialect, table, kind);
        if !without_key {
            connection.run(Some(table), &sql, parameters)?;
            return Ok(vec![Outcome::Inserted(None); rows.len()]);
        }
        let keys = connection.insert_for_keys(table, &sql, parameters)?;
        match keys.len() == rows.len() {
            true => Ok(keys
                .into_iter()
                .map(GeneratedKey::Int)
                .map(|key| Outcome::Inserted(Some(key)))
                .collect()),
            false => Err(no_key_returned(table)),
        }
    }

    /// Updates rows, after reading which of them exist, and in which version.
    fn updates(&mut self, rows: &[EncodedRow<'b>], results: &mut RowResults) -> Result<()> {
        let table = self.target.table;
        let found = self.lock(rows)?;
        let mut wanted = Vec::with_capacity(rows.len());
        let mut verdicts = Vec::with_capacity(rows.len());
        for row in rows {
            let verdict = match (found.get(&self.key(row)?), table.version()) {
                (None, _) => Err(no_such_row(table)),
                (Some(Some(there)), Some(place)) if ValueRef::Int(*there) != row.value(place) => {
                    Err(conflict(table))
                }
                _ => Ok(Outcome::Changed(1)),
            };
            if verdict.is_ok() {
                wanted.push((*row, verdicts.len()));
            } else if self.sender.on_error == OnError::Stop {
                // A row before it may have an error, which is then the first.
                self.update(&wanted, true)?;
                return verdict
                    .map(drop)
                    .map_err(|error| error.at_row(self.number(verdicts.len())));
            }
            verdicts.push(verdict);
        }
        for (at, verdict) in self.update(&wanted, true)? {
            if let Some(place) = verdicts.get_mut(at) {
                *place = verdict;
            }
        }
        for (at, verdict) in verdicts.into_iter().enumerate() {
            results.push(self.sender.judged(verdict, self.number(at))?);
        }
        Ok(())
    }

    /// Updates existing rows, in order, by one bulk message; if it fails, row by row. Returns the results of the latter.
    fn update(
        &mut self,
        rows: &[(EncodedRow<'b>, usize)],
        with_version: bool,
    ) -> Result<Vec<(usize, Result<Outcome>)>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        if rows.len() > 1 {
            self.sender.connection.command("SAVEPOINT bobak_part")?;
            match self.update_all(rows, with_version) {
                Ok(()) => {
                    self.sender.connection.command("RELEASE SAVEPOINT bobak_part")?;
                    return Ok(Vec::new());
                }
                Err(error) if is_row_error(error.kind()) => {
                    self.sender.connection.command("ROLLBACK TO SAVEPOINT bobak_part")?;
                }
                Err(error) => return Err(error),
            }
        }
        let mut results = Vec::with_capacity(rows.len());
        for &(row, at) in rows {
            let number = self.number(at);
            results.push((at, self.sender.one(&self.target, row, number)?));
        }
        Ok(results)
    }

    fn update_all(&mut self, rows: &[(EncodedRow<'b>, usize)], with_version: bool) -> Result<()> {
        let (table, fields) = (self.target.table, self.target.fields);
        let mut parameters = Vec::with_capacity(rows.len());
        for (row, _) in rows {
            let mut of_row = Vec::with_capacity(table.columns().len() + 1);
            push_update(table, fields, row, with_version, &mut of_row)?;
            parameters.push(of_row);
        }
        let kind =
            if with_version { SqlTextKind::Update(fields) } else { SqlTextKind::Overwrite(fields) };
        let connection = &mut *self.sender.connection;
        let sql = self.sender.sql_texts.text(connection.flavour.dialect, table, kind);
        connection.bulk(table, &sql, parameters)
    }

    /// Upserts: updates existing rows and inserts the others, in order if the order could matter.
    fn upserts(&mut self, rows: &[EncodedRow<'b>], results: &mut RowResults) -> Result<()> {
        if rows.iter().all(|row| self.needs_key(row)) {
            return self.inserts(rows, 0, results);
        }
        let found = self.lock(rows)?;
        let mut steps = Vec::with_capacity(rows.len());
        for row in rows {
            let step = if found.contains_key(&self.key(row)?) {
                UpsertStep::Update
            } else {
                UpsertStep::Insert
            };
            steps.push((*row, steps.len(), step));
        }
        let mut all: Vec<Option<Result<Outcome>>> = rows.iter().map(|_| None).collect();
        if !self.target.is_delicate() {
            // All updates, then all inserts.
            steps.sort_by_key(|(_, _, step)| *step == UpsertStep::Insert);
        }
        let mut wrong = Ok(());
        for run in steps.chunk_by(|a, b| a.2 == b.2) {
            let step = run.first().map_or(UpsertStep::Insert, |first| first.2);
            let run: Vec<_> = run.iter().map(|(row, at, _)| (*row, *at)).collect();
            if let Err(error) = self.upsert_run(&run, step, &mut all) {
                if !self.is_in_order(&error) {
                    return Err(error);
                }
                // Of two reordered runs, the earlier row's error is reported.
                wrong = earlier(wrong, error);
            }
        }
        wrong?;
        results.extend(all.into_iter().map(|result| result.unwrap_or(Ok(Outcome::Changed(1)))));
        Ok(())
    }

    /// Whether a later run may still have an earlier row's error.
    fn is_in_order(&self, error: &bobak_core::Error) -> bool {
        is_row_error(error.kind()) && !self.target.is_delicate()
    }

    fn upsert_run(
        &mut self,
        run: &[(EncodedRow<'b>, usize)],
        step: UpsertStep,
        all: &mut [Option<Result<Outcome>>],
    ) -> Result<()> {
        let nulls =
            |(row, _): &(EncodedRow<'b>, usize)| reject_null(self.target.table, row).is_err();
        let results = if step == UpsertStep::Insert || run.iter().any(nulls) {
            // An update sets only some fields, so it would not detect a NULL in another.
            self.new_or_single(run, step)?
        } else {
            self.update(run, false)?
        };
        for (at, result) in results {
            if let Some(place) = all.get_mut(at) {
                *place = Some(result);
            }
        }
        Ok(())
    }

    fn new_or_single(
        &mut self,
        run: &[(EncodedRow<'b>, usize)],
        step: UpsertStep,
    ) -> Result<Vec<(usize, Result<Outcome>)>> {
        let mut done = Vec::with_capacity(run.len());
        let mut rest = run;
        while let Some((head, tail)) = rest.split_first() {
            let without_key = self.needs_key(&head.0);
            let alike =
                rest.iter().take_while(|(row, _)| self.needs_key(row) == without_key).count();
            let size = if step == UpsertStep::Insert { statement_size(alike) } else { 1 };
            let (now, later) = rest.split_at_checked(size.max(1)).unwrap_or((rest, tail));
            let rows: Vec<_> = now.iter().map(|(row, _)| *row).collect();
            let can_join = rows.len() > 1 && self.can_join(without_key);
            match if can_join { self.insert_all(&rows, without_key).map(Some) } else { Ok(None) } {
                Ok(Some(outcomes)) => {
                    done.extend(
                        now.iter().zip(outcomes).map(|((_, at), outcome)| (*at, Ok(outcome))),
                    );
                }
                Err(error) if !is_row_error(error.kind()) => return Err(error),
                _ => {
                    for (row, at) in now {
                        let number = self.number(*at);
                        done.push((*at, self.sender.one(&self.target, *row, number)?));
                    }
                }
            }
            rest = later;
        }
        Ok(done)
    }

    /// Deletes rows in one statement; if it fails, in halves.
    fn deletes(
        &mut self,
        rows: &[EncodedRow<'b>],
        at: usize,
        results: &mut RowResults,
    ) -> Result<()> {
        let mut at = at;
        let mut rest = rows;
        while !rest.is_empty() {
            let size = if self.target.refers_to_itself() { 1 } else { statement_size(rest.len()) };
            let (now, later) = rest.split_at(size.min(rest.len()));
            self.in_halves(now, at, results, &Self::delete_all)?;
            at += now.len();
            rest = later;
        }
        Ok(())
    }

    fn delete_all(&mut self, rows: &[EncodedRow<'b>]) -> Result<Vec<Outcome>> {
        let gone = self.delete_found(rows)?;
        let outcome = |row: &EncodedRow<'b>| {
            let key = key_bytes(self.target.table, |at| row.value(at))?;
            Ok(Outcome::Changed(u64::from(gone.contains_key(&key))))
        };
        rows.iter().map(outcome).collect()
    }

    /// Deletes rows and returns the keys of those that existed.
    fn delete_found(&mut self, rows: &[EncodedRow<'b>]) -> Result<HashMap<KeyBytes, Option<i64>>> {
        let table = self.target.table;
        let mut parameters = Vec::with_capacity(rows.len() * table.key().len());
        for row in rows {
            push_bare_key(table, row, &mut parameters)?;
        }
        let dialect = self.sender.connection.flavour.dialect;
        let sql = self.sender.sql_texts.text(dialect, table, SqlTextKind::DeleteMany(rows.len()));
        if dialect == Dialect::MariaDb {
            return self.keys(&sql, parameters);
        }
        let lock = self.sender.sql_texts.text(dialect, table, SqlTextKind::Lock(rows.len()));
        let found = self.keys(&lock, parameters.clone())?;
        self.sender.connection.run(Some(table), &sql, parameters)?;
        Ok(found)
    }

    /// Locks the existing rows, and returns their keys and versions.
    fn lock(&mut self, rows: &[EncodedRow<'b>]) -> Result<HashMap<KeyBytes, Option<i64>>> {
        let table = self.target.table;
        let mut found = HashMap::with_capacity(rows.len());
        let mut rest: Vec<_> = rows.iter().filter(|row| !self.needs_key(row)).collect();
        while !rest.is_empty() {
            let later = rest.split_off(statement_size(rest.len()));
            let mut parameters = Vec::with_capacity(rest.len() * table.key().len());
            for row in &rest {
                push_key(table, *row, &mut parameters)?;
            }
            let dialect = self.sender.connection.flavour.dialect;
            let sql = self.sender.sql_texts.text(dialect, table, SqlTextKind::Lock(rest.len()));
            found.extend(self.keys(&sql, parameters)?);
            rest = later;
        }
        Ok(found)
    }

    /// Reads the keys that a statement returns, and the version after them.
    fn keys(&mut self, sql: &str, parameters: Vec<Wire>) -> Result<HashMap<KeyBytes, Option<i64>>> {
        let table = self.target.table;
        let mut found = HashMap::new();
        self.sender.connection.each(Some(table), sql, parameters, &mut |cells, columns| {
            let row = BorrowedRow { cells, columns };
            let key = key_bytes(table, |at| row.get(at))?;
            let version = match cells.get(table.key().len()) {
                Some(DecodedValue::Int(version)) => Some(*version),
                _ => None,
            };
            found.insert(key, version);
            Ok(true)
        })?;
        Ok(found)
    }

    fn key(&self, row: &EncodedRow<'b>) -> Result<KeyBytes> {
        let table = self.target.table;
        let place = |at: usize| table.key().get(at).copied().unwrap_or(usize::MAX);
        key_bytes(table, |at| row.value(place(at)))
    }
}

/// How many of `left` rows the next statement takes. There are few sizes, so that each is soon prepared.
fn statement_size(left: usize) -> usize {
    if left >= 1_000 { 1_000 } else { 1 << left.max(1).ilog2() }
}

fn earlier(before: Result<()>, error: bobak_core::Error) -> Result<()> {
    match before {
        Err(first) if first.row() <= error.row() => Err(first),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn statements_have_few_sizes() {
        let sizes: Vec<_> = [1, 2, 3, 7, 999, 1_000, 5_000].map(super::statement_size).to_vec();
        assert_eq!(sizes, [1, 2, 2, 4, 512, 1_000, 1_000]);
        let kind = bobak_core::ErrorKind::Duplicate;
        let error = |row| bobak_core::Error::new(kind, "x").at_row(row);
        let first = super::earlier(Err(error(3)), error(2)).unwrap_err();
        assert_eq!(first.row(), Some(2));
    }
}
