//! `bobak crash-writer`: the process that `bobak bench --crash` kills.

use crate::error::{Error, Result};
use clap::Args;
use std::path::PathBuf;
use std::process::Command;

/// Write to a new database, and say which commits are acknowledged, until killed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CrashWriter {
    /// What is written to, as `bobak bench --crash` names it
    store: String,

    /// The folder that it is kept in; the URL of a server's database
    place: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  bobak crash-writer \"sqlite file wal full\" /tmp/new";

/// How this very program is started as a [`CrashWriter`], but for its arguments.
///
/// # Errors
/// Where the system does not say what program this is.
pub fn writer() -> Result<impl Fn() -> Command> {
    let program = std::env::current_exe()
        .map_err(|error| Error::failed(format!("could not find this program: {error}")))?;
    Ok(move || {
        let mut command = Command::new(&program);
        command.arg("crash-writer");
        command
    })
}

impl CrashWriter {
    /// Runs the command; it ends by being killed, or when nobody listens any more.
    ///
    /// # Errors
    /// Where nothing is called so, and those of the engine.
    pub fn run(&self) -> Result<()> {
        let mut out = std::io::stdout();
        bobak_bench::crash::write_until_killed(&self.store, &self.place, &mut out)
            .map_err(|error| Error::failed(error.to_string()))
    }
}
