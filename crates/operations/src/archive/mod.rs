//! Archives: the changes of tracked tables, written to a folder as they commit, for point-in-time restores.
//!
//! `frame` is the format of a file, `segment` one file, and `folder` all of them. `docs/point-in-time-restore.md` is the
//! contract and describes the files byte by byte.

mod creation;
mod folder;
pub(crate) mod frame;
mod segment;

pub(crate) use folder::ArchiveFolder;
pub use folder::ArchiveSpan;

use bobak_changes::{ChangePage, Changes, CheckedPage, TransactionBoundary};
use bobak_core::{Engine, Error, ErrorKind, Result};
use frame::ArchiveStop;
use segment::SegmentWriter;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The most changes written and synced together.
const PAGE_CHANGES: usize = 1_000;
/// The default size of a file, in bytes.
const SEGMENT_BYTES: u64 = 64 << 20;
/// The most transaction boundaries kept ahead of the written changes. An archive that is further behind knows fewer.
const MAX_BOUNDARIES: usize = 1_000;
/// How often a step begins again because a table was altered meanwhile.
const MAX_TRIES: usize = 16;

/// A folder to which the changes of a database's tracked tables are written as they commit. Together with any backup
/// taken since the folder was created, it restores the database to any moment after that backup: see
/// [`replay`](crate::restore::replay()).
pub struct Archive {
    engine: Arc<dyn Engine>,
    changes: Changes,
    folder: ArchiveFolder,
    writer: SegmentWriter,
    segment_bytes: u64,
    /// Transaction boundaries behind the end of the folder, in ascending order.
    boundaries: VecDeque<TransactionBoundary>,
    /// The tables had the layouts that the folder names at this moment, in microseconds.
    checked: i64,
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Archive")
            .field("changes", &self.changes)
            .field("position", &self.writer.position())
            .finish_non_exhaustive()
    }
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchiveReport {
    /// How many changes were written; 0 if there was none in time.
    pub changes: usize,
    /// The number of the change up to which the folder has all changes, on disk.
    pub position: u64,
}

