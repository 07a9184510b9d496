//! `bobak migrate`: changes existing tables by files of steps.

use crate::commands::arguments::database_url;
use crate::database;
use crate::error::{Error, Result};
use crate::output::{OutputTarget, Terminal};
use bobak::migration::{Drops, MigrationState, MigrationStatus, Migrations};
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Change the tables of a database by files of steps.
///
/// A migration is a text file NUMBER_NAME.migration in a folder. The database notes which ones it has.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct MigrateCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write the migration from a database to the tables of another one
    Diff {
        #[command(flatten)]
        place: MigrationPlace,

        /// Database that has the wanted tables
        #[arg(value_name = "MODEL", value_parser = database_url)]
        model: String,

        /// What the migration does: letters, digits, _ and -
        #[arg(value_name = "NAME")]
        name: String,

        /// Drop columns and indexes that the model does not have
        #[arg(long)]
        drop_columns: bool,

        /// Drop tables, columns and indexes that the model does not have
        #[arg(long)]
        drop_tables: bool,

        /// Print the steps and their SQL, and write no file
        #[arg(long)]
        print: bool,
    },
    /// Carry out the migrations that the database does not have
    Up {
        #[command(flatten)]
        place: MigrationPlace,
    },
    /// Undo the last migration
    Down {
        #[command(flatten)]
        place: MigrationPlace,

        /// How many migrations are undone
        #[arg(long, value_name = "NUMBER", default_value_t = 1)]
        count: usize,

        /// Undo it although rows or values are lost
        #[arg(long)]
        allow_loss: bool,
    },
    /// List the migrations and which ones the database has
    Status {
        #[command(flatten)]
        place: MigrationPlace,
    },
    /// Try the migrations on a copy of the database
    Check {
        #[command(flatten)]
        place: MigrationPlace,
    },
    /// Note migrations as done, for a database that has their tables already
    Baseline {
        #[command(flatten)]
        place: MigrationPlace,

        /// The last one that the database has, such as 0003_orders
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Debug, Args)]
struct MigrationPlace {
    /// Database: an SQLite file, such as app.db, or a URL
    #[arg(value_name = "DATABASE", value_parser = database_url)]
    database: String,

    /// Folder of the migrations
    #[arg(long, value_name = "FOLDER", default_value = "migrations")]
    folder: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  bobak migrate diff app.db wanted.db add-rank --print
  bobak migrate check app.db
  bobak migrate up app.db
  bobak migrate status app.db
  bobak migrate down app.db";

impl MigrateCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If a migration can't be read, does not fit the database, or fails.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        match &self.action {
            Action::Diff { .. } => self.diff(screen),
            Action::Up { place } => {
                let done = database::open(&place.database)?.migrate(&place.read()?);
                report(&done.map_err(failed)?, "done", screen)
            }
            Action::Down { place, count, allow_loss } => {
                let db = database::open_existing(&place.database)?;
                let done = db.undo_migrations(&place.read()?, *count, *allow_loss);
                report(&done.map_err(failed)?, "undone", screen)
            }
            Action::Status { place } => {
                let db = database::open_to_read(&place.database)?;
                let states = db.migration_status(&place.read()?).map_err(failed)?;
                print(&states.iter().map(line).collect::<String>())
            }
            Action::Check { place } => {
                let db = database::open_existing(&place.database)?;
                let done = db.check_migrations(&place.read()?).map_err(failed)?;
                report(&done, "done on a copy", screen)
            }
            Action::Baseline { place, name } => {
                let db = database::open_existing(&place.database)?;
                let done = db.baseline_migrations(&place.read()?, name).map_err(failed)?;
                report(&done, "noted as done", screen)
            }
        }
    }

    fn diff(&self, screen: &Terminal) -> Result<()> {
        let Action::Diff { place, model, name, drop_columns, drop_tables, print: prints } =
            &self.action
        else {
            return Ok(());
        };
        let drops = drops(*drop_columns, *drop_tables);
        let db = if database::is_missing(&place.database) {
            database::open("memory:")?
        } else {
            database::open_to_read(&place.database)?
        };
        let model = database::open_to_read(model)?;
        let plan = db.migration_plan_to(&model, drops).map_err(failed)?;
        plan.kept.iter().for_each(|kept| screen.note(kept));
        if plan.steps.is_empty() {
            screen.note("nothing to migrate");
            return Ok(());
        }
        if *prints {
            let sql = db.migration_sql(&plan).unwrap_or_default();
            let sql: String = sql.iter().map(|text| format!("# {text}\n")).collect();
            return print(&format!("{plan}{sql}"));
        }
        let migrations = if place.folder.exists() { place.read()? } else { Migrations::default() };
        let file = migrations.write(&place.folder, name, &plan).map_err(failed)?;
        print(&format!("{}\n", file.display()))
    }
}

impl MigrationPlace {
    fn read(&self) -> Result<Migrations> {
        let folder: &Path = &self.folder;
        Migrations::read(folder).map_err(failed)
    }
}

const fn drops(columns: bool, tables: bool) -> Drops {
    match (columns, tables) {
        (_, true) => Drops::Tables,
        (true, false) => Drops::Columns,
        (false, false) => Drops::Nothing,
    }
}

fn line(status: &MigrationStatus) -> String {
    let state = match status.state {
        MigrationState::Done(at) => format!("done {at:.0}"),
        MigrationState::Interrupted(step) => format!("interrupted after step {step}"),
        MigrationState::UndoInterrupted(step) => format!("undoing interrupted after step {step}"),
        MigrationState::Pending => "pending".to_owned(),
        _ => "unknown".to_owned(),
    };
    format!("{}: {state}\n", status.name)
}

fn report(names: &[String], what: &str, screen: &Terminal) -> Result<()> {
    if names.is_empty() {
        screen.note("nothing to do");
    }
    print(&names.iter().map(|name| format!("{name}: {what}\n")).collect::<String>())
}

fn print(text: &str) -> Result<()> {
    let mut output = OutputTarget::open(None)?;
    output.write_all(text.as_bytes()).map_err(|error| Error::output(&error))?;
    output.finish()
}

fn failed(error: bobak::Error) -> Error {
    Error::failed(error.to_string())
}
