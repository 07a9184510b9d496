//! The files of a folder, in order.

use super::frame::{Frame, LoggedChange};
use super::segment::{SegmentReader, check_name, in_file, place_in_name};
use bobak_changes::TableLayout;
use bobak_core::durable::sync_folder;
use bobak_core::{Error, ErrorKind, Field, Result, Timestamp, ValueRef};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The extension of files. Their names are the number of the change before the first one, in 20 digits.
pub(crate) const ENDING: &str = ".changes";
/// The file that a writer locks.
const LOCK: &str = "lock";
/// How long to wait for the lock: a child process that is just being started briefly holds the files of its parent.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// A folder of changes.
#[derive(Debug)]
pub(crate) struct ArchiveFolder {
    path: PathBuf,
    /// Locked while the folder is written to.
    _lock: Option<File>,
}

/// What a folder contains. See [`Archive::check`](crate::archive::Archive::check).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchiveSpan {
    /// The number of the change before the first one: an older backup can't be continued.
    pub from: u64,
    /// The number of the last change.
    pub to: u64,
    /// How many changes it has.
    pub changes: u64,
    /// When the last change was made; `None` if there is none.
    pub last: Option<Timestamp>,
    /// The last change with which a transaction is known to end. Smaller than `to` if the archive was interrupted while it
    /// was behind; `from` if no transaction boundary is known.
    pub whole: u64,
    /// When that boundary was read: transactions committed before are not after it. `None` if there is no boundary, and for
    /// changes of earlier versions, each of which counts as a boundary.
    pub read: Option<Timestamp>,
    /// Whether the archive ended because a table was altered by SQL, is gone, or its changes were pruned. Later changes are
    /// not in it, and it can't be continued.
    pub is_stopped: bool,
    /// How many files.
    pub files: usize,
    /// How many bytes at the end belong to an incomplete change, after a kill or a power cut, or while a process writes.
    pub unfinished: u64,
}

impl ArchiveFolder {
    pub fn to_read(path: &Path) -> Self {
        Self { path: path.to_owned(), _lock: None }
    }

    /// Creates the folder if it does not exist, and locks it against other writers.
    pub fn to_write(path: &Path) -> Result<Self> {
        let doing = |error| Error::io(&format!("write to {}", path.display()), error);
        fs::create_dir_all(path).map_err(doing)?;
        let mut options = OpenOptions::new();
        let lock = options.create(true).truncate(false).write(true).open(path.join(LOCK));
        let lock = lock.map_err(doing)?;
        let deadline = Instant::now() + LOCK_TIMEOUT;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(TryLockError::WouldBlock) => {
                    let message = format!("another process writes changes to {}", path.display());
                    return Err(Error::new(ErrorKind::Busy, message));
                }
                Err(TryLockError::Error(error)) => return Err(doing(error)),
            }
        }
        let folder = Self { path: path.to_owned(), _lock: Some(lock) };
        folder.remove_headless()?;
        Ok(folder)
    }

    /// The path of the file that begins after a change.
    pub fn file(&self, from: u64) -> PathBuf {
        self.path.join(format!("{from:020}{ENDING}"))
    }

    /// The last file.
    pub fn last(&self) -> Result<Option<PathBuf>> {
        Ok(self.files()?.pop())
    }

    /// Syncs the name of a new file.
    pub fn sync(&self) -> Result<()> {
        sync_folder(&self.path.join(LOCK))
            .map_err(|error| Error::io(&format!("sync {}", self.path.display()), error))
    }

    /// Removes a last file that a killed process left without a header.
    fn remove_headless(&self) -> Result<()> {
        match self.last()? {
            Some(last) if SegmentReader::open(&last)?.is_none() => fs::remove_file(&last)
                .map_err(|error| Error::io(&format!("remove {}", last.display()), error)),
            _ => Ok(()),
        }
    }

    /// The files, in order.
    fn files(&self) -> Result<Vec<PathBuf>> {
        let doing = |error| Error::io(&format!("read the folder {}", self.path.display()), error);
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(doing)? {
            let path = entry.map_err(doing)?.path();
            files.extend(place_in_name(&path).map(|position| (position, path)));
        }
        files.sort();
        Ok(files.into_iter().map(|(_, path)| path).collect())
    }

    /// The layouts that the files before the last one named last: a process that was killed may have begun a file without
    /// them.
    pub fn layouts_before_last(&self) -> Result<Option<Vec<TableLayout>>> {
        let mut files = self.files()?;
        files.pop();
        for path in files.iter().rev() {
            let mut found = None;
            if let Some(mut reader) = SegmentReader::open(path)? {
                while let Some(frame) = reader.next()? {
                    if let Frame::Layouts(named) = frame {
                        found = Some(named.layouts);
                    }
                }
            }
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Calls `each` with the files, each of which begins where the one before ends, until it returns `false`.
    ///
    /// # Errors
    /// `NotFound` if there is none; `Corrupt` if one is missing or incomplete.
    pub(crate) fn each(
        &self,
        mut each: impl FnMut(&mut SegmentReader) -> Result<bool>,
    ) -> Result<()> {
        let files = self.files()?;
        let mut end: Option<u64> = None;
        let last = files.len().saturating_sub(1);
        for (number, path) in files.iter().enumerate() {
            let Some(mut reader) = SegmentReader::open(path)? else {
                if number < last {
                    let error =
                        Error::new(ErrorKind::Corrupt, "it has no header, though others follow");
                    return Err(in_file(error, path));
                }
                break;
            };
            check_name(&reader)?;
            if end.is_some_and(|end| end != reader.from) {
                let message =
                    format!("it does not begin at {}, where the one before ends", end.unwrap_or(0));
                return Err(in_file(Error::new(ErrorKind::Corrupt, message), path));
            }
            if !each(&mut reader)? {
                return Ok(());
            }
            if number < last && reader.unfinished() > 0 {
                let message = "its end is missing, though others follow";
                return Err(in_file(Error::new(ErrorKind::Corrupt, message), path));
            }
            end = Some(reader.position);
        }
        match end {
            Some(_) => Ok(()),
            None => Err(self.has_none()),
        }
    }

    /// Rejects a folder without files.
    pub fn must_have_files(&self) -> Result<()> {
        self.last()?.map(|_| ()).ok_or_else(|| self.has_none())
    }

    #[cold]
    fn has_none(&self) -> Error {
        let message = format!("there are no changes in {}", self.path.display());
        Error::new(ErrorKind::NotFound, message)
    }

    /// See [`Archive::check`](crate::archive::Archive::check).
    pub fn check(&self) -> Result<ArchiveSpan> {
        let mut span = ArchiveSpan::default();
        let mut at = None;
        self.each(|reader| {
            if span.files == 0 {
                (span.from, span.whole) = (reader.from, reader.from);
            }
            span.files += 1;
            while let Some(frame) = reader.next()? {
                span.is_stopped |= matches!(frame, Frame::Stop(_));
                let Frame::Page(page) = frame else { continue };
                match page.boundaries.as_ref().map(|boundaries| boundaries.last()) {
                    Some(Some(last)) => (span.whole, span.read) = (last.id, Some(last.read)),
                    Some(None) => {}
                    None => (span.whole, span.read) = (page.next, None),
                }
                for change in page.changes {
                    at = Some(LoggedChange::of(change)?.at);
                    span.changes += 1;
                }
            }
            (span.to, span.unfinished) = (reader.position, reader.unfinished());
            Ok(true)
        })?;
        span.last = at.map(|at| Timestamp::from_value(ValueRef::Int(at))).transpose()?;
        Ok(span)
    }
}
