//! Putting a backup back.

use super::kind::Kind;
use super::{BackupReport, Compression, can_be_built, refuse_existing};
use crate::{Db, url};
use bobak_core::memory::Memory;
use bobak_core::{Aside, BackupContent, Error, ErrorKind, Result};
use std::fs::{self, File};
use std::path::Path;

/// How a backup is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RestoreOptions {
    overwrite: bool,
}

impl RestoreOptions {
    /// To where nothing is yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { overwrite: false }
    }

    /// Whether a database that is there is replaced, when the backup is found to be whole. Default: it is refused.
    #[must_use]
    pub const fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }
}

impl Db {
    /// Puts a backup in the place that a URL names, `sqlite:FILE` or `memory:FILE`, and says what is in it.
    ///
    /// The backup is copied beside its place and read there: its checksum, its pages and indexes, the numbers of its
    /// rows. Only then it is put in place, at once; what fails leaves everything as it was. Nobody may have the database
    /// open: for SQLite that is looked at.
    ///
    /// # Errors
    /// `Corrupt` for a backup that was cut off, is damaged, or is none; `Conflict` where a database is there;
    /// `Busy` where somebody has it open; `Unsupported` for another engine's backup and for engines without files;
    /// `Full`, `ReadOnly`, `Io`, `Config`.
    pub fn restore(
        backup: impl AsRef<Path>,
        url: &str,
        options: &RestoreOptions,
    ) -> Result<BackupReport> {
        let backup = backup.as_ref();
        let target = url::Target::of(url)?;
        let place = target.file();
        if same_file(backup, place) {
            let message = format!("{} is the backup itself", place.display());
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        refuse_existing(place, options.overwrite)?;
        let aside = Aside::one_of_many(place)?;
        let report = unpack(backup, aside.path(), Some(&target))?;
        let checked = Kind::of(aside.path())?;
        match (&target, checked) {
            (url::Target::Memory { .. }, Kind::Snapshot) => put(aside)?,
            #[cfg(feature = "sqlite")]
            (url::Target::Sqlite { builder, .. }, Kind::Sqlite) if builder.has_key() => {
                let message = "the backup is not encrypted, and the database is to be: restore it \
                               without a key, and encrypt it then";
                let _ = (aside, builder);
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            #[cfg(feature = "sqlite")]
            (url::Target::Sqlite { builder, .. }, Kind::Sqlite | Kind::Unknown) => {
                builder.clone().replace(aside, options.overwrite)?;
            }
            _ => {
                let message = format!(
                    "the backup {} is another engine's: restore it to a file of that, and copy \
                     its tables",
                    backup.display()
                );
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        }
        Ok(report)
    }

    /// Reads a backup wholly, and says what is in it; a plain one as well as a compressed one.
    ///
    /// # Errors
    /// `Corrupt` for a backup that was cut off, is damaged, or is none; `Unsupported` for one of a newer version, and
    /// for a compression that this program was built without; `Io`; `Full` where a compressed one can't be laid out
    /// among the system's temporary files.
    pub fn check_backup(backup: impl AsRef<Path>) -> Result<BackupReport> {
        let scratch = super::Scratch::new()?;
        unpack(backup.as_ref(), &scratch.file("backup"), None)
    }

    /// As [`check_backup`](Db::check_backup), with the key of the database at this URL, which need not be there.
    ///
    /// # Errors
    /// As [`check_backup`](Db::check_backup); `Denied` for a wrong key; `Config` for a malformed URL.
    pub fn check_backup_for(backup: impl AsRef<Path>, url: &str) -> Result<BackupReport> {
        let target = url::Target::of(url)?;
        let scratch = super::Scratch::new()?;
        unpack(backup.as_ref(), &scratch.file("backup"), Some(&target))
    }

    /// Gives an SQLite file that nobody has open another key: encrypts a plain one, and makes one plain where `new` is
    /// `None`. The URL says where the file is, and where its key. At every moment it opens with the old key or with the
    /// new one: see [`change_key`](bobak_sqlite::SqliteBuilder::change_key).
    ///
    /// # Errors
    /// `Denied` for a wrong key; `Busy` where somebody has it open; `Unsupported` for another engine; `Config`, `Full`,
    /// `Io`.
    #[cfg(feature = "encryption")]
    pub fn change_key(url: &str, new: Option<&bobak_sqlite::Key>) -> Result<()> {
        match url::Target::of(url)? {
            url::Target::Sqlite { path, builder } => builder.change_key(path, new),
            url::Target::Memory { .. } => {
                let message = "only SQLite files are encrypted";
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    }
}

/// Copies a backup to a new file, decompressed, and checks it there.
fn unpack(backup: &Path, to: &Path, target: Option<&url::Target>) -> Result<BackupReport> {
    let kind = Kind::of(backup)?;
    let doing = |error| Error::io(&format!("write {}", to.display()), error);
    let read = |error| Error::io(&format!("read {}", backup.display()), error);
    let stored = fs::metadata(backup).map_err(read)?.len();
    let mut file = File::create(to).map_err(doing)?;
    if let Ok(rights) = fs::metadata(backup) {
        restrict(&file, &rights).map_err(doing)?;
    }
    let compression = match kind {
        Kind::Zstd => Compression::Zstd,
        Kind::Gzip => Compression::Gzip,
        _ => Compression::None,
    };
    can_be_built(compression)?;
    let noted = match compression {
        #[cfg(feature = "compress")]
        Compression::Zstd | Compression::Gzip => Some(super::packed::read(backup, &mut file)?),
        _ => {
            std::io::copy(&mut File::open(backup).map_err(read)?, &mut file).map_err(doing)?;
            None
        }
    };
    drop(file);
    let checked = check(to, target).map_err(|error| in_backup(error, backup, to))?;
    let compared =
        noted.as_ref().is_some_and(|noted: &BackupContent| noted.tables == checked.tables);
    if noted.is_some() && !compared {
        let message =
            format!("the backup {} has other rows than are noted in it", backup.display());
        return Err(Error::new(ErrorKind::Corrupt, message));
    }
    Ok(BackupReport::new(BackupContent { compared, ..checked }, stored, compression))
}

/// Reads a plain backup.
fn check(file: &Path, target: Option<&url::Target>) -> Result<BackupContent> {
    match Kind::of(file)? {
        Kind::Snapshot => Memory::check_file(file),
        #[cfg(feature = "sqlite")]
        Kind::Unknown if target.is_some_and(url::Target::has_key) => match target {
            Some(url::Target::Sqlite { builder, .. }) => builder.clone().check_file(file),
            _ => Err(foreign()),
        },
        #[cfg(feature = "sqlite")]
        Kind::Sqlite => bobak_sqlite::Sqlite::builder().check_file(file),
        _ => {
            let _ = target;
            Err(foreign())
        }
    }
}

fn foreign() -> Error {
    let message = "it is no backup that Bobak knows, or an encrypted one without its key";
    Error::new(ErrorKind::Corrupt, message)
}

/// The copy has a name that nobody knows: the error names the backup.
fn in_backup(error: Error, backup: &Path, copy: &Path) -> Error {
    let copy = copy.display().to_string();
    let said = error.message().strip_prefix(&copy).and_then(|said| said.strip_prefix(": "));
    let said = said.unwrap_or(error.message()).replace(&copy, &backup.display().to_string());
    let message = format!("the backup {} can't be used: {said}", backup.display());
    Error::new(error.kind(), message).with_source(error)
}

#[cfg(unix)]
fn restrict(file: &File, backup: &fs::Metadata) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    // To be read by nobody who could not read the backup.
    let mode = backup.permissions().mode() & 0o777 | 0o600;
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn restrict(_: &File, _: &fs::Metadata) -> std::io::Result<()> {
    Ok(())
}

fn put(aside: Aside) -> Result<()> {
    let doing = format!("write {}", aside.place().display());
    aside.put().map_err(|error| Error::io(&doing, error))
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}
