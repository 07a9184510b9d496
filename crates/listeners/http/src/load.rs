//! Many rows on their way to an engine, in parts, in constant memory: what imports and batches
//! share.

use crate::json::Cells;
use crate::model::Table;
use crate::problem::{Problem, status_of, write_problem};
use bobak_core::{
    Batch, Control, Engine, Error, ErrorKind, Field, FieldSet, GivenKey, KeyGeneration, OnError,
    Outcome, Result, Session, Uuid, Value, Verb, Write, prepare_waiting_row,
};
use bobak_text::json::write_string;
use std::num::NonZeroU64;

/// The most rows, and about the most bytes, that are sent at once: small enough to stay in the
/// processor's cache.
const PART_ROWS: u64 = 1_000;
const PART_BYTES: usize = 1 << 20;
/// The most errors that a report tells of.
const ERRORS: usize = 1_000;

/// How rows are loaded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadOptions {
    pub on_error: OnError,
    pub commit: Commit,
    /// Whether each row's outcome is told.
    pub outcomes: bool,
    /// The most bytes of all outcomes.
    pub longest: usize,
}

/// When rows are committed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Commit {
    /// With each part that is sent, so that no transaction is open while rows are waited for.
    Parts,
    /// After each so many rows.
    Rows(NonZeroU64),
    /// Once, at the end.
    End,
}

/// A load under way.
pub(crate) struct Load<'e> {
    engine: &'e dyn Engine,
    options: LoadOptions,
    /// The session with the open transaction, which holds more than one part.
    open: Option<Box<dyn Session + 'e>>,
    /// How many rows came before this transaction.
    begun: u64,
    batch: Batch,
    /// The keys of the batch's rows that are UUIDs, by row, where outcomes are told.
    made: Vec<(u64, Uuid)>,
    report: Report,
}

/// What became of the rows.
#[derive(Debug, Default)]
struct Report {
    rows: u64,
    inserted: u64,
    changed: u64,
    ignored: u64,
    failed: u64,
    /// Rows that are committed, whatever comes after.
    committed: u64,
    errors: Vec<Error>,
    /// Each row's outcome as JSON.
    outcomes: String,
    tells: bool,
}

impl<'e> Load<'e> {
    pub fn new(engine: &'e dyn Engine, options: LoadOptions) -> Self {
        let report = Report { tells: options.outcomes, ..Report::default() };
        let (open, batch, made) = (None, Batch::new(), Vec::new());
        Self { engine, options, open, begun: 0, batch, made, report }
    }

    /// How many rows came before: the next one's number.
    pub const fn rows(&self) -> u64 {
        self.report.rows + self.batch.rows()
    }

    /// Adds a row, or the error that it already is.
    ///
    /// # Errors
    /// Where the first error stops the load: a row's, with its number; the engine's. `OutOfRange`
    /// where the outcomes are too long.
    pub fn add(&mut self, table: &Table, verb: Verb, cells: Result<Cells<'_>>) -> Result<()> {
        let number = self.rows();
        if self.report.outcomes.len() > self.options.longest {
            return Err(too_long(self.options.longest));
        }
        let Err(error) = cells.and_then(|cells| self.push(table, verb, cells)) else {
            let full = self.batch.rows() >= PART_ROWS || self.batch.bytes() >= PART_BYTES;
            let ends = self.is_due() || full && self.is_in_parts();
            return if full || ends { self.send(ends) } else { Ok(()) };
        };
        let error = table.name_error(error).at_row(number);
        if self.options.on_error == OnError::Stop {
            return Err(error);
        }
        // Outcomes are told in order.
        self.send(self.is_in_parts())?;
        self.report.take(Err(error));
        if self.is_due() || self.is_in_parts() { self.commit() } else { Ok(()) }
    }

    /// Whether as many rows came as are committed at once.
    const fn is_due(&self) -> bool {
        match self.options.commit {
            Commit::Rows(rows) => self.rows() - self.begun >= rows.get(),
            Commit::Parts | Commit::End => false,
        }
    }

