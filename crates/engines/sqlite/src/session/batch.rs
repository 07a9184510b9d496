//! Batches: runs of inserts go many rows at a time, all else row by row.
//!
//! The way row by row is the meaning. The fast way gives exactly the same; where rows were refused
//! or ignored, those that are not in go again row by row, which tells what became of each. Tables on
//! which it could differ in other ways go row by row from the start.

use crate::connection::Connection;
use crate::error::{is_row_error, translate};
use crate::session::write::{
    insert_or_fail_statement, insert_statement, last_key, needs_key, null_for_default, write_row,
};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Batch, Error, ErrorKind, FieldSet, GeneratedKey, Interrupt, OnError, Outcome, Result, Row, Run,
    TableSchema, Verb,
};

/// The most rows of one statement: more gain nothing that could be measured, and cost more to
/// prepare.
const MOST: usize = 128;
/// Below so many rows a statement for each is quicker.
const FEWEST: usize = 32;
/// After so many rows it is looked whether the batch is to end: a short statement has no look of its own.
const LOOK: u64 = 64;

/// A batch on its way into an open transaction.
struct Sender<'c> {
    connection: &'c mut Connection,
    on_error: OnError,
    each: &'c mut dyn FnMut(Result<Outcome>),
}

/// A run of inserts: rows wait here until they are enough for a statement.
struct Inserts<'s, 'c, 'b> {
    sender: &'s mut Sender<'c>,
    table: &'b TableSchema,
    verb: Verb,
    fields: FieldSet,
    waiting: Vec<EncodedRow<'b>>,
    /// The number of the first waiting row.
    first: u64,
    /// Whether the waiting rows are those whose keys the engine makes, or those that have one.
    without_key: bool,
    /// Whether a statement that fails may leave the rows in that came before the wrong one: those
    /// are counted by the keys made, and SQLite needs no journal to undo them.
    keeps_first: bool,
    /// The most rows of one statement.
    most: usize,
    /// The largest key, where this run has just made it.
    last_key: Option<i64>,
    /// How many rows go one by one since a statement had to be repeated so; doubled each time.
    slow: u64,
    penalty: u64,
}

/// Sends a batch into the open transaction. After an error the caller undoes what was done.
pub(crate) fn send(
    connection: &mut Connection,
    batch: &Batch,
    on_error: OnError,
    each: &mut dyn FnMut(Result<Outcome>),
) -> Result<()> {
    let mut sender = Sender { connection, on_error, each };
    batch.runs().try_for_each(|run| sender.run(&run))
}

impl Sender<'_> {
    fn run(&mut self, run: &Run<'_>) -> Result<()> {
        if run.rows >= FEWEST as u64 && self.may_join(run)? {
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

    /// Whether many rows of the run in one statement can be the same as a statement for each.
    fn may_join(&mut self, run: &Run<'_>) -> Result<bool> {
        let inserts = match run.verb {
            Verb::Insert | Verb::InsertOrIgnore | Verb::InsertOrReplace => true,
            // One that finds its row there is told apart row by row; one without a key finds none.
            Verb::Upsert => run.may_make_keys(),
            Verb::Update | Verb::Delete => false,
        };
        if !inserts || !self.connection.atomic {
            return Ok(false);
        }
        // A trigger may leave rows out, or insert some of its own; AUTOINCREMENT takes no key again.
        // A constraint with an ON CONFLICT of its own may leave rows out as well. Foreign keys are
        // looked at when a statement ends: a row may then refer to one that came after it, or a
        // wrong one may be replaced already.
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

    /// One row, by a statement of its own.
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
        let most = MOST.min(sender.connection.max_parameters / columns);
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
            penalty: MOST as u64,
        }
    }

    fn run(mut self, run: &Run<'b>) -> Result<()> {
        for row in run.iter() {
            let without_key = needs_key(self.table, row);
            if self.waiting.len() == self.most || without_key != self.without_key {
                self.flush()?;
                if without_key != self.without_key {
                    // Given keys may be larger than those made.
                    self.last_key = None;
                    self.without_key = without_key;
                }
            }
            self.waiting.push(row);
        }
        self.flush()
    }

    /// Sends the waiting rows: by statements of halving sizes, the rest one by one.
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

    /// How many of `left` rows the next statement takes; 0 where they go one by one.
    fn statement_size(&self, left: usize) -> usize {
        let fast = self.slow == 0 && (self.without_key || self.verb != Verb::Upsert);
        if !fast || left < FEWEST || self.most < FEWEST {
            return 0;
        }
        // Few sizes, so that each statement is soon in the cache.
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

    /// All rows by one statement. Tells how many of them it did as row by row would: where these
    /// are not all, the others have not been done.
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
            // Where the largest key is taken SQLite makes random ones.
            return Ok(0);
        };
        match self.insert_marked(rows) {
            Ok(true) => {}
            Ok(false) => return Ok(self.go_slowly()),
            Err(error) if self.sender.connection.db.is_autocommit() => {
                // SQLite has rolled the whole transaction back by itself: a full disk, say.
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

    /// How many of the rows are in after a statement failed.
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

    /// Rows go one by one for a while; each time for longer.
    fn go_slowly(&mut self) -> usize {
        self.slow = self.penalty;
        self.penalty = self.penalty.saturating_mul(2);
        0
    }

    /// Runs the statement; `false` where it left rows out, and was undone.
    fn insert_marked(&mut self, rows: &[EncodedRow<'b>]) -> Result<bool> {
        // Others do all of it, or fail, which SQLite undoes.
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

    /// Runs the statement; tells whether it inserted all rows.
    fn insert(&mut self, rows: &[EncodedRow<'b>]) -> Result<bool> {
        let table = self.table;
        let count = rows.len();
        let verb = match self.verb {
            // Without a key it finds no row to update.
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
                    if place != left_out {
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

/// Keys that do not follow each other, though nothing on the table could be the cause. The batch
/// is undone.
#[cold]
fn strange_keys(table: &TableSchema) -> Error {
    let message = "the keys that were made do not follow each other: insert the rows one by one";
    Error::new(ErrorKind::Engine, message).in_table(table.name().to_owned())
}
