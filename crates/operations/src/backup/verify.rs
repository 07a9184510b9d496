//! Checking a backup: unpacking it to a new file, and verifying that file.

use super::file_type::FileType;
use super::plain;
use super::staged::StagedCopy;
use super::{BackupReport, Checksum, Compression};
use crate::DatabaseFile;
use crate::backup_key::{BackupKey, DecryptedBackup};
use crate::temp_dir::TempDir;
use bobak_core::{BackupContent, Error, ErrorKind, Result};
use bobak_memory::Memory;
use std::fs::{self, File};
use std::io::Read;
#[cfg(feature = "compress")]
use std::io::Write;
use std::path::Path;

/// Reads a whole backup, plain or compressed, and reports what it contains.
///
/// # Errors
/// `Corrupt` if the file is truncated, damaged, or not a backup; `Unsupported` for a backup of a newer version, and for
/// a compression that this program was built without; `Io`; `Full` if there is no room for the uncompressed copy among
/// the system's temporary files.
pub fn check(backup: &Path) -> Result<BackupReport> {
    check_with(backup, &BackupKey::default(), None)
}

/// As [`check`], with the key of this database, which need not exist.
///
/// # Errors
/// As [`check`]; `Denied` for a wrong key.
pub fn check_for(backup: &Path, database: &DatabaseFile) -> Result<BackupReport> {
    check_with(backup, &BackupKey::default(), Some(database))
}

/// As [`check`], with the key of the backup, and with that of a database.
pub(crate) fn check_with(
    backup: &Path,
    key: &BackupKey,
    database: Option<&DatabaseFile>,
) -> Result<BackupReport> {
    let temp_dir = TempDir::new()?;
    unpack(StagedCopy { backup, path: &temp_dir.file("backup"), target: None }, key, database)
}

/// Copies a backup to a new file, decrypted and decompressed, and checks it there. The snapshot of a database with a key
/// stays encrypted.
pub(crate) fn unpack(
    staged: StagedCopy<'_>,
    key: &BackupKey,
    database: Option<&DatabaseFile>,
) -> Result<BackupReport> {
    let is_encrypted = FileType::of(staged.backup)? == FileType::Encrypted;
    let has_own_key = database.is_some_and(DatabaseFile::is_encrypted_snapshot);
    if !key.is_some() && (!is_encrypted || has_own_key) {
        return unpack_decrypted(staged, database);
    }
    let own = match database {
        Some(database) if !key.is_some() => Some(database.read_key()?),
        _ => None,
    };
    let key = own.as_ref().unwrap_or(key);
    let decrypted = match key.decrypt(staged.backup)? {
        DecryptedBackup::Stored(folder) => folder,
        DecryptedBackup::Pages(pages) => return unpack_pages(staged, pages, key, database),
    };
    let file = decrypted.file("backup");
    let (inner, outer) = (file.display().to_string(), staged.backup.display().to_string());
    let report = unpack_decrypted(StagedCopy { backup: &file, ..staged }, database)
        .map_err(|error| error.renaming(&inner, &outer))?;
    let read = |error| Error::io(&format!("read {outer}"), error);
    Ok(BackupReport { stored: fs::metadata(staged.backup).map_err(read)?.len(), ..report })
}

/// Copies a backup to a new file, decompressed, and checks it there.
fn unpack_decrypted(
    staged: StagedCopy<'_>,
    database: Option<&DatabaseFile>,
) -> Result<BackupReport> {
    let backup = staged.backup;
    let file_type = FileType::of(backup)?;
    let writing = |error| staged.failed(error);
    let read = |error| Error::io(&format!("read {}", backup.display()), error);
    let metadata = fs::metadata(backup).map_err(read)?;
    let mut file = File::create(staged.path).map_err(writing)?;
    restrict(&file, &metadata).map_err(writing)?;
    let compression = match file_type {
        FileType::Zstd => Compression::Zstd,
        FileType::Gzip => Compression::Gzip,
        _ => Compression::None,
    };
    compression.must_be_available()?;
    let copied = match compression {
        #[cfg(feature = "compress")]
        Compression::Zstd | Compression::Gzip => {
            let packed = super::source_file::SourceFile::open(backup).map_err(read)?;
            decompress(staged, packed, &mut file)?.0
        }
        _ => plain::read(staged, &mut file)?,
    };
    drop(file);
    let checked = verify_plain(staged.path, database).map_err(|error| match error.kind() {
        // A wrong key yields unreadable pages, as wrong bytes do.
        ErrorKind::Denied if copied.checksum == Checksum::Outdated => {
            let message = "its first page is damaged, or was written with another key";
            staged.unusable(Error::new(ErrorKind::Corrupt, message).with_source(error))
        }
        _ => staged.unusable(error),
    })?;
    report(backup, copied, checked, compression)
}

