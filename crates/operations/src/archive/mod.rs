//! Changes since a backup, shipped to a folder as they commit, and made again behind the backup: up
//! to the last, or to a moment in time.
//!
//! `frame` is the form of a file, `segment` one file and `folder` all of them; `plan` finds where a
//! replay ends, `replay` makes the changes again, while `quiet` keeps still what would act on them. `docs/point-in-time-restore.md` is the contract, and describes the files byte by byte.

mod folder;
pub(crate) mod frame;
mod segment;

pub(crate) use folder::ArchiveFolder;
pub use folder::ArchiveSpan;

use bobak_changes::{ChangePage, Changes, TransactionBoundary};
use bobak_core::{Engine, Error, ErrorKind, Result};
use segment::Writer;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How many changes are written and synced at once, at most.
const PAGE: usize = 1_000;
/// Unless it is set.
const SEGMENT_BYTES: u64 = 64 << 20;
/// How many borders are kept that pages have not reached yet. Where it is further behind it knows fewer.
const BORDERS: usize = 1_000;

/// A folder to which the changes of a database's tracked tables are written as they commit. Together with any backup
/// taken since the folder was created, it restores the database to any moment after that backup: see
/// [`replay`](crate::restore::replay()).
#[derive(Debug)]
pub struct Archive {
    changes: Changes,
    folder: ArchiveFolder,
    writer: Writer,
    segment_bytes: u64,
    /// Those that were seen, and that the folder does not reach yet, in ascending order.
    borders: VecDeque<TransactionBoundary>,
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchiveReport {
    /// How many changes were written; 0 where there was none in time.
    pub changes: usize,
    /// The number of the change up to which the folder has all of them, on disk.
    pub place: u64,
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
    /// table is tracked, or SQL dropped and recreated a tracked table; `Misuse` if the folder is a file; `Unsupported`
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
        refuse_file(folder.as_ref())?;
        let mut changes = Changes::of(Arc::clone(&engine)).limit(PAGE);
        let (last, first) = (changes.last_id()?, changes.first_id()?);
        let folder = ArchiveFolder::to_write(folder.as_ref())?;
        let mut writer = match folder.last()? {
            Some(segment) => Writer::append(&segment)?,
            None => Writer::create(&folder, first)?,
        };
        let place = writer.place();
        if place > last {
            let message = format!(
                "the folder has changes up to {place}, the database up to {last}: it is another \
                 one, or an older state of it"
            );
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        if place < first {
            let message = format!(
                "the folder ends with change {place}, and those up to {first} were taken out of \
                 the feed: take a backup, and begin another folder"
            );
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        must_be_same(&*engine, place, writer.last())?;
        // Not before it is known to be this database's.
        writer.cut()?;
        let (changes, segment_bytes) = (changes.since(place), SEGMENT_BYTES);
        Ok(Self { changes, folder, writer, segment_bytes, borders: VecDeque::new() })
    }

    /// How large a file may grow before another is begun. Default: 64 MiB.
    #[must_use]
    pub const fn segment_bytes(mut self, bytes: u64) -> Self {
        self.segment_bytes = bytes;
        self
    }

    /// Writes the next changes and syncs them; where there is none it waits for one, at most so
    /// long.
    ///
    /// # Errors
    /// `Full`, `Io`: nothing of the step stays, and the next one tries again; `NotFound` where
    /// changes were taken out of the feed before they were written, and where the folder or its last
    /// file was removed or moved away; those of the engine.
    pub fn step(&mut self, wait: Duration) -> Result<ArchiveReport> {
        self.writer.must_be_there()?;
        if self.writer.bytes() >= self.segment_bytes {
            self.writer = Writer::create(&self.folder, self.writer.place())?;
        }
        let from = self.writer.place();
        let mut changes = self.changes.clone().since(from);
        let page: ChangePage = changes.wait(wait)?;
        self.changes = changes;
        if let Some(border) = page.border.filter(|border| border.id > from) {
            self.note(border);
        }
        if page.next > from {
            let reached = self.borders.partition_point(|border| border.id <= page.next);
            let borders: Vec<_> = self.borders.range(..reached).copied().collect();
            self.writer.write(&page, &borders)?;
            self.borders.drain(..reached);
            // Where it was moved meanwhile, what was written went with it.
            self.writer.must_be_there()?;
        }
        Ok(ArchiveReport { changes: page.changes.len(), place: self.writer.place() })
    }

    /// Keeps a border until a page reaches it: so one is known of each step, though the steps are behind.
    fn note(&mut self, border: TransactionBoundary) {
        self.borders.truncate(BORDERS - 1);
        while self.borders.back().is_some_and(|last| last.id >= border.id) {
            self.borders.pop_back();
        }
        self.borders.push_back(border);
    }

    /// Up to which change the folder has all of them.
    #[must_use]
    pub const fn place(&self) -> u64 {
        self.writer.place()
    }

    /// Reads a whole folder, and says what is in it. It may be written to meanwhile.
    ///
    /// # Errors
    /// `Corrupt` for a damaged file, or one that is missing in between; `NotFound` for a folder
    /// without files; `Misuse` for a file; `Io`.
    pub fn check(folder: impl AsRef<Path>) -> Result<ArchiveSpan> {
        refuse_file(folder.as_ref())?;
        ArchiveFolder::to_read(folder.as_ref()).check()
    }
}

/// Refuses a database whose change with the number of the folder's last one is another, or that has
/// changes before the folder's place which the folder has not.
fn must_be_same(engine: &dyn Engine, place: u64, last: Option<(u64, i64)>) -> Result<()> {
    let Some((number, at)) = last else { return Ok(()) };
    let found =
        bobak_changes::last_up_to(&*engine.session()?, &bobak_changes::logs(engine)?, place)?;
    // Of a table that is tracked no longer it may be gone, and so may old ones.
    let is_same = found.is_none_or(|found| found.0 < number || found == (number, at));
    if is_same {
        return Ok(());
    }
    let message = format!(
        "the folder's change {number} is another than the database's: it is another database, or a \
         backup was restored over it; begin another folder, with a new backup"
    );
    Err(Error::new(ErrorKind::Conflict, message))
}

fn refuse_file(folder: &Path) -> Result<()> {
    if folder.is_file() {
        let message = format!("{} is a file: name a folder", folder.display());
        return Err(Error::new(ErrorKind::Misuse, message));
    }
    Ok(())
}
