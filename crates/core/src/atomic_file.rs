//! Files that are written beside their place and then put there, whole.
//!
//! Whoever writes one has it locked. So one that is left by a process that was killed is known by its
//! lock, which nobody has: it is removed by the next who writes for the same place.

use crate::durable::{is_at, rename, sync_file, sync_folder};
use crate::{Error, ErrorKind, Result};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// How often a name is tried that another takes at the same moment.
const TRIES: u32 = 100;

/// A file that is being written, in the folder where it is to be. Dropping it removes it.
///
/// At every moment there is in its place what was there before, or the new file, whole; when
/// [`put`](AtomicFile::put) has returned, that is so after a power cut too.
#[derive(Debug)]
pub struct AtomicFile {
    place: PathBuf,
    path: PathBuf,
    /// Of the file in its place.
    old: Option<Metadata>,
    /// Whether it is to be read by nobody who may not read it now.
    narrow: bool,
    /// Locked where the system has locks that hinder nobody else.
    held: File,
}

impl AtomicFile {
    /// For who is the only one of this process to write to the place: `NAME.PROCESS.new`. Where the
    /// place is a link to a file, it is that file's. What killed processes left for the same place
    /// is removed.
    ///
    /// # Errors
    /// `ReadOnly` where the file in its place may only be read; `Busy` where this process writes it
    /// already; `Io`, `Full`.
    pub fn of(place: &Path) -> Result<Self> {
        let (place, old) = resolve(place)?;
        clear_for(&place);
        let path = beside(&place, &format!(".{}.new", std::process::id()));
        let doing = |error| Error::io(&format!("write {}", place.display()), error);
        for _ in 0..TRIES {
            // A link is followed, where somebody put one there.
            let mut options = OpenOptions::new();
            let file = options.write(true).create(true).truncate(false).open(&path);
            let file = file.map_err(doing)?;
            match hold(&file, &path) {
                Held::Here => return Ok(Self { place, path, old, narrow: false, held: file }),
                Held::Gone => {}
                Held::ByAnother => break,
            }
        }
        let message = format!("somebody else writes {}", place.display());
        Err(Error::new(ErrorKind::Busy, message))
    }

    /// For one of several: `NAME.PROCESS.NUMBER.new`.
    ///
    /// # Errors
    /// As [`of`](AtomicFile::of).
    pub fn one_of_many(place: &Path) -> Result<Self> {
        Self::one_with(place, None)
    }

    /// As [`one_of_many`](AtomicFile::one_of_many), to be read by its owner only, from its first moment on, until the
    /// caller or the file in its place gives it other rights: for a copy of what may be private.
    ///
    /// # Errors
    /// As [`of`](AtomicFile::of).
    pub fn private(place: &Path) -> Result<Self> {
        Self::one_with(place, Some(0o600))
    }

