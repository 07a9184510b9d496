//! The lock file next to a file that is open for writing, as Access has it.

use bobak_core::{Error, ErrorKind, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind as Io, Read, Write};
use std::path::{Path, PathBuf};

/// What Bobak's lock files have: an entry as Access's, of the computer's name and the user's.
const ENTRY: [u8; 64] = {
    let mut entry = [0; 64];
    let (computer, user) = (b"BOBAK", b"Admin");
    let mut at = 0;
    while at < 5 {
        entry[at] = computer[at];
        entry[32 + at] = user[at];
        at += 1;
    }
    entry
};

/// The lock file of one file, which exists as long as the file is open for writing. A lock of the system on it is gone with
/// its process, so a lock file of a killed process is recognized.
#[derive(Debug)]
pub(super) struct LockFile {
    path: PathBuf,
    _file: File,
}

impl LockFile {
    /// Takes the lock.
    ///
    /// # Errors
    /// `Busy` if another program has the file open; `ReadOnly`, `Io`.
    pub fn take(path: &Path) -> Result<Self> {
        reject_open_elsewhere(path)?;
        let is_new = path.extension().is_some_and(|name| name.eq_ignore_ascii_case("accdb"));
        let lock = path.with_extension(if is_new { "laccdb" } else { "ldb" });
        let doing = |error| Error::io(&format!("write {}", lock.display()), error);
        let mut file = match OpenOptions::new().write(true).create_new(true).open(&lock) {
            Ok(file) => file,
            Err(error) if error.kind() == Io::AlreadyExists => {
                OpenOptions::new().write(true).open(&lock).map_err(doing)?
            }
            Err(error) => return Err(doing(error)),
        };
        if file.try_lock().is_err() {
            return Err(busy(path, &lock));
        }
        file.write_all(&ENTRY).map_err(doing)?;
        Ok(Self { path: lock, _file: file })
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // If that fails, the next program finds that nobody holds it.
        let _removed = fs::remove_file(&self.path);
    }
}

/// Rejects a file that another program has open: there is a lock file next to it, which is not of a killed Bobak.
///
/// # Errors
/// `Busy`.
pub(crate) fn reject_open_elsewhere(path: &Path) -> Result<()> {
    for lock in ["laccdb", "ldb"].map(|extension| path.with_extension(extension)) {
        if lock.exists() && !is_abandoned(&lock) {
            return Err(busy(path, &lock));
        }
    }
    Ok(())
}

/// Whether it is a lock file of Bobak whose process has ended.
fn is_abandoned(lock: &Path) -> bool {
    let mut content = Vec::new();
    let Ok(mut file) = OpenOptions::new().read(true).write(true).open(lock) else { return false };
    let is_read = file.read_to_end(&mut content).is_ok();
    is_read && content == ENTRY && file.try_lock().is_ok()
}

#[cold]
fn busy(path: &Path, lock: &Path) -> Error {
    let message = format!(
        "another program has {} open: close it there; if a crash left {}, delete that",
        path.display(),
        lock.display()
    );
    Error::new(ErrorKind::Busy, message)
}
