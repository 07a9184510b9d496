//! A backup that is laid out in a file of its own to be checked, and what is said where that fails.

use bobak_core::{Error, ErrorKind};
use std::io;
use std::path::Path;

/// A file whose name means nothing to anybody, and what the caller knows in its stead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StagedCopy<'a> {
    pub backup: &'a Path,
    pub path: &'a Path,
    /// Where it is to be put; `None` where it is among the system's temporary files, only to be checked.
    pub place: Option<&'a Path>,
}

impl StagedCopy<'_> {
    /// The error of the system's by which it could not be written.
    pub(crate) fn failed(&self, error: io::Error) -> Error {
        self.advised(Error::io(&self.doing(), error))
    }

    /// What is wrong with what is in it: of a backup, unless it is the disk.
    pub(crate) fn unusable(&self, error: Error) -> Error {
        let is_disk = matches!(error.kind(), ErrorKind::Full | ErrorKind::Io | ErrorKind::ReadOnly);
        let begin = match is_disk {
            true => format!("could not {}: ", self.doing()),
            false => format!("the backup {} can't be used: ", self.backup.display()),
        };
        let kind = error.kind();
        let path = self.path.display().to_string();
        let said = error.message().strip_prefix(&path).and_then(|said| said.strip_prefix(": "));
        let message = format!("{begin}{}", said.unwrap_or(error.message()));
        self.advised(self.naming(Error::new(kind, message).with_source(error)))
    }

    /// The error, with a name that the caller knows.
    pub(crate) fn naming(&self, error: Error) -> Error {
        let known = self.place.unwrap_or(self.backup).display().to_string();
        error.renaming(&self.path.display().to_string(), &known)
    }

    fn doing(&self) -> String {
        let backup = self.backup.display();
        match self.place {
            Some(place) => format!("restore {} from {backup}", place.display()),
            None => format!("check {backup}"),
        }
    }

    /// Says where room is to be made.
    fn advised(&self, error: Error) -> Error {
        if error.kind() != ErrorKind::Full {
            return error;
        }
        let advice = match self.place.map(|place| place.parent().unwrap_or(place).display()) {
            Some(folder) => format!("make room in {folder}, where all of it is written first"),
            None => format!(
                "make room in {}, where all of it is written first, or name another folder in TMPDIR",
                std::env::temp_dir().display()
            ),
        };
        let message = format!("{}: {advice}", error.message());
        Error::new(ErrorKind::Full, message).with_source(error)
    }
}
