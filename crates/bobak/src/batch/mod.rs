//! Batches: many writes sent together, in parts, in constant memory.

mod options;
mod outcomes;
#[cfg(feature = "arrow")]
mod record_batches;
mod report;

pub use bobak_core::{GeneratedKey, OnError, Outcome};
pub use options::{BatchOptions, OnConflict};
pub use report::BatchReport;

use crate::access::upsert_verb;
use crate::catalog::Catalog;
use crate::dynamic::{self, DynTable};
use crate::handle::LendSession;
use crate::parameters::Parameters;
use bobak_core::statements::CallSite;
use bobak_core::{
    DynRow, Engine, Error, ErrorKind, FieldSet, Interrupt, Key, Record, Result, Selection, Session,
    TableSchema, TransactionControl, Value, Verb, Write, WriteBatch, prepare_batched_dynamic,
};
use std::panic::Location;
use std::sync::Arc;

/// The most bytes of rows before a part is sent, committed or not: bounds the memory.
const PART_BYTES: usize = 4 << 20;
/// The most rows of a part, so that it fits in the CPU cache; a power of two, since engines split it into statements of
/// such sizes.
const PART_ROWS: u64 = 1_024;
/// The same for engines where each part costs round trips.
const LONG_PART_ROWS: u64 = 20 * PART_ROWS;
/// Many inserts, updates and deletes of records of one engine, sent together.
///
/// Rows are checked and get their timestamps when they are added, and are buffered in compact form. Every 10,000 rows (or
/// 4 MiB) are sent and, outside a transaction, committed together. So any number of rows takes constant memory if outcomes
/// are not kept.
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
/// assert_eq!(report.generated_key::<i64>(1), Some(2));
/// assert_eq!((report.inserted, report.changed), (3, 0));
/// # Ok::<(), Error>(())
/// ```
#[must_use = "a batch does nothing until `finish`"]
pub struct Batch<'a> {
    catalog: &'a Catalog,
    options: BatchOptions,
    target: BatchTarget<'a>,
    /// The most rows of a part.
    part_rows: u64,
    /// Where the program began the batch.
    place: &'static Location<'static>,
    writes: WriteBatch,
    /// The record type added last: the ID of its schema and the fields of a whole-record update.
    last: (u64, FieldSet),
    report: BatchReport,
    uncommitted: u64,
    failed: bool,
}

