//! A folder for files that nobody else may read, gone when it is dropped.

use bobak_core::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A private folder among the system's temporary files.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// Makes one.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`.
    pub(super) fn new() -> Result<Self> {
        Self::inside(&std::env::temp_dir())
    }

    fn inside(folder: &Path) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("bobak.{}.{number}", std::process::id()));
            match private_folder(&path) {
                Ok(()) => return Ok(Self(path)),
                // An earlier process of this number left one, or somebody else was here first.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io(&format!("make {}", path.display()), error)),
            }
        }
    }

    /// The path of a file in it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// An error that names such a file, which nobody knows: with what it is, and where.
    pub(super) fn naming(&self, error: Error, name: &str) -> Error {
        let file = self.file(name).display().to_string();
        let copy = format!("the copy in {}", std::env::temp_dir().display());
        error.renaming(&format!("the backup {file}"), &copy).renaming(&file, &copy)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn private_folder(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
