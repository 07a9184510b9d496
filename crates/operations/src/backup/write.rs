//! Writing a backup.

use super::plain;
use super::{BackupOptions, BackupReport, Compression};
#[cfg(feature = "compress")]
use super::{checksum::Pacer, compressed};
use crate::backup_key::BackupKey;
use crate::temp_dir::TempDir;
use bobak_core::{
    AtomicFile, BackupContent, BackupJob, BackupPhase, BackupProgress, Engine, Error, ErrorKind,
    Result,
};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

/// Backs an engine up to a file.
///
/// The backup is written to a temporary file next to `file`, verified, synced, and renamed into place: there is never
/// a partial backup under the final name. A compressed backup also needs room for the uncompressed database while it
/// is written. `progress` is called after each step; its error ends the backup. The engine name in `options` is
/// ignored.
///
/// # Errors
/// `Conflict` if the file exists and [`overwrite`](BackupOptions::overwrite) is off; `Unsupported` for an engine
/// without files, for the key of a backup whose database has its own, and for a compression that this program was built without; `Misuse` if the file is the database
/// itself; `Full`, `ReadOnly`, `Io`; `Corrupt` if the database is damaged; `Busy`; the error of `progress`.
pub fn backup(
    engine: &dyn Engine,
    file: &Path,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupProgress) -> Result<()>,
) -> Result<BackupReport> {
    let compression = options.compression_of(Some(file));
    compression.must_be_available()?;
    let options = &options.clone().compression(compression);
    reject_existing(file, options.overwrite)?;
    let key = options.read_key(engine)?;
    if key.is_some() {
        return write_encrypted(engine, file, &key, options, progress);
    }
    let plain = AtomicFile::create_private(file)?.restrict_permissions();
    let content = write_plain(engine, plain.path(), plain.target(), options, progress)
        .map_err(|error| plain.name_target(error))?;
    if compression != Compression::None {
        return compress(plain, file, content, options, progress);
    }
    let doing = format!("write the backup {}", file.display());
    let stored = fs::metadata(plain.path()).map_err(|error| Error::io(&doing, error))?.len();
    reject_existing(file, options.overwrite)?;
    match engine.name() {
        // An older backup may have a write-ahead log, which must not be applied to the new one.
        #[cfg(feature = "sqlite")]
        "sqlite" => bobak_sqlite::Sqlite::builder().replace_backup(plain, options.overwrite)?,
        _ => put(plain, options.overwrite)?,
    }
    Ok(BackupReport::new(content, stored, compression))
}

/// Backs an engine up to a writer. The database is first copied to a temporary file that only this user can read.
///
/// The bytes given to the writer are not read again: check them with [`check`](super::check).
///
/// # Errors
/// As [`backup`], and those of the writer.
pub fn backup_to(
    engine: &dyn Engine,
    writer: impl Write,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupProgress) -> Result<()>,
) -> Result<BackupReport> {
    let compression = options.compression_of(None);
    compression.must_be_available()?;
    let options = &options.clone().compression(compression);
    let key = options.read_key(engine)?;
    let temp_dir = TempDir::new()?;
    let file = temp_dir.file("backup");
    let content = write_plain(engine, &file, &file, options, progress)
        .map_err(|error| temp_dir.naming(error, "backup"))?;
    let doing = "write the backup";
    let source = key.read_database(&file)?;
    let stored = key
        .write(writer, doing, |writer| {
            write_out(source, writer, doing, &content, options, progress)
        })
        .map_err(|error| temp_dir.naming(error, "backup"))?;
    Ok(BackupReport::new(content, stored, compression))
}

/// Removes temporary files that killed processes left of backups in a folder, for the final names that `is_wanted`
/// accepts, and returns their number. Files that are being written stay. [`backup`] does this for its own file.
pub fn clear_abandoned(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> usize {
    AtomicFile::remove_abandoned(folder, is_wanted)
}

/// Writes an encrypted backup. What the engine wrote, which is encrypted only if the database is, is among the system's
/// temporary files, and not next to the backup, where others may read it.
fn write_encrypted(
    engine: &dyn Engine,
    file: &Path,
    key: &BackupKey,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupProgress) -> Result<()>,
) -> Result<BackupReport> {
    let doing = format!("write the backup {}", file.display());
    let writing = |error| Error::io(&doing, error);
    let encrypted = AtomicFile::create_private(file)?.restrict_permissions();
    let temp_dir = TempDir::new()?;
    let plain = temp_dir.file("backup");
    let content = write_plain(engine, &plain, encrypted.target(), options, progress)
        .map_err(|error| temp_dir.naming(error, "backup"))?;
    let out = File::create(encrypted.path()).map_err(writing)?;
    let permissions = fs::metadata(&plain).map_err(writing)?.permissions();
    out.set_permissions(permissions).map_err(writing)?;
    let source = key.read_database(&plain)?;
    key.write(out, &doing, |out| write_out(source, out, &doing, &content, options, progress))
        .map_err(|error| temp_dir.naming(error, "backup"))?;
    drop(temp_dir);
    let written = key.open(encrypted.path()).map_err(|error| encrypted.name_target(error))?;
    check_written(written, encrypted.target(), &content, options, progress)?;
    let stored = fs::metadata(encrypted.path()).map_err(writing)?.len();
    put(encrypted, options.overwrite)?;
    Ok(BackupReport::new(content, stored, options.compression_of(None)))
}

