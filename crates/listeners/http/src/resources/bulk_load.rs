//! Writes any number of rows in constant memory, for imports and batches.

use crate::database::table::CachedTable;
use crate::json::ParsedRow;
use crate::problem::Problem;
use crate::request::parameters::QueryParameters;
use crate::resources::load_report::LoadReport;
use bobak_core::{
    Engine, Error, ErrorKind, Field, FieldSet, GeneratedKey, KeyGeneration, OnError, Outcome,
    Result, Session, TransactionControl, Uuid, Value, Verb, Write, WriteBatch,
    prepare_batched_dynamic,
};
use std::num::NonZeroU64;

/// The most rows, and about the most bytes, that the engine gets at once: few enough to stay in the
/// CPU's cache.
const MAX_BATCH_ROWS: u64 = 1_000;
const MAX_BATCH_BYTES: usize = 1 << 20;

/// The options of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadOptions {
    pub on_error: OnError,
    pub commit: CommitInterval,
    /// Whether to report each row's outcome.
    pub outcomes: bool,
    /// The most bytes of all outcomes.
    pub max_outcomes_length: usize,
}

/// When a load commits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CommitInterval {
    /// After each batch that the engine gets, so that no transaction is open while the server waits
    /// for further rows.
    Batch,
    /// After each so many rows.
    Rows(NonZeroU64),
    /// Once, at the end.
    End,
}

/// A load in progress.
pub(crate) struct BulkLoad<'e> {
    engine: &'e dyn Engine,
    options: LoadOptions,
    /// The session with the open transaction, if a transaction spans several batches.
    transaction: Option<Box<dyn Session + 'e>>,
    /// The rows before the current transaction.
    committed: u64,
    batch: WriteBatch,
    /// Generated UUID keys by row of the batch, if outcomes are reported.
    generated_keys: Vec<(u64, Uuid)>,
    report: LoadReport,
}

impl LoadOptions {
    /// Takes `errors`, `commit` and `outcomes`. `commit` is the default interval.
    ///
    /// # Errors
    /// 400 for invalid values.
    pub fn take(
        parameters: &mut QueryParameters,
        commit: CommitInterval,
        max_outcomes_length: usize,
    ) -> Result<Self, Problem> {
        let choices = [("stop", OnError::Stop), ("skip", OnError::Continue)];
        let commit = match parameters.number("commit")?.map(NonZeroU64::new) {
            None => commit,
            Some(None) => CommitInterval::End,
            Some(Some(rows)) => CommitInterval::Rows(rows),
        };
        Ok(Self {
            on_error: parameters.choice("errors", &choices)?.unwrap_or(OnError::Stop),
            commit,
            outcomes: parameters.flag("outcomes")?,
            max_outcomes_length,
        })
    }
}

impl<'e> BulkLoad<'e> {
    pub fn new(engine: &'e dyn Engine, options: LoadOptions) -> Self {
        let report = LoadReport::new(options.outcomes);
        let (batch, generated_keys) = (WriteBatch::new(), Vec::new());
        Self { engine, options, transaction: None, committed: 0, batch, generated_keys, report }
    }

    /// The number of rows so far, which is the index of the next one.
    pub const fn rows(&self) -> u64 {
        self.report.rows + self.batch.rows()
    }

    /// Adds a row, or the error of a row that could not be parsed.
    ///
    /// # Errors
    /// With [`OnError::Stop`], the first error of a row, with its index. The engine's errors.
    /// `OutOfRange` if the outcomes are too long.
    pub fn add(
        &mut self,
        table: &CachedTable,
        verb: Verb,
        row: Result<ParsedRow<'_>>,
    ) -> Result<()> {
        let index = self.rows();
        if self.report.outcomes_length() > self.options.max_outcomes_length {
            return Err(outcomes_too_long(self.options.max_outcomes_length));
        }
        let Err(error) = row.and_then(|row| self.push(table, verb, row)) else {
            let is_full =
                self.batch.rows() >= MAX_BATCH_ROWS || self.batch.bytes() >= MAX_BATCH_BYTES;
            let commit = self.is_commit_due() || is_full && self.commits_batches();
            return if is_full || commit { self.send(commit) } else { Ok(()) };
        };
        let error = table.name_error(error).at_row(index);
        if self.options.on_error == OnError::Stop {
            return Err(error);
        }
        // Outcomes are reported in order, so the rows before come first.
        self.send(self.commits_batches())?;
        self.report.add(Err(error));
        if self.is_commit_due() || self.commits_batches() { self.commit() } else { Ok(()) }
    }

    /// Whether the transaction has as many rows as the client wants.
    const fn is_commit_due(&self) -> bool {
        match self.options.commit {
            CommitInterval::Rows(rows) => self.rows() - self.committed >= rows.get(),
            CommitInterval::Batch | CommitInterval::End => false,
        }
    }

    const fn commits_batches(&self) -> bool {
        matches!(self.options.commit, CommitInterval::Batch)
    }

