//! A backup that was copied to a temporary file to be checked, and how errors about that file are reported.

use bobak_core::{Error, ErrorKind};
use std::io;
use std::path::Path;

/// A temporary file, and the names that the caller knows instead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StagedCopy<'a> {
    pub backup: &'a Path,
    pub path: &'a Path,
    /// The final name; `None` if the file is only checked, in a temporary folder.
    pub target: Option<&'a Path>,
}

impl StagedCopy<'_> {
    /// An error of the operating system while the file is written.
    pub(crate) fn failed(&self, error: io::Error) -> Error {
        self.advised(Error::io(&self.doing(), error))
    }

    /// An error in the file's content: the backup's, unless the disk failed.
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

    /// The error with a name that the caller knows.
    pub(crate) fn naming(&self, error: Error) -> Error {
        let known = self.target.unwrap_or(self.backup).display().to_string();
        error.renaming(&self.path.display().to_string(), &known)
    }

    fn doing(&self) -> String {
        let backup = self.backup.display();
        match self.target {
            Some(target) => format!("restore {} from {backup}", target.display()),
            None => format!("check {backup}"),
        }
    }

    /// Adds where space is needed.
    fn advised(&self, error: Error) -> Error {
        if error.kind() != ErrorKind::Full {
            return error;
        }
        let advice = match self.target.map(|target| target.parent().unwrap_or(target).display()) {
            Some(folder) => {
                format!("free space in {folder}, where the whole file is written first")
            }
            None => format!(
                "free space in {}, where the whole file is written first, or name another folder \
                 in TMPDIR",
                std::env::temp_dir().display()
            ),
        };
        let message = format!("{}: {advice}", error.message());
        Error::new(ErrorKind::Full, message).with_source(error)
    }
}
