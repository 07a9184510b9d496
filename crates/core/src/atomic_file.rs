//! Atomic files: written under a temporary name, then renamed into place.
//!
//! The writer locks the temporary file. So the file of a writer that was killed can be recognized:
//! nobody holds its lock. The next writer of the same target removes it.

use crate::durable::{is_at, rename, sync_file, sync_folder};
use crate::{Error, ErrorKind, Result};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// How often to try a name that another process takes at the same moment.
const ATTEMPTS: u32 = 100;

/// A new version of a file, written to a temporary file in the same folder. Dropping it removes the
/// temporary file.
///
/// The target is always either the old file or the complete new one. After
/// [`commit`](AtomicFile::commit) has returned, a power cut does not change that.
#[derive(Debug)]
pub struct AtomicFile {
    target: PathBuf,
    path: PathBuf,
    /// Of the file that the target replaces.
    old: Option<Metadata>,
    /// See [`restrict_permissions`](AtomicFile::restrict_permissions).
    restricted: bool,
    /// Locked, if the system has locks that do not hinder other handles of this process.
    file: File,
}

impl AtomicFile {
    /// Creates `NAME.PROCESS.new`, for a target that only one thread of this process writes. If the
    /// target is a symbolic link, the file it leads to is replaced. Removes what killed processes
    /// left behind for the same target.
    ///
    /// # Errors
    /// `ReadOnly` if the target is read-only; `Busy` if this process is writing it already; `Io`,
    /// `Full`.
    pub fn create(target: &Path) -> Result<Self> {
        let (target, old) = resolve(target)?;
        remove_abandoned_for(&target);
        let path = sibling(&target, &format!(".{}.new", std::process::id()));
        let doing = |error| Error::io(&format!("write {}", target.display()), error);
        for _ in 0..ATTEMPTS {
            // Follows a link that somebody put there.
            let mut options = OpenOptions::new();
            let file = options.write(true).create(true).truncate(false).open(&path);
            let file = file.map_err(doing)?;
            match lock(&file, &path) {
                LockOutcome::Locked => {
                    return Ok(Self { target, path, old, restricted: false, file });
                }
                LockOutcome::Removed => {}
                LockOutcome::LockedByOther => break,
            }
        }
        let message = format!("{} is already being written", target.display());
        Err(Error::new(ErrorKind::Busy, message))
    }

    /// Creates `NAME.PROCESS.NUMBER.new`, for a target that several threads may write.
    ///
    /// # Errors
    /// As [`create`](AtomicFile::create).
    pub fn create_numbered(target: &Path) -> Result<Self> {
        Self::create_with(target, None)
    }

    /// As [`create_numbered`](AtomicFile::create_numbered), readable by its owner only until
    /// [`commit`](AtomicFile::commit) or the caller gives it other permissions: for copies of private
    /// data.
    ///
    /// # Errors
    /// As [`create`](AtomicFile::create).
    pub fn create_private(target: &Path) -> Result<Self> {
        Self::create_with(target, Some(0o600))
    }