    fn one_with(place: &Path, rights: Option<u32>) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (place, old) = resolve(place)?;
        clear_for(&place);
        for _ in 0..TRIES {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = beside(&place, &format!(".{}.{number}.new", std::process::id()));
            let mut options = OpenOptions::new();
            #[cfg(unix)]
            if let Some(rights) = rights {
                // Whoever has it open before it gets its rights could read what is written then.
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, rights);
            }
            #[cfg(not(unix))]
            let _ = rights;
            match options.write(true).create_new(true).open(&path) {
                Ok(file) if matches!(hold(&file, &path), Held::Here) => {
                    return Ok(Self { place, path, old, narrow: false, held: file });
                }
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io(&format!("write {}", place.display()), error)),
            }
        }
        let message = format!("no name is free beside {}", place.display());
        Err(Error::new(ErrorKind::Busy, message))
    }

    /// Where it is written: an empty file at first.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is to be.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// An error that says its path, which means nothing to anybody, with its place instead.
    #[must_use]
    pub fn naming(&self, error: Error) -> Error {
        error.renaming(&self.path.display().to_string(), &self.place.display().to_string())
    }

    /// Has it keep no more rights than it has when it is put in its place, whatever the file there has:
    /// for what was copied from a file with those rights. Its owner is then who made it.
    #[must_use]
    pub fn narrow(mut self) -> Self {
        self.narrow = true;
        self
    }

    /// Syncs it, and puts it in its place, with the owner and the rights of the file that was there.
    /// Where the group can't be kept its members have the rights of all others.
    ///
    /// # Errors
    /// Of the system's; `PermissionDenied` where the file there has another owner, who can't be kept.
    /// What was in its place then still is; but where the folder alone can't be synced, which the error
    /// says, the new one is there.
    pub fn put(mut self) -> std::io::Result<()> {
        sync_file(&self.held, &self.path)?;
        if let Some(old) = self.old.take() {
            self.take_after(&old)?;
        }
        rename(&self.path, &self.place)?;
        // Nothing is left to remove; the name may be another's soon.
        self.path.clear();
        sync_folder(&self.place).map_err(|error| {
            let message = format!("it is there, and may be gone again after a power cut: {error}");
            std::io::Error::new(error.kind(), message)
        })
    }

    /// Gives it the owner and the rights of the old file.
    #[cfg(unix)]
    fn take_after(&self, old: &Metadata) -> std::io::Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let own = fs::metadata(&self.path)?;
        let mut mode = old.mode() & 0o7777;
        if self.narrow {
            mode &= own.mode();
        } else {
            if own.uid() != old.uid() {
                fchown(&self.held, Some(old.uid()), None).map_err(|error| {
                    let message =
                        format!("the file there is user {}'s, who can't be kept", old.uid());
                    std::io::Error::new(error.kind(), message)
                })?;
            }
            if own.gid() != old.gid() && fchown(&self.held, None, Some(old.gid())).is_err() {
                mode &= !0o070 | (mode & 0o007) << 3;
            }
        }
        fs::set_permissions(&self.path, fs::Permissions::from_mode(mode))
    }

    #[cfg(not(unix))]
    fn take_after(&self, old: &Metadata) -> std::io::Result<()> {
        fs::set_permissions(&self.path, old.permissions())
    }

    /// Removes what killed processes left in a folder for places whose names `is_wanted` knows; gives
    /// how many files that were. What can't be looked at or removed stays.
    pub fn clear(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> usize {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let abandoned = entries.filter(|entry| {
            let name = entry.file_name();
            let place = name.to_str().and_then(place_of);
            let is_there = entry.file_type().is_ok_and(|kind| kind.is_file());
            is_there && place.is_some_and(&is_wanted) && remove_abandoned(folder, &name)
        });
        abandoned.count()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        // What is left is of no use, and its removal may fail for the same reason as the writing.
        let _ = fs::remove_file(&self.path);
    }
}

/// Who holds a file.
enum Held {
    /// This one, or nobody can tell.
    Here,
    /// This one, but it was removed before that.
    Gone,
    ByAnother,
}

/// Takes the lock of a file that was just opened.
fn hold(file: &File, path: &Path) -> Held {
    if !cfg!(unix) {
        // Elsewhere a lock keeps the same process's other handles from writing.
        return Held::Here;
    }
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Held::ByAnother,
        // A file system without locks.
        Err(TryLockError::Error(_)) => Held::Here,
        Ok(()) if is_at(file, path) => Held::Here,
        Ok(()) => Held::Gone,
    }
}

/// Removes a file that nobody has locked, or one that a database keeps beside such a file.
fn remove_abandoned(folder: &Path, name: &OsStr) -> bool {
    if !cfg!(unix) {
        return false;
    }
    let whole = name.to_str().map_or(name, |name| OsStr::new(without_journal(name)));
    // With the lock, until it is gone: who opens it meanwhile sees that it is.
    let file = match File::open(folder.join(whole)) {
        Ok(file) if file.try_lock().is_ok() => Some(file),
        // It went before what it kept.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && whole != name => None,
        _ => return false,
    };
    let removed = fs::remove_file(folder.join(name)).is_ok();
    drop(file);
    removed
}

/// The name of the file that a database's journal, its log or the log's index is for.
fn without_journal(name: &str) -> &str {
    let endings = ["-journal", "-wal", "-shm"];
    endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// Removes what killed processes left beside a place.
fn clear_for(place: &Path) {
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(name) = place.file_name().and_then(|name| name.to_str()) {
        AtomicFile::clear(folder.unwrap_or(Path::new(".")), |other| other == name);
    }
}

/// The name of the place that a file is written for: that of `NAME.PROCESS.new` and
/// `NAME.PROCESS.NUMBER.new`, and of what a database keeps beside these.
fn place_of(name: &str) -> Option<&str> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let (rest, last) = without_journal(name).strip_suffix(".new")?.rsplit_once('.')?;
    if !is_number(last) {
        return None;
    }
    match rest.rsplit_once('.') {
        // With a number of its own, unless the place's name ends with one.
        Some((place, process)) if is_number(process) => Some(place),
        _ => Some(rest),
    }
}

