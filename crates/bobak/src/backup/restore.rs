//! Putting a backup back.

use super::kind::Kind;
use super::laid::Laid;
use super::plain;
use super::{BackupReport, Checksum, Compression, can_be_built, refuse_existing};
use crate::archive::{Folder, replay};
use crate::{Db, ReplayOptions, url};
use bobak_core::{AtomicFile, BackupContent, Error, ErrorKind, Result};
use bobak_memory::Memory;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// How a backup is restored.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RestoreOptions {
    overwrite: bool,
    changes: Option<(PathBuf, ReplayOptions)>,
}

impl RestoreOptions {
    /// To where nothing is yet, as it was at the moment of the backup.
    #[must_use]
    pub const fn new() -> Self {
        Self { overwrite: false, changes: None }
    }

    /// Whether a database that is there is replaced, when the new one is found to be whole. Default: it is refused.
    #[must_use]
    pub const fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Makes the changes of an [`Archive`](crate::Archive)'s folder again, before the database is put in its place: see
    /// [`Db::replay`].
    #[must_use]
    pub fn changes(
        mut self,
        folder: impl Into<PathBuf>,
        options: impl Into<ReplayOptions>,
    ) -> Self {
        self.changes = Some((folder.into(), options.into()));
        self
    }
}

impl Db {
    /// Puts a backup in the place that a URL names, `sqlite:FILE` or `memory:FILE`, and says what is in it.
    ///
    /// The backup is copied beside its place and read there: its checksum, its pages and indexes, the numbers of its
    /// rows. Whether it had a [`Checksum`](crate::Checksum) is in the report. Only then it is put in place, at once; what fails leaves everything as it was. Nobody may have the database
    /// open: for SQLite that is looked at.
    ///
    /// # Errors
    /// `Corrupt` for a backup that was cut off, is damaged, or is none; `Conflict` where a database is there;
    /// `Busy` where somebody has it open, and where somebody writes to the backup; `Unsupported` for another engine's backup and for engines without files;
    /// `Full`, `ReadOnly`, `Io`, `Config`; those of [`replay`](Db::replay).
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
        let changes =
            options.changes.as_ref().map(|(folder, replay)| (Folder::to_read(folder), *replay));
        if let Some((folder, _)) = &changes {
            folder.must_have_some()?;
        }
        let aside = AtomicFile::private(place)?;
        let laid = Laid { backup, path: aside.path(), place: Some(aside.place()) };
        let mut report = unpack(laid, Some(&target))?;
        fits(backup, Kind::of(aside.path()).map_err(|error| laid.wrong(error))?, &target)?;
        if let Some((folder, options)) = &changes {
            let replayed = target.open_aside(aside.path()).and_then(|engine| {
                let replayed = replay(&*engine, folder, *options)?;
                engine.flush().map(|()| replayed)
            });
            report.replayed = Some(replayed.map_err(|error| laid.naming(error))?);
        }
        match target {
            url::Target::Memory { .. } => put(aside)?,
            #[cfg(feature = "sqlite")]
            url::Target::Sqlite { builder, .. } => builder.replace(aside, options.overwrite)?,
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
        check_only(backup.as_ref(), None)
    }

