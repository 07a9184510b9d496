//! `bobak backup`: backs up a database while it is in use.

use crate::commands::arguments::database_url;
use crate::commands::setting_flags::SettingFlags;
use crate::database;
use crate::error::{Error, Result};
use crate::output::{Progress, Terminal};
use bobak::backup::{BackupOptions, BackupPhase, BackupProgress, BackupReport, Compression};
use clap::Args;
use std::path::{Path, PathBuf};

/// Back up a database to a file while other programs read and write it.
///
/// The backup is a consistent snapshot. It is written to a temporary file, verified, and then renamed into place. An
/// uncompressed backup is itself a database; a compressed one is an ordinary .zst or .gz file.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct BackupCommand {
    /// Database: an SQLite file, such as app.db, or a URL
    #[arg(value_name = "DATABASE", value_parser = database_url)]
    database: String,

    /// Backup file; - is standard output
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    options: SettingFlags<BackupOptions>,
}

const EXAMPLES: &str = "\
Examples:
  bobak backup app.db backup.db
  bobak backup app.db /mnt/backups/app.db.zst --overwrite
  bobak backup app.db - --compress gzip | ssh elsewhere 'cat > app.db.gz'
  bobak backup memory:store.bobak store-backup.bobak

`bobak restore` restores a backup; `bobak serve --backup FOLDER --backup-interval 1h --backup-keep 24` takes backups on a schedule.";

impl BackupCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// If the database does not exist, is damaged or is on a server; if the file exists; if the disk is full.
    pub fn run(&self, screen: &Terminal) -> Result<()> {
        let db = database::open_to_read(&self.database)?;
        let options = &self.options.0;
        let mut bar = BackupProgressBar::new(*screen);
        let step = |step| {
            bar.show(step);
            Ok(())
        };
        let report = if self.file == Path::new("-") {
            db.backup_to(std::io::stdout().lock(), options, step)
        } else {
            db.backup(&self.file, options, step)
        };
        drop(bar);
        let report = report.map_err(explain)?;
        screen.note(format_args!("backed up {}{}", summary(&report), unverified(&report)));
        Ok(())
    }
}

/// A summary of the backup's contents, without Bobak's internal tables.
pub fn summary(report: &BackupReport) -> String {
    let tables: Vec<_> = report.user_tables().collect();
    let rows: u64 = tables.iter().map(|(_, rows)| rows).sum();
    let bytes = match report.compression {
        Compression::None => format!("{} bytes", report.stored),
        _ => format!("{} bytes, compressed {}", report.bytes, report.stored),
    };
    let named = match &tables[..] {
        [(only, _)] => (*only).to_owned(),
        all => format!("{} tables", all.len()),
    };
    format!("{rows} rows of {named}: {bytes}")
}

/// A note about tables that could not be verified; empty if all were.
pub fn unverified(report: &BackupReport) -> String {
    report.unverified.iter().map(|table| format!("; not verified: {table}")).collect()
}

/// Adds the flag that helps to the library's error.
pub fn explain(error: bobak::Error) -> Error {
    match error.kind() {
        bobak::ErrorKind::Conflict => {
            Error::failed(format!("{error}; pass --overwrite to replace it"))
        }
        _ => error.into(),
    }
}

/// Progress bars of a backup, one per phase.
struct BackupProgressBar {
    screen: Terminal,
    shown: Option<(BackupPhase, Progress)>,
}

impl BackupProgressBar {
    const fn new(screen: Terminal) -> Self {
        Self { screen, shown: None }
    }

    fn show(&mut self, step: BackupProgress) {
        if self.shown.as_ref().is_none_or(|(phase, _)| *phase != step.phase) {
            // Drop the old bar first, or its line stays on the terminal.
            self.shown = None;
            self.shown = Some((step.phase, Progress::new(self.screen, step.of)));
        }
        let doing = match step.phase {
            BackupPhase::Check => "checking",
            BackupPhase::Compress => "compressing",
            _ => "copying",
        };
        if let Some((_, bar)) = &self.shown {
            bar.set(step.done, doing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};

    fn options(flags: &[&str]) -> Result<BackupOptions, clap::Error> {
        let command = BackupCommand::augment_args(Command::new("backup").no_binary_name(true));
        let all = ["app.db", "backup.db"].iter().chain(flags);
        let matches = command.try_get_matches_from(all)?;
        Ok(BackupCommand::from_arg_matches(&matches)?.options.0)
    }

    #[test]
    fn flags_are_the_options() {
        assert_eq!(options(&[]).unwrap(), BackupOptions::new());
        let given = options(&["--compress", "gzip", "--overwrite", "--no-pauses"]).unwrap();
        let expected = BackupOptions::new().compression(Compression::Gzip).pauses(false);
        assert_eq!(given, expected.overwrite(true));
        let error = options(&["--compress", "lzma"]).unwrap_err().to_string();
        assert!(error.contains("expected one of none, zstd, gzip"), "{error}");
    }
}
