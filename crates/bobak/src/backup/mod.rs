//! Backups of a running database to a file, and restoring from one.
//!
//! The engine writes its own form ([`Engine::backup`]); here that file is compressed where that is wanted, is put in its
//! place whole, and is put back. `docs/backup.md` is the contract, and says what the compressed form is, byte by byte.

mod bytes;
mod kind;
mod laid;
#[cfg(feature = "compress")]
mod packed;
mod plain;
mod restore;
mod scratch;
mod sum;
mod trailer;

use crate::{Db, ReplayReport};
use bobak_core::feed::{FEED, FOLLOW, LOG, TRACKED};
use bobak_core::{
    AtomicFile, BackupContent, BackupJob, BackupPhase, BackupStep, Engine, Error, ErrorKind,
    Result, Unverified,
};
#[cfg(feature = "sqlite")]
use bobak_sqlite::Sqlite;
pub(crate) use kind::Kind;
use scratch::Scratch;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

pub use restore::RestoreOptions;

/// How a backup is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupOptions {
    compression: Compression,
    pauses: bool,
    overwrite: bool,
    engine: Option<String>,
}

/// Whether a backup is compressed. An encrypted database can't be made smaller: its backups are not compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Compression {
    /// Not: the file is a database, to be opened as it is.
    #[default]
    None,
    /// By Zstandard, level 3; `zstd -d` makes the database of it. With the feature `compress`.
    Zstd,
    /// By gzip, level 6; `gunzip` makes the database of it. With the feature `compress`.
    Gzip,
}

/// What a backup holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// The tables with the numbers of their rows, by name. Every row was counted in the backup itself.
    pub tables: Vec<(String, u64)>,
    /// Whether these numbers were compared with the database's at the moment of the backup; or, where a backup is
    /// checked, with those that were noted in it. Not where the database keeps no log and is large: counting would keep
    /// its writers waiting.
    pub compared: bool,
    /// The size of the database, uncompressed.
    pub bytes: u64,
    /// The size of the backup.
    pub stored: u64,
    /// How it is compressed.
    pub compression: Compression,
    /// What its checksum says.
    pub checksum: Checksum,
    /// The tables that could not be verified wholly, since they use collations or functions that only another program
    /// has: their pages and numbers of rows were looked at, and not whether their indexes have what their rows have.
    pub unverified: Vec<Unverified>,
    /// The changes that were made again behind it, where that was asked for.
    pub replayed: Option<ReplayReport>,
}

/// What the checksum says that is noted in a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Checksum {
    /// Every byte is as it was written.
    Same,
    /// There is none: an older version made it, it is no backup but a database, or it was written to and the checksum
    /// was lost by that. Its pages fit together; a wrong byte within a value would not be noticed.
    Missing,
    /// A plain backup was opened and written to after it was made, so the checksum is no longer its own. As `Missing`.
    Outdated,
}

impl BackupOptions {
    /// Not compressed, with pauses, to a file that is not there yet, of the main engine.
    #[must_use]
    pub const fn new() -> Self {
        Self { compression: Compression::None, pauses: true, overwrite: false, engine: None }
    }

    /// Compresses the backup. Default: not.
    #[must_use]
    pub const fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Whether it makes pauses, so that others get on: about two thirds of the time. Default: yes.
    #[must_use]
    pub const fn pauses(mut self, pauses: bool) -> Self {
        self.pauses = pauses;
        self
    }

    /// Whether a file that is there is replaced, when the new one is whole. Default: it is refused.
    #[must_use]
    pub const fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Backs up an attached engine in place of the main one.
    #[must_use]
    pub fn engine(mut self, name: impl Into<String>) -> Self {
        self.engine = Some(name.into());
        self
    }
}

impl Default for BackupOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl BackupReport {
    /// How many rows all tables have.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|(_, rows)| rows).sum()
    }

    /// The tables without those in which Bobak itself keeps the feed of changes.
    pub fn user_tables(&self) -> impl Iterator<Item = (&str, u64)> {
        let own = |name: &str| [FEED, TRACKED, FOLLOW].contains(&name) || name.starts_with(LOG);
        self.tables.iter().map(|(name, rows)| (&**name, *rows)).filter(move |(name, _)| !own(name))
    }

    fn new(content: BackupContent, stored: u64, compression: Compression) -> Self {
        let BackupContent { tables, compared, bytes, unverified } = content;
        Self {
            tables,
            compared,
            bytes,
            stored,
            compression,
            checksum: Checksum::Same,
            unverified,
            replayed: None,
        }
    }
}

