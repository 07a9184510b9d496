//! Batches: many writes sent as one, in parts, in constant memory.

use crate::access::Lend;
use crate::db::Inner;
use crate::outcomes::Outcomes;
use crate::{DynTable, dynamic};
use bobak_core::{
    Batch as Writes, Control, DynRow, Engine, Error, ErrorKind, FieldSet, Key, Record, Result,
    Session, TableSchema, Value, Verb, Write, prepare_waiting_row,
};
pub use bobak_core::{GivenKey, OnError, Outcome};
use std::sync::Arc;

/// How a [`Batch`] is sent, and what it keeps of the results.
///
/// ```
/// use bobak::BatchOptions;
/// use bobak::batch::{OnConflict, OnError};
/// let options = BatchOptions::new()
///     .on_conflict(OnConflict::Ignore)
///     .on_error(OnError::Continue)
///     .commit_every(50_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchOptions {
    on_conflict: OnConflict,
    on_error: OnError,
    commit_every: u64,
    keep_outcomes: bool,
}

/// What an insert of a batch does where its key or a unique value is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum OnConflict {
    /// The row fails with `Duplicate`.
    #[default]
    Fail,
    /// The row is left out: `Outcome::Ignored`.
    Ignore,
    /// The rows that are there are deleted first.
    Replace,
}

impl BatchOptions {
    /// A commit after each 10,000 rows; the first error stops; every row's outcome is kept.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            on_conflict: OnConflict::Fail,
            on_error: OnError::Stop,
            commit_every: 10_000,
            keep_outcomes: true,
        }
    }

    /// What inserts do where the row is there. Default: `Fail`.
    #[must_use]
    pub const fn on_conflict(mut self, on_conflict: OnConflict) -> Self {
        self.on_conflict = on_conflict;
        self
    }

    /// What happens after a row's error. Default: `Stop`, which undoes everything since the last
    /// commit.
    #[must_use]
    pub const fn on_error(mut self, on_error: OnError) -> Self {
        self.on_error = on_error;
        self
    }

    /// Commits after each so many rows; 0 commits once, at the end: all or nothing. Inside a
    /// transaction nothing is committed before the transaction is. Default: 10,000.
    #[must_use]
    pub const fn commit_every(mut self, rows: u64) -> Self {
        self.commit_every = rows;
        self
    }

    /// Whether every row's outcome is kept. Inserts whose keys follow each other take nothing, an
    /// error or a made UUID some dozens of bytes: turn it off for endless input, where the counts
    /// and the first thousand errors are enough. Default: on.
    #[must_use]
    pub const fn keep_outcomes(mut self, keep: bool) -> Self {
        self.keep_outcomes = keep;
        self
    }
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// What became of a batch's rows.
#[derive(Debug, Default)]
pub struct BatchReport {
    /// How many writes were sent.
    pub rows: u64,
    /// How many rows were inserted, replacements and upserts of new rows included.
    pub inserted: u64,
    /// How many rows were updated, by upserts too, or deleted.
    pub changed: u64,
    /// How many inserts found their row there and were left out.
    pub ignored: u64,
    /// How many rows failed.
    pub failed: u64,
    /// The first thousand errors, with their row numbers, where outcomes are not kept.
    pub errors: Vec<Error>,
    outcomes: Outcomes,
}

impl BatchReport {
    /// What became of a row, counted from 0 in the order of the calls; `None` where there is no
    /// such row, or outcomes are not kept.
    #[must_use]
    pub fn outcome(&self, row: usize) -> Option<Result<Outcome, &Error>> {
        self.outcomes.get(row as u64)
    }

    /// One outcome for each row, in the order of the calls; none where they are not kept.
    pub fn outcomes(&self) -> impl Iterator<Item = Result<Outcome, &Error>> {
        self.outcomes.iter()
    }

    /// The key that the engine or Bobak made for a row: `None` where the user gave it, or the row
    /// was not inserted.
    #[must_use]
    pub fn made_key<K: Key>(&self, row: usize) -> Option<K> {
        let Some(Ok(Outcome::Inserted(Some(key)))) = self.outcome(row) else {
            return None;
        };
        key.to_key().ok()
    }
}

/// Most rows' bytes before a part is sent, commit or no: it bounds the memory.
const PART_BYTES: usize = 4 << 20;
/// Most rows of a part, so that it stays in the processor's cache; a power of two, since engines cut
/// it into statements of such sizes.
const PART_ROWS: u64 = 1_024;
/// The same, where each part costs round trips.
const LONG_PART_ROWS: u64 = 20 * PART_ROWS;
/// Most errors kept where outcomes are not.
const KEPT_ERRORS: usize = 1_000;

