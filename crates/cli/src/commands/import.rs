//! `bobak import`: imports a CSV or JSON file, a workbook, or a file of Arrow or Parquet into a table.

use crate::commands::arguments::{column_type, database_url, delimiter};
use crate::database;
use crate::error::{Error, Result};
use crate::import::csv_reader::{EMPTY_CELL, JSON_NULL};
#[cfg(feature = "xlsx")]
use crate::import::from_workbook;
use crate::import::infer::{InferredColumn, NullTexts};
use crate::import::{
    CsvFormat, ImportPlan, InferredSchema, InputFile, Loader, RejectsFile, is_key_name, to_csv,
};
use crate::output::{OutputTarget, Progress, Terminal, check_target, count, rate};
use crate::schema::describe;
use bobak::Db;
use bobak::schema::Type;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Import a CSV or JSON file, a workbook (.xlsx), or a file of Arrow or Parquet into a table.
///
/// The file is read twice: first to infer the type of each column from all its values and to find invalid lines, then to
/// insert the rows, all in one transaction.
///
/// A column gets the first of these types that represents all its values exactly: i64, f64, bool (true, false), date
/// (2013-01-31), datetime (2013-01-31T23:59:59), timestamp (the same with a trailing Z), and text otherwise. Numbers keep
/// their value and text keeps every byte, so a value such as 007, +5, -0, 1e400 or a number of more than 17 digits makes
/// its column text. Columns of a file of Arrow or Parquet keep their types; decimals that money cannot hold become text.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ImportCommand {
    /// Database: an SQLite file, such as flights.db, or a URL. An SQLite file is created if it does not exist
    #[arg(value_name = "DATABASE", value_parser = database_url)]
    database: String,

    /// CSV file, JSON array of objects, or NDJSON, plain or compressed with gzip or zip, or a workbook (.xlsx), or a file of
    /// Arrow or Parquet; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Table to create, or with --append to add to [default: the file's name without its extensions]
    #[arg(short, long, value_name = "NAME")]
    table: Option<String>,

    /// Primary key: one column, or several separated by commas. Without it, a column `id` with unique values is the key,
    /// or else a generated column is added
    #[arg(short, long, value_name = "COLUMNS", value_delimiter = ',')]
    key: Vec<String>,

    /// Append the rows to an existing table, matching columns by name
    #[arg(short, long, conflicts_with = "key")]
    append: bool,

    /// Type of a column, instead of the inferred one: bool, i8 to i64, u8 to u64, f32, f64, text,
    /// date, time, datetime, timestamp, currency, uuid, json, bytes (in base64). May be repeated
    #[arg(long = "type", value_name = "COLUMN=TYPE", value_parser = column_type)]
    types: Vec<(String, Type)>,

    /// Text that means NULL, such as NA; may be repeated [default: an empty field. In a column of text a quoted "" is an
    /// empty text]
    #[arg(long, value_name = "TEXT")]
    null: Vec<String>,

    /// Field delimiter [default: whichever of , ; tab | is most frequent in the header]
    #[arg(short, long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,

    /// Column names, for a file without a header
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Option<Vec<String>>,

    /// File to read from a zip archive with several files
    #[arg(long, value_name = "NAME")]
    member: Option<String>,

    /// Sheet to read from a workbook with several sheets
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,

    /// Write invalid lines to this file and continue. Without it, the first invalid line aborts the import, and nothing is
    /// imported
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,

    /// Show the table that would be created, and change nothing
    #[arg(long)]
    dry_run: bool,
}

const EXAMPLES: &str = "\
Examples:
  bobak import flights.db flights.csv.zip --null NA
  bobak import flights.db airlines.csv --key carrier
  bobak import flights.db weather.csv --key origin,time_hour --rejects bad.csv
  bobak import app.db codes.csv --table code --type zip=text --null ''
  bobak import app.db sales.xlsx --sheet 2026 --table sales
  bobak import app.db trips.parquet --key id
  curl -s https://example.org/prices.csv.gz | bobak import app.db - --table prices";

