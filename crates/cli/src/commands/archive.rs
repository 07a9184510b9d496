//! `bobak archive`: changes go to a folder as they commit.

use crate::commands::parse::database_url;
use crate::database;
use crate::error::{Error, Result};
use crate::output::Screen;
use bobak::ErrorKind;
use bobak::archive::Archive;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Write the changes of a database's tracked tables to a folder as they commit.
///
/// With a backup that was taken since the folder was begun they give the database as it was at any moment after it:
/// see `bobak restore --until`. Tables are tracked by their program, or by --track.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ArchiveChanges {
    /// The database, a URL or an SQLite file, such as app.db
    #[arg(value_name = "DATABASE", required_unless_present = "check", value_parser = database_url)]
    database: Option<String>,

    /// The folder; it is made if it is not there
    #[arg(value_name = "FOLDER", required_unless_present = "check")]
    folder: Option<PathBuf>,

    /// Write down every change of this table from now on; may be repeated
    #[arg(long, value_name = "TABLE", conflicts_with = "check")]
    track: Vec<String>,

    /// End when the folder has all that there is
    #[arg(long)]
    once: bool,

    /// Write the changes of an encrypted database, though the folder is not encrypted
    #[arg(long)]
    plain: bool,

    /// Only read this folder, and say what is in it
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["database", "folder", "once"])]
    check: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  bobak archive sqlite:app.db /mnt/backups/app.changes
  bobak archive sqlite:app.db /mnt/backups/app.changes --track invoice --track line
  bobak backup sqlite:app.db /mnt/backups/app.db.zst
  bobak restore /mnt/backups/app.db.zst sqlite:app.db --changes /mnt/backups/app.changes --until 2026-11-22T04:00:00Z
  bobak archive --check /mnt/backups/app.changes";

/// The settings of an encrypted database's URL.
const KEYS: [&str; 3] = ["key_file=", "password_file=", "password_env="];

/// How long it waits for a change at a time.
const WAIT: Duration = Duration::from_secs(1);

impl ArchiveChanges {
    /// Runs the command.
    ///
    /// # Errors
    /// A database that can't be opened, or in which nothing is tracked; a folder that somebody else writes to, that is
    /// another database's, or damaged; a full disk.
    pub fn run(&self, screen: &Screen) -> Result<()> {
        if let Some(folder) = &self.check {
            let span = Archive::check(folder)?;
            let last = span.last.map(|at| format!(", the last made at {at}")).unwrap_or_default();
            let unfinished = match span.unfinished {
                0 => String::new(),
                bytes => format!("; {bytes} unfinished bytes at the end"),
            };
            let whole = match span.whole {
                whole if whole == span.to => String::new(),
                whole => format!("; transactions are whole up to {whole}"),
            };
            let (changes, from, to) = (span.changes, span.from, span.to);
            screen.note(format_args!(
                "sound: {changes} changes, behind {from} up to {to}{last}{whole}{unfinished}"
            ));
            return Ok(());
        }
        let (Some(url), Some(folder)) = (&self.database, &self.folder) else {
            return Err(Error::usage("name a database and a folder"));
        };
        refuse_plain(url, self.plain, "--plain")?;
        let db = if self.track.is_empty() {
            database::open_to_read(url)?
        } else {
            let db = database::open_existing(url)?;
            database::track(&db, &self.track, screen)?;
            db
        };
        let opened = match self.plain {
            true => db.archive_unencrypted_to(folder),
            false => db.archive_to(folder),
        };
        let mut archive = opened.map_err(|error| match error.kind() {
            ErrorKind::Schema if db.tracked_tables().is_ok_and(|tables| tables.is_empty()) => {
                Error::failed("no table is tracked: --track TABLE has one tracked from now on")
            }
            _ => error.into(),
        })?;
        screen.note(format_args!("goes on behind change {}", archive.place()));
        loop {
            let step = archive.step(if self.once { Duration::ZERO } else { WAIT })?;
            if step.changes > 0 {
                screen.note(format_args!("{} changes, up to {}", step.changes, step.place));
            } else if self.once {
                return Ok(());
            }
        }
    }
}

/// Refuses to write the changes of an encrypted database as they are, unless this flag was given.
///
/// # Errors
/// A URL with a key, and no flag.
pub(super) fn refuse_plain(url: &str, given: bool, flag: &str) -> Result<()> {
    let named = database::with_key(url);
    if given || !KEYS.iter().any(|name| named.contains(name)) {
        return Ok(());
    }
    let message = format!(
        "the database is encrypted, and its changes in the folder would not be: {flag} says that \
         they may be read"
    );
    Err(Error::failed(message))
}
