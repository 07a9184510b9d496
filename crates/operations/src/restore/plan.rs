//! Plans a replay: finds its end in the archive before any change is applied.
//!
//! A replay ends at a transaction boundary, or the database would get a state that it never had. The end of the backup is
//! one, too.

use super::options::{RecoveryTarget, ReplayOptions};
use crate::archive::ArchiveFolder;
use crate::archive::frame::{
    ArchivePage, ArchivedCreation, ArchivedLayouts, CreationPart, Frame, LoggedChange,
};
use bobak_changes::TableLayout;
use bobak_core::{Error, ErrorKind, Result, Timestamp};
use std::collections::{HashMap, VecDeque};

/// Where the restored database ends.
#[derive(Clone, Debug)]
pub(super) struct Begin {
    /// The number of its last change.
    pub position: u64,
    /// The last change in its change log, and its time in microseconds.
    pub last: Option<(u64, i64)>,
    /// The layouts of its tracked tables.
    pub layouts: Vec<TableLayout>,
}

/// The changes to replay.
#[derive(Clone, Debug)]
pub(super) struct ReplayPlan {
    /// The changes up to this one.
    pub to: u64,
    /// See [`ReplayReport`](crate::restore::ReplayReport).
    pub whole: bool,
    pub read: Option<Timestamp>,
    pub left_out: u64,
    pub is_end: bool,
    /// Whether the archive names the layouts of its tables, so that none was altered among the changes.
    pub has_layouts: bool,
    /// The tables that the database does not track and the archive creates.
    pub creations: HashMap<String, TableCreation>,
}

/// A table that was tracked after a change, with its rows after another one: a replay does not end between them.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableCreation {
    pub since: u64,
    pub rows_at: u64,
}

/// A change of the tracked tables that can't be replayed.
struct Alteration {
    /// It was made after the change with this number, and not before this moment in microseconds.
    after: u64,
    checked: i64,
    table: String,
    reason: String,
    /// Whether a transaction is known to end with that change.
    is_boundary: bool,
}

impl ReplayPlan {
    /// Reads the whole archive, for a database that has its first changes.
    ///
    /// # Errors
    /// As [`Db::replay`](replay()).
    pub fn new(folder: &ArchiveFolder, begin: Begin, options: ReplayOptions) -> Result<Self> {
        let mut scan = ArchiveScan::new(options.until, begin);
        // The number of the last change that was read.
        let mut read = 0;
        folder.each(|reader| {
            if reader.from > scan.end {
                let (from, position) = (reader.from, scan.end);
                let message = format!(
                    "the changes begin after change {from}, and the backup ends with change \
                     {position}: those in between are missing"
                );
                return Err(Error::new(ErrorKind::NotFound, message));
            }
            read = reader.position;
            while let Some(frame) = reader.next()? {
                match frame {
                    Frame::Page(page) => scan.page(&page)?,
                    Frame::Layouts(layouts) => scan.layouts = Some((read, layouts)),
                    Frame::Stop(stop) if read >= scan.begin.position => {
                        scan.compare_layouts();
                        let (after, checked) = (read, stop.checked);
                        let (table, reason) = (stop.table, stop.reason);
                        let is_boundary = false;
                        let stop = Alteration { after, checked, table, reason, is_boundary };
                        scan.alterations.push_back(stop);
                    }
                    Frame::Creation(creation) => scan.creation(read, &creation),
                    Frame::Stop(_) | Frame::Table(_) => {}
                }
                read = reader.position;
            }
            scan.end = scan.end.max(reader.position);
            Ok(true)
        })?;
        if read >= scan.begin.position {
            scan.compare_layouts();
        }
        scan.alter_before(u64::MAX);
        scan.plan(options.partial)
    }
}

impl TableCreation {
    /// Whether the table is tracked after this change, and its rows are not known yet.
    const fn splits(&self, id: u64) -> bool {
        self.since < id && id < self.rows_at
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
    /// The layouts that the archive named last, after which change, until they were compared with the database's.
    layouts: Option<(u64, ArchivedLayouts)>,
    has_layouts: bool,
    creations: HashMap<String, TableCreation>,
    /// Those ahead, in order, and the first one before the target.
    alterations: VecDeque<Alteration>,
    altered: Option<Alteration>,
}

impl ArchiveScan {
    fn new(until: RecoveryTarget, begin: Begin) -> Self {
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
            layouts: None,
            has_layouts: false,
            creations: HashMap::new(),
            alterations: VecDeque::new(),
            altered: None,
        }
    }

    /// Notes a table that the archive describes completely, unless the database has it.
    fn creation(&mut self, since: u64, creation: &ArchivedCreation<'_>) {
        let ArchivedCreation { table, rows_at, part } = creation;
        let is_known = self.begin.layouts.iter().any(|layout| layout.table == *table);
        if matches!(part, CreationPart::End { .. }) && since >= self.begin.position && !is_known {
            let creation = TableCreation { since, rows_at: *rows_at };
            self.creations.entry(table.clone()).or_insert(creation);
        }
    }