/// Where a batch's parts are sent. Engines are named by their index.
enum BatchTarget<'a> {
    /// Unknown until the first record is added.
    Unknown,
    /// An engine; each part is a transaction.
    Engine(usize, Arc<dyn Engine>),
    /// A session with a transaction that the batch began, and commits at its end.
    Whole(usize, Box<dyn Session + 'a>),
    /// The caller's transaction.
    Transaction(usize, &'a dyn LendSession),
}

impl<'a> Batch<'a> {
    #[track_caller]
    pub(crate) fn new(catalog: &'a Catalog, options: BatchOptions) -> Self {
        Self::with_target(catalog, BatchTarget::Unknown, options)
    }

    #[track_caller]
    pub(crate) fn in_transaction(
        catalog: &'a Catalog,
        engine: usize,
        session: &'a dyn LendSession,
        options: BatchOptions,
    ) -> Self {
        let mut batch =
            Self::with_target(catalog, BatchTarget::Transaction(engine, session), options);
        if let Ok(engine) = catalog.engine(engine) {
            batch.part_rows = part_rows(&**engine);
        }
        batch
    }

    #[track_caller]
    fn with_target(catalog: &'a Catalog, target: BatchTarget<'a>, options: BatchOptions) -> Self {
        Self {
            catalog,
            options,
            target,
            part_rows: PART_ROWS,
            place: Location::caller(),
            writes: WriteBatch::new(),
            last: (0, FieldSet::EMPTY),
            report: BatchReport::default(),
            uncommitted: 0,
            failed: false,
        }
    }

    /// Adds an insert. Keys and timestamps are generated as by [`Table::insert`](crate::Table::insert).
    ///
    /// # Errors
    /// `TooLong`, `OutOfRange` for the record, which is then not added, while the batch remains usable; `Unsupported` if
    /// another engine keeps its type than the batch's first. If this sends a part: the first error of one of its rows,
    /// with the row's number; the batch is then unusable.
    #[inline]
    pub fn insert<T: Record>(&mut self, record: &T) -> Result<()> {
        let verb = match self.options.on_conflict {
            OnConflict::Fail => Verb::Insert,
            OnConflict::Ignore => Verb::InsertOrIgnore,
            OnConflict::Replace => Verb::InsertOrReplace,
        };
        self.add(verb, record)
    }

    /// Adds an insert or, if the key exists, an update. See
    /// [`Table::upsert`](crate::Table::upsert).
    ///
    /// # Errors
    /// As [`insert`](Batch::insert).
    pub fn upsert<T: Record>(&mut self, record: &T) -> Result<()> {
        self.add(Verb::Upsert, record)
    }

    /// Adds an insert or, if a record has the same values in the columns of a unique index, an update. See
    /// [`Table::upsert_on`](crate::Table::upsert_on). The outcome of an update is `Outcome::Updated` with the record's
    /// key, if that is an integer or a UUID.
    ///
    /// # Errors
    /// As [`insert`](Batch::insert); `Schema` for columns that are neither the key nor those of a unique index.
    pub fn upsert_on<T: Record>(&mut self, columns: impl Selection<T>, record: &T) -> Result<()> {
        self.add(upsert_verb(T::schema(), columns)?, record)
    }

    /// Adds an update of the whole record. See [`Table::update`](crate::Table::update).
    ///
    /// # Errors
    /// As [`insert`](Batch::insert).
    pub fn update<T: Record>(&mut self, record: &T) -> Result<()> {
        self.add(Verb::Update, record)
    }

    /// Adds a delete by key. If it finds no row, its outcome is `Outcome::Changed(0)`.
    ///
    /// # Errors
    /// As [`insert`](Batch::insert).
    pub fn delete<T: Record>(&mut self, key: impl Into<T::Key>) -> Result<()> {
        self.bind::<T>()?;
        let schema = T::schema();
        key.into().with_values(|key| self.push(schema, Verb::Delete, FieldSet::EMPTY, key))
    }

    /// Adds an insert into a table that no struct describes. Columns are matched by name; missing ones get their defaults.
    ///
    /// # Errors
    /// As [`insert`](Batch::insert); `Schema` for an unknown column, `Mismatch` for a value that does not have
    /// its column's type, `Constraint` for NULL in a column that is not nullable.
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

    /// As [`insert_values`](Batch::insert_values), where only the columns in `given` have values: NULL in another column
    /// stands for a default that the engine computes, if it has one.
    ///
    /// # Errors
    /// As [`insert_row`](Batch::insert_row).
    pub fn insert_given(
        &mut self,
        table: &DynTable<'_>,
        given: FieldSet,
        values: Vec<Value<'_>>,
    ) -> Result<()> {
        let verb = match self.options.on_conflict {
            OnConflict::Fail => Verb::Insert,
            OnConflict::Ignore => Verb::InsertOrIgnore,
            OnConflict::Replace => Verb::InsertOrReplace,
        };
        self.insert_row_as(table, verb, given, values)
    }

    /// As [`insert_row`](Batch::insert_row), but an update if the key exists. See [`DynTable::upsert`].
    ///
    /// # Errors
    /// As [`insert_row`](Batch::insert_row).
    pub fn upsert_row(&mut self, table: &DynTable<'_>, row: &DynRow) -> Result<()> {
        let (values, given) = dynamic::arrange(table.schema(), row)?;
        self.insert_row_as(table, Verb::Upsert, given, values)
    }

    /// As [`upsert_row`](Batch::upsert_row), by the columns of a unique index. See [`DynTable::upsert_on`].
    ///
    /// # Errors
    /// As [`insert_row`](Batch::insert_row); `Schema` for columns that are neither the key nor those of a unique index.
    pub fn upsert_row_on<N: AsRef<str>>(
        &mut self,
        table: &DynTable<'_>,
        columns: impl IntoIterator<Item = N>,
        row: &DynRow,
    ) -> Result<()> {
        let (values, given) = dynamic::arrange(table.schema(), row)?;
        self.insert_row_as(table, table.upsert_verb(columns)?, given, values)
    }

    /// Adds an update of the columns that the row names, by its key. See [`DynTable::update`].
    ///
    /// # Errors
    /// As [`insert_row`](Batch::insert_row).
    pub fn update_row(&mut self, table: &DynTable<'_>, row: &DynRow) -> Result<()> {
        self.bind_dynamic(table)?;
        let (fields, mut values) = table.accept_update(row)?;
        prepare_batched_dynamic(table.schema(), Verb::Update, &mut values)?;
        self.push(table.schema(), Verb::Update, fields, &values)
    }

    /// Adds a delete by key from a table that no struct describes. See [`DynTable::delete`].
    ///
    /// # Errors
    /// As [`insert_row`](Batch::insert_row).
    pub fn delete_row(&mut self, table: &DynTable<'_>, key: impl Parameters) -> Result<()> {
        self.bind_dynamic(table)?;
        let key = table.accept_key(key)?;
        self.push(table.schema(), Verb::Delete, FieldSet::EMPTY, &key)
    }

    fn insert_row_as(
        &mut self,
        table: &DynTable<'_>,
        verb: Verb,
        given: FieldSet,
        values: Vec<Value<'_>>,
    ) -> Result<()> {
        self.bind_dynamic(table)?;
        let schema = table.schema();
        let fields = if verb.is_upsert() { self.last.1 } else { FieldSet::EMPTY };
        let mut values = dynamic::accept(schema, given, values)?;
        prepare_batched_dynamic(schema, verb, &mut values)?;
        self.push(&table.schema_for(given), verb, fields, &values)
    }

    /// Finds the table's engine, once for consecutive rows of one table.
    fn bind_dynamic(&mut self, table: &DynTable<'_>) -> Result<()> {
        let schema = table.schema();
        if self.last.0 == schema.id() {
            return Ok(());
        }
        match table.engine() {
            Some(engine) => self.set_target(self.catalog.index_of(engine)?, schema)?,
            // Opened in a transaction, which is this one: an engine has one open transaction per thread.
            None => self.check_in_transaction(schema)?,
        }
        self.last = (schema.id(), schema.updated_fields());
        Ok(())
    }

    /// Sends the buffered rows and returns the results.
    ///
    /// # Errors
    /// With [`OnError::Stop`], the first error of a row, with its number; rows that were not committed before are rolled
    /// back. Those of the engine.
    pub fn finish(mut self) -> Result<BatchReport> {
        self.check_usable()?;
        self.send()?;
        if let BatchTarget::Whole(_, session) = &self.target {
            let _at = CallSite::enter_at(self.place);
            session.control(TransactionControl::Commit)?;
        }
        Ok(std::mem::take(&mut self.report))
    }

    /// How many rows were sent. Outside a transaction and with `commit_every` above 0 these are committed, also after an
    /// error.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.report.rows
    }

    #[inline]
    fn add<T: Record>(&mut self, verb: Verb, record: &T) -> Result<()> {
        self.bind::<T>()?;
        self.check_usable()?;
        let fields = if verb.sets_fields() { self.last.1 } else { FieldSet::EMPTY };
        self.writes.push_record(verb, fields, record)?;
        self.added()
    }

    fn push(
        &mut self,
        table: &Arc<TableSchema>,
        verb: Verb,
        fields: FieldSet,
        values: &[Value<'_>],
    ) -> Result<()> {
        self.check_usable()?;
        self.writes.push_unstamped(&Write { table, verb, fields, values })?;
        self.added()
    }

    /// Sends the buffered rows if it is time.
    #[inline]
    fn added(&mut self) -> Result<()> {
        self.uncommitted += 1;
        let commit = self.options.commit_every;
        let due = if commit == 0 || matches!(self.target, BatchTarget::Transaction(..)) {
            self.writes.rows() >= self.part_rows
        } else {
            self.uncommitted >= commit || self.writes.rows() >= self.part_rows.max(commit)
        };
        if due || self.writes.bytes() >= PART_BYTES { self.send() } else { Ok(()) }
    }

    /// Finds the record's engine, once for consecutive records of one type.
    #[inline]
    fn bind<T: Record>(&mut self) -> Result<()> {
        let schema = T::schema();
        if self.last.0 == schema.id() {
            return Ok(());
        }
        if let BatchTarget::Transaction(engine, session) = self.target {
            let stored = || session.with(|session| session.tables_and_views());
            self.catalog.bind_inside::<T>(engine, stored)?;
        } else {
            let engine = self.catalog.bind::<T>()?;
            self.set_target(engine, schema)?;
        }
        self.last = (schema.id(), schema.updated_fields());
        Ok(())
    }

    fn set_target(&mut self, engine: usize, schema: &TableSchema) -> Result<()> {
        match &self.target {
            BatchTarget::Unknown => {
                let found = self.catalog.engine(engine)?;
                self.part_rows = part_rows(&**found);
                self.target = BatchTarget::Engine(engine, Arc::clone(found));
                Ok(())
            }
            BatchTarget::Engine(at, _)
            | BatchTarget::Whole(at, _)
            | BatchTarget::Transaction(at, _)
                if *at != engine =>
            {
                let message = "a batch belongs to one engine, and this table is on another";
                Err(Error::new(ErrorKind::Unsupported, message).in_table(schema.name()))
            }
            _ => Ok(()),
        }
    }

    fn check_in_transaction(&self, schema: &TableSchema) -> Result<()> {
        if matches!(self.target, BatchTarget::Transaction(..)) {
            return Ok(());
        }
        let message = "the table was opened in a transaction: use the transaction's batch";
        Err(Error::new(ErrorKind::Misuse, message).in_table(schema.name()))
    }

    fn check_usable(&self) -> Result<()> {
        if self.failed {
            let message = "the batch has already failed: begin a new one";
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
        let _at = CallSite::enter_at(self.place);
        if self.options.commit_every == 0
            && let BatchTarget::Engine(at, _) = self.target
        {
            let session = self.catalog.engine(at)?.session()?;
            session.control(TransactionControl::Begin)?;
            self.target = BatchTarget::Whole(at, session);
        }
        let first = self.report.rows;
        let (writes, report, keep) = (&self.writes, &mut self.report, self.options.keep_outcomes);
        let mut row = 0;
        let mut each = |outcome: Result<Outcome>| {
            match outcome {
                Ok(Outcome::Inserted(None)) => {
                    let key = writes.generated_key(row).map(GeneratedKey::Uuid);
                    report.record(Outcome::Inserted(key), keep);
                }
                Ok(outcome) => report.record(outcome, keep),
                Err(error) => report.fail(error.at_row(first + row), keep),
            }
            row += 1;
        };
        let on_error = self.options.on_error;
        let sent = match &self.target {
            BatchTarget::Unknown => Ok(()),
            BatchTarget::Engine(_, engine) => engine.session()?.batch(writes, on_error, &mut each),
            BatchTarget::Whole(_, session) => session.batch(writes, on_error, &mut each),
            BatchTarget::Transaction(_, session) => {
                session.with(|session| session.batch(writes, on_error, &mut each))
            }
        };
        let is_in_parts = matches!(self.target, BatchTarget::Engine(..));
        sent.map_err(|error| match error.row() {
            Some(row) => error.at_row(first + row),
            None if is_in_parts && first > 0 => stopped_after(first, error),
            None => error,
        })
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if let BatchTarget::Whole(_, session) = &self.target {
            // Fails after a commit, when there is nothing to roll back.
            let _ = session.control(TransactionControl::Rollback);
        }
    }
}

/// The error of a part that did not end in time, whose text says that it had no effect: which is not all of the batch.
#[cold]
fn stopped_after(committed: u64, error: Error) -> Error {
    if !matches!(error.kind(), ErrorKind::Busy | ErrorKind::Interrupted | ErrorKind::Timeout) {
        return error;
    }
    let error = match Interrupt::check() {
        Err(over) if over.kind() != error.kind() => over.with_source(error),
        _ => error,
    };
    let what = error.message();
    let message =
        format!("the first {committed} rows of the batch are committed; of the others, {what}");
    Error::new(error.kind(), message).at_row(committed).with_source(error)
}

/// The most rows of a part on this engine.
fn part_rows(engine: &dyn Engine) -> u64 {
    if engine.capabilities().large_batches { LONG_PART_ROWS } else { PART_ROWS }
}