/// Compresses a plain backup and renames the result into place.
fn compress(
    plain: AtomicFile,
    file: &Path,
    content: BackupContent,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupProgress) -> Result<()>,
) -> Result<BackupReport> {
    let doing = format!("write the backup {}", file.display());
    let compressed = AtomicFile::create_private(file)?.restrict_permissions();
    let out = File::create(compressed.path()).map_err(|error| Error::io(&doing, error))?;
    let same_permissions = fs::metadata(plain.path())
        .and_then(|plain| out.set_permissions(plain.permissions()))
        .and_then(|()| out.try_clone());
    let writer = same_permissions.map_err(|error| Error::io(&doing, error))?;
    let doing_it = |error| Error::io(&doing, error);
    let source = File::open(plain.path()).map_err(doing_it)?;
    let stored = write_out(source, writer, &doing, &content, options, progress)
        .map_err(|error| plain.name_target(error))?;
    drop((plain, out));
    let written = File::open(compressed.path()).map_err(doing_it)?;
    check_written(written, compressed.target(), &content, options, progress)?;
    put(compressed, options.overwrite)?;
    Ok(BackupReport::new(content, stored, options.compression_of(Some(file))))
}

/// Lets the engine write and check its own backup; appends the trailer unless it will be compressed.
fn write_plain(
    engine: &dyn Engine,
    file: &Path,
    target: &Path,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupProgress) -> Result<()>,
) -> Result<BackupContent> {
    let content =
        engine.backup(BackupJob { file, target, pauses: options.pauses, watch: progress })?;
    if options.compression_of(None) == Compression::None {
        plain::append_trailer(file, target, &content, options.pauses, progress)?;
    }
    Ok(content)
}

/// Copies a database to a writer, compressed if the options say so; returns the number of bytes written.
fn write_out(
    mut source: impl Read,
    mut writer: impl Write,
    doing: &str,
    content: &BackupContent,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupProgress) -> Result<()>,
) -> Result<u64> {
    if options.compression_of(None) != Compression::None {
        #[cfg(feature = "compress")]
        return compressed::write(source, writer, doing, content, options, progress);
    }
    let _ = (content, progress);
    let doing = |error| Error::io(doing, error);
    let written = io::copy(&mut source, &mut writer).map_err(doing)?;
    writer.flush().map_err(doing)?;
    Ok(written)
}

/// Reads back what was written for the file `target`, without its encryption.
fn check_written(
    mut written: impl Read,
    target: &Path,
    content: &BackupContent,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupProgress) -> Result<()>,
) -> Result<()> {
    progress(BackupProgress { phase: BackupPhase::Check, done: 0, of: content.bytes })?;
    let doing = |error| Error::io(&format!("check the backup {}", target.display()), error);
    if options.compression_of(None) != Compression::None {
        #[cfg(feature = "compress")]
        {
            let pacer = Pacer::new(options.pauses, 2);
            return compressed::read(written, target, io::sink(), doing, pacer).map(drop);
        }
    }
    io::copy(&mut written, &mut io::sink()).map(drop).map_err(doing)
}

/// Rejects a path that is not a regular file's, and one that exists unless `overwrite` is on.
pub(crate) fn reject_existing(file: &Path, overwrite: bool) -> Result<()> {
    if file.is_dir() || file.file_name().is_none() {
        let message = format!("{} is a folder: name a file in it", file.display());
        return Err(Error::new(ErrorKind::Config, message));
    }
    if file.metadata().is_ok_and(|there| !there.is_file()) {
        let message = format!("{} is not a regular file: nothing was changed", file.display());
        return Err(Error::new(ErrorKind::Config, message));
    }
    if overwrite || fs::symlink_metadata(file).is_err() {
        return Ok(());
    }
    let message = format!("the file {} already exists: nothing was changed", file.display());
    Err(Error::new(ErrorKind::Conflict, message))
}

fn put(file: AtomicFile, overwrite: bool) -> Result<()> {
    // Another process may have created the file in the meantime.
    reject_existing(file.target(), overwrite)?;
    let doing = format!("write the backup {}", file.target().display());
    file.commit().map_err(|error| Error::io(&doing, error))
}