    const fn is_in_parts(&self) -> bool {
        matches!(self.options.commit, Commit::Parts)
    }

    fn push(&mut self, table: &Table, verb: Verb, mut cells: Cells<'_>) -> Result<()> {
        if matches!(verb, Verb::Update | Verb::Delete) {
            check_key(table, &cells)?;
        }
        if verb == Verb::Delete {
            let values = cells.key(table);
            return self.batch.push_waiting(&Write {
                table: &table.schema,
                verb,
                fields: FieldSet::EMPTY,
                values: &values,
            });
        }
        let fields = if matches!(verb, Verb::Update | Verb::Upsert) {
            named_fields(table, verb, &cells)?
        } else {
            FieldSet::EMPTY
        };
        cells.ready(table, verb)?;
        prepare_waiting_row(&table.schema, verb, &mut cells.values)?;
        let schema = table.schema_for(cells.given);
        let write = Write { table: &schema, verb, fields, values: &cells.values };
        self.batch.push_waiting(&write)?;
        if self.options.outcomes && table.schema.key_generation() == KeyGeneration::Uuid {
            let key = cells.key(table).first().and_then(|key| Uuid::from_value(key.as_ref()).ok());
            self.made.extend(key.map(|key| (self.batch.rows() - 1, key)));
        }
        Ok(())
    }

    /// Sends what waits: as one batch that commits by itself where it is all that is to be
    /// committed, or else within the open transaction.
    fn send(&mut self, ends: bool) -> Result<()> {
        if self.batch.is_empty() {
            return if ends { self.commit() } else { Ok(()) };
        }
        self.batch.stamp();
        if !ends && self.open.is_none() {
            let session = self.engine.session()?;
            session.control(Control::Begin)?;
            self.open = Some(session);
        }
        let first = self.report.rows;
        let (batch, made, report) = (&self.batch, &self.made, &mut self.report);
        let mut each = |outcome: Result<Outcome>| {
            let place = report.rows - first;
            let outcome = match outcome {
                Ok(Outcome::Inserted(None)) => {
                    let found = made.binary_search_by_key(&place, |(row, _)| *row).ok();
                    let key = found.and_then(|at| made.get(at)).map(|(_, key)| *key);
                    Ok(Outcome::Inserted(key.map(GivenKey::Uuid)))
                }
                other => other,
            };
            report.take(outcome.map_err(|error| error.at_row(first + place)));
        };
        let done = match &self.open {
            Some(session) => session.batch(batch, self.options.on_error, &mut each),
            None => self.engine.session()?.batch(batch, self.options.on_error, &mut each),
        };
        done.map_err(|error| {
            let row = error.row().unwrap_or_default();
            error.at_row(first + row)
        })?;
        self.batch.clear();
        self.made.clear();
        if ends { self.commit() } else { Ok(()) }
    }

    /// Ends the transaction, where one is open: what was sent is there from now on.
    fn commit(&mut self) -> Result<()> {
        if let Some(session) = self.open.take() {
            session.control(Control::Commit)?;
        }
        self.begun = self.report.rows;
        self.report.committed = self.report.rows;
        Ok(())
    }

    /// Sends what waits and commits; gives the report as JSON.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn finish(&mut self) -> Result<String> {
        self.send(true)?;
        Ok(self.report.to_json())
    }

    /// The answer for a load that has stopped: it says how many rows are there all the same.
    pub fn stopped(&self, problem: impl Into<Problem>) -> Problem {
        let committed = self.report.committed.to_string();
        problem.into().member("committed", &committed)
    }

    /// As [`stopped`](Self::stopped), on the way: it says at which row too, where the error does
    /// not say it, which then is the one that comes next.
    pub fn stopped_here(&self, problem: impl Into<Problem>) -> Problem {
        self.stopped(problem.into().near_row(self.rows()))
    }
}