impl Archive {
    /// Opens a folder, creates it if it does not exist, and continues after its last change; a new folder begins with
    /// the first change that the change log still has. An incomplete change that a killed process left at the end is
    /// removed.
    ///
    /// # Errors
    /// `Busy` if another process writes to the folder; `Conflict` if the folder has changes that the database does not
    /// have, because it is another database or an older state of it; `NotFound` if changes that the folder lacks were
    /// pruned from the change log: take a backup, and begin another folder; `Corrupt` for a damaged file; `Schema` if no
    /// table is tracked, if SQL altered, recreated or dropped a tracked table, and if the folder was stopped because of
    /// that; `Misuse` if the folder is a file; `Unsupported`
    /// for an encrypted database, because the folder is not encrypted: see
    /// [`open_unencrypted`](Self::open_unencrypted); `Io`, `Full`.
    pub fn open(engine: Arc<dyn Engine>, folder: impl AsRef<Path>) -> Result<Self> {
        if engine.capabilities().encrypted {
            let message = "the database is encrypted, and its changes in the folder would not be: \
                           open the archive with open_unencrypted if they may be read";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        Self::open_unencrypted(engine, folder)
    }

    /// As [`open`](Self::open), also for an encrypted database: everyone who can read the folder can read its changes.
    ///
    /// # Errors
    /// As [`open`](Self::open), except `Unsupported`.
    pub fn open_unencrypted(engine: Arc<dyn Engine>, folder: impl AsRef<Path>) -> Result<Self> {
        reject_file(folder.as_ref())?;
        let mut changes = Changes::of(Arc::clone(&engine)).over_untracked().limit(PAGE_CHANGES);
        let ends = changes.last_id().and_then(|last| Ok((last, changes.first_id()?)));
        let (last, first) = match ends {
            Err(error) if error.kind() == ErrorKind::Schema && error.table().is_some() => {
                stop_folder(&*engine, folder.as_ref(), &error)?;
                return Err(error);
            }
            ends => ends?,
        };
        let folder = ArchiveFolder::to_write(folder.as_ref())?;
        let mut writer = match folder.last()? {
            Some(segment) => SegmentWriter::append(&segment)?,
            None => SegmentWriter::create(&folder, first)?,
        };
        if let Some(stop) = writer.stop() {
            let message = format!(
                "the folder ends with change {} and can't be continued: take a backup, and begin \
                 another folder. It ended because {}",
                writer.position(),
                stop.reason
            );
            return Err(Error::new(ErrorKind::Schema, message).in_table(stop.table.clone()));
        }
        let position = writer.position();
        if position > last {
            let message = format!(
                "the folder has changes up to {position}, the database up to {last}: it is another \
                 one, or an older state of it"
            );
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        must_be_same(&*engine, position, writer.last())?;
        if position < first {
            let message = format!(
                "the folder ends with change {position}, and those up to {first} were pruned from \
                 the change log: take a backup, and begin another folder"
            );
            let error = Error::new(ErrorKind::NotFound, message);
            writer.write_stop(stop_of(0, &error))?;
            return Err(error);
        }
        // Only once the folder is known to be this database's.
        writer.cut()?;
        if writer.layouts().is_none() {
            let layouts = folder.layouts_before_last()?;
            layouts.map_or(Ok(()), |layouts| writer.write_layouts(0, layouts))?;
        }
        let (changes, segment_bytes) = (changes.since(position), SEGMENT_BYTES);
        let boundaries = VecDeque::new();
        Ok(Self { engine, changes, folder, writer, segment_bytes, boundaries, checked: 0 })
    }

    /// The size from which on a new file is started, in bytes. Default: 64 MiB.
    #[must_use]
    pub const fn segment_bytes(mut self, bytes: u64) -> Self {
        self.segment_bytes = bytes;
        self
    }

    /// Writes and syncs the next changes. If there is none, waits for one, at most this long.
    ///
    /// # Errors
    /// `Full`, `Io`: the step has no effect, and the next one tries again; `Schema` if SQL altered, recreated or dropped a
    /// tracked table, so that changes may be incomplete: the folder ends before them; `NotFound` if changes were pruned from the
    /// change log before they were written, or the folder or its last file was removed or moved; `Busy` if tables are altered all the
    /// time; those of the engine.
    pub fn step(&mut self, wait: Duration) -> Result<ArchiveReport> {
        for _ in 0..MAX_TRIES {
            if let Some(report) = self.try_step(wait)? {
                return Ok(report);
            }
        }
        let message =
            "tables were altered each time that the archive wrote their definitions: try again";
        Err(Error::new(ErrorKind::Busy, message))
    }

    /// One step; `None` if the rest must be read again, because a new table was altered meanwhile.
    fn try_step(&mut self, wait: Duration) -> Result<Option<ArchiveReport>> {
        self.writer.must_be_there()?;
        if self.writer.bytes() >= self.segment_bytes && !self.writer.is_unused() {
            let layouts = self.writer.layouts().map(<[_]>::to_vec);
            self.writer = SegmentWriter::create(&self.folder, self.writer.position())?;
            layouts.map_or(Ok(()), |layouts| self.writer.write_layouts(self.checked, layouts))?;
        }
        let from = self.writer.position();
        let mut changes = self.changes.clone().since(from);
        let checked = match changes.wait_checked(wait) {
            Err(error) if error.kind() == ErrorKind::Schema => {
                self.writer.write_stop(stop_of(self.checked, &error))?;
                return Err(error);
            }
            page => page?,
        };
        self.changes = changes;
        if let Some(boundary) = checked.page.boundary.filter(|boundary| boundary.id > from) {
            self.keep_boundary(boundary);
        }
        let before = self.checked;
        self.checked = checked.checked.as_microsecond();
        let changes = checked.page.changes.len();
        let is_complete = self.write(checked, before)?;
        let report = ArchiveReport { changes, position: self.writer.position() };
        Ok(is_complete.then_some(report))
    }

    /// Writes a page, the layouts, and the tables that are tracked since the step before; those layouts were in force at
    /// `before`. `false` if the rest must be read again, because a new table was altered meanwhile.
    fn write(&mut self, checked: CheckedPage, before: i64) -> Result<bool> {
        let CheckedPage { mut page, mut layouts, .. } = checked;
        let known = self.writer.layouts().map(<[_]>::to_vec);
        let position = self.writer.position();
        let new_tables = |known: Vec<_>| creation::new_tables(&known, &layouts, position);
        let mut new = known.map_or_else(Vec::new, new_tables);
        while !new.is_empty() {
            let (since, name) = new.remove(0);
            if since > page.next {
                // A later page has its first change.
                layouts.retain(|layout| layout.table != name);
                continue;
            }
            self.write_page(&creation::split(&mut page, since))?;
            if !creation::write(&*self.engine, &mut self.writer, &name)? {
                return Ok(false);
            }
            let mut layouts = layouts.clone();
            layouts.retain(|layout| !new.iter().any(|(_, name)| *name == layout.table));
            self.writer.write_layouts(before, layouts)?;
        }
        self.writer.write_layouts(before, layouts)?;
        self.write_page(&page).map(|()| true)
    }

    /// Writes a page, unless the folder has it.
    fn write_page(&mut self, page: &ChangePage) -> Result<()> {
        if page.next > self.writer.position() {
            let reached = self.boundaries.partition_point(|boundary| boundary.id <= page.next);
            let boundaries: Vec<_> = self.boundaries.range(..reached).copied().collect();
            self.writer.write(page, &boundaries)?;
            self.boundaries.drain(..reached);
        }
        // If the file was moved meanwhile, the changes went with it.
        self.writer.must_be_there()
    }

    /// Keeps a boundary until the written changes reach it, so that boundaries are known even if the archive is behind.
    fn keep_boundary(&mut self, boundary: TransactionBoundary) {
        self.boundaries.truncate(MAX_BOUNDARIES - 1);
        while self.boundaries.back().is_some_and(|last| last.id >= boundary.id) {
            self.boundaries.pop_back();
        }
        self.boundaries.push_back(boundary);
    }

    /// The number of the change up to which the folder has all changes.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.writer.position()
    }

    /// Reads a whole folder and reports what it contains. It may be written to meanwhile.
    ///
    /// # Errors
    /// `Corrupt` for a damaged file, or a missing one in between; `NotFound` for a folder
    /// without files; `Misuse` for a file; `Io`.
    pub fn check(folder: impl AsRef<Path>) -> Result<ArchiveSpan> {
        reject_file(folder.as_ref())?;
        ArchiveFolder::to_read(folder.as_ref()).check()
    }
}

/// Why an archive stops.
fn stop_of(checked: i64, error: &Error) -> ArchiveStop {
    let table = error.table().unwrap_or_default().to_owned();
    ArchiveStop { checked, table, reason: error.message().to_owned() }
}

/// Ends a folder that is this database's, because changes after its last one may be incomplete.
fn stop_folder(engine: &dyn Engine, folder: &Path, error: &Error) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    let folder = ArchiveFolder::to_write(folder)?;
    let Some(segment) = folder.last()? else { return Ok(()) };
    let mut writer = SegmentWriter::append(&segment)?;
    must_be_same(engine, writer.position(), writer.last())?;
    writer.write_stop(stop_of(0, error))
}

/// Rejects a database whose change with the number of the folder's last change differs, or that has earlier changes which
/// the folder does not have.
fn must_be_same(engine: &dyn Engine, position: u64, last: Option<(u64, i64)>) -> Result<()> {
    let Some((number, at)) = last else { return Ok(()) };
    let session = engine.session()?;
    let logs = bobak_changes::unchecked_logs(&*session)?;
    let found = bobak_changes::last_up_to(&*session, &logs, position)?;
    // The change may be gone: pruned, or of a table that is no longer tracked.
    let is_same = found.is_none_or(|found| found.0 < number || found == (number, at));
    if is_same {
        return Ok(());
    }
    let message = format!(
        "the folder's change {number} differs from the database's: it is another database, or a \
         backup was restored over it; begin another folder, with a new backup"
    );
    Err(Error::new(ErrorKind::Conflict, message))
}

fn reject_file(folder: &Path) -> Result<()> {
    if folder.is_file() {
        let message = format!("{} is a file: name a folder", folder.display());
        return Err(Error::new(ErrorKind::Misuse, message));
    }
    Ok(())
}