    fn create_with(target: &Path, mode: Option<u32>) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (target, old) = resolve(target)?;
        remove_abandoned_for(&target);
        for _ in 0..ATTEMPTS {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = sibling(&target, &format!(".{}.{number}.new", std::process::id()));
            let mut options = OpenOptions::new();
            #[cfg(unix)]
            if let Some(mode) = mode {
                // Set when the file is created: a process that opened it before a later chmod could
                // read what is written afterwards.
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
            }
            #[cfg(not(unix))]
            let _ = mode;
            match options.write(true).create_new(true).open(&path) {
                Ok(file) if matches!(lock(&file, &path), LockOutcome::Locked) => {
                    return Ok(Self { target, path, old, restricted: false, file });
                }
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io(&format!("write {}", target.display()), error)),
            }
        }
        let message = format!("no free name for a temporary file next to {}", target.display());
        Err(Error::new(ErrorKind::Busy, message))
    }

    /// The temporary file to write to: empty at first.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that [`commit`](AtomicFile::commit) replaces.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Replaces the temporary path in an error's message by the target, which users know.
    #[must_use]
    pub fn name_target(&self, error: Error) -> Error {
        error.renaming(&self.path.display().to_string(), &self.target.display().to_string())
    }

    /// Makes [`commit`](AtomicFile::commit) add no permissions to those that the temporary file has,
    /// whatever the old file allows: for a copy of a file with these permissions. The owner then stays
    /// the user that created the new file.
    #[must_use]
    pub fn restrict_permissions(mut self) -> Self {
        self.restricted = true;
        self
    }

    /// Syncs the file and renames it to the target. It gets the owner and the permissions of the old
    /// file; if the group cannot be kept, its members get the permissions of all other users.
    ///
    /// # Errors
    /// Those of the system; `PermissionDenied` if the owner of the old file cannot be kept. The old
    /// file is then unchanged, unless only the folder could not be synced: then the new file is in
    /// place, and the message says so.
    pub fn commit(mut self) -> std::io::Result<()> {
        sync_file(&self.file, &self.path)?;
        if let Some(old) = self.old.take() {
            self.copy_owner(&old)?;
        }
        rename(&self.path, &self.target)?;
        // Nothing is left to remove, and another writer may use the name soon.
        self.path.clear();
        sync_folder(&self.target).map_err(|error| {
            let message = format!("the file was replaced, but a power cut may undo that: {error}");
            std::io::Error::new(error.kind(), message)
        })
    }

    /// Copies the owner and the permissions of the old file.
    #[cfg(unix)]
    fn copy_owner(&self, old: &Metadata) -> std::io::Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let own = fs::metadata(&self.path)?;
        let mut mode = old.mode() & 0o7777;
        if self.restricted {
            mode &= own.mode();
        } else {
            if own.uid() != old.uid() {
                fchown(&self.file, Some(old.uid()), None).map_err(|error| {
                    let message = format!("cannot keep the old file's owner, user {}", old.uid());
                    std::io::Error::new(error.kind(), message)
                })?;
            }
            if own.gid() != old.gid() && fchown(&self.file, None, Some(old.gid())).is_err() {
                mode &= !0o070 | (mode & 0o007) << 3;
            }
        }
        fs::set_permissions(&self.path, fs::Permissions::from_mode(mode))
    }

    #[cfg(not(unix))]
    fn copy_owner(&self, old: &Metadata) -> std::io::Result<()> {
        fs::set_permissions(&self.path, old.permissions())
    }

    /// Removes temporary files that killed processes left in a folder, for targets whose names
    /// `is_wanted` accepts; returns how many. Files that cannot be read or removed stay.
    pub fn remove_abandoned(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> usize {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let abandoned = entries.filter(|entry| {
            let name = entry.file_name();
            let target = name.to_str().and_then(target_of);
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            is_file && target.is_some_and(&is_wanted) && remove_if_abandoned(folder, &name)
        });
        abandoned.count()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        // If this fails, the next writer removes the file.
        let _ = fs::remove_file(&self.path);
    }
}

/// The result of locking a temporary file.
enum LockOutcome {
    /// This process has the lock, or the system has no locks.
    Locked,
    /// This process has the lock, but another one removed the file before.
    Removed,
    LockedByOther,
}

/// Locks a file that was just opened.
fn lock(file: &File, path: &Path) -> LockOutcome {
    if !cfg!(unix) {
        // On other systems a lock keeps other handles of the same process from writing.
        return LockOutcome::Locked;
    }
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => LockOutcome::LockedByOther,
        // The file system has no locks.
        Err(TryLockError::Error(_)) => LockOutcome::Locked,
        Ok(()) if is_at(file, path) => LockOutcome::Locked,
        Ok(()) => LockOutcome::Removed,
    }
}

/// Removes a temporary file that nobody has locked, or a database's journal next to such a file.
fn remove_if_abandoned(folder: &Path, name: &OsStr) -> bool {
    if !cfg!(unix) {
        return false;
    }
    let main = name.to_str().map_or(name, |name| OsStr::new(without_journal(name)));
    // Holds the lock until the file is removed, so that a process that opens it meanwhile notices.
    let file = match File::open(folder.join(main)) {
        Ok(file) if file.try_lock().is_ok() => Some(file),
        // The main file was removed before its journal.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && main != name => None,
        _ => return false,
    };
    let removed = fs::remove_file(folder.join(name)).is_ok();
    drop(file);
    removed
}