#[cold]
fn too_long(most: usize) -> Error {
    let message =
        format!("the outcomes have more than {most} bytes: send fewer rows, or ask for none");
    Error::new(ErrorKind::OutOfRange, message)
}

/// Which row is meant, an update and a delete must say.
fn check_key(table: &Table, cells: &Cells<'_>) -> Result<()> {
    let lacks = |place: &&usize| cells.values.get(**place).is_none_or(Value::is_null);
    let Some(&place) = table.schema.key().iter().find(lacks) else { return Ok(()) };
    let name = table.schema.columns().get(place).map_or("", |column| &column.name).to_owned();
    let message = "the key is missing: name each of its columns";
    Err(Error::new(ErrorKind::Constraint, message).in_column(name))
}

/// The columns that an update, or an upsert that finds its row, sets.
fn named_fields(table: &Table, verb: Verb, cells: &Cells<'_>) -> Result<FieldSet> {
    let schema = &table.schema;
    let mut fields = cells.given;
    schema.key().iter().for_each(|&place| fields.remove(place));
    schema.modified_at().into_iter().for_each(|place| fields.insert(place));
    schema.created_at().into_iter().for_each(|place| fields.remove(place));
    if let Some(version) = schema.version() {
        if verb == Verb::Update && !cells.given.contains(version) {
            let name = schema.columns().get(version).map_or("", |column| &column.name).to_owned();
            let message = "an update names the version that it has read";
            return Err(Error::new(ErrorKind::Constraint, message).in_column(name));
        }
        fields.remove(version);
    }
    Ok(fields)
}

impl Report {
    fn take(&mut self, outcome: Result<Outcome>) {
        if self.tells {
            self.outcomes.push_str(if self.rows == 0 { "\n" } else { ",\n" });
            write_outcome(&mut self.outcomes, &outcome);
        }
        self.rows += 1;
        match outcome {
            Ok(Outcome::Inserted(_)) => self.inserted += 1,
            Ok(Outcome::Changed(rows)) => self.changed += rows,
            Ok(Outcome::Ignored) => self.ignored += 1,
            Err(error) => {
                self.failed += 1;
                if self.errors.len() < ERRORS {
                    self.errors.push(error);
                }
            }
        }
    }

    fn to_json(&self) -> String {
        let Self { rows, inserted, changed, ignored, failed, .. } = self;
        let mut json = format!(
            "{{\"rows\":{rows},\"inserted\":{inserted},\"changed\":{changed},\
             \"ignored\":{ignored},\"failed\":{failed},\"errors\":["
        );
        for (at, error) in self.errors.iter().enumerate() {
            json.push_str(if at > 0 { ",\n" } else { "\n" });
            write_problem(&mut json, status_of(error.kind()), error, "");
        }
        json.push(']');
        if self.tells {
            json.push_str(",\"outcomes\":[");
            json.push_str(&self.outcomes);
            json.push(']');
        }
        json.push_str("}\n");
        json
    }
}

fn write_outcome(out: &mut String, outcome: &Result<Outcome>) {
    match outcome {
        Ok(Outcome::Inserted(None)) => out.push_str("{\"inserted\":true}"),
        Ok(Outcome::Inserted(Some(key))) => {
            out.push_str("{\"inserted\":true,\"key\":");
            match key {
                GivenKey::Int(key) => out.push_str(itoa::Buffer::new().format(*key)),
                GivenKey::Uuid(key) => write_string(out, &key.to_string()),
            }
            out.push('}');
        }
        Ok(Outcome::Changed(rows)) => {
            out.push_str("{\"changed\":");
            out.push_str(itoa::Buffer::new().format(*rows));
            out.push('}');
        }
        Ok(Outcome::Ignored) => out.push_str("{\"ignored\":true}"),
        Err(error) => {
            out.push_str("{\"error\":");
            write_problem(out, status_of(error.kind()), error, "");
            out.push('}');
        }
    }
}
