//! `bobak restore`: restores a backup, or verifies it.

use super::backup::{explain, summary, unverified};
use super::setting_flags::SettingFlags;
use crate::commands::arguments::database_url;
use crate::database;
use crate::error::{Error, Result};
use crate::output::Terminal;
use bobak::Db;
use bobak::backup::{BackupReport, Checksum};
use bobak::restore::{RecoveryTarget, ReplayOptions, ReplayReport, RestoreOptions};
use clap::Args;
use std::path::PathBuf;

/// Restore a backup, or only verify it.
///
/// The backup is copied to a temporary file and verified there: checksum, every page and index, row counts. Then it is
/// renamed into place. Stop the programs that use the database first.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("until", |until| until.value_name("TIME|NUMBER").requires("archive")),
    mut_arg("partial", |partial| partial.requires("archive"))
)]
pub struct RestoreCommand {
    /// Backup file, compressed or not
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,

    /// Database to restore to, such as app.db; with --check, the database whose key the backup has
    #[arg(value_name = "DATABASE", required_unless_present = "check", value_parser = database_url)]
    database: Option<String>,

    /// After restoring, replay the changes in this archive folder (see `bobak archive`)
    #[arg(long, value_name = "FOLDER", conflicts_with = "check")]
    archive: Option<PathBuf>,

    #[command(flatten)]
    options: SettingFlags<RestoreOptions>,

    #[command(flatten)]
    replay: SettingFlags<ReplayOptions>,

    /// Only verify the backup
    #[arg(long, conflicts_with = "overwrite")]
    check: bool,
}

const EXAMPLES: &str = "\
Examples:
  bobak restore backup.db app.db
  bobak restore app.db.zst app.db --overwrite
  bobak restore app.db.zst app.db --archive app.changes --until 2026-11-22T04:00:00Z
  bobak restore --check app.db.zst";

impl RestoreCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If the backup is truncated, damaged or not a backup; if the database exists or another program has it open.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        let url = self.database.as_deref().map(database::with_key);
        let url = match (&url, self.check) {
            (Some(url), false) => url,
            (url, _) => {
                // Only the key in this URL matters, not the file name.
                let key_url = database::with_key("sqlite:backup");
                let own = key_url.contains('?').then_some(&*key_url);
                let url = url.as_deref().or(own);
                let report = Db::check_restore(&self.backup, url, &self.options.0)?;
                screen.note(format_args!("valid: {}{}", summary(&report), checksum_note(&report)));
                return Ok(());
            }
        };
        let mut options = self.options.0.clone();
        if let Some(folder) = &self.archive {
            options = options.changes(folder, self.replay.0);
        }
        let report =
            Db::restore(&self.backup, url, &options).map_err(|error| match error.kind() {
                bobak::ErrorKind::Config => Error::usage(error.to_string()),
                _ => explain(error),
            })?;
        screen.note(format_args!("restored {}{}", summary(&report), checksum_note(&report)));
        if let Some(replay) = &report.replayed {
            self.report_replay(replay, screen);
        }
        Ok(())
    }

    fn report_replay(&self, replay: &ReplayReport, screen: &Terminal) {
        let when = replay.at.map(|at| format!(", at {at}")).unwrap_or_default();
        let (changes, place) = (replay.changes, replay.position);
        screen.note(format_args!("replayed {changes} changes, up to {place}{when}"));
        if replay.left_out > 0 {
            let left_out = replay.left_out;
            let which = match self.replay.0.until {
                RecoveryTarget::Moment(moment) => format!("made by {moment}"),
                _ => "at the end of the archive".to_owned(),
            };
            screen.note(format_args!(
                "left out the next {left_out} changes {which}: the archive does not show that their transactions \
                 had ended by then; pass --partial to replay them"
            ));
        } else if let (RecoveryTarget::Moment(moment), true) = (self.replay.0.until, replay.is_end)
            && replay.read.max(replay.at).is_none_or(|known| known < moment)
        {
            let end = format!("with change {place}{when}");
            screen.note(format_args!("the archive ends before {moment}, {end}"));
        }
    }
}

/// A note if no checksum was compared or something could not be verified.
fn checksum_note(report: &BackupReport) -> String {
    let note = match report.checksum {
        Checksum::Same => "",
        Checksum::Outdated => "; no checksum: the backup was modified after it was taken",
        _ => "; no checksum: the backup was modified, or taken by an older version",
    };
    format!("{note}{}", unverified(report))
}
