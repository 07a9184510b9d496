//! Making changes of a folder again, behind a backup.
//!
//! The backup has the feed as it was, so it says itself with which change to begin. Rows get their
//! last state page by page; what the triggers write down meanwhile is replaced by what is in the
//! folder: the history, with its times and names, is then as it was.

use super::folder::{ArchiveSpan, Folder};
use super::frame::{Frame, Logged, Table};
use super::quiet::{self, ForeignKeys};
use crate::Db;
use crate::feed::Change;
use crate::follow::{Pair, make, wholly};
use bobak_core::feed::{Log, SEQ, compare_number, feed_schema, last_id, logs_in};
use bobak_core::{
    Assign, Batch, Comparison, Engine, Error, ErrorKind, FieldSet, OnError, Result, Session,
    Timestamp, Value, Verb, Write,
};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// How far changes are made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All of them.
    End,
    /// Up to this change, and with it.
    Change(u64),
    /// Those that were made before this moment, or at it. Changes have the time of their statement, not
    /// of the commit: a moment, as a number, may lie inside a transaction, whose first part is then made.
    Moment(Timestamp),
}

/// What was made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// How many changes.
    pub changes: u64,
    /// The number of the last change that the database has now.
    pub place: u64,
    /// When the last of them was made; `None` where there was none.
    pub at: Option<Timestamp>,
    /// Whether those were all that the folder has: none of them is of a later moment.
    pub is_end: bool,
}

impl Db {
    /// Makes the changes of an [`Archive`](crate::Archive)'s folder again that the main engine, a
    /// restored backup, does not have yet: so that it is as it was at a later moment. Tables that
    /// were not tracked stay as they are, and the database's own triggers keep still: what they wrote to
    /// tracked tables is among the changes.
    ///
    /// The folder is read wholly before anything is changed. Changes are made a page at a time, each
    /// in a transaction: where it breaks off, the database is as it was at some moment before, and a
    /// further call goes on. Nobody else may write meanwhile.
    ///
    /// # Errors
    /// `NotFound` where the folder begins after the backup, or is empty; `Corrupt` for a damaged
    /// file; `Schema` where a table was altered since the backup: restore a later one; `OutOfRange`
    /// where the database is behind the moment already, or the folder ends before the number; `Unsupported` for an engine that can't: those
    /// on servers, and the memory engine where tables have foreign keys.
    pub fn replay(&self, folder: impl AsRef<Path>, until: Until) -> Result<Replayed> {
        let folder = Folder::to_read(folder.as_ref());
        let span = folder.check()?;
        replay(&*self.main_engine()?, &folder, &span, until)
    }
}

