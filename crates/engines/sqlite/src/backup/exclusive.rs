//! Taking a database from everybody else, with all that was committed to it in its file.

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

/// For who has a file open for a moment only: a process that is just being started has all of its
/// parent's.
const MAX_WAIT: Duration = Duration::from_millis(500);

/// A database that nobody else has, and whose file needs no other beside it.
pub(super) enum ExclusiveDatabase {
    /// It was read: its key is known.
    Read(ffi::Connection),
    /// What is in it is not read, or can't be: it is damaged, or encrypted with another key.
    Unread(#[allow(dead_code, reason = "it is kept for its lock")] ffi::LockedFile),
}

/// Takes a database from everybody else.
///
/// # Errors
/// `Busy` where somebody has it open; `Full`, `ReadOnly`, `Io`.
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

/// Takes a database from everybody else until it is closed, and moves its log to its file.
///
/// # Errors
/// `Busy` where somebody has it open; `Corrupt` where it is no database, `Denied` for a wrong key.
pub(crate) fn acquire_exclusive(settings: &Settings) -> Result<ffi::Connection> {
    let flags = OpenFlags { read_only: false, create: false };
    let taken = || -> Result<ffi::Connection> {
        let mut old = open::connect(settings, flags)?;
        open::read_schema(&mut old, settings)?;
        // The lock stays when the transaction has ended.
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

/// Takes a file from everybody else without looking at what is in its pages.
///
/// # Errors
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
        // Another may have been here before the lock was.
        let is_whole = || recovered == LogRecovery::Useless || hot_logs(place).next().is_none();
        Ok(locked.filter(|_| is_whole()).map(ExclusiveDatabase::Unread))
    })
}

/// What became of what was beside a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogRecovery {
    Done,
    /// Nothing in it can be read, by nobody.
    Useless,
    /// Others are in the way.
    NotYet,
}

/// Has SQLite play back what a killed process has left beside a file, which takes no key: pages are
/// moved as they are.
fn recover_logs(place: &Path, settings: &Settings) -> Result<LogRecovery> {
    let flags = OpenFlags { read_only: false, create: false };
    let mut file = open::connect(settings, flags)?;
    if let Some(size) = page_size_of_log(place) {
        // Of a file that it can't read it would not find out.
        let _ = file.exec(&format!("PRAGMA page_size = {size}"));
    }
    let moved = match file.exec("SELECT count(*) FROM sqlite_schema") {
        // What it says of the pages is of no interest: by now it knows what is beside them.
        Err(failure) if !is_of_pages(&failure) => Err(failure),
        _ => file.checkpoint_truncate(),
    };
    match moved {
        Ok(()) => Ok(LogRecovery::Done),
        Err(failure) if is_of_pages(&failure) => Ok(LogRecovery::Useless),
        Err(failure) if failure.code & 0xff == codes::SQLITE_BUSY => Ok(LogRecovery::NotYet),
        Err(failure) => Err(open::name_file(translate(failure, None), settings)),
    }
}

fn is_of_pages(failure: &ffi::Failure) -> bool {
    matches!(failure.code & 0xff, codes::SQLITE_NOTADB | codes::SQLITE_CORRUPT)
}

/// The files beside a database without which it is not whole, as far as their beginnings tell.
fn hot_logs(place: &Path) -> impl Iterator<Item = PathBuf> {
    let is_hot = |path: &PathBuf| {
        let mut first = [0];
        // A journal that has done its duty may begin with zeros.
        File::open(path).and_then(|mut log| log.read_exact(&mut first)).is_ok() && first[0] != 0
    };
    logs(place).into_iter().take(2).filter(is_hot)
}

/// The page size that a log says to have.
fn page_size_of_log(place: &Path) -> Option<u32> {
    let [log, ..] = logs(place);
    let mut head = [0; 12];
    File::open(log).and_then(|mut log| log.read_exact(&mut head)).ok()?;
    let size = u32::from_be_bytes(*head.last_chunk()?);
    (size.is_power_of_two() && (512..=65_536).contains(&size)).then_some(size)
}

/// Takes a file from everybody else by `take`, which gives `None` where others are in the way, and sees
/// that nobody else has it open.
fn acquire_alone<R>(settings: &Settings, take: impl Fn() -> Result<Option<R>>) -> Result<R> {
    let file = settings.path.as_deref().unwrap_or(Path::new(""));
    let deadline = Instant::now() + settings.busy_timeout.min(MAX_WAIT);
    loop {
        // Before, since taking it changes it; and since then, but for the handle of what was taken.
        if !open_handles::is_open_elsewhere(file, 0)
            && let Some(taken) = take()?
            && !open_handles::is_open_elsewhere(file, 1)
        {
            return Ok(taken);
        }
        if Instant::now() >= deadline {
            let message = format!("somebody has {} open: nothing was done", file.display());
            return Err(Error::new(ErrorKind::Busy, message));
        }
        std::thread::sleep(MAX_WAIT / 25);
    }
}