    /// As [`check_backup`](Db::check_backup), with the key of the database at this URL, which need not be there.
    ///
    /// # Errors
    /// As [`check_backup`](Db::check_backup); `Denied` for a wrong key; `Config` for a malformed URL.
    pub fn check_backup_for(backup: impl AsRef<Path>, url: &str) -> Result<BackupReport> {
        check_only(backup.as_ref(), Some(&url::Target::of(url)?))
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

/// Refuses a backup that is not of the engine that is to have it.
fn fits(backup: &Path, kind: Kind, target: &url::Target) -> Result<()> {
    match (target, kind) {
        (url::Target::Memory { .. }, Kind::Snapshot | Kind::Json) => Ok(()),
        #[cfg(feature = "sqlite")]
        (url::Target::Sqlite { builder, .. }, Kind::Sqlite) if builder.has_key() => {
            let message = "the backup is not encrypted, and the database is to be: restore it \
                           without a key, and encrypt it then";
            Err(Error::new(ErrorKind::Unsupported, message))
        }
        #[cfg(feature = "sqlite")]
        (url::Target::Sqlite { .. }, Kind::Sqlite | Kind::Unknown) => Ok(()),
        _ => {
            let message = format!(
                "the backup {} is another engine's: restore it to a file of that, and copy its \
                 tables",
                backup.display()
            );
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    }
}

/// Lays a backup out among the system's temporary files, and checks it there.
fn check_only(backup: &Path, target: Option<&url::Target>) -> Result<BackupReport> {
    let scratch = super::Scratch::new()?;
    unpack(Laid { backup, path: &scratch.file("backup"), place: None }, target)
}

/// Copies a backup to a new file, decompressed, and checks it there.
fn unpack(laid: Laid<'_>, target: Option<&url::Target>) -> Result<BackupReport> {
    let backup = laid.backup;
    let kind = Kind::of(backup)?;
    let writing = |error| laid.failed(error);
    let read = |error| Error::io(&format!("read {}", backup.display()), error);
    let rights = fs::metadata(backup).map_err(read)?;
    let mut file = File::create(laid.path).map_err(writing)?;
    restrict(&file, &rights).map_err(writing)?;
    let compression = match kind {
        Kind::Zstd => Compression::Zstd,
        Kind::Gzip => Compression::Gzip,
        _ => Compression::None,
    };
    can_be_built(compression)?;
    let found = match compression {
        #[cfg(feature = "compress")]
        Compression::Zstd | Compression::Gzip => {
            let rests = super::sum::Rests::new(false, 0);
            let noted = super::packed::read(backup, &mut file, writing, rests)?;
            plain::Found { checksum: Checksum::Same, bytes: noted.bytes, noted: Some(noted) }
        }
        _ => plain::read(laid, &mut file)?,
    };
    drop(file);
    let checked = check(laid.path, target).map_err(|error| match error.kind() {
        // A wrong key gives pages that can't be read, as wrong bytes do.
        ErrorKind::Denied if found.checksum == Checksum::Outdated => {
            let message = "its first page is damaged, or was written with another key";
            laid.wrong(Error::new(ErrorKind::Corrupt, message).with_source(error))
        }
        _ => laid.wrong(error),
    })?;
    let wrong = |what: &str| {
        let message = format!("the backup {} {what}", backup.display());
        Error::new(ErrorKind::Corrupt, message)
    };
    if found.bytes != checked.bytes {
        return Err(wrong(
            "is not as long as its pages: it was cut off, or something was added to it",
        ));
    }
    let compared = found.noted.is_some();
    if found.noted.is_some_and(|noted| noted.tables != checked.tables) {
        return Err(wrong("has other rows than are noted in it"));
    }
    let content = BackupContent { compared, ..checked };
    let report = BackupReport::new(content, rights.len(), compression);
    Ok(BackupReport { checksum: found.checksum, ..report })
}

/// Reads a plain backup.
fn check(file: &Path, target: Option<&url::Target>) -> Result<BackupContent> {
    match Kind::of(file)? {
        Kind::Snapshot | Kind::Json => Memory::check_file(file),
        #[cfg(feature = "sqlite")]
        Kind::Unknown if target.is_some_and(url::Target::has_key) => match target {
            Some(url::Target::Sqlite { builder, .. }) => check_database(builder.clone(), file),
            _ => Err(foreign()),
        },
        #[cfg(feature = "sqlite")]
        Kind::Sqlite => check_database(bobak_sqlite::Sqlite::builder(), file),
        _ => {
            let _ = target;
            Err(foreign())
        }
    }
}

#[cfg(feature = "sqlite")]
fn check_database(builder: bobak_sqlite::SqliteBuilder, file: &Path) -> Result<BackupContent> {
    let checked = builder.check_file(file);
    for ending in ["-wal", "-shm"] {
        // Where somebody made it a database with a log, an empty one was made to read it.
        let mut log = file.as_os_str().to_owned();
        log.push(ending);
        let _ = fs::remove_file(log);
    }
    checked
}

fn foreign() -> Error {
    let message = "it is no backup that Bobak knows, or an encrypted one without its key";
    Error::new(ErrorKind::Corrupt, message)
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

fn put(aside: AtomicFile) -> Result<()> {
    let doing = format!("write {}", aside.place().display());
    aside.put().map_err(|error| Error::io(&doing, error))
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}
