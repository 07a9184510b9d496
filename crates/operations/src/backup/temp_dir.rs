//! A folder for files that nobody else may read, gone when it is dropped.
//!
//! Whoever has one has it locked, as who writes an [`AtomicFile`](bobak_core::AtomicFile) has that. So what was left by
//! a process that was killed, which may be as large as a database, is known, and goes with the next.

use bobak_core::{Error, Result};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// What the names begin with; behind it stand the process and a number.
const NAME: &str = "bobak.";

/// A private folder among the system's temporary files.
#[derive(Debug)]
pub(super) struct TempDir {
    path: PathBuf,
    /// Kept for its lock; `None` where the system opens no folders.
    _held: Option<File>,
}

impl TempDir {
    /// Makes one.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`.
    pub(super) fn new() -> Result<Self> {
        Self::inside(&std::env::temp_dir())
    }

    fn inside(folder: &Path) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        clear(folder);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{NAME}{}.{number}", std::process::id()));
            match private_folder(&path) {
                Ok(()) => {}
                // An earlier process of this number left one, or somebody else was here first.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(Error::io(&format!("make {}", path.display()), error)),
            }
            let held = File::open(&path).ok();
            // Another may have taken it for abandoned before it was locked.
            let is_own = held
                .as_ref()
                .is_none_or(|held| !matches!(held.try_lock(), Err(fs::TryLockError::WouldBlock)));
            if is_own && path.exists() {
                return Ok(Self { path, _held: held });
            }
        }
    }

    /// The path of a file in it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// An error that names such a file, which nobody knows: with what it is, and where.
    pub(super) fn naming(&self, error: Error, name: &str) -> Error {
        let file = self.file(name).display().to_string();
        let copy = format!("the copy in {}", std::env::temp_dir().display());
        error.renaming(&format!("the backup {file}"), &copy).renaming(&file, &copy)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what killed processes of this user have left. What can't be looked at or removed stays.
fn clear(folder: &Path) {
    if !cfg!(unix) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_folder || !entry.file_name().to_str().is_some_and(is_name) {
            continue;
        }
        // With the lock, until it is gone.
        if let Ok(held) = File::open(entry.path())
            && held.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let numbers = name.strip_prefix(NAME).and_then(|rest| rest.split_once('.'));
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_killed_processes_left_goes_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["bobak.1.2", "bobak.1", "bobak.x.1", "other.1.2"] {
            fs::create_dir(path(name)).unwrap();
            fs::write(path(name).join("backup"), "left").unwrap();
        }
        let first = TempDir::inside(folder.path()).unwrap();
        fs::write(first.file("backup"), "in use").unwrap();
        let second = TempDir::inside(folder.path()).unwrap();
        assert!(first.file("backup").exists() && second.path.exists());
        assert!(!path("bobak.1.2").exists());
        assert!(["bobak.1", "bobak.x.1", "other.1.2"].iter().all(|name| path(name).exists()));
        drop((first, second));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}