    fn push(&mut self, table: &CachedTable, verb: Verb, mut row: ParsedRow<'_>) -> Result<()> {
        if matches!(verb, Verb::Update | Verb::Delete) {
            check_key(table, &row)?;
        }
        if verb == Verb::Delete {
            let (fields, values) = (FieldSet::EMPTY, row.key(table));
            let write = Write { table: &table.schema, verb, fields, values: &values };
            return self.batch.push_unstamped(&write);
        }
        let fields =
            if verb.sets_fields() { updated_fields(table, verb, &row)? } else { FieldSet::EMPTY };
        row.prepare(table, verb)?;
        prepare_batched_dynamic(&table.schema, verb, &mut row.values)?;
        let schema = table.insert_schema(row.given);
        let write = Write { table: &schema, verb, fields, values: &row.values };
        self.batch.push_unstamped(&write)?;
        if self.options.outcomes && table.schema.key_generation() == KeyGeneration::Uuid {
            let key = row.key(table).first().and_then(|key| Uuid::from_value(key.as_ref()).ok());
            self.generated_keys.extend(key.map(|key| (self.batch.rows() - 1, key)));
        }
        Ok(())
    }

    /// Sends the batch to the engine, and commits if `commit`. A batch that is a transaction of its
    /// own needs no explicit one.
    fn send(&mut self, commit: bool) -> Result<()> {
        if self.batch.is_empty() {
            return if commit { self.commit() } else { Ok(()) };
        }
        self.batch.stamp();
        if !commit && self.transaction.is_none() {
            let session = self.engine.session()?;
            session.control(TransactionControl::Begin)?;
            self.transaction = Some(session);
        }
        let first = self.report.rows;
        let (batch, keys, report) = (&self.batch, &self.generated_keys, &mut self.report);
        let mut each = |outcome: Result<Outcome>| {
            let index = report.rows - first;
            let outcome = match outcome {
                Ok(Outcome::Inserted(None)) => {
                    let found = keys.binary_search_by_key(&index, |(row, _)| *row).ok();
                    let key = found.and_then(|found| keys.get(found)).map(|(_, key)| *key);
                    Ok(Outcome::Inserted(key.map(GeneratedKey::Uuid)))
                }
                other => other,
            };
            report.add(outcome.map_err(|error| error.at_row(first + index)));
        };
        let on_error = self.options.on_error;
        let result = match &self.transaction {
            Some(session) => session.batch(batch, on_error, &mut each),
            None => self.engine.session()?.batch(batch, on_error, &mut each),
        };
        result.map_err(|error| {
            let index = error.row().unwrap_or_default();
            error.at_row(first + index)
        })?;
        self.batch.clear();
        self.generated_keys.clear();
        if commit { self.commit() } else { Ok(()) }
    }

    /// Commits the open transaction, if there is one. All rows so far are then committed.
    fn commit(&mut self) -> Result<()> {
        if let Some(session) = self.transaction.take() {
            session.control(TransactionControl::Commit)?;
        }
        self.committed = self.report.rows;
        Ok(())
    }

    /// Writes the remaining rows, commits, and returns the report as JSON.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn finish(&mut self) -> Result<String> {
        self.send(true)?;
        Ok(self.report.to_json())
    }

    /// Adds to the problem that stopped the load how many rows are committed nevertheless.
    pub fn stopped(&self, problem: impl Into<Problem>) -> Problem {
        problem.into().member("committed", &self.committed.to_string())
    }

    /// As [`stopped`](Self::stopped), with the index of the next row unless the problem has one.
    pub fn stopped_at_row(&self, problem: impl Into<Problem>) -> Problem {
        self.stopped(problem.into().at_row(self.rows()))
    }
}

#[cold]
fn outcomes_too_long(max_length: usize) -> Error {
    let message = format!(
        "the outcomes have more than {max_length} bytes: send fewer rows, or leave out 'outcomes'"
    );
    Error::new(ErrorKind::OutOfRange, message)
}

/// Checks that a row to update or delete has a complete key.
fn check_key(table: &CachedTable, row: &ParsedRow<'_>) -> Result<()> {
    let is_missing = |position: &&usize| row.values.get(**position).is_none_or(Value::is_null);
    let Some(&position) = table.schema.key().iter().find(is_missing) else { return Ok(()) };
    let name = table.schema.columns().get(position).map_or("", |column| &column.name).to_owned();
    let message = "the row has no key: give all key columns";
    Err(Error::new(ErrorKind::Constraint, message).in_column(name))
}

/// The columns that an update, or an upsert of an existing row, sets.
fn updated_fields(table: &CachedTable, verb: Verb, row: &ParsedRow<'_>) -> Result<FieldSet> {
    let schema = &table.schema;
    let mut fields = row.given;
    schema.key().iter().for_each(|&position| fields.remove(position));
    schema.modified_at().into_iter().for_each(|position| fields.insert(position));
    schema.created_at().into_iter().for_each(|position| fields.remove(position));
    schema.generated_columns().for_each(|position| fields.remove(position));
    if let Some(version) = schema.version() {
        if verb == Verb::Update && !row.given.contains(version) {
            let name = schema.columns().get(version).map_or("", |column| &column.name).to_owned();
            let message = "an update must give the version that was read";
            return Err(Error::new(ErrorKind::Constraint, message).in_column(name));
        }
        fields.remove(version);
    }
    Ok(fields)
}