/// Reports what a copied backup contains, if that is what it should contain.
fn report(
    backup: &Path,
    copied: plain::CopiedDatabase,
    checked: BackupContent,
    compression: Compression,
) -> Result<BackupReport> {
    let wrong = |what: &str| {
        let message = format!("the backup {} {what}", backup.display());
        Error::new(ErrorKind::Corrupt, message)
    };
    if copied.bytes != checked.bytes {
        return Err(wrong("is not as long as its pages: it was truncated or extended"));
    }
    let compared = copied.noted.is_some();
    if copied.noted.is_some_and(|noted| noted.tables != checked.tables) {
        return Err(wrong("has other rows than it records"));
    }
    let read = |error| Error::io(&format!("read {}", backup.display()), error);
    let stored = fs::metadata(backup).map_err(read)?.len();
    let report = BackupReport::new(BackupContent { compared, ..checked }, stored, compression);
    Ok(BackupReport { checksum: copied.checksum, ..report })
}

/// Decompresses a backup to a writer.
#[cfg(feature = "compress")]
fn decompress(
    staged: StagedCopy<'_>,
    packed: impl Read,
    target: impl Write,
) -> Result<(plain::CopiedDatabase, Compression)> {
    let pacer = super::checksum::Pacer::new(false, 0);
    let writing = |error| staged.failed(error);
    let (noted, compression) =
        super::compressed::read(packed, staged.backup, target, writing, pacer)?;
    let (checksum, bytes) = (Checksum::Same, noted.bytes);
    Ok((plain::CopiedDatabase { checksum, bytes, noted: Some(noted) }, compression))
}

/// Copies the pages of an encrypted database to a new file, encrypted with the key of `database`; with the backup's, if
/// they are only checked and it has none.
#[cfg(all(feature = "compress", feature = "encryption"))]
fn unpack_pages(
    staged: StagedCopy<'_>,
    pages: Box<dyn Read>,
    key: &BackupKey,
    database: Option<&DatabaseFile>,
) -> Result<BackupReport> {
    let builder = match database {
        Some(DatabaseFile::Sqlite { builder, .. }) if builder.has_key() => (**builder).clone(),
        None | Some(DatabaseFile::Sqlite { .. }) if staged.target.is_none() => key.builder(),
        Some(DatabaseFile::Memory { .. }) => return Err(other_engine(staged.backup)),
        _ => {
            let message = "the database was encrypted: give the key of the restored one too, by \
                           --key-file or --password-file";
            return Err(staged.unusable(Error::new(ErrorKind::Denied, message)));
        }
    };
    let writing = |error| staged.failed(error);
    let read = |error| Error::io(&format!("read {}", staged.backup.display()), error);
    let file = File::create(staged.path).map_err(writing)?;
    restrict(&file, &fs::metadata(staged.backup).map_err(read)?).map_err(writing)?;
    let target = builder.clone().encrypted_pages(file).map_err(|error| staged.unusable(error))?;
    let (copied, compression) = decompress(staged, pages, target)?;
    let checked = verify_sqlite(builder, staged.path).map_err(|error| staged.unusable(error))?;
    report(staged.backup, copied, checked, compression)
}

#[cfg(not(all(feature = "compress", feature = "encryption")))]
fn unpack_pages(
    _: StagedCopy<'_>,
    _: Box<dyn Read>,
    _: &BackupKey,
    _: Option<&DatabaseFile>,
) -> Result<BackupReport> {
    Compression::Zstd.must_be_available().and(Err(unknown_file()))
}

/// The error for a backup of another engine than the database's.
pub(crate) fn other_engine(backup: &Path) -> Error {
    let message = format!(
        "the backup {} belongs to another engine: restore it to a file of that engine, and copy its \
         tables",
        backup.display()
    );
    Error::new(ErrorKind::Unsupported, message)
}

/// Verifies an uncompressed backup.
fn verify_plain(file: &Path, database: Option<&DatabaseFile>) -> Result<BackupContent> {
    match FileType::of(file)? {
        FileType::Snapshot | FileType::Json => Memory::check_file(file),
        FileType::Encrypted => match database {
            Some(DatabaseFile::Memory { builder, .. }) => builder.check_file(file),
            _ => Err(unknown_file()),
        },
        #[cfg(feature = "sqlite")]
        FileType::Unknown if database.is_some_and(DatabaseFile::has_key) => match database {
            Some(DatabaseFile::Sqlite { builder, .. }) => verify_sqlite((**builder).clone(), file),
            _ => Err(unknown_file()),
        },
        #[cfg(feature = "sqlite")]
        FileType::Sqlite => verify_sqlite(bobak_sqlite::Sqlite::builder(), file),
        _ => {
            let _ = database;
            Err(unknown_file())
        }
    }
}

#[cfg(feature = "sqlite")]
fn verify_sqlite(builder: bobak_sqlite::SqliteBuilder, file: &Path) -> Result<BackupContent> {
    let checked = builder.check_file(file);
    for ending in ["-wal", "-shm"] {
        // If the backup was switched to WAL mode, reading it created an empty log.
        let mut log = file.as_os_str().to_owned();
        log.push(ending);
        let _ = fs::remove_file(log);
    }
    checked
}

fn unknown_file() -> Error {
    let message =
        "it is not a backup in a format of Bobak, or it is encrypted and the key is missing";
    Error::new(ErrorKind::Corrupt, message)
}

#[cfg(unix)]
fn restrict(file: &File, backup: &fs::Metadata) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    // Users who could not read the backup must not be able to read its copy.
    let mode = backup.permissions().mode() & 0o777 | 0o600;
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn restrict(_: &File, _: &fs::Metadata) -> std::io::Result<()> {
    Ok(())
}