    /// Finds what the layouts that the archive named last have, and the database does not, or the other way round.
    fn compare_layouts(&mut self) {
        let Some((read, ArchivedLayouts { checked, layouts })) = self.layouts.take() else {
            return;
        };
        self.has_layouts = true;
        let position = self.begin.position;
        let known = std::mem::replace(&mut self.begin.layouts, layouts);
        let mut found = Vec::new();
        let mut alteration = |since: Option<u64>, table: &String, reason: &str| {
            let (table, reason) = (table.clone(), reason.to_owned());
            let (after, is_boundary) = (since.unwrap_or(read).max(position), since.is_some());
            found.push(Alteration { after, checked, table, reason, is_boundary });
        };
        let creations = &self.creations;
        let is_created = |layout: &TableLayout| {
            creations.get(&layout.table).is_some_and(|created| layout.since <= created.rows_at)
        };
        let of = |layouts: &[TableLayout], table: &String| -> Vec<TableLayout> {
            layouts.iter().filter(|layout| layout.table == *table).cloned().collect()
        };
        let is_new = |layout: &&TableLayout| !known.contains(layout) && !is_created(layout);
        for layout in self.begin.layouts.iter().filter(is_new) {
            let table = &layout.table;
            let was = of(&known, table);
            if was.is_empty() {
                // A table that was tracked before what is archived was renamed since.
                let since = Some(layout.since).filter(|since| *since >= read);
                alteration(since, table, "it was not tracked before, or had another name");
            } else if of(&self.begin.layouts, table).starts_with(&was) {
                alteration(Some(layout.since), table, "its columns changed");
            } else {
                // Changes that were not archived before have the new columns.
                let what = "it was untracked for a while, or its columns were renamed, dropped or converted";
                alteration(None, table, what);
            }
        }
        let is_gone = |layout: &&TableLayout| {
            !self.begin.layouts.iter().any(|other| other.table == layout.table)
        };
        for layout in known.iter().filter(is_gone) {
            alteration(None, &layout.table, "it is no longer tracked");
        }
        found.sort_by_key(|alteration| alteration.after);
        self.alterations.extend(found);
    }

    /// Notes the first alteration made before a change, unless the target is before it.
    fn alter_before(&mut self, id: u64) {
        while self.alterations.front().is_some_and(|alteration| alteration.after < id) {
            let Some(alteration) = self.alterations.pop_front() else { return };
            let is_before = match self.until {
                RecoveryTarget::End => false,
                RecoveryTarget::Change(until) => until <= alteration.after,
                RecoveryTarget::Moment(at) => at.as_microsecond() <= alteration.checked,
            };
            if alteration.is_boundary && !self.is_beyond && alteration.after >= self.cut {
                (self.cut, self.read, self.behind) = (alteration.after, None, 0);
                self.is_boundary = true;
            }
            self.is_beyond |= is_before;
            if !self.is_beyond && self.altered.is_none() {
                self.altered = Some(alteration);
            }
        }
    }

    fn page(&mut self, page: &ArchivePage<'_>) -> Result<()> {
        if page.next > self.begin.position {
            self.compare_layouts();
        }
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
            "change {} of the folder differs from the backup's: the changes are those of another \
             database, or of what it was before an older backup was restored",
            change.id
        );
        Err(Error::new(ErrorKind::Conflict, message))
    }

    fn change(&mut self, change: &LoggedChange<'_>) {
        if change.id <= self.begin.position {
            return;
        }
        self.alter_before(change.id);
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
        self.alter_before(id);
        if self.altered.is_some() || self.creations.values().any(|created| created.splits(id)) {
            return;
        }
        if self.is_beyond {
            self.next.get_or_insert(id);
        } else if id >= self.cut {
            (self.cut, self.read, self.behind) = (id, read, 0);
            self.is_boundary = read.is_some();
        }
    }

    fn plan(self, partial: bool) -> Result<ReplayPlan> {
        if let Some(Alteration { after, table, reason, .. }) = self.altered {
            let message = format!(
                "the table was altered after change {after}, which a replay can't do: restore a later \
                 backup, or name a target up to change {}: {reason}",
                self.cut
            );
            return Err(Error::new(ErrorKind::Schema, message).in_table(table));
        }
        let has_layouts = self.has_layouts;
        if let RecoveryTarget::Change(id) = self.until {
            self.must_be_boundary(id, partial)?;
        }
        let is_end = !self.is_beyond;
        if partial && self.behind > 0 {
            let to = if is_end { self.end } else { self.last };
            self.must_not_split(to)?;
            let (whole, read, left_out, creations) = (false, None, 0, self.creations);
            return Ok(ReplayPlan { to, whole, read, left_out, is_end, has_layouts, creations });
        }
        let (to, whole, read) = (self.cut, self.is_boundary, self.read);
        let (left_out, creations) = (self.behind, self.creations);
        Ok(ReplayPlan { to, whole, read, left_out, is_end, has_layouts, creations })
    }

    /// Rejects the end of a partial replay between the start of tracking a table and its rows.
    fn must_not_split(&self, to: u64) -> Result<()> {
        let split = self.creations.iter().find(|(_, creation)| creation.splits(to));
        let Some((table, TableCreation { since, rows_at })) = split else { return Ok(()) };
        let message = format!(
            "the table was tracked after change {since}, and its rows are known from {rows_at} on: {to} is \
             between them"
        );
        Err(Error::new(ErrorKind::OutOfRange, message).in_table(table.clone()))
    }

    fn must_be_boundary(&self, id: u64, partial: bool) -> Result<()> {
        let message = if id > self.end {
            format!("the folder ends with change {}, before {id}", self.end)
        } else if self.behind > 0 && !partial {
            let next = self.next.map(|next| format!(", or {next} after it")).unwrap_or_default();
            format!(
                "change {id} may lie inside a transaction, which would be restored in part: name \
                 {} before it{next}, where transactions end, or allow a part",
                self.cut
            )
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::OutOfRange, message))
    }
}
