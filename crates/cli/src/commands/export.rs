//! `bobak export`: a table becomes a file.

use crate::commands::format::{Format, SinkOptions};
use crate::commands::parse::database_url;
use crate::database::{self, Chosen};
use crate::error::{Error, Result};
use crate::export::OutputColumn;
use crate::output::{Output, Progress, Screen, rate};
use bobak::schema::TableSchema;
use bobak::{Query, Row};
use clap::Args;
use std::path::PathBuf;
use std::time::Instant;

/// Write a table as CSV, NDJSON or JSON.
///
/// Nothing is lost: numbers come back by their value, texts byte for byte. A file appears under its
/// name only when it is complete.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Export {
    /// The database, a URL or an SQLite file, such as flights.db
    #[arg(value_name = "URL", value_parser = database_url)]
    database: String,

    /// The table
    #[arg(short, long, value_name = "NAME")]
    table: String,

    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The form [default: that of the file's name (.csv, .ndjson, .jsonl, .json), or else csv]
    #[arg(short, long, value_enum)]
    format: Option<Format>,

    /// Only these columns, in this order, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,

    /// All columns but these, separated by commas: such as the id that an import has added
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "columns")]
    without: Vec<String>,

    #[command(flatten)]
    csv: SinkOptions,
}

const EXAMPLES: &str = "\
Examples:
  bobak export sqlite:flights.db --table airlines
  bobak export sqlite:flights.db --table flights --without id --null NA --output flights.csv
  bobak export sqlite:flights.db --table flights --output flights.ndjson
  bobak export sqlite:flights.db --table planes --columns tailnum,year --delimiter tab

For the rows of an SQL statement there is bobak query --format csv.";

impl Export {
    /// Runs the command.
    ///
    /// # Errors
    /// A database that can't be read, a table or column that is not there, a value that would not
    /// come back from the form, output that can't be written.
    pub fn run(&self, screen: &Screen) -> Result<()> {
        let begun = Instant::now();
        let db = database::open_to_read(&self.database)?;
        let table = database::table(&db, &self.table)?;
        let schema = table.schema();
        let places = self.places(schema)?;
        let columns: Vec<_> = places
            .iter()
            .filter_map(|&place| schema.columns().get(place))
            .map(|column| OutputColumn { name: column.name.to_string(), ty: column.ty })
            .collect();
        let mut output = Output::open(self.output.as_deref())?;
        let format = self.format.unwrap_or_else(|| Format::of(self.output.as_deref()));
        let mut rows = 0;
        {
            let progress = Progress::new(*screen, table.count(Query::all())?);
            let mut sink = format.sink(&mut output, &self.csv, screen);
            sink.begin(&columns)?;
            let scan = |each: &mut dyn FnMut(&dyn Row) -> bobak::Result<bool>| {
                table.for_each_row(Query::all(), each)
            };
            database::for_each(scan, |row| {
                sink.row(&Chosen { row, places: &places })?;
                rows += 1;
                if rows % 10_000 == 0 {
                    progress.set_rows(rows, "written", rows);
                }
                Ok(())
            })?;
            sink.finish()?;
        }
        output.finish()?;
        screen.note(format_args!("{}: {}", self.table, rate(rows, begun.elapsed())));
        Ok(())
    }

    /// The places of the columns to write.
    fn places(&self, schema: &TableSchema) -> Result<Vec<usize>> {
        let find =
            |name: &String| schema.column(name).map_err(|error| Error::failed(error.to_string()));
        if !self.columns.is_empty() {
            return self.columns.iter().map(find).collect();
        }
        let without = self.without.iter().map(find).collect::<Result<Vec<_>>>()?;
        Ok((0..schema.columns().len()).filter(|place| !without.contains(place)).collect())
    }
}
