//! `bobak schema`: describes the tables of a database, as text or in a programming language.

use crate::commands::arguments::database_url;
use crate::commands::given_types::{GivenTypes, note_partly_read};
use crate::database;
use crate::error::{Error, Result};
use crate::output::{OutputTarget, Terminal};
use crate::schema::{describe, go_file, python_module, rust_module, typescript_module};
use bobak::Db;
use bobak::schema::TableSchema;
use bobak::stored_types::StoredTypes;
use clap::Args;
use std::io::Write;

/// Describe the tables and views of a database, as text or in a programming language.
///
/// Works with any SQLite file, whichever program created it. A column that is declared DATETIME, BOOL, DECIMAL or JSON there
/// gets the type of its values, and so does one that holds others than it says, such as a TINYINT with 300. At most the first
/// million rows of a table are read.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SchemaCommand {
    /// Database: an SQLite file, such as flights.db, or a URL
    #[arg(value_name = "DATABASE", value_parser = database_url)]
    database: String,

    /// Only this table; may be repeated [default: all tables]
    #[arg(short, long = "table", value_name = "NAME")]
    tables: Vec<String>,

    #[command(flatten)]
    language: Language,

    #[command(flatten)]
    types: GivenTypes,
}

/// The language of the output, if it is not text.
#[derive(Debug, Args)]
#[group(multiple = false)]
#[expect(clippy::struct_excessive_bools, reason = "flags of which at most one is given")]
struct Language {
    /// Print one #[derive(Record)] struct per table
    #[arg(long)]
    rust: bool,

    /// Print one struct per table, for the Go client
    #[arg(long)]
    go: bool,

    /// Print one dataclass per table, for the Python client
    #[arg(long)]
    python: bool,

    /// Print one interface and one table definition per table, for the TypeScript client
    #[arg(long)]
    typescript: bool,
}

const EXAMPLES: &str = "\
Examples:
  bobak schema flights.db
  bobak schema flights.db --table planes --table airlines
  bobak schema flights.db --rust > src/records.rs
  bobak schema flights.db --python > records.py
  bobak schema shop.db --rust --type orders.price=f64";

impl SchemaCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If the database can't be read or a table does not exist.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        let db = database::open_to_read(&self.database)?;
        let tables = database::tables_and_views(&db, &self.tables)?;
        let others = database::undescribed(&db, &tables, &self.tables)?;
        let tables = self.typed(&db, &tables, screen)?;
        let text = match self.language {
            Language { rust: true, .. } => rust_module(&tables, &others),
            Language { go: true, .. } => go_file(&tables, &others),
            Language { python: true, .. } => python_module(&tables, &others),
            Language { typescript: true, .. } => typescript_module(&tables, &others),
            _ => {
                let others = others.iter().map(|other| format!("{other}\n"));
                tables.iter().map(describe).chain(others).collect::<Vec<_>>().join("\n")
            }
        };
        let mut output = OutputTarget::open(None)?;
        output.write_all(text.as_bytes()).map_err(|error| Error::output(&error))?;
        output.finish()
    }
    /// The tables with the types of their values.
    fn typed(
        &self,
        db: &Db,
        tables: &[TableSchema],
        screen: &Terminal,
    ) -> Result<Vec<TableSchema>> {
        self.types.check(tables)?;
        let types = self.types.types();
        let mut typed = Vec::with_capacity(tables.len());
        for table in tables {
            let found = db.stored_types(table, &types);
            let found = found.map_err(|error| error.in_table(table.name().to_owned()))?;
            let StoredTypes { table, is_complete } = found;
            if !is_complete {
                note_partly_read(table.name(), screen);
            }
            typed.push(table);
        }
        Ok(typed)
    }
}
