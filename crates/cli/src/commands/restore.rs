//! `bobak restore`: a backup put back.

use super::backup::{explain, left_open, sentence};
use crate::commands::parse::database_url;
use crate::database;
use crate::error::{Error, Result};
use crate::output::Screen;
use bobak::Db;
use bobak::backup::{BackupReport, Checksum};
use bobak::restore::{RecoveryTarget, ReplayOptions, ReplayReport, RestoreOptions};
use clap::Args;
use std::path::PathBuf;

/// Put a backup back, or only check it.
///
/// The backup is copied beside its place and checked there: its checksum, every page and index, the numbers of its rows.
/// Only then it is put in place, at once. Stop the programs that use the database before.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Restore {
    /// The backup, plain or compressed
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,

    /// The database to make, such as sqlite:app.db; with --check, the one whose key the backup has
    #[arg(value_name = "DATABASE", required_unless_present = "check", value_parser = database_url)]
    database: Option<String>,

    /// Replace a database that is there
    #[arg(long)]
    overwrite: bool,

    /// Make the changes of this folder, filled by `bobak archive`, again behind the backup
    #[arg(long, value_name = "FOLDER", conflicts_with = "check")]
    changes: Option<PathBuf>,

    /// Only those up to a moment, such as 2026-11-22T04:00:00Z, or up to a change's number
    #[arg(long, value_name = "MOMENT", requires = "changes", value_parser = until)]
    until: Option<RecoveryTarget>,

    /// Make every change up to there, be it the first part of a transaction
    #[arg(long, requires = "changes")]
    partial: bool,

    /// Only check the backup
    #[arg(long, conflicts_with = "overwrite")]
    check: bool,
}

const EXAMPLES: &str = "\
Examples:
  bobak restore backup.db sqlite:app.db
  bobak restore app.db.zst sqlite:app.db --overwrite
  bobak restore app.db.zst sqlite:app.db --changes app.changes --until 2026-11-22T04:00:00Z
  bobak restore --check app.db.zst";

impl Restore {
    /// Runs the command.
    ///
    /// # Errors
    /// A backup that was cut off, is damaged, or is none; a database that is there, or that somebody has open.
    pub fn run(&self, screen: &Screen) -> Result<()> {
        let url = self.database.as_deref().map(database::with_key);
        let url = match (&url, self.check) {
            (Some(url), false) => url,
            (url, _) => {
                // The name of the file means nothing: only its key does.
                let nowhere = database::with_key("sqlite:backup");
                let report = match url {
                    Some(url) => Db::check_backup_for(&self.backup, url)?,
                    None if nowhere.contains('?') => Db::check_backup_for(&self.backup, &nowhere)?,
                    None => Db::check_backup(&self.backup)?,
                };
                screen.note(format_args!("sound: {}{}", sentence(&report), summed(&report)));
                return Ok(());
            }
        };
        let mut options = RestoreOptions::new().overwrite(self.overwrite);
        if let Some(folder) = &self.changes {
            let until = ReplayOptions::new(self.until.unwrap_or(RecoveryTarget::End));
            options = options.changes(folder, until.partial(self.partial));
        }
        let report =
            Db::restore(&self.backup, url, &options).map_err(|error| match error.kind() {
                bobak::ErrorKind::Config => Error::usage(error.to_string()),
                _ => explain(error),
            })?;
        screen.note(format_args!("restored {}{}", sentence(&report), summed(&report)));
        if let Some(made) = &report.replayed {
            self.note_replayed(made, screen);
        }
        Ok(())
    }

    fn note_replayed(&self, made: &ReplayReport, screen: &Screen) {
        let when = made.at.map(|at| format!(", made at {at}")).unwrap_or_default();
        let (changes, place) = (made.changes, made.place);
        screen.note(format_args!("made {changes} changes again, up to {place}{when}"));
        if made.left_out > 0 {
            let left_out = made.left_out;
            let those = match self.until {
                Some(RecoveryTarget::Moment(moment)) => format!("that were made by {moment}"),
                _ => "at the folder's end".to_owned(),
            };
            screen.note(format_args!(
                "left out the next {left_out} changes {those}: nothing tells that their transactions \
                 had ended by then; --partial makes them too"
            ));
        } else if let (Some(RecoveryTarget::Moment(moment)), true) = (self.until, made.is_end)
            && made.read.max(made.at).is_none_or(|known| known < moment)
        {
            let end = format!("with change {place}{when}");
            screen.note(format_args!("the folder ends before {moment}, {end}"));
        }
    }
}

/// What is to be said where no checksum was compared, or not all was verified.
fn summed(report: &BackupReport) -> String {
    let summed = match report.checksum {
        Checksum::Same => "",
        Checksum::Outdated => "; not summed: it was written to after it was made",
        _ => "; not summed: an older version made it, or it was written to since",
    };
    format!("{summed}{}", left_open(report))
}

/// A change's number, or a moment.
fn until(text: &str) -> std::result::Result<RecoveryTarget, String> {
    if let Ok(number) = text.parse() {
        return Ok(RecoveryTarget::Change(number));
    }
    let moment = text.parse().map(RecoveryTarget::Moment);
    moment.map_err(|_| format!("'{text}' is no moment like 2026-11-22T04:00:00Z, and no number"))
}
