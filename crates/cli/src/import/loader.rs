//! The second pass: inserts the rows, all in one transaction, which also creates the table. MariaDB and MySQL create
//! tables outside of transactions: there a new table is dropped again if the import fails.

use crate::error::Result;
use crate::import::csv_format::CsvFormat;
use crate::import::csv_reader::CsvReader;
use crate::import::infer::NullTexts;
use crate::import::infer_schema::invalid_line;
use crate::import::input_file::InputFile;
use crate::import::plan::ImportPlan;
use crate::import::rejects::RejectsFile;
use bobak::batch::OnError;
use bobak::engine::SchemaChange;
use bobak::schema::TableSchema;
use bobak::{Batch, BatchOptions, Db, DynTable, ErrorKind, Transaction};
use csv::ByteRecord;
use std::sync::Arc;

/// Rows per batch. The lines of a batch are kept until the engine has accepted it.
const BATCH_ROWS: usize = 10_000;

/// Inserts the lines of a source into a table.
pub struct Loader<'a> {
    /// The input.
    pub source: &'a InputFile,
    /// The format of the input.
    pub layout: &'a CsvFormat,
    /// The texts that mean NULL.
    pub nulls: &'a NullTexts,
    /// The mapping of columns.
    pub plan: &'a ImportPlan,
    /// Whether to create the table as part of the import.
    pub creates_table: bool,
}

/// The lines of the current batch.
#[derive(Default)]
struct LineBatch {
    /// The line number of each added row.
    numbers: Vec<u64>,
    /// The lines themselves, if rejects are collected; otherwise one reused record.
    records: Vec<ByteRecord>,
}

impl Loader<'_> {
    /// Inserts all rows. Invalid lines go to `rejects`; without it, the first one fails the import.
    ///
    /// `progress` is called with the number of rows so far.
    ///
    /// # Errors
    /// If the input can't be read, the database fails, or a line is invalid and there is no `rejects`.
    /// Nothing is imported then.
    pub fn run(
        &self,
        db: &Db,
        rejects: Option<&mut RejectsFile>,
        progress: impl FnMut(u64),
    ) -> Result<u64> {
        let engine = db.engine()?;
        if !self.creates_table || !engine.capabilities().implicit_ddl_commit {
            return self.load(db, self.creates_table, rejects, progress);
        }
        let table = Arc::new(TableSchema::clone(self.plan.schema()));
        db.create_table(TableSchema::clone(&table))?;
        let loaded = self.load(db, false, rejects, progress);
        if loaded.is_err() {
            engine.alter(&[SchemaChange::DropTable(table)])?;
        }
        loaded
    }

    /// Inserts all rows in one transaction, which creates the table if it `creates` it.
    fn load(
        &self,
        db: &Db,
        creates: bool,
        mut rejects: Option<&mut RejectsFile>,
        mut progress: impl FnMut(u64),
    ) -> Result<u64> {
        let transaction = db.begin()?;
        let schema = self.plan.schema();
        let table = if creates {
            transaction.create_table(TableSchema::clone(schema))?
        } else {
            transaction.dynamic(schema.name())?
        };
        let mut rows = 0;
        self.source.read(|input| {
            let mut lines = CsvReader::new(input, self.source.name(), self.layout.delimiter);
            if self.layout.has_header {
                lines.next(&mut ByteRecord::new())?;
            }
            let mut part = LineBatch::default();
            loop {
                let batch = transaction.batch(options(rejects.is_some()));
                let (stored, more) = self.insert_batch(
                    &table,
                    batch,
                    &mut lines,
                    &mut part,
                    rejects.as_deref_mut(),
                )?;
                rows += stored;
                progress(rows);
                if !more {
                    return Ok(());
                }
            }
        })?;
        drop(table);
        commit(transaction)?;
        Ok(rows)
    }

    /// Inserts the next batch. Returns the number of inserted rows, and whether there may be more.
    fn insert_batch(
        &self,
        table: &DynTable<'_>,
        mut batch: Batch<'_>,
        lines: &mut CsvReader<'_>,
        part: &mut LineBatch,
        mut rejects: Option<&mut RejectsFile>,
    ) -> Result<(u64, bool)> {
        part.numbers.clear();
        let given = self.plan.given();
        let mut more = true;
        while part.numbers.len() < BATCH_ROWS {
            let slot = if rejects.is_some() { part.numbers.len() } else { 0 };
            if slot >= part.records.len() {
                part.records.resize_with(slot + 1, ByteRecord::new);
            }
            let Some(record) = part.records.get_mut(slot) else { break };
            more = lines.next(record)?;
            if !more {
                break;
            }
            let number = lines.number(record);
            let added = match self.plan.row(record, self.nulls) {
                Err(reason) => Err(reason),
                Ok(row) => match batch.insert_given(table, given, row) {
                    Ok(()) => Ok(()),
                    Err(error) if is_of_row(&error) => Err(explain(&error)),
                    Err(error) => return Err(self.blame(&error, &part.numbers, number)),
                },
            };
            match (added, &mut rejects) {
                (Ok(()), _) => part.numbers.push(number),
                (Err(reason), Some(rejects)) => rejects.push(number, &reason, record)?,
                (Err(reason), None) => return Err(invalid_line(self.source, number, &reason)),
            }
        }
        let report = batch.finish().map_err(|error| self.blame(&error, &part.numbers, 0))?;
        if let Some(rejects) = rejects {
            let rows = report.outcomes().zip(&part.numbers).zip(&part.records);
            for ((outcome, number), record) in rows {
                if let Err(error) = outcome {
                    rejects.push(*number, &explain(error), record)?;
                }
            }
        }
        Ok((report.inserted, more))
    }

    /// Converts an error of a batch: into one of the line that it names, or of the database.
    fn blame(&self, error: &bobak::Error, numbers: &[u64], last: u64) -> crate::Error {
        let Some(row) = error.row().and_then(|row| usize::try_from(row).ok()) else {
            return crate::Error::failed(format!("{error}; nothing was imported"));
        };
        let line = numbers.get(row).copied().unwrap_or(last);
        invalid_line(self.source, line, &explain(error))
    }
}

fn options(go_on: bool) -> BatchOptions {
    let on_error = if go_on { OnError::Continue } else { OnError::Stop };
    // Inside a transaction nothing is committed early, so a batch is sent as one.
    BatchOptions::new().on_error(on_error).keep_outcomes(go_on)
}

fn commit(transaction: Transaction<'_>) -> Result<()> {
    Ok(transaction.commit()?)
}

/// Whether the error is about one row that was not added, so that the batch can continue.
fn is_of_row(error: &bobak::Error) -> bool {
    error.row().is_none()
        && matches!(
            error.kind(),
            ErrorKind::TooLong
                | ErrorKind::Mismatch
                | ErrorKind::OutOfRange
                | ErrorKind::Constraint
        )
}

/// The message for a line: without the table and the row number within the batch.
fn explain(error: &bobak::Error) -> String {
    match error.column() {
        Some(column) => format!("column {column}: {}", error.message()),
        None => error.message().to_owned(),
    }
}
