//! `bobak crash-writer`: the process that `bobak bench --crash` kills.

use crate::error::{Error, Result};
use clap::Args;
use std::path::PathBuf;
use std::process::Command;

/// Write to a new database and print each acknowledged commit, until killed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CrashWriterCommand {
    /// Engine to write to, as `bobak bench --crash` names it
    store: String,

    /// Folder of the database, or URL of a server's database
    place: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  bobak crash-writer \"sqlite file wal full\" /tmp/new";

/// Returns a function that creates the command for this program's [`CrashWriterCommand`], without arguments.
///
/// # Errors
/// If the path of this program is unknown.
pub fn writer() -> Result<impl Fn() -> Command> {
    let program = std::env::current_exe()
        .map_err(|error| Error::failed(format!("could not find this program: {error}")))?;
    Ok(move || {
        let mut command = Command::new(&program);
        command.arg("crash-writer");
        command
    })
}

impl CrashWriterCommand {
    /// Runs the command until it is killed or its output is closed.
    ///
    /// # Errors
    /// If there is no store with this name; those of the engine.
    pub fn run(&self) -> Result<()> {
        let mut out = std::io::stdout();
        bobak_bench::crash::write_until_killed(&self.store, &self.place, &mut out)
            .map_err(|error| Error::failed(error.to_string()))
    }
}
