//! Backups of a running database, by SQLite's online backup: page by page, in steps of a few
//! milliseconds.
//! | With a write-ahead log, the pages come from a connection of the backup's own in one read
//! transaction; writes of others go to the log and do not disturb it. Without one, a read
//! transaction would block commits. Then the pages come from the writing connection itself:
//! others use it between two steps, and it also applies their writes to pages that are already
//! copied. Only writes of other processes restart such a backup; after several restarts it blocks
//! them until it is done.

#[cfg(feature = "encryption")]
mod change_key;
mod check;
mod exclusive;
mod open_handles;
mod pace;
#[cfg(feature = "encryption")]
mod pages;
mod replace;
mod source;
#[cfg(feature = "sqlcipher")]
mod sqlcipher_copy;
mod unknown_functions;
mod wal_extension;

#[cfg(feature = "encryption")]
pub(crate) use change_key::change_key;
pub(crate) use check::check_file;
#[cfg(feature = "encryption")]
pub(crate) use pages::{DecryptedPages, EncryptedPages};
pub(crate) use replace::replace;

use crate::error::translate;
use crate::ffi::{self, BackupHandle, BackupState, OpenFlags, codes};
use crate::open;
use crate::session::database::Database;
use crate::settings::Settings;
use bobak_core::{BackupContent, BackupJob, BackupPhase, BackupProgress, Error, ErrorKind, Result};
use check::{Counts, count_rows};
use pace::Pace;
use source::BackupSource;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often writes of other processes may restart a backup.
const RESTARTS: u32 = 3;

/// The number of bytes between two syncs of the target. Syncing a lot at once delays everybody's
/// commits.
const SYNC_EACH: u64 = 1 << 20;

/// The maximum size of a database, in bytes, whose rows are counted while writers wait, if that
/// is necessary.
const COUNTED_IN_STEP: u64 = 8 << 20;

impl Database {
    /// See [`Engine::backup`](bobak_core::Engine::backup).
    pub(crate) fn backup(&self, job: BackupJob<'_>) -> Result<BackupContent> {
        if self.is_isolated() {
            let message = "the database has no tables of its own to back up";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let BackupJob { file, target: place, pauses, watch } = job;
        let settings = self.settings();
        reject_own(place, settings)?;
        let source = BackupSource::open(self)?;
        // The temporary file's name means nothing to the caller.
        let (inner, outer) = (file.display().to_string(), place.display().to_string());
        let named = |error: Error| error.renaming(&inner, &outer);
        let target = open_target(file, settings).map_err(named)?;
        let copying = RunningBackup::begin(source, target, settings.busy_timeout)?;
        let smooth = settings.vfs.is_none().then_some(file);
        let copied = copying.run(Pace::new(pauses), smooth, watch);
        let (counts, page_size) = copied.map_err(|error| named(in_copy(error, place)))?;
        watch(BackupProgress { phase: BackupPhase::Check, done: 0, of: page_size })?;
        let content = check_file(file, settings, pauses).map_err(named)?;
        match counts {
            Some(counts) if counts != content.tables => {
                let message = format!("the rows of the backup {} differ", place.display());
                Err(Error::new(ErrorKind::Corrupt, message))
            }
            counts => Ok(BackupContent { compared: counts.is_some(), ..content }),
        }
    }
}

/// Adds the backup's path to an error. A failed sync of the target is an I/O error: unlike for a
/// commit of the database, its outcome does not matter.
fn in_copy(error: Error, place: &Path) -> Error {
    let place = place.display();
    let Some(code) = error.code() else { return error };
    let message = match (error.kind(), code) {
        (ErrorKind::Io, codes::SQLITE_IOERR_READ | codes::SQLITE_IOERR_SHORT_READ) => {
            format!("could not read the database for the backup {place}: {}", error.message())
        }
        (ErrorKind::Unknown, _) => {
            format!("could not write the backup {place}: the disk failed at a sync (code {code})")
        }
        (ErrorKind::Io | ErrorKind::Full, _) => {
            format!("could not write the backup {place}: {}", error.message())
        }
        _ => return error,
    };
    let kind = if error.kind() == ErrorKind::Unknown { ErrorKind::Io } else { error.kind() };
    Error::new(kind, message).with_code(code).with_source(error)
}

/// Rejects a backup to the database's own file.
fn reject_own(place: &Path, settings: &Settings) -> Result<()> {
    let Some(own) = &settings.path else { return Ok(()) };
    let (own, place) = (full_path(own), full_path(place));
    if own == place || replace::logs(&own).contains(&place) {
        let message = format!("{} is the database itself: name another file", place.display());
        return Err(Error::new(ErrorKind::Misuse, message));
    }
    Ok(())
}

/// The absolute path of a file that need not exist.
fn full_path(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = || folder.unwrap_or(Path::new(".")).canonicalize().ok();
    let in_folder = || Some(folder()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(in_folder).unwrap_or_else(|| path.to_owned())
}

/// Opens the target. It has no journal: it is either complete or deleted.
fn open_target(file: &Path, settings: &Settings) -> Result<ffi::Connection> {
    let own = settings.path.as_deref();
    let settings = Settings { path: Some(file.to_owned()), ..settings.clone() };
    let flags = OpenFlags { read_only: false, create: true };
    if settings.vfs.is_none() {
        make(file, own).map_err(|error| Error::io(&format!("make {}", file.display()), error))?;
    }
    let mut target = open::connect(&settings, flags)?;
    for setting in ["locking_mode = exclusive", "journal_mode = off", "synchronous = full"] {
        let done = target.exec(&format!("PRAGMA {setting}"));
        done.map_err(|failure| open::name_file(translate(failure, None), &settings))?;
    }
    Ok(target)
}

/// Creates an empty file with the permissions of the database's file.
pub(crate) fn make(file: &Path, database: Option<&Path>) -> std::io::Result<()> {
    let made = File::create(file)?;
    #[cfg(unix)]
    if let Some(database) = database {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(database)?.permissions().mode() & 0o777 | 0o600;
        made.set_permissions(std::fs::Permissions::from_mode(mode))?;
    }
    let _ = (made, database);
    Ok(())
}

/// A running backup. Dropping it releases its source.
struct RunningBackup<'e> {
    source: BackupSource<'e>,
    backup: Option<BackupHandle>,
    timeout: Duration,
}

impl<'e> RunningBackup<'e> {
    fn begin(
        mut source: BackupSource<'e>,
        target: ffi::Connection,
        timeout: Duration,
    ) -> Result<Self> {
        let mut target = Some(target);
        let backup = source.with(|connection| {
            let target = target.take().ok_or_else(|| crate::error::misuse("begun twice"))?;
            BackupHandle::begin(&mut connection.db, target)
                .map_err(|failure| translate(failure, None))
        })?;
        Ok(Self { source, backup: Some(backup), timeout })
    }

