//! `bobak sample`: fills tables with plausible rows.

use crate::commands::arguments::database_url;
use crate::database;
use crate::error::{Error, Result};
use crate::output::{Terminal, rate};
use bobak_testing::Sample;
use clap::Args;
use std::time::Instant;

/// Fill tables with plausible rows, for tests and demonstrations.
///
/// The values follow the type and the name of their column, and satisfy the rules of the table: lengths, CHECKs, unique
/// indexes, foreign keys. The same seed makes the same rows. All rows are inserted, or none.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SampleCommand {
    /// Database: an SQLite file, such as app.db, or a URL
    #[arg(value_name = "DATABASE", value_parser = database_url)]
    database: String,

    /// Number of rows of a table; may be repeated. Empty tables that it must refer to get a tenth as many [default: 100
    /// rows of every table]
    #[arg(long, value_name = "TABLE=NUMBER", value_parser = table_rows)]
    rows: Vec<(String, u64)>,

    /// Number that decides the values
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

const EXAMPLES: &str = "\
Examples:
  bobak sample app.db
  bobak sample app.db --rows orders=1000000 --rows customers=50000 --seed 7";

impl SampleCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If there is no table of a name, or no values satisfy its rules.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        let begun = Instant::now();
        let db = database::open_existing(&self.database)?;
        let mut sample = Sample::new(self.seed);
        for (table, count) in &self.rows {
            sample = sample.rows(table, *count);
        }
        let filled = sample
            .fill(&db)
            .map_err(|error| Error::failed(format!("{error}; nothing was inserted")))?;
        db.flush()?;
        let mut rows = 0;
        for (table, count) in filled {
            screen.note(format_args!("{table}: {count} rows"));
            rows += count;
        }
        screen.note(rate(rows, begun.elapsed()));
        Ok(())
    }
}

/// `TABLE=NUMBER`.
fn table_rows(text: &str) -> std::result::Result<(String, u64), String> {
    let (table, count) = text.rsplit_once('=').ok_or("write TABLE=NUMBER")?;
    let count = count.replace('_', "").parse();
    count.map(|count| (table.to_owned(), count)).map_err(|_| "write TABLE=NUMBER".to_owned())
}
