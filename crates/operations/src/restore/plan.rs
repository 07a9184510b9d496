//! Plans a replay: finds its end in the archive before any change is applied.
//!
//! A replay ends at a transaction boundary, or the database would get a state that it never had. The end of the backup is
//! one, too.

use super::options::{RecoveryTarget, ReplayOptions};
use crate::archive::ArchiveFolder;
use crate::archive::frame::{ArchivePage, Frame, LoggedChange};
use bobak_core::{Error, ErrorKind, Result, Timestamp};

/// Where the restored database ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begin {
    /// The number of its last change.
    pub position: u64,
    /// The last change in its change log, and its time in microseconds.
    pub last: Option<(u64, i64)>,
}

/// The changes to replay.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplayPlan {
    /// The changes up to this one.
    pub to: u64,
    /// See [`ReplayReport`](crate::restore::ReplayReport).
    pub whole: bool,
    pub read: Option<Timestamp>,
    pub left_out: u64,
    pub is_end: bool,
}

impl ReplayPlan {
    /// Reads the whole archive, for a database that has its first changes.
    ///
    /// # Errors
    /// As [`Db::replay`](replay()).
    pub fn new(folder: &ArchiveFolder, begin: Begin, options: ReplayOptions) -> Result<Self> {
        let mut scan = ArchiveScan::new(options.until, begin);
        folder.each(|reader| {
            if reader.from > scan.end {
                let (from, position) = (reader.from, scan.end);
                let message = format!(
                    "the changes begin behind {from}, and the backup ends with {position}: those in \
                     between are missing"
                );
                return Err(Error::new(ErrorKind::NotFound, message));
            }
            while let Some(frame) = reader.next()? {
                if let Frame::Page(page) = frame {
                    scan.page(&page)?;
                }
            }
            scan.end = scan.end.max(reader.position);
            Ok(true)
        })?;
        scan.plan(options.partial)
    }
}

/// The state of reading the archive.
struct ArchiveScan {
    until: RecoveryTarget,
    /// Where the database ends.
    begin: Begin,
    /// The number of the last change that was read.
    end: u64,
    /// The last boundary before any change after `until`.
    cut: u64,
    /// When that boundary was read; `None` also if every change counts as a boundary.
    read: Option<Timestamp>,
    is_boundary: bool,
    /// The last change not after `until`, and how many changes follow the cut.
    last: u64,
    behind: u64,
    is_beyond: bool,
    /// The first boundary after `until`.
    next: Option<u64>,
}

impl ArchiveScan {
    const fn new(until: RecoveryTarget, begin: Begin) -> Self {
        let position = begin.position;
        Self {
            until,
            begin,
            end: position,
            cut: position,
            read: None,
            is_boundary: true,
            last: position,
            behind: 0,
            is_beyond: false,
            next: None,
        }
    }

    fn page(&mut self, page: &ArchivePage<'_>) -> Result<()> {
        let mut boundaries = page.boundaries.iter().flatten().peekable();
        for row in &page.changes {
            let change = LoggedChange::of(*row)?;
            while let Some(boundary) = boundaries.next_if(|boundary| boundary.id < change.id) {
                self.boundary(boundary.id, Some(boundary.read));
            }
            self.must_be_same(&change)?;
            self.change(&change);
            if page.boundaries.is_none() {
                self.boundary(change.id, None);
            }
        }
        boundaries.for_each(|boundary| self.boundary(boundary.id, Some(boundary.read)));
        if page.boundaries.is_none() {
            self.boundary(page.next, None);
        }
        Ok(())
    }

    /// Rejects changes of another database, or of a state of it that was replaced by an older one: the database's last
    /// change has another time than the change with its number in the archive.
    fn must_be_same(&self, change: &LoggedChange<'_>) -> Result<()> {
        if self.begin.last.is_none_or(|(id, at)| change.id != id || change.at == at) {
            return Ok(());
        }
        let message = format!(
            "change {} of the folder is another than the backup's: the changes are those of another \
             database, or of what it was before an older backup was restored",
            change.id
        );
        Err(Error::new(ErrorKind::Conflict, message))
    }

    fn change(&mut self, change: &LoggedChange<'_>) {
        if change.id <= self.begin.position {
            return;
        }
        self.is_beyond |= match self.until {
            RecoveryTarget::End => false,
            RecoveryTarget::Change(id) => change.id > id,
            RecoveryTarget::Moment(at) => change.at > at.as_microsecond(),
        };
        if !self.is_beyond {
            self.last = change.id;
            self.behind += 1;
        }
    }

    fn boundary(&mut self, id: u64, read: Option<Timestamp>) {
        if self.is_beyond {
            self.next.get_or_insert(id);
        } else if id >= self.cut {
            (self.cut, self.read, self.behind) = (id, read, 0);
            self.is_boundary = read.is_some();
        }
    }

    fn plan(self, partial: bool) -> Result<ReplayPlan> {
        if let RecoveryTarget::Change(id) = self.until {
            self.must_be_boundary(id, partial)?;
        }
        let is_end = !self.is_beyond;
        if partial && self.behind > 0 {
            let to = if is_end { self.end } else { self.last };
            return Ok(ReplayPlan { to, whole: false, read: None, left_out: 0, is_end });
        }
        let (to, whole, read) = (self.cut, self.is_boundary, self.read);
        Ok(ReplayPlan { to, whole, read, left_out: self.behind, is_end })
    }

    fn must_be_boundary(&self, id: u64, partial: bool) -> Result<()> {
        let message = if id > self.end {
            format!("the folder ends with change {}, before {id}", self.end)
        } else if self.behind > 0 && !partial {
            let next = self.next.map(|next| format!(", or {next} behind it")).unwrap_or_default();
            format!(
                "change {id} may lie inside a transaction, a part of which would be made: name {} \
                 before it{next}, with which transactions end, or ask for the part",
                self.cut
            )
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::OutOfRange, message))
    }
}
