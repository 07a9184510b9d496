//! Copies tables between databases of any engine, in batches that are committed one by one, so that an interrupted copy
//! can be resumed.

mod columns;
mod order;
mod rows;

pub(crate) use columns::Columns;
pub(crate) use rows::{sum_row, walk};

use bobak_core::{Engine, Error, ErrorKind, Result, SchemaChange, TableSchema};
use rows::Rows;
use std::sync::Arc;

/// Options of a copy.
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

    /// The number of rows written and committed together, at least 1; fewer if they exceed about 4 MiB. Default: 10,000.
    #[must_use]
    pub const fn batch_rows(mut self, rows: u64) -> Self {
        self.batch_rows = if rows == 0 { 1 } else { rows };
        self
    }

    /// Resumes an interrupted copy: continues after the largest key in the target's table, after checking that the source
    /// has as many rows up to that key. Default: no, a table with rows is rejected.
    #[must_use]
    pub const fn resume(mut self, resume: bool) -> Self {
        self.resume = resume;
        self
    }

    /// Reads both tables again at the end, and compares a checksum over all values. Default: no, only the row counts are
    /// compared.
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

/// The result for one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyReport {
    /// The table.
    pub table: String,
    /// Whether it was created in the target.
    pub created: bool,
    /// The number of rows that existed before.
    pub found: u64,
    /// The number of copied rows.
    pub copied: u64,
    /// The checksum over all values, equal in both tables, if it was requested. Other versions of Bobak may compute another.
    pub checksum: Option<u64>,
}

/// The progress of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyProgress<'a> {
    /// The table.
    pub table: &'a str,
    /// Whether the rows are being read again for the checksum, first in one database, then in the other.
    pub checking: bool,
    /// The number of rows done, including those that existed before.
    pub rows: u64,
    /// The number of rows to do.
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
    // Closing the target would flush it too, but its owner may never close it.
    to.flush()?;
    Ok(reports)
}

/// The tables with these names, or all if no name is given.
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

/// Copies the rows of a table to an empty one, while both may be in use.
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

/// The table of the target, and whether it was created for the copy.
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
