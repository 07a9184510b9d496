//! Replays the changes of an archive on a restored backup.
//!
//! The backup contains the change log, so it determines the first change to replay. Rows get their last state page by
//! page. The changes that triggers capture meanwhile are replaced by those of the archive, so that the history keeps its
//! times and actors.

use super::creation::create;
use super::options::{RecoveryTarget, ReplayOptions};
use super::plan::{Begin, ReplayPlan};
use super::reserve_keys::reserve_keys;
use crate::archive::ArchiveFolder;
use crate::archive::frame::{
    ArchivePage, ArchivedCreation, ArchivedTable, Frame, LoggedChange, damaged,
};
use crate::replication::{MAX_CHANGES, TablePair, apply_changes};
use bobak_changes::Change;
use bobak_changes::{ChangeLog, compare_number, last_id, last_up_to, logs_in};
use bobak_core::change_log::{SEQ, counter_schema};
use bobak_core::{
    Assign, ColumnSchema, Comparison, Engine, Error, ErrorKind, FieldSet, OnError, Result,
    ResultColumn, Session, Timestamp, TransactionControl, Value, Verb, Write, WriteBatch,
};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The result of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayReport {
    /// The number of replayed changes.
    pub changes: u64,
    /// The number of the last change that the database has now.
    pub position: u64,
    /// The time of the last replayed change; `None` if there was none.
    pub at: Option<Timestamp>,
    /// Whether the archive has no change after the target.
    pub is_end: bool,
    /// Whether a transaction is known to end with `position`. Not if a [partial](ReplayOptions::partial) replay was
    /// requested, or if an earlier version wrote the archive.
    pub whole: bool,
    /// When the archiver read that boundary: the database had this state at that moment. `None` if the archive does not
    /// know it.
    pub read: Option<Timestamp>,
    /// The number of changes after `position` that were left out although they are not after the target, because it is
    /// unknown whether their transactions had ended by then. Large if no archive was running at that time.
    pub left_out: u64,
}

/// Replays the changes of an [`Archive`](crate::archive::Archive)'s folder that a restored backup does not have yet, so
/// that the database is as it was at a later moment. Tables that were not tracked stay as they are. The database's own
/// triggers are disabled meanwhile: their writes to tracked tables are among the changes. A table that was tracked after the
/// backup is created, or replaced, with the rows that the archive has of it.
///
/// The folder is read completely before anything is changed. Changes are applied some thousand at a time, each time in
/// a transaction: if the replay fails, the database is as it was at some earlier moment, and another call continues.
/// Nothing else may write to the database meanwhile.
///
/// # Errors
/// `NotFound` if the folder begins after the backup, or is empty; `Conflict` if its changes are those of another
/// database, as far as that can be detected; `Corrupt` for a damaged file; `Schema` if a table was altered since the
/// backup: restore a later one; `OutOfRange` if the database is already past the target, the folder ends before it, or
/// it may lie inside a transaction; `Unsupported` for database servers, and for the memory engine if tables have
/// foreign keys.
pub fn replay(
    engine: &dyn Engine,
    folder: &Path,
    options: impl Into<ReplayOptions>,
) -> Result<ReplayReport> {
    replay_folder(engine, &ArchiveFolder::to_read(folder), options.into())
}

pub(super) fn replay_folder(
    engine: &dyn Engine,
    folder: &ArchiveFolder,
    options: ReplayOptions,
) -> Result<ReplayReport> {
    let (logs, begin) = Replay::read_begin(engine, options.until)?;
    let position = begin.position;
    let plan = ReplayPlan::new(folder, begin, options)?;
    let mut replay = Replay::new(engine, logs, position, plan)?;
    let done = folder.each(|reader| {
        let mut tables = HashMap::new();
        while let Some(frame) = reader.next()? {
            match frame {
                Frame::Table(table) => drop(tables.insert(table.number, table)),
                Frame::Page(page) => {
                    if !replay.page(&tables, &page)? {
                        return Ok(false);
                    }
                }
                Frame::Creation(creation) => replay.create(creation)?,
                Frame::Layouts(_) | Frame::Stop(_) => {}
            }
        }
        Ok(true)
    });
    done.and_then(|()| replay.end())
}

struct Replay<'e> {
    engine: &'e dyn Engine,
    logs: Vec<ChangeLog>,
    pairs: Vec<TablePair>,
    plan: ReplayPlan,
    /// The number of the last applied change, committed or not.
    position: u64,
    /// The value of the database's change counter.
    counted: u64,
    /// The change up to which a created table has its rows already: no transaction ends before.
    hold: u64,
    /// What creates the triggers of created tables: they must not run during the replay.
    triggers: Vec<String>,
    open: Option<Open<'e>>,
    done: ReplayReport,
}

