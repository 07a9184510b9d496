//! Files that are written beside their place and then put there, whole.

use crate::{Error, ErrorKind, Result};
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A file that is being written, in the folder where it is to be. Dropping it removes it.
///
/// At every moment there is in its place what was there before, or the new file, whole; when
/// [`put`](Aside::put) has returned, that is so after a power cut too.
#[derive(Debug)]
pub struct Aside {
    place: PathBuf,
    path: PathBuf,
    old: Option<Permissions>,
}

impl Aside {
    /// For who is the only one of this process to write to the place: `NAME.PROCESS.new`. Where the
    /// place is a link to a file, it is that file's.
    ///
    /// # Errors
    /// `ReadOnly` where the file in its place may only be read.
    pub fn of(place: &Path) -> Result<Self> {
        Self::named(place, format!(".{}.new", std::process::id()))
    }

    /// For one of several: `NAME.PROCESS.NUMBER.new`. What an earlier process left under this name
    /// is removed.
    ///
    /// # Errors
    /// As [`of`](Aside::of); `Io`.
    pub fn one_of_many(place: &Path) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let aside = Self::named(place, format!(".{}.{number}.new", std::process::id()))?;
        match fs::remove_file(&aside.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io(&format!("write {}", aside.path.display()), error))
            }
            _ => Ok(aside),
        }
    }

    fn named(place: &Path, ending: String) -> Result<Self> {
        // The file itself is replaced where the path is a link to it.
        let place = fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
        let old = fs::metadata(&place).ok().map(|old| old.permissions());
        if old.as_ref().is_some_and(Permissions::readonly) {
            let message = format!("{} may only be read", place.display());
            return Err(Error::new(ErrorKind::ReadOnly, message));
        }
        let mut name = place.file_name().map_or_else(OsString::new, ToOwned::to_owned);
        name.push(ending);
        Ok(Self { path: place.with_file_name(name), place, old })
    }

    /// Where it is written.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is to be.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Puts it in its place, with the rights of the file that was there. It must have been synced.
    ///
    /// # Errors
    /// Of the system's; what was in its place then still is.
    pub fn put(mut self) -> std::io::Result<()> {
        if let Some(permissions) = self.old.take() {
            fs::set_permissions(&self.path, permissions)?;
        }
        fs::rename(&self.path, &self.place)?;
        sync_folder(&self.place)
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // Nothing is there after `put`; what else is left is of no use, and its removal may fail
        // for the same reason as the writing.
        let _ = fs::remove_file(&self.path);
    }
}

/// Makes a change of the names in a file's folder durable.
///
/// # Errors
/// Of the system's.
pub fn sync_folder(path: &Path) -> std::io::Result<()> {
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}
