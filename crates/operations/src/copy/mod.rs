//! Tables from one database to another, whatever their engines: in batches, each committed, so that a copy that was
//! broken off can be taken up again.

mod columns;
mod order;
mod rows;

pub(crate) use columns::Columns;
pub(crate) use rows::{sum_row, walk};

use bobak_core::{Engine, Error, ErrorKind, Result, SchemaChange, TableSchema};
use rows::Rows;
use std::sync::Arc;

/// How tables are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyOptions {
    batch_rows: u64,
    resume: bool,
    checksum: bool,
}

impl CopyOptions {
    /// Batches of 10,000 rows, into tables that are missing or empty, without a checksum.
    #[must_use]
    pub const fn new() -> Self {
        Self { batch_rows: 10_000, resume: false, checksum: false }
    }

    /// How many rows are written and committed at once, 1 at least; of large rows fewer, some 4 MiB. Default: 10,000.
    #[must_use]
    pub const fn batch_rows(mut self, rows: u64) -> Self {
        self.batch_rows = if rows == 0 { 1 } else { rows };
        self
    }

    /// Takes a copy up again that was broken off: goes on after the largest key that is in the target's table, once
    /// the source is seen to have as many rows up to that key. Default: a table that has rows is refused.
    #[must_use]
    pub const fn resume(mut self, resume: bool) -> Self {
        self.resume = resume;
        self
    }

    /// Reads both tables again at the end and compares a checksum over all values. Default: only the numbers of rows
    /// are compared.
    #[must_use]
    pub const fn checksum(mut self, checksum: bool) -> Self {
        self.checksum = checksum;
        self
    }
}

impl Default for CopyOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// What became of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyReport {
    /// The table.
    pub table: String,
    /// Whether it was made in the target.
    pub created: bool,
    /// How many rows were there already.
    pub found: u64,
    /// How many rows were copied.
    pub copied: u64,
    /// The sum over all values, the same in both, where it was asked for. Another version of Bobak may count another.
    pub checksum: Option<u64>,
}

/// How far a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyProgress<'a> {
    /// The table.
    pub table: &'a str,
    /// Whether its rows are being read again for the checksum, in both databases one after the other.
    pub checking: bool,
    /// How many rows are done, those that were found included.
    pub rows: u64,
    /// How many there are to do.
    pub of: u64,
}

/// Copies tables of one engine to another, all of them if `tables` is empty: tables that others refer to first. Keys,
/// timestamps and versions are copied unchanged.
///
/// A table that the target lacks is created there with the same columns, key, constraints and indexes. An existing table
/// must have the columns of the source, of the same types, in any order; additional columns must be nullable or have
/// defaults. Rows are read in key order, as of the moment when the copy of their table begins, and written in batches,
/// each of which is committed: a copy that fails leaves the beginning of a table, and one with
/// [`CopyOptions::resume`] continues there. Every table has a key: if the engine found none, the number that it gives
/// rows itself, which a copy keeps as a column.
///
/// At the end the row counts are compared: rows written to either side meanwhile are detected there.
///
/// # Errors
/// `Schema` for a table that does not exist, or whose columns differ in the target; `Unsupported` for a constraint or a
/// value that the target's engine cannot keep; `Conflict` if the target has rows that it should not have, and if row
/// counts or checksums differ at the end; those of both engines. What was committed before stays.
pub fn copy_tables(
    from: &dyn Engine,
    to: &dyn Engine,
    tables: &[&str],
    options: &CopyOptions,
    progress: &mut dyn FnMut(CopyProgress<'_>),
) -> Result<Vec<CopyReport>> {
    let wanted = order::by_reference(choose(from.tables()?, tables)?);
    let mut reports = Vec::with_capacity(wanted.len());
    for schema in wanted {
        let name = schema.name().to_owned();
        let report = copy_table(from, to, schema, options, progress);
        reports.push(report.map_err(|error| error.in_table(name))?);
    }
    // Closing the target would flush it too, but its owner may never get there.
    to.flush()?;
    Ok(reports)
}

/// The tables with these names, all where there is none.
fn choose(stored: Vec<TableSchema>, names: &[&str]) -> Result<Vec<TableSchema>> {
    if names.is_empty() {
        return Ok(stored);
    }
    for name in names {
        TableSchema::find_in(stored.clone(), name)?;
    }
    let is_wanted =
        |table: &TableSchema| names.iter().any(|n| table.name().eq_ignore_ascii_case(n));
    Ok(stored.into_iter().filter(is_wanted).collect())
}

fn copy_table(
    from: &dyn Engine,
    to: &dyn Engine,
    source: TableSchema,
    options: &CopyOptions,
    progress: &mut dyn FnMut(CopyProgress<'_>),
) -> Result<CopyReport> {
    let source = Arc::new(source);
    let (created, target) = target_of(to, &source)?;
    let rows = Rows::new(from, to, &source, target)?;
    let found = rows.begin(options.resume)?;
    let copied = rows.copy(&found, options.batch_rows, progress)?;
    rows.check_count()?;
    let checksum = if options.checksum { Some(rows.check_sum(progress)?) } else { None };
    Ok(CopyReport { table: source.name().to_owned(), created, found: found.rows, copied, checksum })
}

/// Copies the rows of a table into an empty one, while both may be in use.
pub(crate) fn fill(
    from: &dyn Engine,
    to: &dyn Engine,
    source: &Arc<TableSchema>,
    target: &Arc<TableSchema>,
    progress: &mut dyn FnMut(CopyProgress<'_>),
) -> Result<u64> {
    let rows = Rows::new(from, to, source, Arc::clone(target))?;
    let found = rows.begin(false)?;
    rows.copy(&found, CopyOptions::new().batch_rows, progress)
}

/// The table of the target, and whether it was made for that.
fn target_of(to: &dyn Engine, source: &Arc<TableSchema>) -> Result<(bool, Arc<TableSchema>)> {
    let find = |tables: Vec<TableSchema>| {
        tables.into_iter().find(|table| table.name().eq_ignore_ascii_case(source.name()))
    };
    let there = find(to.tables()?);
    let created = there.is_none();
    let target = match there {
        Some(target) => target,
        None => {
            to.alter(&[SchemaChange::CreateTable(Arc::clone(source))])?;
            find(to.tables()?).ok_or_else(|| {
                Error::new(ErrorKind::Schema, "the table was made, but is not to be seen")
            })?
        }
    };
    Ok((created, Arc::new(target)))
}
