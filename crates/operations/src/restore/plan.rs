//! Which of a folder's changes are made again: found before any of them is.
//!
//! A replay ends at a border, with which a transaction is known to end: else the database would be as it
//! never was. The backup's own end is one.

use super::options::{RecoveryTarget, ReplayOptions};
use crate::archive::ArchiveFolder;
use crate::archive::frame::{Frame, LoggedChange, Page};
use bobak_core::{Error, ErrorKind, Result, Timestamp};

/// What a database has already.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begin {
    /// The number of its last change.
    pub place: u64,
    /// The last change that is written down in it, and when it was made, in microseconds.
    pub last: Option<(u64, i64)>,
}

/// What is made again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// The changes up to this one.
    pub to: u64,
    /// See [`ReplayReport`](crate::restore::ReplayReport).
    pub whole: bool,
    pub read: Option<Timestamp>,
    pub left_out: u64,
    pub is_end: bool,
}

impl Plan {
    /// Reads a folder wholly, for a database that has the changes of its beginning.
    ///
    /// # Errors
    /// As [`Db::replay`](replay()).
    pub fn new(folder: &ArchiveFolder, begin: Begin, options: ReplayOptions) -> Result<Self> {
        let mut scan = Scan::new(options.until, begin);
        folder.each(|reader| {
            if reader.from > scan.end {
                let (from, place) = (reader.from, scan.end);
                let message = format!(
                    "the changes begin behind {from}, and the backup ends with {place}: those in \
                     between are missing"
                );
                return Err(Error::new(ErrorKind::NotFound, message));
            }
            while let Some(frame) = reader.next()? {
                if let Frame::Page(page) = frame {
                    scan.page(&page)?;
                }
            }
            scan.end = scan.end.max(reader.place);
            Ok(true)
        })?;
        scan.plan(options.partial)
    }
}

/// What is known of the changes that were read.
struct Scan {
    until: RecoveryTarget,
    /// What the database has.
    begin: Begin,
    /// The end of what was read.
    end: u64,
    /// The last border up to which no change is beyond `until`.
    cut: u64,
    /// When that was read; `None` also where each change counts as a border.
    read: Option<Timestamp>,
    is_border: bool,
    /// The last change that is not beyond `until`, and how many there are behind the cut.
    last: u64,
    behind: u64,
    is_beyond: bool,
    /// The first border behind `until`.
    next: Option<u64>,
}

impl Scan {
    const fn new(until: RecoveryTarget, begin: Begin) -> Self {
        let place = begin.place;
        Self {
            until,
            begin,
            end: place,
            cut: place,
            read: None,
            is_border: true,
            last: place,
            behind: 0,
            is_beyond: false,
            next: None,
        }
    }

    fn page(&mut self, page: &Page<'_>) -> Result<()> {
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

    /// Refuses the changes of another database, or of a state of it that was given up for an older one: the database's last
    /// change was made at another time than the one with its number here.
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
        if change.id <= self.begin.place {
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
            self.is_border = read.is_some();
        }
    }

    fn plan(self, partial: bool) -> Result<Plan> {
        if let RecoveryTarget::Change(id) = self.until {
            self.must_be_border(id, partial)?;
        }
        let is_end = !self.is_beyond;
        if partial && self.behind > 0 {
            let to = if is_end { self.end } else { self.last };
            return Ok(Plan { to, whole: false, read: None, left_out: 0, is_end });
        }
        let (to, whole, read) = (self.cut, self.is_border, self.read);
        Ok(Plan { to, whole, read, left_out: self.behind, is_end })
    }

    fn must_be_border(&self, id: u64, partial: bool) -> Result<()> {
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
