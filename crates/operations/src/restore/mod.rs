//! Restoring a backup, and replaying an archive's changes on top of it.
//!
//! `plan` finds where a replay ends, `replay` applies the changes, `creation` creates the tables that the backup does not
//! have, and `reserve_keys` reserves the generated keys that the changes had.

mod creation;
mod options;
mod plan;
mod replay;
mod reserve_keys;

pub use options::{RecoveryTarget, ReplayOptions, RestoreOptions};
pub use replay::{ReplayReport, replay};

use crate::DatabaseFile;
use crate::archive::ArchiveFolder;
use crate::backup::{
    BackupReport, FileType, StagedCopy, check_with, other_engine, reject_existing, unpack,
};
use bobak_core::{AtomicFile, Error, ErrorKind, Result};
use std::fs;
use std::ops::Deref;
use std::path::Path;

/// What was restored. Dereferences to the report about the backup.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestoreReport {
    /// What the backup contains.
    pub backup: BackupReport,
    /// The changes that were replayed on top of it; `None` if the options request no replay.
    pub replayed: Option<ReplayReport>,
}

impl Deref for RestoreReport {
    type Target = BackupReport;

    fn deref(&self) -> &BackupReport {
        &self.backup
    }
}

/// Restores a backup to a database file, and reports what it contains.
///
/// The backup is copied to a temporary file next to the database and verified there: its checksum, its pages and
/// indexes, its row counts. Only then is it renamed into place; a failure leaves everything as it was. No process may
/// have the database open; for SQLite this is checked.
///
/// # Errors
/// `Corrupt` if the backup is truncated, damaged, or not a backup; `Conflict` if the database exists and
/// [`overwrite`](RestoreOptions::overwrite) is off; `Busy` if the database is open, or the backup is being written to;
/// `Unsupported` for another engine's backup; `Full`, `ReadOnly`, `Io`, `Config`; those of [`replay`].
pub fn restore(
    backup: &Path,
    database: &DatabaseFile,
    options: &RestoreOptions,
) -> Result<RestoreReport> {
    let position = database.path();
    if is_same_file(backup, position) {
        let message = format!("{} is the backup itself", position.display());
        return Err(Error::new(ErrorKind::Misuse, message));
    }
    reject_existing(position, options.overwrite)?;
    let changes = options.changes.as_ref();
    let changes = changes.map(|(folder, replay)| (ArchiveFolder::to_read(folder), *replay));
    if let Some((folder, _)) = &changes {
        folder.must_have_files()?;
    }
    let key = options.read_key()?;
    let file = AtomicFile::create_private(position)?;
    let staged = StagedCopy { backup, path: file.path(), target: Some(file.target()) };
    let report = unpack(staged, &key, Some(database))?;
    let file_type = FileType::of(file.path()).map_err(|error| staged.unusable(error))?;
    must_suit(backup, file_type, database)?;
    let mut replayed = None;
    if let Some((folder, options)) = &changes {
        let report = database.open_copy(file.path()).and_then(|engine| {
            let report = replay::replay_folder(&*engine, folder, *options)?;
            engine.flush().map(|()| report)
        });
        replayed = Some(report.map_err(|error| staged.naming(error))?);
    }
    match database {
        DatabaseFile::Memory { .. } => put(file)?,
        #[cfg(feature = "sqlite")]
        DatabaseFile::Sqlite { builder, .. } => builder.clone().replace(file, options.overwrite)?,
    }
    Ok(RestoreReport { backup: report, replayed })
}

/// Reads a whole backup as a [`restore`] with these options would, and reports what it contains. The database need not
/// exist; its key is that of the backup, unless the options have one.
///
/// # Errors
/// As [`backup::check_for`](crate::backup::check_for); `Denied` for a wrong key, and for the key of a backup that is not
/// encrypted.
pub fn check(
    backup: &Path,
    database: Option<&DatabaseFile>,
    options: &RestoreOptions,
) -> Result<BackupReport> {
    check_with(backup, &options.read_key()?, database)
}

/// Rejects a backup of another engine than the database's.
fn must_suit(backup: &Path, file_type: FileType, database: &DatabaseFile) -> Result<()> {
    match (database, file_type) {
        (_, FileType::Snapshot | FileType::Json | FileType::Sqlite) if database.has_key() => {
            let message = "the backup is not encrypted, but the database must be: restore it \
                           without a key, and encrypt it then";
            Err(Error::new(ErrorKind::Unsupported, message))
        }
        (
            DatabaseFile::Memory { .. },
            FileType::Snapshot | FileType::Json | FileType::Encrypted,
        ) => Ok(()),
        #[cfg(feature = "sqlite")]
        (DatabaseFile::Sqlite { .. }, FileType::Sqlite | FileType::Unknown) => Ok(()),
        _ => Err(other_engine(backup)),
    }
}

fn put(file: AtomicFile) -> Result<()> {
    let doing = format!("write {}", file.target().display());
    file.commit().map_err(|error| Error::io(&doing, error))
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}