impl ImportCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If the input can't be read, a line is invalid, or the database rejects a row.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        let begun = Instant::now();
        let table = self.table_name()?;
        check_target(self.rejects.as_deref(), [self.database.as_str()], &[&self.file])?;
        let (source, layout, nulls) = self.open_input()?;
        // A new file is created only after the whole input has been checked.
        let db = match database::is_missing(&self.database) {
            true => None,
            false => Some(database::open(&self.database)?),
        };
        let existing = self.existing_table(&table, db.as_ref(), &layout)?;
        let progress = Progress::new(*screen, source.len() * 2);
        let known = match &existing {
            Some(plan) => plan.columns(),
            None => self.known_columns(&layout)?,
        };
        let stop = self.rejects.is_none();
        let inferred = InferredSchema::infer(&source, &layout, known, &nulls, stop, |lines| {
            progress.set_rows(source.position(), "read", lines);
        })?;
        let creates_table = existing.is_none();
        let plan = match existing {
            Some(plan) => plan,
            None => ImportPlan::new_table(&table, &layout, &inferred.columns, &self.key)?,
        };
        if self.dry_run {
            return show(&plan, &inferred, screen);
        }
        let db = db.map_or_else(|| database::open(&self.database), Ok)?;
        let mut rejects =
            self.rejects.as_deref().map(|path| RejectsFile::new(path, &layout, *screen));
        let (source, plan) = (&source, &plan);
        let loader = Loader { source, layout: &layout, nulls: &nulls, plan, creates_table };
        let rows = loader.run(&db, rejects.as_mut(), |rows| {
            progress.set_rows(source.len() + source.position(), "inserted", rows);
        })?;
        db.flush()?;
        rejects.as_mut().map_or(Ok(()), RejectsFile::finish)?;
        drop(progress);
        screen.note(format_args!("{}: {}", plan.schema().name(), rate(rows, begun.elapsed())));
        if let Some(rejects) = rejects.filter(|rejects| rejects.count() > 0) {
            let (lines, file) = (count(rejects.count()), rejects.path().display());
            screen.note(format_args!("rejected lines in {file}: {lines}"));
        }
        Ok(())
    }

    /// The input as CSV, its format, and what means NULL in it.
    fn open_input(&self) -> Result<(InputFile, CsvFormat, NullTexts)> {
        let source = InputFile::open(&self.file, self.member.as_deref())?;
        if source.is_workbook() {
            let (source, format) = self.convert_workbook(&source)?;
            return Ok((source, format, NullTexts::new([EMPTY_CELL])));
        }
        if self.sheet.is_some() {
            let name = source.name();
            return Err(Error::usage(format!("{name} is not a workbook: omit --sheet")));
        }
        let (source, format) = to_csv(source)?;
        match format {
            Some(_) if self.columns.is_some() || self.delimiter.is_some() => Err(Error::usage(
                "--columns and --delimiter are for CSV, and this file is of another format",
            )),
            Some(format) => Ok((source, format, NullTexts::new([JSON_NULL]))),
            None => {
                let format = CsvFormat::detect(&source, self.delimiter, self.columns.as_deref())?;
                Ok((source, format, self.nulls()))
            }
        }
    }

    #[cfg(feature = "xlsx")]
    fn convert_workbook(&self, source: &InputFile) -> Result<(InputFile, CsvFormat)> {
        if self.delimiter.is_some() || !self.null.is_empty() {
            return Err(Error::usage("--delimiter and --null are for CSV, not for workbooks"));
        }
        from_workbook(source, self.sheet.as_deref(), self.columns.as_deref())
    }

    #[cfg(not(feature = "xlsx"))]
    fn convert_workbook(&self, source: &InputFile) -> Result<(InputFile, CsvFormat)> {
        Err(Error::not_built_in(format_args!("read {}, a workbook", source.name()), "xlsx"))
    }

    /// The table to create or to append to: `--table`, or else the file's name up to the first dot.
    fn table_name(&self) -> Result<String> {
        if let Some(table) = &self.table {
            return Ok(table.clone());
        }
        let name = self.file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match name.split('.').next() {
            Some(stem) if !stem.is_empty() && stem != "-" => Ok(stem.to_owned()),
            _ => Err(Error::usage("name the table with --table")),
        }
    }

    /// The plan for appending to an existing table; `None` if the table does not exist.
    fn existing_table(
        &self,
        name: &str,
        db: Option<&Db>,
        layout: &CsvFormat,
    ) -> Result<Option<ImportPlan>> {
        let tables = db.map_or_else(|| Ok(Vec::new()), Db::tables)?;
        let found = tables.into_iter().find(|table| table.name().eq_ignore_ascii_case(name));
        match (found, self.append) {
            (None, false) => Ok(None),
            (Some(table), true) if self.types.is_empty() => {
                ImportPlan::existing(table, layout).map(Some)
            }
            (Some(_), true) => {
                Err(Error::usage("--type can't change the types of an existing table"))
            }
            (Some(table), false) => Err(Error::failed(format!(
                "table {} already exists in {}: pass --append to add to it, or choose another name with --table, \
                 or another database, as in bobak import other.db {}",
                table.name(),
                bobak::engine::without_secrets(&self.database),
                self.file.display()
            ))),
            (None, true) => {
                Err(Error::failed(format!("there is no table {name} to append to: omit --append")))
            }
        }
    }

    fn nulls(&self) -> NullTexts {
        if self.null.is_empty() {
            NullTexts::new([""])
        } else {
            NullTexts::new(self.null.iter().map(String::as_str))
        }
    }

    /// What the flags specify for the columns, in the file's order.
    fn known_columns(&self, layout: &CsvFormat) -> Result<Vec<InferredColumn>> {
        let columns = &layout.columns;
        if let Some((name, _)) = self.types.iter().find(|(name, _)| !columns.contains(name)) {
            return Err(Error::usage(format!(
                "--type names the column {name:?}, but the file has {}",
                columns.join(", ")
            )));
        }
        let known = |(place, column): (usize, &String)| {
            let given = self.types.iter().rev().find(|(name, _)| name == column);
            let given = given.map(|(_, ty)| ty).or(layout.types.get(place)).copied();
            let in_key = self.key.iter().any(|name| name.eq_ignore_ascii_case(column));
            let known = InferredColumn::new(given, in_key);
            if self.key.is_empty() && is_key_name(column) { known.watch_unique() } else { known }
        };
        Ok(columns.iter().enumerate().map(known).collect())
    }
}

fn show(plan: &ImportPlan, inferred: &InferredSchema, screen: &Terminal) -> Result<()> {
    let mut output = OutputTarget::open(None)?;
    let text = describe(plan.schema());
    output.write_all(text.as_bytes()).map_err(|error| Error::output(&error))?;
    output.finish()?;
    screen.note(format_args!(
        "{} valid lines, {} invalid",
        count(inferred.valid),
        count(inferred.invalid)
    ));
    Ok(())
}
