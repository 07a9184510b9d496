//! `bobak export`: writes a table to a file.

use crate::commands::arguments::database_url;
use crate::commands::format::{CsvOptions, OutputFileFormat, OutputFormat};
use crate::database;
use crate::error::{Error, Result};
use crate::export::{OutputColumn, WrittenAs, comes_back};
use crate::output::{OutputTarget, Progress, Terminal, check_target, rate};
use bobak::schema::{ColumnSchema, TableSchema};
use bobak::{Query, Row, ValueRef};
use clap::Args;
use std::path::PathBuf;
use std::time::Instant;

/// Write a table as CSV, NDJSON, JSON, a workbook (.xlsx), or a file of Arrow or Parquet.
///
/// The export is exact: numbers keep their value and text keeps every byte. The file gets its final name only when it
/// is complete.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ExportCommand {
    /// Database: an SQLite file, such as flights.db, or a URL
    #[arg(value_name = "DATABASE", value_parser = database_url)]
    database: String,

    /// Table to export
    #[arg(short, long, value_name = "NAME")]
    table: String,

    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Output format [default: by the file's extension (.csv, .tsv, .ndjson, .jsonl, .json, .xlsx, .arrow, .parquet; with
    /// .gz compressed), csv without one]
    #[arg(short, long, value_enum)]
    format: Option<OutputFormat>,

    /// Only these columns, in this order, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,

    /// All columns except these, separated by commas
    #[arg(
        long = "exclude",
        value_name = "NAMES",
        value_delimiter = ',',
        conflicts_with = "columns"
    )]
    exclude: Vec<String>,

    #[command(flatten)]
    csv: CsvOptions,
}

const EXAMPLES: &str = "\
Examples:
  bobak export sqlite:flights.db --table airlines
  bobak export sqlite:flights.db --table flights --exclude id --null NA --output flights.csv
  bobak export sqlite:flights.db --table flights --output flights.ndjson
  bobak export flights.db --table airlines --output airlines.xlsx
  bobak export sqlite:flights.db --table planes --columns tailnum,year --delimiter tab

To export the result of an SQL statement, use bobak query --format csv.";

impl ExportCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If the database can't be read, the table or a column does not exist, the format can't represent a value, or the
    /// output can't be written.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        let begun = Instant::now();
        check_target(self.output.as_deref(), [self.database.as_str()], &[])?;
        let db = database::open_to_read(&self.database)?;
        let table = database::table(&db, &self.table)?;
        let schema = table.schema();
        let indexes = self.column_indexes(schema)?;
        let exported: Vec<_> =
            indexes.iter().filter_map(|&index| schema.columns().get(index)).collect();
        let columns: Vec<_> = exported
            .iter()
            .map(|column| OutputColumn { name: column.name.to_string(), ty: column.ty })
            .collect();
        let path = self.output.as_deref();
        let file = OutputFileFormat::new(path, self.format, &self.csv, OutputFormat::Csv)?;
        let mut output = OutputTarget::open(path)?.compressed(file.is_gzip);
        let mut rows = 0;
        {
            let progress = Progress::new(*screen, table.count(Query::all())?);
            let mut writer = file.writer(&mut output, &self.csv, screen)?;
            writer.begin(&columns)?;
            let scan = |each: &mut dyn FnMut(&dyn Row) -> bobak::Result<bool>| {
                table.for_each_row_of(&indexes, Query::all(), each)
            };
            database::for_each(scan, |row| {
                rows += 1;
                self.check(&exported, file.format, row, rows)?;
                writer.row(row)?;
                if rows % 10_000 == 0 {
                    progress.set_rows(rows, "written", rows);
                }
                Ok(())
            })?;
            writer.finish()?;
        }
        output.finish()?;
        screen.note(format_args!("{}: {}", self.table, rate(rows, begun.elapsed())));
        for loss in db.schema_details()?.losses {
            if loss.table == schema.name() && loss.what.starts_with("generated column") {
                screen.note(format_args!("{loss} is not exported: an import computes it again"));
            }
        }
        Ok(())
    }

    /// Rejects a row that an import would read as another one.
    fn check(
        &self,
        columns: &[&ColumnSchema],
        format: OutputFormat,
        row: &dyn Row,
        number: u64,
    ) -> Result<()> {
        let written = match format {
            OutputFormat::Table => return Ok(()),
            OutputFormat::Csv => WrittenAs::Csv,
            OutputFormat::Ndjson | OutputFormat::Json => WrittenAs::Json,
            #[cfg(feature = "xlsx")]
            OutputFormat::Xlsx => WrittenAs::Workbook,
            // It has no writer in this build.
            #[cfg(not(feature = "xlsx"))]
            OutputFormat::Xlsx => return Ok(()),
            // An import reads their values as those of JSON.
            OutputFormat::Arrow | OutputFormat::Parquet => WrittenAs::Json,
        };
        let is_csv = written == WrittenAs::Csv;
        let found = columns.iter().enumerate().find_map(|(place, column)| match row.get(place) {
            ValueRef::Null if is_csv && columns.len() == 1 && self.csv.null.is_empty() => {
                Some((column, "NULL alone in a line is no different from an empty text: name a text for it with --null"))
            }
            value if comes_back(column, written, value) => None,
            ValueRef::Text(_) if is_csv => Some((
                column,
                "an import would read this text as another value: choose --format ndjson, or leave the column out \
                 with --exclude",
            )),
            _ => Some((
                column,
                "an import would read this value as another one, because it is not of the column's type, or is the \
                 JSON document null: leave the column out with --exclude",
            )),
        });
        match found {
            Some((column, reason)) => {
                Err(Error::failed(format!("row {number}, column {}: {reason}", column.name)))
            }
            None => Ok(()),
        }
    }

    /// The indexes of the columns to write, in output order.
    fn column_indexes(&self, schema: &TableSchema) -> Result<Vec<usize>> {
        let find =
            |name: &String| schema.column(name).map_err(|error| Error::failed(error.to_string()));
        if !self.columns.is_empty() {
            return self.columns.iter().map(find).collect();
        }
        let excluded = self.exclude.iter().map(find).collect::<Result<Vec<_>>>()?;
        Ok((0..schema.columns().len()).filter(|index| !excluded.contains(index)).collect())
    }
}