/// The file itself where the path is a link to it, and what there is of it.
fn resolve(place: &Path) -> Result<(PathBuf, Option<Metadata>)> {
    let place = fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
    let old = fs::metadata(&place).ok();
    if old.as_ref().is_some_and(|old| old.permissions().readonly()) {
        let message = format!("{} may only be read", place.display());
        return Err(Error::new(ErrorKind::ReadOnly, message));
    }
    Ok((place, old))
}

fn beside(place: &Path, ending: &str) -> PathBuf {
    let mut name = place.file_name().map_or_else(OsString::new, ToOwned::to_owned);
    name.push(ending);
    place.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_left_is_known_by_its_name() {
        assert_eq!(place_of("app.db.12.new"), Some("app.db"));
        assert_eq!(place_of("app.db.12.3.new"), Some("app.db"));
        assert_eq!(place_of("app.db.12.3.new-journal"), Some("app.db"));
        assert_eq!(place_of("app.db-wal"), None);
        for other in ["app.db", "app.new", "app.db.x.new", "app.db..new", "app.db.12.old"] {
            assert_eq!(place_of(other), None, "{other}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn what_nobody_holds_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        for left in ["a.db.1.new", "a.db.1.7.new", "b.db.1.7.new", "a.db.new", "a.db.x.new"] {
            fs::write(file(left), "left").unwrap();
        }
        let aside = AtomicFile::one_of_many(&file("a.db")).unwrap();
        let second = AtomicFile::one_of_many(&file("a.db")).unwrap();
        assert!(aside.path().exists() && second.path().exists(), "these are held");
        assert!(!file("a.db.1.new").exists() && !file("a.db.1.7.new").exists());
        assert!(file("b.db.1.7.new").exists() && file("a.db.new").exists());
        let own = AtomicFile::of(&file("a.db")).unwrap();
        assert_eq!(AtomicFile::of(&file("a.db")).unwrap_err().kind(), ErrorKind::Busy);
        fs::write(own.path(), "whole").unwrap();
        own.put().unwrap();
        assert_eq!(fs::read(file("a.db")).unwrap(), b"whole");
        assert_eq!(AtomicFile::clear(folder.path(), |_| true), 1, "that of b");
        drop((aside, second));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    #[cfg(unix)]
    fn journals_go_with_what_they_were_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        for left in ["a.db.1.7.new-journal", "a.db.1.8.new", "a.db.1.8.new-wal", "a.db-wal"] {
            fs::write(file(left), "left").unwrap();
        }
        let aside = AtomicFile::one_of_many(&file("a.db")).unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names(), 2, "the aside, and the log of the file itself");
        let journal = format!("{}-journal", aside.path().display());
        fs::write(&journal, "in use").unwrap();
        assert_eq!(AtomicFile::clear(folder.path(), |_| true), 0);
        assert!(Path::new(&journal).exists());
    }

    /// Only who is root can give files away.
    #[test]
    #[cfg(unix)]
    fn the_owner_and_the_rights_stay() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        let set = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        fs::write(&file, "old").unwrap();
        let given = chown(&file, Some(65_534), Some(65_534)).is_ok();
        set(0o640);
        AtomicFile::one_of_many(&file).unwrap().put().unwrap();
        let now = fs::metadata(&file).unwrap();
        assert_eq!((now.mode() & 0o777, now.len()), (0o640, 0));
        assert_eq!(now.uid() == 65_534 && now.gid() == 65_534, given);
        let private = AtomicFile::private(&folder.path().join("b.db")).unwrap();
        assert_eq!(fs::metadata(private.path()).unwrap().mode() & 0o777, 0o600);
        // A copy of what is private stays so.
        set(0o644);
        let copy = AtomicFile::one_of_many(&file).unwrap().narrow();
        fs::set_permissions(copy.path(), fs::Permissions::from_mode(0o600)).unwrap();
        copy.put().unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    }
}
