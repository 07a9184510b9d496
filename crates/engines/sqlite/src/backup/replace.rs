//! Replaces a database that nobody has open with a new file.

use super::exclusive::{ExclusiveDatabase, acquire_unread, take};
use crate::connection::Connection;
use crate::ffi;
use crate::open::beside;
use crate::settings::Settings;
use bobak_core::durable::{rename, sync_folder};
use bobak_core::{AtomicFile, Error, ErrorKind, Result, Value};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The endings of SQLite's files for a database. SQLite would use old ones with the new file.
const BESIDE: [&str; 3] = ["-wal", "-journal", "-shm"];

/// Moves a new file into place, where a closed database may exist.
/// | First moves the old database's log into its file, so that at every moment the place contains
/// the complete old or new database. With `unread` the old pages are not interpreted.
/// | # Errors
/// `Conflict` if a file exists and is not to be overwritten; `Busy` if it is open elsewhere;
/// `Full`, `ReadOnly`, `Io`.
pub(crate) fn replace(
    new: AtomicFile,
    settings: &Settings,
    overwrite: bool,
    unread: bool,
) -> Result<()> {
    let place = new.target().to_owned();
    let logs = logs(&place);
    let there = |path: &&PathBuf| fs::metadata(path).is_ok_and(|file| file.len() > 0);
    if !overwrite && let Some(file) = [place.clone()].iter().chain(&logs).find(there) {
        let message = format!("the file {} already exists: nothing was changed", file.display());
        return Err(Error::new(ErrorKind::Conflict, message));
    }
    if !place.exists() {
        return put_beside_logs(new, &logs);
    }
    match if unread { acquire_unread(&place, settings)? } else { take(&place, settings)? } {
        ExclusiveDatabase::Read(old) => replace_database(new, old),
        ExclusiveDatabase::Unread(old) => {
            clear(&place)?;
            put(new, old)
        }
    }
}

/// Moves a new file over a database that was [acquired
/// exclusively](super::exclusive::acquire_exclusive).
/// | Another process may open the old file meanwhile, and get its lock after the move. If the old file had a write-ahead log,
/// that process would write its log next to the new file, and damage it. Without one, SQLite finds that the file has moved,
/// and writes nothing. So the old file, which has everything committed, loses its log mode first; it gets it back if the
/// move fails.
pub(crate) fn replace_database(new: AtomicFile, old: ffi::Connection) -> Result<()> {
    let (place, mut old) = (new.target().to_owned(), Connection::boxed(old, true));
    let named = |error: Error| {
        let message = format!("{}: {}", place.display(), error.message());
        Error::new(error.kind(), message).with_source(error)
    };
    let had_log = has_log(&mut old).map_err(named)?;
    let there = identity(&place);
    old.run_owned("PRAGMA main.journal_mode = delete").map_err(named)?;
    let moved = clear(&place).and_then(|()| put(new, &old));
    if moved.is_err() && had_log && there.is_some() && identity(&place) == there {
        // If this fails too, the file is whole, and a program that wants a log sets its mode.
        let _ = old.run_owned("PRAGMA main.journal_mode = wal");
    }
    moved
}

/// Whether the first page says that the database has a write-ahead log.
pub(super) fn has_log(holder: &mut Connection) -> Result<bool> {
    let mode = holder.all_rows("PRAGMA main.journal_mode", &[])?;
    Ok(mode.first().and_then(|row| row.first()) == Some(&Value::from("wal")))
}

/// What tells a file from another that took its place; `None` if the system does not say.
fn identity(place: &Path) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(place).ok().map(|file| (file.dev(), file.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = place;
        None
    }
}

/// Moves a new file into place, which is locked until then.
fn put<L>(new: AtomicFile, lock: L) -> Result<()> {
    let doing = format!("write {}", new.target().display());
    let put = new.commit().map_err(|error| Error::io(&doing, error));
    drop(lock);
    put
}

/// Deletes the empty logs of an exclusively acquired database. They must be gone durably before
/// another file takes its place.
fn clear(place: &Path) -> Result<()> {
    let doing = |error| Error::io(&format!("write {}", place.display()), error);
    for log in logs(place) {
        match fs::remove_file(log) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(doing(error)),
            _ => {}
        }
    }
    sync_folder(place).map_err(doing)
}

/// Moves a new file to a place without a database, which may have logs of a deleted one: these
/// are kept until the new file is there.
fn put_beside_logs(new: AtomicFile, logs: &[PathBuf]) -> Result<()> {
    let place = new.target().to_owned();
    let doing = |error| Error::io(&format!("write {}", place.display()), error);
    let mut kept = Vec::new();
    let mut put_away = || {
        for log in logs.iter().filter(|log| log.exists()) {
            let away = beside(log, &format!(".{}.old", std::process::id()));
            rename(log, &away)?;
            kept.push((log, away));
        }
        if kept.is_empty() { Ok(()) } else { sync_folder(&place) }
    };
    let put = put_away().map_err(doing).and_then(|()| put(new, ()));
    // The file may be in place although the call failed.
    let is_there = place.exists();
    for (log, away) in kept {
        let _ = if is_there { fs::remove_file(away) } else { rename(&away, log) };
    }
    put
}

/// The files that SQLite may create for a database.
pub(super) fn logs(place: &Path) -> [PathBuf; 3] {
    BESIDE.map(|ending| beside(place, ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sqlite;
    use crate::backup::exclusive::acquire_exclusive;
    use crate::ffi::OpenFlags;
    use crate::open;
    use bobak_core::Engine;

    #[test]
    fn a_process_that_opens_the_old_file_meanwhile_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let make = |path: &Path, table: &str| {
            let engine = Sqlite::builder().open(path).unwrap();
            let session = engine.session().unwrap();
            session.execute(&format!("CREATE TABLE {table} (a)"), &[]).unwrap();
        };
        make(&path, "old");
        let new = AtomicFile::create_private(&path).unwrap();
        make(new.path(), "new");
        let settings = Settings { path: Some(path.clone()), ..Settings::default() };
        let old = acquire_exclusive(&settings).unwrap();
        let flags = OpenFlags { read_only: false, create: false };
        let mut late = open::connect(&settings, flags).unwrap();
        replace_database(new, old).unwrap();
        late.exec("INSERT INTO old VALUES (1)").unwrap_err();
        assert_eq!(logs(&path).map(|log| log.exists()), [false; 3]);
        drop(late);
        let engine = Sqlite::builder().open(&path).unwrap();
        assert_eq!(engine.tables().unwrap()[0].name(), "new");
    }
}