/// Many inserts, updates and deletes over records of one engine, sent as one.
///
/// Rows are checked and stamped when they are added, and wait in a compact buffer; each 10,000 of
/// them (or 4 MiB) are sent and, outside a transaction, committed together. So any number of rows
/// takes constant memory, if outcomes are not kept.
///
/// ```
/// # use bobak::prelude::*;
/// # #[derive(Record)] struct Item { id: i64, name: String }
/// # #[derive(Record)] struct Note { id: i64, text: String }
/// # let db = Db::builder().record::<Item>().record::<Note>().open("memory:")?;
/// # db.create_missing_tables()?;
/// let mut batch = db.batch(BatchOptions::new());
/// batch.insert(&Item { id: 0, name: "spade".into() })?;
/// batch.insert(&Item { id: 0, name: "rake".into() })?;
/// batch.insert(&Note { id: 0, text: "tools".into() })?;
/// batch.delete::<Item>(99)?;
/// let report = batch.finish()?;
/// assert_eq!(report.made_key::<i64>(1), Some(2));
/// assert_eq!((report.inserted, report.changed), (3, 0));
/// # Ok::<(), Error>(())
/// ```
#[must_use = "a batch does nothing until `finish`"]
pub struct Batch<'a> {
    inner: &'a Inner,
    options: BatchOptions,
    target: Target<'a>,
    /// Most rows of a part.
    part_rows: u64,
    writes: Writes,
    /// The record type added last: its schema's number and its whole-record update.
    last: (u64, FieldSet),
    report: BatchReport,
    uncommitted: u64,
    failed: bool,
}

