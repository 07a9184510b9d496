//! `bobak schema`: what a database holds, in words or as Rust.

use crate::commands::parse::database_url;
use crate::database;
use crate::error::{Error, Result};
use crate::output::{Output, Screen};
use crate::schema::{describe, rust_module};
use clap::Args;
use std::io::Write;

/// Show the tables of a database, or the Rust structs that would keep their rows.
///
/// It works for any SQLite file, whoever made it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Schema {
    /// The database, a URL or an SQLite file, such as flights.db
    #[arg(value_name = "URL", value_parser = database_url)]
    database: String,

    /// Only this table; may be repeated [default: all tables, by name]
    #[arg(short, long = "table", value_name = "NAME")]
    tables: Vec<String>,

    /// Print Rust: one #[derive(Record)] struct for each table
    #[arg(long)]
    rust: bool,
}

const EXAMPLES: &str = "\
Examples:
  bobak schema sqlite:flights.db
  bobak schema sqlite:flights.db --table planes --table airlines
  bobak schema sqlite:flights.db --rust > src/records.rs";

impl Schema {
    /// Runs the command.
    ///
    /// # Errors
    /// A database that can't be read, a table that is not there.
    pub fn run(&self, _screen: &Screen) -> Result<()> {
        let db = database::open_to_read(&self.database)?;
        let tables = database::tables(&db, &self.tables)?;
        let text = if self.rust {
            rust_module(&tables)
        } else {
            tables.iter().map(describe).collect::<Vec<_>>().join("\n")
        };
        let mut output = Output::open(None)?;
        output.write_all(text.as_bytes()).map_err(|error| Error::output(&error))?;
        output.finish()
    }
}
