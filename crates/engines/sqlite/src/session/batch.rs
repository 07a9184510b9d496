//! Batches. Runs of inserts use statements with many rows; everything else runs row by row.
//! | Row by row is the reference; the fast path has exactly the same results. After a statement
//! with many rows has failed or skipped rows, those that are not stored yet run again row by row,
//! which determines each row's outcome. Tables for which the results could differ otherwise run
//! row by row from the start.

use crate::connection::Connection;
use crate::error::{is_row_error, translate};
use crate::session::write::{
    insert_or_fail_statement, insert_statement, last_key, needs_key, null_for_default, write_row,
};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Error, ErrorKind, FieldSet, GeneratedKey, Interrupt, OnError, Outcome, Result, Row, Run,
    TableSchema, Verb, WriteBatch,
};

/// The maximum number of rows of a statement: more rows are no faster, and cost more to prepare.
const MAX_STATEMENT_ROWS: usize = 128;
/// With fewer rows than this, one statement per row is faster.
const MIN_STATEMENT_ROWS: usize = 32;
/// The number of rows between checks for interrupts: a short statement does not check by itself.
const LOOK: u64 = 64;

/// Applies a batch in an open transaction.
struct Sender<'c> {
    connection: &'c mut Connection,
    on_error: OnError,
    each: &'c mut dyn FnMut(Result<Outcome>),
}

/// A run of inserts, collecting rows for a statement.
struct Inserts<'s, 'c, 'b> {
    sender: &'s mut Sender<'c>,
    table: &'b TableSchema,
    verb: Verb,
    fields: FieldSet,
    waiting: Vec<EncodedRow<'b>>,
    /// The number of the first collected row.
    first: u64,
    /// Whether the collected rows omit their keys; a statement has only rows of one sort.
    without_key: bool,
    /// Whether a failing statement may keep the rows before the failing one: they are counted by
    /// their generated keys, and SQLite needs no statement journal.
    keeps_first: bool,
    /// The maximum number of rows of a statement.
    most: usize,
    /// The largest key, if this run has just generated it.
    last_key: Option<i64>,
    /// The number of rows to insert one by one after a statement had to be repeated; doubled each
    /// time.
    slow: u64,
    penalty: u64,
}

/// Applies a batch in the open transaction. After an error the caller undoes it.
pub(crate) fn send(
    connection: &mut Connection,
    batch: &WriteBatch,
    on_error: OnError,
    each: &mut dyn FnMut(Result<Outcome>),
) -> Result<()> {
    let mut sender = Sender { connection, on_error, each };
    batch.runs().try_for_each(|run| sender.run(&run))
}

impl Sender<'_> {
    fn run(&mut self, run: &Run<'_>) -> Result<()> {
        if run.rows >= MIN_STATEMENT_ROWS as u64 && self.may_join(run)? {
            let keeps_first = !self.connection.table_info(run.table)?.foreign_keys;
            return Inserts::new(self, run, keeps_first).run(run);
        }
        let rows = run.iter().zip(run.first..);
        for (row, number) in rows {
            if number.is_multiple_of(LOOK) {
                Interrupt::check()?;
            }
            self.one(run.table, run.verb, run.fields, row, number)?;
        }
        Ok(())
    }

    /// Whether one statement for many rows has the same effect as a statement for each row.
    fn may_join(&mut self, run: &Run<'_>) -> Result<bool> {
        let inserts = match run.verb {
            Verb::Insert | Verb::InsertOrIgnore | Verb::InsertOrReplace => true,
            // An upsert without a key finds no existing row; others need their outcome row by
            // row.
            Verb::Upsert => run.may_make_keys(),
            Verb::UpsertOn(_) | Verb::Update | Verb::Delete => false,
        };
        if !inserts || !self.connection.atomic {
            return Ok(false);
        }
        // Triggers can skip rows or insert others; AUTOINCREMENT does not reuse keys; ON CONFLICT
        // clauses can skip rows. SQLite checks foreign keys at the end of a statement: by then a
        // row may reference a later one, or a wrong row may have been replaced.
        let table_info = self.connection.fresh_table_info(run.table)?;
        Ok(match run.verb {
            _ if table_info.has_triggers
                || table_info.counts_keys
                || table_info.resolves_conflicts =>
            {
                false
            }
            Verb::InsertOrReplace => !table_info.foreign_keys,
            _ => !table_info.refers_to_itself,
        })
    }

    /// Writes one row by its own statement.
    #[inline]
    fn one(
        &mut self,
        table: &TableSchema,
        verb: Verb,
        fields: FieldSet,
        row: EncodedRow<'_>,
        number: u64,
    ) -> Result<()> {
        match write_row(self.connection, table, verb, fields, row) {
            Ok(outcome) => (self.each)(Ok(outcome)),
            Err(error) => {
                let error = error.at_row(number);
                let goes_on = self.on_error == OnError::Continue
                    && is_row_error(error.kind())
                    && !self.connection.db.is_autocommit();
                if !goes_on {
                    return Err(error);
                }
                (self.each)(Err(error));
            }
        }
        Ok(())
    }
}