/// Makes the changes of a folder again that was checked, and had this in it.
///
/// # Errors
/// As [`Db::replay`].
pub(crate) fn replay(
    engine: &dyn Engine,
    folder: &Folder,
    span: &ArchiveSpan,
    until: Until,
) -> Result<Replayed> {
    let mut replay = Replay::new(engine, until)?;
    if let Until::Change(id) = until
        && id > span.to.max(replay.place)
    {
        let message = format!("the folder ends with change {}, before {id}", span.to);
        return Err(Error::new(ErrorKind::OutOfRange, message));
    }
    let off = ForeignKeys::off(engine, &replay.logs)?;
    let done = folder.each(|reader| {
        let mut tables = HashMap::new();
        if reader.from > replay.place {
            let (from, place) = (reader.from, replay.place);
            let message = format!(
                "the changes begin behind {from}, and the backup ends with {place}: those in \
                 between are missing"
            );
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        while let Some(frame) = reader.next()? {
            match frame {
                Frame::Table(table) => drop(tables.insert(table.number, table)),
                Frame::Page { next, changes } => {
                    if !replay.page(&tables, &changes, next)? {
                        replay.done.is_end = false;
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    });
    off.on(engine)?;
    done.map(|()| replay.done)
}

struct Replay<'e> {
    engine: &'e dyn Engine,
    until: Until,
    logs: Vec<Log>,
    pairs: Vec<Pair>,
    place: u64,
    done: Replayed,
}

impl<'e> Replay<'e> {
    fn new(engine: &'e dyn Engine, until: Until) -> Result<Self> {
        if !matches!(engine.name(), "sqlite" | "memory") {
            let message = format!("the {} engine takes no changes behind a backup", engine.name());
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let session = engine.session()?;
        let logs = logs_in(&*session)?;
        let place = last_id(&*session, &logs)?;
        if logs.is_empty() {
            let message = "no table of the backup is tracked, so nothing says where to go on";
            return Err(Error::new(ErrorKind::Schema, message));
        }
        let behind = match until {
            Until::Change(id) => id < place,
            Until::Moment(at) => logs.iter().try_fold(false, |behind, log| {
                Ok::<_, Error>(behind || log.is_after(&*session, at)?)
            })?,
            Until::End => false,
        };
        if behind {
            let message = format!(
                "the backup is of a later moment, behind change {place}: restore an older one"
            );
            return Err(Error::new(ErrorKind::OutOfRange, message));
        }
        let pairs = logs.iter().map(|log| Pair::same(&log.table)).collect::<Result<_>>()?;
        let done = Replayed { changes: 0, place, at: None, is_end: true };
        Ok(Self { engine, until, logs, pairs, place, done })
    }

    /// Makes a page's changes that are wanted; `false` where it was the last.
    fn page(
        &mut self,
        tables: &HashMap<i64, Table>,
        rows: &[bobak_core::codec::EncodedRow<'_>],
        next: u64,
    ) -> Result<bool> {
        let mut changes = Vec::new();
        let mut goes_on = true;
        for row in rows {
            let logged = Logged::of(*row)?;
            if logged.id <= self.place {
                continue;
            }
            goes_on = match self.until {
                Until::End => true,
                Until::Change(id) => logged.id <= id,
                Until::Moment(at) => logged.at <= at.as_microsecond(),
            };
            if !goes_on {
                break;
            }
            changes.push(self.change(tables, &logged)?);
        }
        let place = match changes.last() {
            Some(change) if !goes_on => change.id,
            _ if !goes_on => self.place,
            _ => next.max(self.place),
        };
        if let Some(last) = changes.last() {
            let (logs, pairs) = (&self.logs, &self.pairs);
            wholly(self.engine, |session| {
                let still = quiet::Triggers::drop(session, logs)?;
                quiet::give_keys(session, pairs, &changes)?;
                make(session, pairs, &changes)?;
                still.create(session)?;
                write_down(session, logs, self.place, &changes)?;
                count(session, place, last.at.as_microsecond())
            })?;
            self.done.changes += changes.len() as u64;
            self.done.at = Some(last.at);
        }
        (self.place, self.done.place) = (place, place);
        Ok(goes_on)
    }

    fn change(&self, tables: &HashMap<i64, Table>, logged: &Logged<'_>) -> Result<Change> {
        let table = tables.get(&logged.table).ok_or_else(|| {
            super::frame::damaged("a change is of a table that was not named before")
        })?;
        let same = |log: &&Log| log.table.name().eq_ignore_ascii_case(&table.name);
        let altered = |message: &str| {
            let message = format!("{message}, with change {}: restore a later backup", logged.id);
            Error::new(ErrorKind::Schema, message).in_table(table.name.clone())
        };
        let log = self.logs.iter().find(same);
        let log = log.ok_or_else(|| altered("the backup's table is not tracked yet"))?;
        let names = log.table.columns().iter().map(|column| column.name.as_ref());
        if !table.columns.iter().map(String::as_str).eq(names) {
            return Err(altered("the table was altered after the backup"));
        }
        logged.change(&log.table, &Arc::new(table.columns.clone()))
    }
}

/// Puts these changes in the place of what was written down since `place`.
fn write_down(session: &dyn Session, logs: &[Log], place: u64, changes: &[Change]) -> Result<()> {
    let mut batch = Batch::new();
    for log in logs {
        let since = compare_number(SEQ, Comparison::Greater, place);
        let change =
            bobak_core::Change { table: &log.schema, condition: Some(&since), assign: None };
        session.change(&change)?;
        for change in changes.iter().filter(|change| change.table.id() == log.table.id()) {
            let values = change.log_values();
            let (table, verb, fields) = (&log.schema, Verb::Insert, FieldSet::EMPTY);
            batch.push(&Write { table, verb, fields, values: &values })?;
        }
    }
    if batch.is_empty() { Ok(()) } else { session.batch(&batch, OnError::Stop, &mut |_| {}) }
}

/// Has the counter go on behind a place.
fn count(session: &dyn Session, place: u64, at: i64) -> Result<()> {
    let assign = [
        Assign::Set { column: 1, value: number(place) },
        Assign::Set { column: 2, value: Value::Int(at) },
    ];
    let change =
        bobak_core::Change { table: feed_schema(), condition: None, assign: Some(&assign) };
    session.change(&change).map(|_| ())
}

fn number(number: u64) -> Value<'static> {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}
