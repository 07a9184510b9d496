//! The file: its pages by `jetdb`, and what goes wrong with them.

use bobak_core::{Error, ErrorKind, Result};
use jetdb::{FileError, PageReader};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// A file that is open for reading.
pub(crate) struct MsAccessFile {
    reader: PageReader,
    path: PathBuf,
}

impl MsAccessFile {
    /// Opens a file.
    ///
    /// # Errors
    /// As [`MsAccessBuilder::open`](crate::MsAccessBuilder::open).
    pub fn open(path: &Path, password: Option<&str>) -> Result<Self> {
        reject_others(path)?;
        let reader = guarded(path, || PageReader::open_with_password(path, password))?;
        Ok(Self { reader, path: path.to_owned() })
    }

    /// Runs `work` on the pages.
    ///
    /// # Errors
    /// `Corrupt` if the file is damaged, and others of `jetdb`.
    pub fn read<R>(
        &mut self,
        work: impl FnOnce(&mut PageReader) -> std::result::Result<R, FileError>,
    ) -> Result<R> {
        let reader = &mut self.reader;
        guarded(&self.path, || work(reader))
    }

    /// The error about a damaged part.
    pub fn damaged(&self, what: &str) -> Error {
        damaged(&self.path, what)
    }
}

/// The result of `work`. A panic on damaged pages is an error, too.
fn guarded<R>(path: &Path, work: impl FnOnce() -> std::result::Result<R, FileError>) -> Result<R> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| failed(path, error)),
        Err(_) => Err(damaged(path, "its pages contradict each other")),
    }
}

#[cold]
pub(crate) fn damaged(path: &Path, what: &str) -> Error {
    let message = format!(
        "{} is damaged ({what}): repair it in Access with Compact and Repair Database, or restore a backup",
        path.display()
    );
    Error::new(ErrorKind::Corrupt, message)
}

#[cold]
fn failed(path: &Path, error: FileError) -> Error {
    let shown = path.display();
    let (kind, message) = match error {
        FileError::Io(error) => return Error::io(&format!("read {shown}"), error),
        FileError::PasswordRequired => (
            ErrorKind::Denied,
            format!("{shown} has a password: name its variable in password_env"),
        ),
        FileError::InvalidPassword => {
            (ErrorKind::Denied, format!("the password of {shown} is another"))
        }
        FileError::UnsupportedEncryption { reason } => (
            ErrorKind::Unsupported,
            format!("{shown} is encrypted in a way that cannot be read: {reason}"),
        ),
        error => return damaged(path, &error.to_string()).with_source(error),
    };
    Error::new(kind, message)
}

/// What an Access file has after its first four bytes.
const SIGNATURES: [&[u8]; 2] = [b"Standard Jet DB\0", b"Standard ACE DB\0"];

/// Rejects folders and files of other programs.
fn reject_others(path: &Path) -> Result<()> {
    let shown = path.display();
    let doing = format!("open {shown}");
    if path.is_dir() {
        let message = format!("{shown} is a folder: name a file in it");
        return Err(Error::new(ErrorKind::Misuse, message));
    }
    let file = std::fs::File::open(path).map_err(|error| Error::io(&doing, error))?;
    let mut start = Vec::new();
    file.take(20).read_to_end(&mut start).map_err(|error| Error::io(&doing, error))?;
    if start.get(4..).is_some_and(|found| SIGNATURES.contains(&found)) {
        return Ok(());
    }
    let what = match start.starts_with(b"SQLite") {
        true => format!("an SQLite database: open it as sqlite:{shown}"),
        false => "not an Access file".to_owned(),
    };
    Err(Error::new(ErrorKind::Corrupt, format!("{shown} is {what}")))
}