impl<'s, 'c, 'b> Inserts<'s, 'c, 'b> {
    fn new(sender: &'s mut Sender<'c>, run: &Run<'b>, keeps_first: bool) -> Self {
        let columns = run.table.columns().len().max(1);
        let most = MAX_STATEMENT_ROWS.min(sender.connection.max_parameters / columns);
        Self {
            sender,
            table: run.table,
            verb: run.verb,
            fields: run.fields,
            waiting: Vec::with_capacity(most),
            first: run.first,
            without_key: false,
            keeps_first: keeps_first && matches!(run.verb, Verb::Insert | Verb::Upsert),
            most,
            last_key: None,
            slow: 0,
            penalty: MAX_STATEMENT_ROWS as u64,
        }
    }

    fn run(mut self, run: &Run<'b>) -> Result<()> {
        for row in run.iter() {
            let without_key = needs_key(self.table, row);
            if self.waiting.len() == self.most || without_key != self.without_key {
                self.flush()?;
                if without_key != self.without_key {
                    // Keys given by the caller can be larger than generated ones.
                    self.last_key = None;
                    self.without_key = without_key;
                }
            }
            self.waiting.push(row);
        }
        self.flush()
    }

    /// Inserts the collected rows by statements of halving sizes, the rest one by one.
    fn flush(&mut self) -> Result<()> {
        Interrupt::check()?;
        let waiting = std::mem::take(&mut self.waiting);
        let mut rest = &waiting[..];
        while !rest.is_empty() {
            let rows = self.statement_size(rest.len());
            let (now, later) = rest.split_at(rows.max(1).min(rest.len()));
            let done = if rows == 0 { 0 } else { self.many(now)? };
            self.first += done as u64;
            self.one_by_one(now.get(done..).unwrap_or_default())?;
            rest = later;
        }
        self.waiting = waiting;
        self.waiting.clear();
        Ok(())
    }

    /// The number of rows for the next statement; 0 to insert them one by one.
    fn statement_size(&self, left: usize) -> usize {
        let fast = self.slow == 0 && (self.without_key || self.verb != Verb::Upsert);
        if !fast || left < MIN_STATEMENT_ROWS || self.most < MIN_STATEMENT_ROWS {
            return 0;
        }
        // Use few sizes, so that the statements are soon cached.
        if left >= self.most { self.most } else { 1 << left.ilog2() }
    }

