//! Exclusive access to a database, with everything committed moved into its file.

use super::open_handles;
use super::replace::logs;
use crate::error::translate;
use crate::ffi::{self, OpenFlags, codes};
use crate::open;
use crate::settings::Settings;
use bobak_core::{Error, ErrorKind, Result};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to wait for handles that are closed soon: a process that is just starting inherits
/// all handles of its parent.
const MAX_WAIT: Duration = Duration::from_millis(500);

/// A database that nobody else has open, and that needs no log or journal.
pub(super) enum ExclusiveDatabase {
    /// It was read with its key.
    Read(ffi::Connection),
    /// Its pages were not read, or cannot be: it is damaged, or encrypted with another key.
    Unread(#[allow(dead_code, reason = "it is kept for its lock")] ffi::LockedFile),
}

/// Acquires exclusive access to a database.
/// | # Errors
/// `Busy` if it is open elsewhere; `Full`, `ReadOnly`, `Io`.
pub(super) fn take(place: &Path, settings: &Settings) -> Result<ExclusiveDatabase> {
    match open::with_page_size(open::settings_for_file(settings, place)?, |settings| {
        acquire_exclusive(&settings)
    }) {
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Denied) => {
            acquire_unread(place, settings)
        }
        taken => taken.map(ExclusiveDatabase::Read),
    }
}

/// Acquires exclusive access until the connection is closed, and checkpoints the log.
/// | # Errors
/// `Busy` if it is open elsewhere; `Corrupt` if it is not a database; `Denied` for a wrong key.
pub(crate) fn acquire_exclusive(settings: &Settings) -> Result<ffi::Connection> {
    let flags = OpenFlags { read_only: false, create: false };
    let taken = || -> Result<ffi::Connection> {
        let mut old = open::connect(settings, flags)?;
        open::read_schema(&mut old, settings)?;
        // The lock remains after the transaction has ended.
        for step in ["PRAGMA locking_mode = exclusive", "BEGIN EXCLUSIVE", "COMMIT"] {
            old.exec(step).map_err(|failure| translate(failure, None))?;
        }
        old.checkpoint_truncate().map_err(|failure| translate(failure, None))?;
        Ok(old)
    };
    acquire_alone(settings, || match taken() {
        Ok(old) => Ok(Some(old)),
        Err(error) if error.kind() == ErrorKind::Busy => Ok(None),
        Err(error) => Err(open::name_file(error, settings)),
    })
}

/// Acquires exclusive access without reading the pages.
/// | # Errors
/// As [`take`].
pub(super) fn acquire_unread(place: &Path, settings: &Settings) -> Result<ExclusiveDatabase> {
    let settings = settings.without_key(place);
    let flags = OpenFlags { read_only: false, create: false };
    let named = |failure| open::name_file(translate(failure, None), &settings);
    acquire_alone(&settings, || {
        let recovered = match hot_logs(place).next() {
            Some(_) => recover_logs(place, &settings)?,
            None => LogRecovery::Done,
        };
        if recovered == LogRecovery::NotYet {
            return Ok(None);
        }
        let file = open::connect(&settings, flags)?;
        let locked = ffi::LockedFile::lock(file).map_err(named)?;
        // Another process may have written before the lock was acquired.
        let is_whole = || recovered == LogRecovery::Useless || hot_logs(place).next().is_none();
        Ok(locked.filter(|_| is_whole()).map(ExclusiveDatabase::Unread))
    })
}

/// The outcome of recovering a file's logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogRecovery {
    Done,
    /// Nothing in them can be read.
    Useless,
    /// Another process uses them.
    NotYet,
}

/// Lets SQLite play back the logs of a killed process. That needs no key: pages are moved as they
/// are.
fn recover_logs(place: &Path, settings: &Settings) -> Result<LogRecovery> {
    let flags = OpenFlags { read_only: false, create: false };
    let mut file = open::connect(settings, flags)?;
    if let Some(size) = page_size_of_log(place) {
        // SQLite cannot detect the page size of a file that it cannot read.
        let _ = file.exec(&format!("PRAGMA page_size = {size}"));
    }
    let moved = match file.exec("SELECT count(*) FROM sqlite_schema") {
        // Errors about pages do not matter: SQLite knows the logs by now.
        Err(failure) if !is_of_pages(&failure) => Err(failure),
        _ => file.checkpoint_truncate(),
    };
    match moved {
        Ok(()) => Ok(LogRecovery::Done),
        Err(failure) if is_of_pages(&failure) => Ok(LogRecovery::Useless),
        Err(failure) if failure.code & 0xff == codes::SQLITE_BUSY => Ok(LogRecovery::NotYet),
        Err(failure) => {
            // A log that is encrypted with AEGIS-256 needs the key.
            let encrypted = open::encrypted_without_key(settings, &failure);
            let error = encrypted.unwrap_or_else(|| translate(failure, None));
            Err(open::name_file(error, settings))
        }
    }
}

fn is_of_pages(failure: &ffi::Failure) -> bool {
    matches!(failure.code & 0xff, codes::SQLITE_NOTADB | codes::SQLITE_CORRUPT)
}

/// The logs and journals that belong to a database's state, judging by their first bytes.
fn hot_logs(place: &Path) -> impl Iterator<Item = PathBuf> {
    let is_hot = |path: &PathBuf| {
        let mut first = [0];
        // A journal that is no longer needed may start with zeros.
        File::open(path).and_then(|mut log| log.read_exact(&mut first)).is_ok() && first[0] != 0
    };
    logs(place).into_iter().take(2).filter(is_hot)
}

/// The page size in a log's header.
fn page_size_of_log(place: &Path) -> Option<u32> {
    let [log, ..] = logs(place);
    let mut head = [0; 12];
    File::open(log).and_then(|mut log| log.read_exact(&mut head)).ok()?;
    let size = u32::from_be_bytes(*head.last_chunk()?);
    (size.is_power_of_two() && (512..=65_536).contains(&size)).then_some(size)
}

/// Acquires a file by `take`, which returns `None` while others use it, and verifies that nobody
/// else has it open.
fn acquire_alone<R>(settings: &Settings, take: impl Fn() -> Result<Option<R>>) -> Result<R> {
    let file = settings.path.as_deref().unwrap_or(Path::new(""));
    let deadline = Instant::now() + settings.busy_timeout.min(MAX_WAIT);
    loop {
        // Checked before, since taking the file changes it; and afterwards, not counting its own
        // handle.
        if !open_handles::is_open_elsewhere(file, 0)
            && let Some(taken) = take()?
            && !open_handles::is_open_elsewhere(file, 1)
        {
            return Ok(taken);
        }
        if Instant::now() >= deadline {
            let message = format!("{} is open elsewhere: nothing was changed", file.display());
            return Err(Error::new(ErrorKind::Busy, message));
        }
        std::thread::sleep(MAX_WAIT / 25);
    }
}
