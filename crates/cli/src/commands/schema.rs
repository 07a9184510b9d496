//! `bobak schema`: describes the tables of a database, as text or as Rust structs.

use crate::commands::arguments::database_url;
use crate::database;
use crate::error::{Error, Result};
use crate::output::{OutputTarget, Terminal};
use crate::schema::{describe, rust_module};
use clap::Args;
use std::io::Write;

/// Describe the tables and views of a database, as text or as Rust structs.
///
/// Works with any SQLite file, whichever program created it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SchemaCommand {
    /// Database: an SQLite file, such as flights.db, or a URL
    #[arg(value_name = "DATABASE", value_parser = database_url)]
    database: String,

    /// Only this table; may be repeated [default: all tables]
    #[arg(short, long = "table", value_name = "NAME")]
    tables: Vec<String>,

    /// Print one #[derive(Record)] struct per table
    #[arg(long)]
    rust: bool,
}

const EXAMPLES: &str = "\
Examples:
  bobak schema flights.db
  bobak schema flights.db --table planes --table airlines
  bobak schema flights.db --rust > src/records.rs";

impl SchemaCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If the database can't be read or a table does not exist.
    pub fn run(&self, _screen: &Terminal) -> Result<()> {
        let db = database::open_to_read(&self.database)?;
        let tables = database::tables_and_views(&db, &self.tables)?;
        let others = match self.tables[..] {
            [] => database::undescribed(&db, &tables)?,
            _ => Vec::new(),
        };
        let text = if self.rust {
            rust_module(&tables, &others)
        } else {
            let others = others.iter().map(|other| format!("{other}\n"));
            tables.iter().map(describe).chain(others).collect::<Vec<_>>().join("\n")
        };
        let mut output = OutputTarget::open(None)?;
        output.write_all(text.as_bytes()).map_err(|error| Error::output(&error))?;
        output.finish()
    }
}