/// A transaction that applies changes.
struct Open<'e> {
    session: Box<dyn Session + 'e>,
    changes: usize,
}

impl<'e> Replay<'e> {
    /// The change logs of a database, and where they end.
    fn read_begin(engine: &dyn Engine, until: RecoveryTarget) -> Result<(Vec<ChangeLog>, Begin)> {
        if engine.backup_format().is_none() {
            let message =
                format!("the {} engine cannot replay changes after a backup", engine.name());
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let session = engine.session()?;
        let logs = logs_in(&*session)?;
        let position = last_id(&*session, &logs)?;
        if logs.is_empty() {
            let message =
                "no table of the backup is tracked, so it is unknown where the replay begins";
            return Err(Error::new(ErrorKind::Schema, message));
        }
        let behind = match until {
            RecoveryTarget::Change(id) => id < position,
            RecoveryTarget::Moment(at) => logs.iter().try_fold(false, |behind, log| {
                Ok::<_, Error>(behind || log.is_after(&*session, at)?)
            })?,
            RecoveryTarget::End => false,
        };
        if behind {
            let message = format!("the backup is of change {position}: restore an older one");
            return Err(Error::new(ErrorKind::OutOfRange, message));
        }
        let last = last_up_to(&*session, &logs, position)?;
        let layouts = logs.iter().flat_map(|log| log.layouts.iter().cloned()).collect();
        Ok((logs, Begin { position, last, layouts }))
    }

    fn new(
        engine: &'e dyn Engine,
        logs: Vec<ChangeLog>,
        position: u64,
        plan: ReplayPlan,
    ) -> Result<Self> {
        let pairs = pairs(&logs)?;
        let &ReplayPlan { whole, read, left_out, is_end, .. } = &plan;
        let done = ReplayReport { changes: 0, position, at: None, is_end, whole, read, left_out };
        let (counted, hold, triggers, open) = (position, position, Vec::new(), None);
        Ok(Self { engine, logs, pairs, plan, position, counted, hold, triggers, open, done })
    }

    /// Applies a page's changes, up to the end of the plan; `false` once that is reached.
    fn page(
        &mut self,
        tables: &HashMap<i64, ArchivedTable>,
        page: &ArchivePage<'_>,
    ) -> Result<bool> {
        let mut changes = Vec::new();
        for row in &page.changes {
            let logged = LoggedChange::of(*row)?;
            if logged.id > self.position && logged.id <= self.plan.to {
                changes.push(self.change(tables, &logged)?);
            }
        }
        let position = page.next.min(self.plan.to).max(self.position);
        if let Some(last) = changes.last() {
            let at = last.at;
            let mut open = self.take_open()?;
            let session = &*open.session;
            reserve_keys(session, &self.pairs, &changes)?;
            apply_changes(session, &self.pairs, &changes)?;
            replace_captured(session, &self.logs, self.position, &changes)?;
            count(session, position, Some(at.as_microsecond()))?;
            open.changes += changes.len();
            (self.counted, self.open) = (position, Some(open));
            self.done.changes += changes.len() as u64;
            self.done.at = Some(at);
        }
        self.position = position;
        let is_boundary = page.boundaries.as_ref().is_none_or(|boundaries| {
            boundaries.last().is_some_and(|boundary| boundary.id == page.next)
        });
        let is_boundary = is_boundary && position >= self.hold;
        if let Some(open) = self.open.take_if(|open| is_boundary || open.changes >= MAX_CHANGES) {
            open.commit(&mut self.triggers)?;
        }
        // Behind a page that ends there, a table may be created.
        Ok(page.next <= self.plan.to)
    }

    /// Creates a table that was tracked after the last change that was read, unless the target is before.
    fn create(&mut self, part: ArchivedCreation<'_>) -> Result<()> {
        let Some(&creation) = self.plan.creations.get(&part.table) else { return Ok(()) };
        if part.rows_at != creation.rows_at || creation.rows_at > self.plan.to {
            return Ok(());
        }
        let name = part.table.clone();
        let open = self.take_open()?;
        if self.counted < creation.since {
            // The counter is what the table's layout begins with.
            count(&*open.session, creation.since, None)?;
            self.counted = creation.since;
        }
        if let Some(triggers) = create(&*open.session, part)? {
            self.triggers.extend(triggers);
            self.hold = self.hold.max(creation.rows_at);
            self.logs = logs_in(&*open.session)?;
            self.pairs = pairs(&self.logs)?;
            // An archiver that was interrupted behind it describes it again.
            self.plan.creations.remove(&name);
        }
        self.open = Some(open);
        Ok(())
    }

    fn end(&mut self) -> Result<ReplayReport> {
        if self.counted < self.position {
            // The counter moves past numbers without a change.
            let open = self.take_open()?;
            count(&*open.session, self.position, None)?;
            self.open = Some(open);
        }
        let triggers = &mut self.triggers;
        self.open.take().map_or(Ok(()), |open| open.commit(triggers))?;
        Ok(ReplayReport { position: self.position, ..self.done })
    }

    /// The open transaction, or a new one.
    fn take_open(&mut self) -> Result<Open<'e>> {
        self.open.take().map_or_else(|| Open::begin(self.engine, &self.logs), Ok)
    }