impl Db {
    /// Backs the main engine up to a file, as of one moment, while others read and write.
    ///
    /// The backup is written beside its place, read again and checked, synced, and put in its place whole: whatever
    /// happens, there is never half a backup under this name. Beside the backup's own size this takes, for a compressed
    /// one, that of the database. `progress` is told how far it is; its error ends the backup.
    ///
    /// SQLite is copied page by page in steps of a few milliseconds, after each of which it rests. The memory engine
    /// writes a snapshot. Databases on servers are refused: they have backups of their own, and
    /// [`copy_to`](Db::copy_to).
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// # #[derive(Record)] struct Item { id: i64, name: String }
    /// use bobak::BackupOptions;
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (app, file) = (folder.path().join("app.db"), folder.path().join("backup.db"));
    /// # let url = format!("sqlite:{}", app.display());
    /// # let db = Db::builder().record::<Item>().open(&url)?;
    /// # db.create_missing_tables()?;
    /// db.table()?.insert(&Item { id: 0, name: "spade".into() })?;
    /// let report = db.backup(&file, &BackupOptions::new(), |_| Ok(()))?;
    /// assert_eq!(report.tables, [("item".to_owned(), 1)]);
    /// // It is a database.
    /// let copy = Db::open(&format!("sqlite:{}", file.display()))?;
    /// assert_eq!(copy.sql::<String>("SELECT name FROM item", ())?, ["spade"]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Conflict` where the file is there; `Unsupported` for an engine without files, and for a compression that this
    /// program was built without; `Misuse` where the file is the database's own; `Full`, `ReadOnly`, `Io`; `Corrupt`
    /// where the database is damaged; `Busy`; `Config` for an unknown engine; those of `progress`.
    pub fn backup(
        &self,
        file: impl AsRef<Path>,
        options: &BackupOptions,
        mut progress: impl FnMut(BackupStep) -> Result<()>,
    ) -> Result<BackupReport> {
        let engine = self.engine_to_back_up(options)?;
        backup(&*engine, file.as_ref(), options, &mut progress)
    }

    /// As [`backup`](Db::backup), to a writer. The database is first copied to a file among the system's temporary ones,
    /// readable for this user only, which is gone afterwards.
    ///
    /// What the writer has taken is not read again: see [`check_backup`](Db::check_backup).
    ///
    /// # Errors
    /// As [`backup`](Db::backup), and those of the writer.
    pub fn backup_to(
        &self,
        writer: impl Write,
        options: &BackupOptions,
        mut progress: impl FnMut(BackupStep) -> Result<()>,
    ) -> Result<BackupReport> {
        let engine = self.engine_to_back_up(options)?;
        can(&*engine, options.compression)?;
        let scratch = Scratch::new()?;
        let file = scratch.file("backup");
        let content = take(&*engine, &file, &file, options, &mut progress)
            .map_err(|error| scratch.naming(error, "backup"))?;
        let doing = "write the backup";
        let stored = write_out(&file, writer, doing, &content, options, &mut progress)
            .map_err(|error| scratch.naming(error, "backup"))?;
        Ok(BackupReport::new(content, stored, options.compression))
    }

    fn engine_to_back_up(&self, options: &BackupOptions) -> Result<std::sync::Arc<dyn Engine>> {
        match &options.engine {
            None => self.main_engine(),
            Some(name) => self.engine_of(name),
        }
    }
}

/// Backs an engine up to a file, without a database around it. See [`Db::backup`].
///
/// # Errors
/// As [`Db::backup`].
pub fn backup(
    engine: &dyn Engine,
    file: &Path,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupStep) -> Result<()>,
) -> Result<BackupReport> {
    can(engine, options.compression)?;
    refuse_existing(file, options.overwrite)?;
    let plain = AtomicFile::private(file)?.narrow();
    let content = take(engine, plain.path(), plain.place(), options, progress)
        .map_err(|error| plain.naming(error))?;
    if options.compression != Compression::None {
        return pack(plain, file, content, options, progress);
    }
    let doing = format!("write the backup {}", file.display());
    let stored = fs::metadata(plain.path()).map_err(|error| Error::io(&doing, error))?.len();
    refuse_existing(file, options.overwrite)?;
    match engine.name() {
        // Beside an older one may be its log, which is not the new one's.
        #[cfg(feature = "sqlite")]
        "sqlite" => Sqlite::builder().replace_backup(plain, options.overwrite)?,
        _ => put(plain, options.overwrite)?,
    }
    Ok(BackupReport::new(content, stored, options.compression))
}