/// Where a batch's parts go.
enum Target<'a> {
    /// Nowhere yet: the first record says which engine.
    Unknown,
    /// An engine, each part in a transaction of its own.
    Engine(usize, Arc<dyn Engine>),
    /// A session with a transaction that the batch began, to commit at its end.
    Whole(usize, Box<dyn Session + 'a>),
    /// The user's transaction.
    Transaction(usize, &'a dyn Lend),
}

impl<'a> Batch<'a> {
    pub(crate) fn new(inner: &'a Inner, options: BatchOptions) -> Self {
        Self::with_target(inner, Target::Unknown, options)
    }

    pub(crate) fn in_transaction(
        inner: &'a Inner,
        engine: usize,
        session: &'a dyn Lend,
        options: BatchOptions,
    ) -> Self {
        let mut batch = Self::with_target(inner, Target::Transaction(engine, session), options);
        if let Ok(engine) = inner.engine(engine) {
            batch.part_rows = part_rows(&**engine);
        }
        batch
    }

    fn with_target(inner: &'a Inner, target: Target<'a>, options: BatchOptions) -> Self {
        Self {
            inner,
            options,
            target,
            part_rows: PART_ROWS,
            writes: Writes::new(),
            last: (0, FieldSet::EMPTY),
            report: BatchReport::default(),
            uncommitted: 0,
            failed: false,
        }
    }

    /// Adds an insert. Keys and stamps are made as by [`Table::insert`](crate::Table::insert).
    ///
    /// # Errors
    /// `TooLong`, `OutOfRange` for the record, which is then not added, and the batch goes on;
    /// `Unsupported` where its type is kept on another engine than the batch's first. Where a
    /// part is sent: the first error of one of its rows, with the row's number; the batch then
    /// takes no more.
    #[inline]
    pub fn insert<T: Record>(&mut self, record: &T) -> Result<()> {
        let verb = match self.options.on_conflict {
            OnConflict::Fail => Verb::Insert,
            OnConflict::Ignore => Verb::InsertOrIgnore,
            OnConflict::Replace => Verb::InsertOrReplace,
        };
        self.add(verb, record)
    }

    /// Adds an insert or, where the key is there, an update. See
    /// [`Table::upsert`](crate::Table::upsert).
    ///
    /// # Errors
    /// As [`insert`](Batch::insert).
    pub fn upsert<T: Record>(&mut self, record: &T) -> Result<()> {
        self.add(Verb::Upsert, record)
    }

    /// Adds an update of the whole record. See [`Table::update`](crate::Table::update).
    ///
    /// # Errors
    /// As [`insert`](Batch::insert).
    pub fn update<T: Record>(&mut self, record: &T) -> Result<()> {
        self.add(Verb::Update, record)
    }

    /// Adds a delete by key; one that finds no row is `Outcome::Changed(0)`.
    ///
    /// # Errors
    /// As [`insert`](Batch::insert).
    pub fn delete<T: Record>(&mut self, key: impl Into<T::Key>) -> Result<()> {
        self.bind::<T>()?;
        key.into().with_values(|values| self.push(T::schema(), Verb::Delete, values))
    }

    /// Adds an insert into a table that no struct describes: columns by name, those missing by
    /// their defaults.
    ///
    /// # Errors
    /// As [`insert`](Batch::insert); `Schema` for an unknown column, `Mismatch` for a value that
    /// is not of its column's type, `Constraint` for NULL where none may be.
    pub fn insert_row(&mut self, table: &DynTable<'_>, row: &DynRow) -> Result<()> {
        let (values, given) = dynamic::arrange(table.schema(), row)?;
        self.insert_given(table, given, values)
    }

    /// As [`insert_row`](Batch::insert_row), from values in schema order.
    ///
    /// # Errors
    /// As [`insert_row`](Batch::insert_row).
    pub fn insert_values(&mut self, table: &DynTable<'_>, values: Vec<Value<'_>>) -> Result<()> {
        self.insert_given(table, FieldSet::first(table.schema().columns().len()), values)
    }

    /// As [`insert_values`](Batch::insert_values), of which only those of the columns `given` are
    /// the row's own: NULL elsewhere stands for a default that the engine makes, where there is one.
    ///
    /// # Errors
    /// As [`insert_row`](Batch::insert_row).
    pub fn insert_given(
        &mut self,
        table: &DynTable<'_>,
        given: FieldSet,
        values: Vec<Value<'_>>,
    ) -> Result<()> {
        let schema = table.schema();
        if self.last.0 != schema.id() {
            match table.engine() {
                Some(engine) => self.aim(self.inner.place_of(engine)?, schema)?,
                // Opened in a transaction: in this one, since no other can be open beside it.
                None => self.check_in_transaction(schema)?,
            }
            self.last = (schema.id(), schema.updated_fields());
        }
        let mut values = dynamic::accept(schema, given, values)?;
        let verb = match self.options.on_conflict {
            OnConflict::Fail => Verb::Insert,
            OnConflict::Ignore => Verb::InsertOrIgnore,
            OnConflict::Replace => Verb::InsertOrReplace,
        };
        prepare_waiting_row(schema, verb, &mut values)?;
        self.push(&table.schema_for(given), verb, &values)
    }

    /// Sends what waits, and gives the results.
    ///
    /// # Errors
    /// With [`OnError::Stop`] the first error of a row, with its number; what was not committed
    /// before is undone. Those of the engine.
    pub fn finish(mut self) -> Result<BatchReport> {
        self.check_usable()?;
        self.send()?;
        if let Target::Whole(_, session) = &self.target {
            session.control(Control::Commit)?;
        }
        Ok(std::mem::take(&mut self.report))
    }

    /// How many rows were sent; of these, those of a batch outside a transaction with
    /// `commit_every` above 0 are committed. After an error: what is there all the same.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.report.rows
    }

    #[inline]
    fn add<T: Record>(&mut self, verb: Verb, record: &T) -> Result<()> {
        self.bind::<T>()?;
        self.check_usable()?;
        let sets = matches!(verb, Verb::Update | Verb::Upsert);
        let fields = if sets { self.last.1 } else { FieldSet::EMPTY };
        self.writes.push_record(verb, fields, record)?;
        self.added()
    }

    fn push(&mut self, table: &Arc<TableSchema>, verb: Verb, values: &[Value<'_>]) -> Result<()> {
        self.check_usable()?;
        self.writes.push_waiting(&Write { table, verb, fields: FieldSet::EMPTY, values })?;
        self.added()
    }

    /// Sends what waits, where it is due.
    #[inline]
    fn added(&mut self) -> Result<()> {
        self.uncommitted += 1;
        let commit = self.options.commit_every;
        let due = if commit == 0 || matches!(self.target, Target::Transaction(..)) {
            self.writes.rows() >= self.part_rows
        } else {
            self.uncommitted >= commit || self.writes.rows() >= self.part_rows.max(commit)
        };
        if due || self.writes.bytes() >= PART_BYTES { self.send() } else { Ok(()) }
    }

    /// Finds the record's engine, once for each run of records of one type.
    #[inline]
    fn bind<T: Record>(&mut self) -> Result<()> {
        let schema = T::schema();
        if self.last.0 == schema.id() {
            return Ok(());
        }
        if let Target::Transaction(engine, session) = self.target {
            let stored = || session.with(|session| session.tables());
            self.inner.bind_inside::<T>(engine, stored)?;
        } else {
            let engine = self.inner.bind::<T>()?;
            self.aim(engine, schema)?;
        }
        self.last = (schema.id(), schema.updated_fields());
        Ok(())
    }

    fn aim(&mut self, engine: usize, schema: &TableSchema) -> Result<()> {
        match &self.target {
            Target::Unknown => {
                let found = self.inner.engine(engine)?;
                self.part_rows = part_rows(&**found);
                self.target = Target::Engine(engine, Arc::clone(found));
                Ok(())
            }
            Target::Engine(at, _) | Target::Whole(at, _) | Target::Transaction(at, _)
                if *at != engine =>
            {
                let message = "a batch belongs to one engine, and this table is kept on another";
                Err(Error::new(ErrorKind::Unsupported, message).in_table(schema.name()))
            }
            _ => Ok(()),
        }
    }

    fn check_in_transaction(&self, schema: &TableSchema) -> Result<()> {
        if matches!(self.target, Target::Transaction(..)) {
            return Ok(());
        }
        let message = "the table was opened in a transaction: use the transaction's batch";
        Err(Error::new(ErrorKind::Misuse, message).in_table(schema.name()))
    }

    fn check_usable(&self) -> Result<()> {
        if self.failed {
            let message = "the batch has failed before: begin a new one";
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        Ok(())
    }

    #[cold]
    fn send(&mut self) -> Result<()> {
        if self.writes.is_empty() {
            return Ok(());
        }
        self.writes.stamp();
        let result = self.send_part();
        self.failed = result.is_err();
        self.writes.clear();
        self.uncommitted = 0;
        result
    }

    fn send_part(&mut self) -> Result<()> {
        if self.options.commit_every == 0
            && let Target::Engine(at, _) = self.target
        {
            let session = self.inner.engine(at)?.session()?;
            session.control(Control::Begin)?;
            self.target = Target::Whole(at, session);
        }
        let first = self.report.rows;
        let (writes, report, keep) = (&self.writes, &mut self.report, self.options.keep_outcomes);
        let mut row = 0;
        let mut each = |outcome: Result<Outcome>| {
            match outcome {
                Ok(Outcome::Inserted(None)) => {
                    let key = writes.made_key(row).map(GivenKey::Uuid);
                    report.record(Outcome::Inserted(key), keep);
                }
                Ok(outcome) => report.record(outcome, keep),
                Err(error) => report.fail(error.at_row(first + row), keep),
            }
            row += 1;
        };
        let on_error = self.options.on_error;
        let sent = match &self.target {
            Target::Unknown => Ok(()),
            Target::Engine(_, engine) => engine.session()?.batch(writes, on_error, &mut each),
            Target::Whole(_, session) => session.batch(writes, on_error, &mut each),
            Target::Transaction(_, session) => {
                session.with(|session| session.batch(writes, on_error, &mut each))
            }
        };
        sent.map_err(|error| match error.row() {
            Some(row) => error.at_row(first + row),
            None => error,
        })
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if let Target::Whole(_, session) = &self.target {
            // After a commit there is nothing to undo; the session says so, and nobody listens.
            let _ = session.control(Control::Rollback);
        }
    }
}

impl BatchReport {
    #[inline]
    fn record(&mut self, outcome: Outcome, keep: bool) {
        self.rows += 1;
        match outcome {
            Outcome::Inserted(_) => self.inserted += 1,
            Outcome::Changed(rows) => self.changed += rows,
            Outcome::Ignored => self.ignored += 1,
        }
        if keep {
            self.outcomes.push(Ok(outcome));
        }
    }

    #[cold]
    fn fail(&mut self, error: Error, keep: bool) {
        self.rows += 1;
        self.failed += 1;
        if keep {
            self.outcomes.push(Err(error));
        } else if self.errors.len() < KEPT_ERRORS {
            self.errors.push(error);
        }
    }
}

/// Most rows of a part on this engine.
fn part_rows(engine: &dyn Engine) -> u64 {
    if engine.capabilities().large_batches { LONG_PART_ROWS } else { PART_ROWS }
}
