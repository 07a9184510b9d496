//! `bobak archive`: writes committed changes to a folder for point-in-time restore.

use super::reconnection::Reconnection;
use crate::commands::arguments::database_url;
use crate::database;
use crate::error::{Error, Result};
use crate::output::Terminal;
use bobak::archive::Archive;
use bobak::{Db, ErrorKind};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Continuously archive the changes of tracked tables to a folder.
///
/// Together with a backup taken after the archive was started, the archive restores the database to any later point in
/// time: see `bobak restore --until`. A program tracks its tables itself; --track does it here. While the server cannot be
/// reached, it retries; with --once, it fails.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ArchiveCommand {
    /// Database: an SQLite file, such as app.db, or a URL
    #[arg(value_name = "DATABASE", required_unless_present = "check", value_parser = database_url)]
    database: Option<String>,

    /// Archive folder; created if it does not exist
    #[arg(value_name = "FOLDER", required_unless_present = "check")]
    folder: Option<PathBuf>,

    /// First turn change capture on for this table; may be repeated
    #[arg(long, value_name = "TABLE", conflicts_with = "check")]
    track: Vec<String>,

    /// Turn change capture on for every table, and for tables that are created later
    #[arg(long, conflicts_with_all = ["check", "track"])]
    all: bool,

    /// Exit when the archive is up to date
    #[arg(long)]
    once: bool,

    /// Allow an unencrypted archive of an encrypted database
    #[arg(long)]
    unencrypted: bool,

    /// Verify this archive folder and report its contents
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["database", "folder", "once"])]
    check: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  bobak archive app.db /mnt/backups/app.changes
  bobak archive app.db /mnt/backups/app.changes --track invoice --track line
  bobak archive app.db /mnt/backups/app.changes --all
  bobak backup app.db /mnt/backups/app.db.zst
  bobak restore /mnt/backups/app.db.zst app.db --archive /mnt/backups/app.changes --until 2026-11-22T04:00:00Z
  bobak archive --check /mnt/backups/app.changes";

/// URL settings that mean the database is encrypted.
const KEYS: [&str; 3] = ["key_file=", "password_file=", "password_env="];

/// How long one step waits for new changes.
const POLL_TIMEOUT: Duration = Duration::from_secs(1);

impl ArchiveCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If the database can't be opened or has no tracked table; if another process writes to the folder, or it belongs to
    /// another database or is damaged; if the disk is full.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        if let Some(folder) = &self.check {
            let span = Archive::check(folder)?;
            let last = span.last.map(|at| format!(", the last at {at}")).unwrap_or_default();
            let unfinished = match span.unfinished {
                0 => String::new(),
                bytes => format!("; {bytes} bytes of an incomplete page at the end"),
            };
            let whole = match span.whole {
                whole if whole == span.to => String::new(),
                whole => format!("; transactions are complete up to {whole}"),
            };
            let stopped = if span.is_stopped { "; a table was altered, and it ended" } else { "" };
            let (changes, from, to) = (span.changes, span.from, span.to);
            screen.note(format_args!(
                "valid: {changes} changes, after {from} up to {to}{last}{whole}{stopped}{unfinished}"
            ));
            return Ok(());
        }
        let (Some(url), Some(folder)) = (&self.database, &self.folder) else {
            return Err(Error::usage("name a database and a folder"));
        };
        require_unencrypted_consent(url, self.unencrypted, "--unencrypted")?;
        let db = if self.track.is_empty() && !self.all {
            database::open_to_read(url)?
        } else {
            let db = database::open_existing(url)?;
            database::track(&db, &self.track, screen)?;
            db
        };
        self.track_all(&db, screen)?;
        let archive = self.open(&db, folder).map_err(|error| match error.kind() {
            ErrorKind::Schema if db.tracked_tables().is_ok_and(|tables| tables.is_empty()) => {
                Error::failed("no table is tracked: track one with --track TABLE")
            }
            _ => error.into(),
        })?;
        screen.note(format_args!("resuming after change {}", archive.position()));
        self.follow(archive, (&db, folder), screen)
    }
}

impl ArchiveCommand {
    fn open(&self, db: &Db, folder: &Path) -> bobak::Result<Archive> {
        match self.unencrypted {
            true => db.archive_unencrypted_to(folder),
            false => db.archive_to(folder),
        }
    }

    fn follow(
        &self,
        archive: Archive,
        (db, folder): (&Db, &Path),
        screen: &Terminal,
    ) -> Result<()> {
        let mut archive = Some(archive);
        let mut reconnection = Reconnection::new(*screen);
        loop {
            let open = || self.open(db, folder);
            let wait = if self.once { Duration::ZERO } else { POLL_TIMEOUT };
            let step = reconnection.step(&mut archive, !self.once, open, |archive| {
                self.track_all(db, screen)?;
                archive.step(wait)
            })?;
            let Some(step) = step else { continue };
            if step.changes > 0 {
                screen.note(format_args!("{} changes, up to {}", step.changes, step.position));
            } else if self.once {
                return Ok(());
            }
        }
    }

    /// With `--all`, tracks the tables that are not tracked yet.
    fn track_all(&self, db: &Db, screen: &Terminal) -> bobak::Result<()> {
        if self.all {
            for table in db.track_all_tables(bobak::changes::TrackOptions::new())? {
                screen.note(format_args!("{table}: tracked from now on"));
            }
        }
        Ok(())
    }
}

/// Fails if the database is encrypted and the flag that allows an unencrypted archive is missing.
///
/// # Errors
/// If the URL has a key and `given` is false.
pub(super) fn require_unencrypted_consent(url: &str, given: bool, flag: &str) -> Result<()> {
    let named = database::with_key(url);
    if given || !KEYS.iter().any(|name| named.contains(name)) {
        return Ok(());
    }
    let message = format!(
        "the database is encrypted but the archive would not be: pass {flag} to allow that"
    );
    Err(Error::failed(message))
}
