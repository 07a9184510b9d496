//! A private temporary folder, deleted when it is dropped.
//!
//! Its owner holds a lock on it, as the writer of an [`AtomicFile`](bobak_core::AtomicFile) does. So folders of killed
//! processes, which may be as large as a database, are recognized, and the next process deletes them.

use bobak_core::{Error, Result};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The prefix of the names; the process id and a number follow.
const PREFIX: &str = "bobak.";

/// A private folder in the system's temporary folder.
#[derive(Debug)]
pub(crate) struct TempDir {
    path: PathBuf,
    /// Open to hold the lock; `None` if the system cannot open folders.
    _held: Option<File>,
}

impl TempDir {
    /// Creates one.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`.
    pub(crate) fn new() -> Result<Self> {
        Self::inside(&std::env::temp_dir())
    }

    fn inside(folder: &Path) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        clear(folder);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{PREFIX}{}.{number}", std::process::id()));
            match private_folder(&path) {
                Ok(()) => {}
                // A process with the same id left one, or another process created it first.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(Error::io(&format!("make {}", path.display()), error)),
            }
            let held = File::open(&path).ok();
            // Another process may have deleted it as abandoned before it was locked.
            let is_own = held
                .as_ref()
                .is_none_or(|held| !matches!(held.try_lock(), Err(fs::TryLockError::WouldBlock)));
            if is_own && path.exists() {
                return Ok(Self { path, _held: held });
            }
        }
    }

    /// The folder that it is in, for messages.
    #[cfg(feature = "encryption")]
    pub(crate) fn parent(&self) -> std::path::Display<'_> {
        self.path.parent().unwrap_or(&self.path).display()
    }

    /// The path of a file in the folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Replaces the temporary file's name in an error by a description and the folder.
    pub(crate) fn naming(&self, error: Error, name: &str) -> Error {
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

/// Deletes folders that killed processes of this user left. Folders that cannot be opened or deleted stay.
fn clear(folder: &Path) {
    if !cfg!(unix) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_folder || !entry.file_name().to_str().is_some_and(is_name) {
            continue;
        }
        // The lock is held until the folder is gone.
        if let Ok(held) = File::open(entry.path())
            && held.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('.'));
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
    fn only_folders_of_killed_processes_are_deleted() {
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