    fn one_by_one(&mut self, rows: &[EncodedRow<'b>]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.slow = self.slow.saturating_sub(rows.len() as u64);
        self.last_key = None;
        for row in rows {
            self.sender.one(self.table, self.verb, self.fields, *row, self.first)?;
            self.first += 1;
        }
        Ok(())
    }

    /// Inserts all rows by one statement. Returns the number of rows that are done; the others
    /// are not stored.
    fn many(&mut self, rows: &[EncodedRow<'b>]) -> Result<usize> {
        let columns = self.table.columns().len();
        if rows.iter().any(|row| row.len() != columns) {
            return Ok(0);
        }
        let replaces = self.verb == Verb::InsertOrReplace;
        if replaces && rows.iter().any(|&row| null_for_default(self.table, row).is_some()) {
            return Ok(0);
        }
        let before = match self.last_key {
            _ if !self.without_key => 0,
            Some(key) => key,
            None => last_key(self.sender.connection, self.table)?,
        };
        let Some(last) = before.checked_add(rows.len() as i64) else {
            // If the largest key is taken, SQLite generates random ones.
            return Ok(0);
        };
        match self.insert_marked(rows) {
            Ok(true) => {}
            Ok(false) => return Ok(self.go_slowly()),
            Err(error) if self.sender.connection.db.is_autocommit() => {
                // SQLite has rolled back the transaction by itself, for example because of a full
                // disk.
                return Err(error);
            }
            Err(error) if is_row_error(error.kind()) => {
                self.go_slowly();
                return self.those_before(rows.len(), before);
            }
            Err(error) => return Err(error),
        }
        if self.without_key {
            if self.sender.connection.db.last_insert_rowid() != last {
                return Err(strange_keys(self.table));
            }
            self.last_key = Some(last);
        }
        self.report(rows.len(), before);
        Ok(rows.len())
    }

    /// The number of rows stored by a failed statement.
    fn those_before(&mut self, rows: usize, before: i64) -> Result<usize> {
        if !(self.keeps_first && self.without_key) {
            return Ok(0);
        }
        let made = last_key(self.sender.connection, self.table)?.saturating_sub(before);
        let done = usize::try_from(made).ok().filter(|&done| done < rows);
        let done = done.ok_or_else(|| strange_keys(self.table))?;
        self.report(done, before);
        Ok(done)
    }

    /// Switches to one by one for a while, longer each time.
    fn go_slowly(&mut self) -> usize {
        self.slow = self.penalty;
        self.penalty = self.penalty.saturating_mul(2);
        0
    }

    /// Runs the statement; `false` if it skipped rows, and was undone.
    fn insert_marked(&mut self, rows: &[EncodedRow<'b>]) -> Result<bool> {
        // SQLite undoes other statements if they fail.
        if self.verb != Verb::InsertOrIgnore {
            return self.insert(rows);
        }
        self.sender.connection.run("SAVEPOINT bobak_many")?;
        let done = self.insert(rows);
        let connection = &mut *self.sender.connection;
        if !connection.db.is_autocommit() {
            if !matches!(done, Ok(true)) {
                connection.run("ROLLBACK TO bobak_many")?;
            }
            connection.run("RELEASE bobak_many")?;
        }
        done
    }

    /// Runs the statement. Returns whether it inserted all rows.
    fn insert(&mut self, rows: &[EncodedRow<'b>]) -> Result<bool> {
        let table = self.table;
        let count = rows.len();
        let verb = match self.verb {
            // Without a key there is no row to update.
            Verb::Upsert => Verb::Insert,
            verb => verb,
        };
        let without_key = self.without_key;
        let keeps_first = self.keeps_first && without_key;
        let connection = &mut *self.sender.connection;
        let id = if keeps_first {
            insert_or_fail_statement(connection, table, count)?
        } else {
            insert_statement(connection, table, verb, FieldSet::EMPTY, count, without_key)?
        };
        let left_out = match table.key() {
            [key] if without_key => *key,
            _ => usize::MAX,
        };
        let result = connection.db.execute_with(id, |binder| {
            for row in rows {
                row.for_each_raw(|place, value| {
                    if place != left_out && !table.is_generated(place) {
                        binder.push(value);
                    }
                });
            }
        });
        result.map_err(|failure| translate(failure, Some(table)))?;
        Ok(connection.db.changes() == count as u64)
    }

    fn report(&mut self, rows: usize, before: i64) {
        for number in 1..=rows as i64 {
            let key = self.without_key.then(|| GeneratedKey::Int(before + number));
            (self.sender.each)(Ok(Outcome::Inserted(key)));
        }
    }
}

/// The error for keys that are not consecutive, although the table has nothing that explains it.
/// The caller undoes the batch.
#[cold]
fn strange_keys(table: &TableSchema) -> Error {
    let message = "the generated keys are not consecutive: insert the rows one by one";
    Error::new(ErrorKind::Engine, message).in_table(table.name().to_owned())
}