/// Compresses a backup, and puts it in its place.
fn pack(
    plain: AtomicFile,
    file: &Path,
    content: BackupContent,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupStep) -> Result<()>,
) -> Result<BackupReport> {
    let doing = format!("write the backup {}", file.display());
    let packed = AtomicFile::private(file)?.narrow();
    let out = File::create(packed.path()).map_err(|error| Error::io(&doing, error))?;
    let same_rights = fs::metadata(plain.path())
        .and_then(|plain| out.set_permissions(plain.permissions()))
        .and_then(|()| out.try_clone());
    let writer = same_rights.map_err(|error| Error::io(&doing, error))?;
    let stored = write_out(plain.path(), writer, &doing, &content, options, progress)
        .map_err(|error| plain.naming(error))?;
    drop((plain, out));
    check_packed(packed.path(), &content, options, progress)
        .map_err(|error| packed.naming(error))?;
    put(packed, options.overwrite)?;
    Ok(BackupReport::new(content, stored, options.compression))
}

/// Removes what killed processes left of backups in a folder, for files whose names `is_wanted` knows;
/// gives how many there were. Those that are being written stay. [`backup`] does so for its own file.
pub fn clear_abandoned(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> usize {
    AtomicFile::clear(folder, is_wanted)
}

/// The engine's own backup, checked by it; one that stays as it is with its checksum.
fn take(
    engine: &dyn Engine,
    file: &Path,
    place: &Path,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupStep) -> Result<()>,
) -> Result<BackupContent> {
    let content =
        engine.backup(BackupJob { file, place, pauses: options.pauses, watch: progress })?;
    if options.compression == Compression::None {
        plain::seal(file, place, &content, options.pauses, progress)?;
    }
    Ok(content)
}

/// Copies the file to a writer, compressed where that is wanted; gives the number of bytes written.
fn write_out(
    file: &Path,
    mut writer: impl Write,
    doing: &str,
    content: &BackupContent,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupStep) -> Result<()>,
) -> Result<u64> {
    if options.compression != Compression::None {
        #[cfg(feature = "compress")]
        return packed::write(file, writer, doing, content, options, progress);
    }
    let _ = (content, progress);
    let doing = |error| Error::io(doing, error);
    let mut plain = File::open(file).map_err(doing)?;
    let written = std::io::copy(&mut plain, &mut writer).map_err(doing)?;
    writer.flush().map_err(doing)?;
    Ok(written)
}

fn check_packed(
    file: &Path,
    content: &BackupContent,
    options: &BackupOptions,
    progress: &mut dyn FnMut(BackupStep) -> Result<()>,
) -> Result<()> {
    progress(BackupStep { phase: BackupPhase::Check, done: 0, of: content.bytes })?;
    #[cfg(feature = "compress")]
    {
        let rests = sum::Rests::new(options.pauses, 2);
        packed::read(file, std::io::sink(), |error| Error::io("check the backup", error), rests)?;
    }
    let _ = (file, options);
    Ok(())
}

/// Refuses a compression that the database does not get, or that this program was built without.
fn can(engine: &dyn Engine, compression: Compression) -> Result<()> {
    if compression != Compression::None && engine.capabilities().encrypted {
        let message = "an encrypted backup can't be made smaller: leave it uncompressed";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    can_be_built(compression)
}

/// Refuses a compression that this program was built without.
fn can_be_built(compression: Compression) -> Result<()> {
    if compression == Compression::None || cfg!(feature = "compress") {
        return Ok(());
    }
    let message =
        "this program was built without compression: the feature `compress` of bobak has it";
    Err(Error::new(ErrorKind::Unsupported, message))
}

fn refuse_existing(file: &Path, overwrite: bool) -> Result<()> {
    if file.is_dir() || file.file_name().is_none() {
        let message = format!("{} is a folder: name a file in it", file.display());
        return Err(Error::new(ErrorKind::Config, message));
    }
    if file.metadata().is_ok_and(|there| !there.is_file()) {
        let message = format!("{} is no regular file: nothing was done", file.display());
        return Err(Error::new(ErrorKind::Config, message));
    }
    if overwrite || fs::symlink_metadata(file).is_err() {
        return Ok(());
    }
    let message = format!("there is a file {} already: nothing was done", file.display());
    Err(Error::new(ErrorKind::Conflict, message))
}

fn put(aside: AtomicFile, overwrite: bool) -> Result<()> {
    // Another may have put one there meanwhile.
    refuse_existing(aside.place(), overwrite)?;
    let doing = format!("write the backup {}", aside.place().display());
    aside.put().map_err(|error| Error::io(&doing, error))
}
