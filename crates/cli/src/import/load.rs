//! The second pass: the lines become rows, all in one transaction.

use crate::error::Result;
use crate::import::guess::Nulls;
use crate::import::layout::Layout;
use crate::import::lines::Lines;
use crate::import::plan::Plan;
use crate::import::rejects::Rejects;
use crate::import::source::Source;
use crate::import::survey::stopped;
use bobak::batch::OnError;
use bobak::schema::TableSchema;
use bobak::{Batch, BatchOptions, Db, DynTable, ErrorKind, Transaction};
use csv::ByteRecord;

/// How many rows are sent at once. A part's lines are kept until the engine has taken them.
const PART: usize = 10_000;

/// One import: what goes where.
pub struct Load<'a> {
    /// The input.
    pub source: &'a Source,
    /// How it is cut.
    pub layout: &'a Layout,
    /// What means NULL.
    pub nulls: &'a Nulls,
    /// Where the columns go.
    pub plan: &'a Plan,
    /// Whether the table is made, as part of the import.
    pub makes_table: bool,
}

/// The lines of the part that is being filled.
#[derive(Default)]
struct Part {
    /// The number in the file of each row that was added.
    numbers: Vec<u64>,
    /// The lines themselves, where bad ones are set aside; one is used again and again otherwise.
    records: Vec<ByteRecord>,
}

impl Load<'_> {
    /// Stores all rows, or, where a line is bad and there is no place for it, none.
    ///
    /// `progress` is told the number of rows now and then.
    ///
    /// # Errors
    /// Input that can't be read, a database that refuses; a bad line without `rejects`. Nothing of
    /// the import is kept then.
    pub fn run(
        &self,
        db: &Db,
        mut rejects: Option<&mut Rejects>,
        mut progress: impl FnMut(u64),
    ) -> Result<u64> {
        let transaction = db.begin()?;
        let schema = self.plan.schema();
        let table = if self.makes_table {
            transaction.create_table(TableSchema::clone(schema))?
        } else {
            transaction.dynamic(schema.name())?
        };
        let mut rows = 0;
        self.source.read(|input| {
            let mut lines = Lines::new(input, self.source.name(), self.layout.delimiter);
            if self.layout.has_header {
                lines.next(&mut ByteRecord::new())?;
            }
            let mut part = Part::default();
            loop {
                let batch = transaction.batch(options(rejects.is_some()));
                let (stored, more) =
                    self.part(&table, batch, &mut lines, &mut part, rejects.as_deref_mut())?;
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

    /// Stores the next part; gives the number of its rows, and whether there may be more.
    fn part(
        &self,
        table: &DynTable<'_>,
        mut batch: Batch<'_>,
        lines: &mut Lines<'_>,
        part: &mut Part,
        mut rejects: Option<&mut Rejects>,
    ) -> Result<(u64, bool)> {
        part.numbers.clear();
        let given = self.plan.given();
        let mut more = true;
        while part.numbers.len() < PART {
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
                (Err(reason), None) => return Err(stopped(self.source, number, &reason)),
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

    /// The error of a whole part: of the row that it names, or of the database.
    fn blame(&self, error: &bobak::Error, numbers: &[u64], last: u64) -> crate::Error {
        let Some(row) = error.row().and_then(|row| usize::try_from(row).ok()) else {
            return crate::Error::failed(format!("{error}; nothing was imported"));
        };
        let line = numbers.get(row).copied().unwrap_or(last);
        stopped(self.source, line, &explain(error))
    }
}

fn options(go_on: bool) -> BatchOptions {
    let on_error = if go_on { OnError::Continue } else { OnError::Stop };
    // Inside a transaction nothing is committed before it, so a part is sent as one.
    BatchOptions::new().on_error(on_error).keep_outcomes(go_on)
}

fn commit(transaction: Transaction<'_>) -> Result<()> {
    Ok(transaction.commit()?)
}

/// Whether the error is about one row that was not added, and the batch can go on.
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

/// The error in words for a line: the table is known, and the row's number is another.
fn explain(error: &bobak::Error) -> String {
    match error.column() {
        Some(column) => format!("column {column}: {}", error.message()),
        None => error.message().to_owned(),
    }
}