    /// Copies everything. Returns the numbers of rows at that moment, if available, and the size.
    fn run(
        mut self,
        mut pace: Pace,
        smooth: Option<&Path>,
        watch: &mut dyn FnMut(BackupProgress) -> Result<()>,
    ) -> Result<(Option<Counts>, u64)> {
        let page_size = self.source.with(|c| c.first_integer("PRAGMA page_size"))?;
        let page_size = u64::try_from(page_size).unwrap_or(4_096);
        let mut counts =
            if self.source.is_snapshot() { Some(self.source.with(count_rows)?) } else { None };
        let mut smoothing = smooth.and_then(|file| File::open(file).ok()).map(|f| (f, 0_u64));
        let (mut restarts, mut last) = (0, None::<BackupState>);
        loop {
            let begun = Instant::now();
            let counting = counts.is_none();
            let state = self.step(pace.pages(), |connection, state| {
                // Nobody can write during this step, so the numbers are those of the backup.
                if state.done && counting && state.pages * page_size <= COUNTED_IN_STEP {
                    counts = counted(connection)?;
                }
                Ok(())
            })?;
            watch(BackupProgress {
                phase: BackupPhase::Copy,
                done: (state.pages - state.left) * page_size,
                of: state.pages * page_size,
            })?;
            if state.done {
                self.finish()?;
                return Ok((counts, state.pages * page_size));
            }
            if last.is_some_and(|last| state.left > last.left && state.pages <= last.pages) {
                restarts += 1;
            }
            last = Some(state);
            if restarts > RESTARTS {
                pace.hurry();
            }
            if let Some((file, unsynced)) = &mut smoothing {
                *unsynced += u64::from(pace.pages()) * page_size;
                if *unsynced >= SYNC_EACH {
                    *unsynced = 0;
                    // Only spreads the work: SQLite syncs the whole file at the end.
                    let _ = file.sync_data();
                }
            }
            pace.rest(begun.elapsed());
            self.source.make_room();
        }
    }

    /// Runs one step, and `then` before others can use the source.
    fn step(
        &mut self,
        pages: u32,
        then: impl FnOnce(&mut crate::connection::Connection, BackupState) -> Result<()>,
    ) -> Result<BackupState> {
        let deadline = Instant::now() + self.timeout;
        let Some(backup) = &mut self.backup else {
            return Err(crate::error::misuse("the backup has ended"));
        };
        let mut then = Some(then);
        loop {
            let stepped = self.source.with(|connection| {
                let state = match backup.step(&mut connection.db, pages) {
                    Ok(state) => state,
                    Err(failure) if is_busy(&failure) && Instant::now() < deadline => {
                        return Ok(None);
                    }
                    Err(failure) => return Err(translate(failure, None)),
                };
                then.take().map_or(Ok(()), |then| then(connection, state))?;
                Ok(Some(state))
            })?;
            match stepped {
                Some(state) => return Ok(state),
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// Ends the backup, and makes its file independent of a log.
    fn finish(mut self) -> Result<()> {
        let Some(backup) = self.backup.take() else { return Ok(()) };
        let ended = |failure| translate(failure, None);
        let mut target =
            self.source.with(|connection| backup.finish(&mut connection.db).map_err(ended))?;
        // The copied first page says that there is a log, as in the source.
        target.exec("PRAGMA journal_mode = delete").map_err(ended)
    }
}

impl Drop for RunningBackup<'_> {
    fn drop(&mut self) {
        if let Some(backup) = self.backup.take() {
            // If the source is not available, both remain in memory: see `ffi::BackupHandle`.
            let _ = self.source.with(|connection| {
                backup.finish(&mut connection.db).map(drop).map_err(|f| translate(f, None))
            });
        }
    }
}

/// The numbers of rows; `None` if counting needs a collation of another program.
fn counted(connection: &mut crate::connection::Connection) -> Result<Option<Counts>> {
    match count_rows(connection) {
        Err(error) if unknown_functions::missing(&error).is_some() => Ok(None),
        counts => counts.map(Some),
    }
}

fn is_busy(failure: &ffi::Failure) -> bool {
    matches!(failure.code & 0xff, codes::SQLITE_BUSY | codes::SQLITE_LOCKED)
}
