//! The files of a folder, in order.

use super::frame::{Frame, Logged};
use super::segment::{Reader, check_name, in_file, place_in_name};
use bobak_core::durable::sync_folder;
use bobak_core::{Error, ErrorKind, Field, Result, Timestamp, ValueRef};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How a file's name ends; before it stands the place that it begins behind, in 20 digits.
pub(crate) const ENDING: &str = ".changes";
/// The file that whoever writes has locked.
const LOCK: &str = "lock";
/// How long it is waited for: a process that is just being started holds for a moment what the one
/// that starts it had open.
const PATIENCE: Duration = Duration::from_secs(1);

/// A folder of changes.
#[derive(Debug)]
pub(crate) struct ArchiveFolder {
    path: PathBuf,
    /// Held as long as it is written to.
    _lock: Option<File>,
}

/// What a folder has. See [`Archive::check`](crate::archive::Archive::check).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchiveSpan {
    /// The place that it begins behind: a backup that is older can't be carried on.
    pub from: u64,
    /// The number of the last change.
    pub to: u64,
    /// How many changes it has.
    pub changes: u64,
    /// When the last one was made; `None` where there is none.
    pub last: Option<Timestamp>,
    /// The last number with which a transaction is known to end. Smaller than `to` where the archive
    /// was broken off while it was behind; `from` where no border is known.
    pub whole: u64,
    /// When it was read: what was committed before is not behind it. `None` for no border, and for the
    /// changes of earlier versions, each of which counts as one.
    pub read: Option<Timestamp>,
    /// How many files.
    pub files: usize,
    /// How many bytes at the end are of a change that was not written whole: what a kill or a power
    /// cut leaves, or somebody who writes just now.
    pub unfinished: u64,
}

impl ArchiveFolder {
    pub fn to_read(path: &Path) -> Self {
        Self { path: path.to_owned(), _lock: None }
    }

    /// Makes the folder where it is not there, and keeps others from writing to it.
    pub fn to_write(path: &Path) -> Result<Self> {
        let doing = |error| Error::io(&format!("write to {}", path.display()), error);
        fs::create_dir_all(path).map_err(doing)?;
        let mut options = OpenOptions::new();
        let lock = options.create(true).truncate(false).write(true).open(path.join(LOCK));
        let lock = lock.map_err(doing)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(TryLockError::WouldBlock) => {
                    let message = format!("somebody else writes changes to {}", path.display());
                    return Err(Error::new(ErrorKind::Busy, message));
                }
                Err(TryLockError::Error(error)) => return Err(doing(error)),
            }
        }
        let folder = Self { path: path.to_owned(), _lock: Some(lock) };
        folder.drop_headless()?;
        Ok(folder)
    }

    /// The name of the file that begins behind a place.
    pub fn file(&self, from: u64) -> PathBuf {
        self.path.join(format!("{from:020}{ENDING}"))
    }

    /// The last file.
    pub fn last(&self) -> Result<Option<PathBuf>> {
        Ok(self.files()?.pop())
    }

    /// Has a new file's name reach the disk.
    pub fn sync(&self) -> Result<()> {
        sync_folder(&self.path.join(LOCK))
            .map_err(|error| Error::io(&format!("sync {}", self.path.display()), error))
    }

    /// Takes out a last file that a kill left without a head.
    fn drop_headless(&self) -> Result<()> {
        match self.last()? {
            Some(last) if Reader::open(&last)?.is_none() => fs::remove_file(&last)
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
            files.extend(place_in_name(&path).map(|place| (place, path)));
        }
        files.sort();
        Ok(files.into_iter().map(|(_, path)| path).collect())
    }

    /// Hands out the files, each of which begins where the one before ends.
    ///
    /// # Errors
    /// `NotFound` where there is none; `Corrupt` where one is missing or not whole.
    pub(crate) fn each(&self, mut each: impl FnMut(&mut Reader) -> Result<bool>) -> Result<()> {
        let files = self.files()?;
        let mut end: Option<u64> = None;
        let last = files.len().saturating_sub(1);
        for (number, path) in files.iter().enumerate() {
            let Some(mut reader) = Reader::open(path)? else {
                if number < last {
                    let error =
                        Error::new(ErrorKind::Corrupt, "it has no head, though others follow");
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
            end = Some(reader.place);
        }
        match end {
            Some(_) => Ok(()),
            None => Err(self.has_none()),
        }
    }

    /// Refuses a folder without files.
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
                let Frame::Page(page) = frame else { continue };
                match page.borders.as_ref().map(|borders| borders.last()) {
                    Some(Some(last)) => (span.whole, span.read) = (last.id, Some(last.read)),
                    Some(None) => {}
                    None => (span.whole, span.read) = (page.next, None),
                }
                for change in page.changes {
                    at = Some(Logged::of(change)?.at);
                    span.changes += 1;
                }
            }
            (span.to, span.unfinished) = (reader.place, reader.unfinished());
            Ok(true)
        })?;
        span.last = at.map(|at| Timestamp::from_value(ValueRef::Int(at))).transpose()?;
        Ok(span)
    }
}
