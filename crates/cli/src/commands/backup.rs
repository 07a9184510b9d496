//! `bobak backup`: a running database in a file.

use crate::commands::parse::database_url;
use crate::database;
use crate::error::{Error, Result};
use crate::output::{Progress, Screen};
use bobak::backup::{BackupOptions, BackupPhase, BackupReport, BackupStep, Compression};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// Back a database up to a file, while others read and write it.
///
/// The backup is of one moment. It is written beside its place, read again and checked, and then put there whole. A plain
/// one is a database itself; a compressed one is an ordinary .zst or .gz file.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Backup {
    /// The database, a URL or an SQLite file, such as app.db
    #[arg(value_name = "DATABASE", value_parser = database_url)]
    database: String,

    /// The file to make; - is standard output
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// How to compress it [default: by the end of the file's name, .zst or .gz; else none]
    #[arg(long, value_name = "HOW")]
    compress: Option<Compress>,

    /// Replace a file that is there
    #[arg(long)]
    overwrite: bool,

    /// Make no pauses: quicker, and others get on less
    #[arg(long)]
    no_pauses: bool,
}

/// How a backup is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compress {
    /// Not
    None,
    /// By Zstandard
    Zstd,
    /// By gzip
    Gzip,
}

const EXAMPLES: &str = "\
Examples:
  bobak backup sqlite:app.db backup.db
  bobak backup sqlite:app.db /mnt/backups/app.db.zst --overwrite
  bobak backup sqlite:app.db - --compress gzip | ssh elsewhere 'cat > app.db.gz'
  bobak backup memory:store.bobak store-backup.bobak

`bobak restore` puts it back; `bobak serve --backup FOLDER --every 1h --keep 24` takes backups by itself.";

impl Backup {
    /// Runs the command.
    ///
    /// # Errors
    /// A database that is not there, is damaged, or is on a server; a file that is there; a full disk.
    pub fn run(&self, screen: &Screen) -> Result<()> {
        let db = database::open_to_read(&self.database)?;
        let compression = self.compress.map_or_else(|| by_name(&self.file), Compression::from);
        let options = BackupOptions::new()
            .compression(compression)
            .overwrite(self.overwrite)
            .pauses(!self.no_pauses);
        let mut bar = Bar::new(*screen);
        let step = |step| {
            bar.show(step);
            Ok(())
        };
        let report = if self.file == Path::new("-") {
            db.backup_to(std::io::stdout().lock(), &options, step)
        } else {
            db.backup(&self.file, &options, step)
        };
        drop(bar);
        let report = report.map_err(explain)?;
        screen.note(format_args!("backed up {}{}", sentence(&report), left_open(&report)));
        Ok(())
    }
}

impl From<Compress> for Compression {
    fn from(compress: Compress) -> Self {
        match compress {
            Compress::None => Self::None,
            Compress::Zstd => Self::Zstd,
            Compress::Gzip => Self::Gzip,
        }
    }
}

/// What a backup holds, in words. What Bobak itself keeps beside the tables is left out.
pub fn sentence(report: &BackupReport) -> String {
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

/// What could not be verified, in words that go on after others; nothing where all was.
pub fn left_open(report: &BackupReport) -> String {
    report.unverified.iter().map(|table| format!("; not verified: {table}")).collect()
}

/// The library's error, with the flag that helps.
pub fn explain(error: bobak::Error) -> Error {
    match error.kind() {
        bobak::ErrorKind::Conflict => Error::failed(format!("{error}; --overwrite replaces it")),
        _ => error.into(),
    }
}

fn by_name(file: &Path) -> Compression {
    let ending = file.extension().unwrap_or_default();
    if ending.eq_ignore_ascii_case("zst") {
        Compression::Zstd
    } else if ending.eq_ignore_ascii_case("gz") {
        Compression::Gzip
    } else {
        Compression::None
    }
}

/// The progress of a backup: a bar for each phase.
struct Bar {
    screen: Screen,
    shown: Option<(BackupPhase, Progress)>,
}

impl Bar {
    const fn new(screen: Screen) -> Self {
        Self { screen, shown: None }
    }

    fn show(&mut self, step: BackupStep) {
        if self.shown.as_ref().is_none_or(|(phase, _)| *phase != step.phase) {
            // The old one goes first: it would leave its line behind.
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

    #[test]
    fn the_name_says_how_it_is_compressed() {
        for (name, compression) in [
            ("a.db.zst", Compression::Zstd),
            ("a.gz", Compression::Gzip),
            ("A.DB.ZST", Compression::Zstd),
            ("a.Gz", Compression::Gzip),
            ("a.db", Compression::None),
            ("-", Compression::None),
        ] {
            assert_eq!(by_name(Path::new(name)), compression, "{name}");
        }
    }
}
