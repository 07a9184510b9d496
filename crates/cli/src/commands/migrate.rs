//! `bobak migrate`: changes existing tables by files of steps.

use super::migrate_diff::DiffArguments;
use crate::commands::arguments::database_url;
use crate::database;
use crate::error::{Error, Result};
use crate::output::{OutputTarget, Terminal};
use bobak::Db;
use bobak::migration::{MigrationState, MigrationStatus, MigrationStep, Migrations};
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
    Diff(DiffArguments),
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
pub(super) struct MigrationPlace {
    /// Database: an SQLite file, such as app.db, or a URL
    #[arg(value_name = "DATABASE", value_parser = database_url)]
    pub(super) database: String,

    /// Folder of the migrations
    #[arg(long, value_name = "FOLDER", default_value = "migrations")]
    pub(super) folder: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  bobak migrate diff app.db wanted.db add-rank --print
  bobak migrate diff app.db wanted.db about --rename member.bio=about
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
            Action::Diff(diff) => diff.run(screen),
            Action::Up { place } => {
                // No file is created if a migration does not parse.
                let migrations = place.read()?;
                let db = database::open_noted(&place.database, screen)?;
                let done = db.migrate(&migrations);
                place.save(&db)?;
                report(&done.map_err(up_failed)?, "done", screen)
            }
            Action::Down { place, count, allow_loss } => {
                let db = database::open_existing(&place.database)?;
                let done = db.undo_migrations(&place.read()?, *count, *allow_loss);
                place.save(&db)?;
                report(&done.map_err(undo_failed)?, "undone", screen)
            }
            Action::Status { place } => {
                let db = database::open_to_read(&place.database)?;
                let states = db.migration_status(&place.read()?).map_err(failed)?;
                print(&states.iter().map(line).collect::<String>())
            }
            Action::Check { place } => {
                let db = database::open_existing(&place.database)?;
                let migrations = place.read()?;
                let done = db.check_migrations(&migrations).map_err(failed)?;
                let is_sql = |step: &MigrationStep| matches!(step, MigrationStep::Sql { .. });
                let has_sql = migrations.iter().any(|migration| migration.up.iter().any(is_sql));
                if has_sql && db.engine()?.name() != "sqlite" {
                    screen.note("steps in SQL were not tried, because the copy is in memory");
                }
                report(&done, "done on a copy", screen)
            }
            Action::Baseline { place, name } => {
                let db = database::open_existing(&place.database)?;
                let done = db.baseline_migrations(&place.read()?, name).map_err(failed)?;
                place.save(&db)?;
                report(&done, "noted as done", screen)
            }
        }
    }
}

impl MigrationPlace {
    /// Writes the file of a database in memory, also after an error: the migrations before it are done. Other engines have
    /// saved what they did.
    fn save(&self, db: &Db) -> Result<()> {
        match self.database.starts_with("memory:") {
            true => db.flush().map_err(failed),
            false => Ok(()),
        }
    }

    pub(super) fn read(&self) -> Result<Migrations> {
        let folder: &Path = &self.folder;
        if !folder.exists() {
            return Err(Error::failed(format!(
                "there is no folder {}: name another one with --folder, or write the first migration with `bobak migrate \
                 diff`",
                folder.display()
            )));
        }
        Migrations::read(folder).map_err(failed)
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

pub(super) fn print(text: &str) -> Result<()> {
    let mut output = OutputTarget::open(None)?;
    output.write_all(text.as_bytes()).map_err(|error| Error::output(&error))?;
    output.finish()
}

/// As [`failed`], with the command for a database that has the tables already.
fn up_failed(error: bobak::Error) -> Error {
    match error.message().contains("the table already exists") {
        true => Error::failed(format!(
            "{error}: if the database has what the migration makes, record it with `bobak migrate baseline`"
        )),
        false => failed(error),
    }
}

/// As [`failed`], with the flag that allows the loss.
fn undo_failed(error: bobak::Error) -> Error {
    match error.message().contains("allow the loss") {
        true => Error::failed(format!("{error}: pass --allow-loss to undo it all the same")),
        false => failed(error),
    }
}

pub(super) fn failed(error: bobak::Error) -> Error {
    Error::failed(error.to_string())
}