/// The name without the suffix of a database's journal, write-ahead log or shared memory.
fn without_journal(name: &str) -> &str {
    let endings = ["-journal", "-wal", "-shm"];
    endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// Removes what killed processes left behind for a target.
fn remove_abandoned_for(target: &Path) {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(name) = target.file_name().and_then(|name| name.to_str()) {
        AtomicFile::remove_abandoned(folder.unwrap_or(Path::new(".")), |other| other == name);
    }
}

/// The name of the target of a temporary file: of `NAME.PROCESS.new`, `NAME.PROCESS.NUMBER.new`, or
/// of a database's journal next to one of these.
fn target_of(name: &str) -> Option<&str> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let (rest, last) = without_journal(name).strip_suffix(".new")?.rsplit_once('.')?;
    if !is_number(last) {
        return None;
    }
    match rest.rsplit_once('.') {
        // This takes a target whose own name ends with a number for a numbered file.
        Some((target, process)) if is_number(process) => Some(target),
        _ => Some(rest),
    }
}

/// The target with symbolic links resolved, and the metadata of the old file.
fn resolve(target: &Path) -> Result<(PathBuf, Option<Metadata>)> {
    let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
    let old = fs::metadata(&target).ok();
    if old.as_ref().is_some_and(|old| old.permissions().readonly()) {
        let message = format!("{} is read-only", target.display());
        return Err(Error::new(ErrorKind::ReadOnly, message));
    }
    Ok((target, old))
}

/// The path of a file in the same folder, with a suffix.
fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().map_or_else(OsString::new, ToOwned::to_owned);
    name.push(suffix);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_name_determines_target() {
        assert_eq!(target_of("app.db.12.new"), Some("app.db"));
        assert_eq!(target_of("app.db.12.3.new"), Some("app.db"));
        assert_eq!(target_of("app.db.12.3.new-journal"), Some("app.db"));
        assert_eq!(target_of("app.db-wal"), None);
        for other in ["app.db", "app.new", "app.db.x.new", "app.db..new", "app.db.12.old"] {
            assert_eq!(target_of(other), None, "{other}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn abandoned_temporary_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        for left in ["a.db.1.new", "a.db.1.7.new", "b.db.1.7.new", "a.db.new", "a.db.x.new"] {
            fs::write(file(left), "left").unwrap();
        }
        let first = AtomicFile::create_numbered(&file("a.db")).unwrap();
        let second = AtomicFile::create_numbered(&file("a.db")).unwrap();
        assert!(first.path().exists() && second.path().exists(), "both are locked");
        assert!(!file("a.db.1.new").exists() && !file("a.db.1.7.new").exists());
        assert!(file("b.db.1.7.new").exists() && file("a.db.new").exists());
        let own = AtomicFile::create(&file("a.db")).unwrap();
        assert_eq!(AtomicFile::create(&file("a.db")).unwrap_err().kind(), ErrorKind::Busy);
        fs::write(own.path(), "whole").unwrap();
        own.commit().unwrap();
        assert_eq!(fs::read(file("a.db")).unwrap(), b"whole");
        assert_eq!(AtomicFile::remove_abandoned(folder.path(), |_| true), 1, "the file of b.db");
        drop((first, second));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    #[cfg(unix)]
    fn journals_are_removed_with_their_main_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        for left in ["a.db.1.7.new-journal", "a.db.1.8.new", "a.db.1.8.new-wal", "a.db-wal"] {
            fs::write(file(left), "left").unwrap();
        }
        let first = AtomicFile::create_numbered(&file("a.db")).unwrap();
        let names = || fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names(), 2, "the temporary file, and the log of a.db itself");
        let journal = format!("{}-journal", first.path().display());
        fs::write(&journal, "in use").unwrap();
        assert_eq!(AtomicFile::remove_abandoned(folder.path(), |_| true), 0);
        assert!(Path::new(&journal).exists());
    }

    /// Only root can change the owner of a file.
    #[test]
    #[cfg(unix)]
    fn commit_keeps_owner_and_permissions() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        let set = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        fs::write(&file, "old").unwrap();
        let given = chown(&file, Some(65_534), Some(65_534)).is_ok();
        set(0o640);
        AtomicFile::create_numbered(&file).unwrap().commit().unwrap();
        let now = fs::metadata(&file).unwrap();
        assert_eq!((now.mode() & 0o777, now.len()), (0o640, 0));
        assert_eq!(now.uid() == 65_534 && now.gid() == 65_534, given);
        let private = AtomicFile::create_private(&folder.path().join("b.db")).unwrap();
        assert_eq!(fs::metadata(private.path()).unwrap().mode() & 0o777, 0o600);
        // With restricted permissions, a copy of a private file stays private.
        set(0o644);
        let copy = AtomicFile::create_numbered(&file).unwrap().restrict_permissions();
        fs::set_permissions(copy.path(), fs::Permissions::from_mode(0o600)).unwrap();
        copy.commit().unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    }
}