    fn change(
        &self,
        tables: &HashMap<i64, ArchivedTable>,
        logged: &LoggedChange<'_>,
    ) -> Result<Change> {
        let table = tables
            .get(&logged.table)
            .ok_or_else(|| damaged("a change is of a table that was not named before"))?;
        let same = |log: &&ChangeLog| log.table.name().eq_ignore_ascii_case(&table.name);
        let altered = |message: &str| {
            let message = format!("{message}, with change {}: restore a later backup", logged.id);
            Error::new(ErrorKind::Schema, message).in_table(table.name.clone())
        };
        let log = self.logs.iter().find(same);
        let log = log.ok_or_else(|| altered("the backup's table is not tracked yet"))?;
        let place = |column: &ColumnSchema| table.columns.iter().position(|n| *n == column.name);
        let places: Option<Vec<usize>> = log.table.columns().iter().map(place).collect();
        let named = table.columns.len();
        // A column that was added after the last change of the plan is NULL in the archive: the archiver was behind.
        let fits = |places: &Vec<usize>| places.len() == named || self.plan.has_layouts;
        let change = places.filter(fits).map(|places| {
            let columns = Arc::new(ResultColumn::of_table(&log.table));
            logged.change(&log.table, &columns, named, &places)
        });
        let change = change.transpose()?.flatten();
        change.ok_or_else(|| altered("the table was altered after the backup"))
    }
}

impl<'e> Open<'e> {
    fn begin(engine: &'e dyn Engine, logs: &[ChangeLog]) -> Result<Self> {
        let session = engine.session()?;
        // The effects of triggers and foreign keys are among the archived changes.
        let tables: Vec<&str> = logs.iter().map(|log| log.table.name()).collect();
        session.begin_replay(&tables)?;
        Ok(Self { session, changes: 0 })
    }

    /// Creates the triggers of the tables that it created, and commits.
    fn commit(self, triggers: &mut Vec<String>) -> Result<()> {
        triggers.drain(..).try_for_each(|text| self.session.execute(&text, &[]).map(drop))?;
        self.session.control(TransactionControl::Commit)
    }
}

fn pairs(logs: &[ChangeLog]) -> Result<Vec<TablePair>> {
    logs.iter().map(|log| TablePair::same(&log.table)).collect()
}

/// Replaces the changes that were captured since `position` by these.
fn replace_captured(
    session: &dyn Session,
    logs: &[ChangeLog],
    position: u64,
    changes: &[Change],
) -> Result<()> {
    let mut batch = WriteBatch::new();
    for log in logs {
        let since = compare_number(SEQ, Comparison::Greater, position);
        let change =
            bobak_core::BulkChange { table: &log.schema, condition: Some(&since), assign: None };
        session.change(&change)?;
        for change in changes.iter().filter(|change| change.table.id() == log.table.id()) {
            let values = change.log_values();
            let (table, verb, fields) = (&log.schema, Verb::Insert, FieldSet::EMPTY);
            batch.push(&Write { table, verb, fields, values: &values })?;
        }
    }
    if batch.is_empty() { Ok(()) } else { session.batch(&batch, OnError::Stop, &mut |_| {}) }
}

/// Sets the change counter to a change, and its time to that of the last change.
fn count(session: &dyn Session, position: u64, at: Option<i64>) -> Result<()> {
    let mut assign = vec![Assign::Set { column: 1, value: number(position) }];
    assign.extend(at.map(|at| Assign::Set { column: 2, value: Value::Int(at) }));
    let change =
        bobak_core::BulkChange { table: counter_schema(), condition: None, assign: Some(&assign) };
    session.change(&change).map(|_| ())
}

fn number(number: u64) -> Value<'static> {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}
