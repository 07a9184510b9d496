//! The logs of several tables, put in one order.
//!
//! Whoever sees a change sees all those with smaller numbers, since numbers are in the order of
//! commits. So the largest number is looked for first, and only what is not above it is read:
//! reads of different logs then fit together though they are not of the same moment.

use super::change::{Change, integer};
use super::changes::{ChangePage, TransactionBoundary};
use super::end::last_border;
use super::{AT, SEQ, is_watched, log_schema, tracked_schema};
use crate::{
    Comparison, Condition, Engine, Error, ErrorKind, Expr, Result, Row, Select, Session, Source,
    TableSchema, Timestamp, ValueRef,
};
use std::sync::Arc;

/// About the most bytes of a page's rows, of each log.
const PAGE_BYTES: usize = 8 << 20;

/// Whether a row of a log is wanted.
pub(super) type Keeps<'a> = &'a dyn Fn(&dyn Row) -> bool;

/// The log of a tracked table.
#[derive(Clone, Debug)]
pub struct Log {
    /// The table.
    pub table: Arc<TableSchema>,
    /// The log itself.
    pub schema: Arc<TableSchema>,
    names: Arc<Vec<String>>,
}

/// A tracked table's name, and the largest number that was taken out of its log.
#[derive(Clone, Debug)]
pub struct Tracked {
    /// The table's name.
    pub name: String,
    /// The number.
    pub pruned: u64,
}

impl Log {
    /// The log of a table, whether it is there or not.
    ///
    /// # Errors
    /// As [`log_schema`].
    pub fn of(table: Arc<TableSchema>) -> Result<Self> {
        let schema = Arc::new(log_schema(&table, false)?);
        let names = table.columns().iter().map(|column| column.name.to_string()).collect();
        Ok(Self { table, schema, names: Arc::new(names) })
    }

    /// The changes that a condition over the log keeps, by their numbers.
    ///
    /// # Errors
    /// `Schema` where the table has no log, or one that does not fit; those of the engine.
    pub fn list(
        &self,
        session: &dyn Session,
        condition: Condition,
        limit: Option<u64>,
    ) -> Result<Vec<Change>> {
        self.list_within(session, condition, limit, usize::MAX).map(|(changes, _)| changes)
    }

    /// As [`list`](Self::list), of the first changes whose rows have about so many bytes together, one
    /// at least; and whether there were more.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn list_within(
        &self,
        session: &dyn Session,
        condition: Condition,
        limit: Option<u64>,
        bytes: usize,
    ) -> Result<(Vec<Change>, bool)> {
        self.list_kept(session, condition, None, limit, bytes)
    }

    /// As [`list_within`](Self::list_within), of the rows that are kept by `keeps` too.
    pub(super) fn list_kept(
        &self,
        session: &dyn Session,
        condition: Condition,
        keeps: Option<Keeps<'_>>,
        limit: Option<u64>,
        bytes: usize,
    ) -> Result<(Vec<Change>, bool)> {
        let select = Select {
            condition: Some(condition.resolve(&self.schema)?),
            limit: limit.filter(|_| keeps.is_none()),
            ..Select::all(&self.schema)
        };
        let most = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let (mut changes, mut taken, mut more) = (Vec::new(), 0_usize, false);
        let read = session.query(&Source::Select(&select), &mut |row| {
            if keeps.is_some_and(|keeps| !keeps(row)) {
                return Ok(true);
            }
            if taken >= bytes {
                more = true;
                return Ok(false);
            }
            taken += bytes_of(row);
            changes.push(Change::from_log(&self.table, &self.names, row)?);
            Ok(changes.len() < most)
        });
        match read {
            Err(error) if error.kind() == ErrorKind::Schema => Err(self.misfit(error)),
            read => read.map(|()| (changes, more)),
        }
    }

    /// Whether it has a change that was made after a moment.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn is_after(&self, session: &dyn Session, moment: Timestamp) -> Result<bool> {
        let value = moment.as_microsecond().into();
        let later = Condition::Compare { column: AT, comparison: Comparison::Greater, value };
        Ok(self.last(session, Some(later))? > 0)
    }

    #[cold]
    fn misfit(&self, error: Error) -> Error {
        let message = "the table is not tracked, or was altered past Bobak, so that its log does \
                       not fit any more: track it again";
        let misfit = Error::new(ErrorKind::Schema, message).in_table(self.table.name());
        misfit.with_source(error)
    }

    /// The largest number of the changes that a condition over the log keeps; 0 where there are none.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn last(&self, session: &dyn Session, condition: Option<Condition>) -> Result<u64> {
        let select = Select {
            columns: vec![Expr::Max(SEQ)],
            condition: condition.map(|condition| condition.resolve(&self.schema)).transpose()?,
            order: Vec::new(),
            ..Select::all(&self.schema)
        };
        let mut last = 0;
        session.query(&Source::Select(&select), &mut |row| {
            last = match row.get(0) {
                ValueRef::Null => 0,
                _ => integer(row, 0)?.unsigned_abs(),
            };
            Ok(true)
        })?;
        Ok(last)
    }
}

/// The tables that are tracked; none where the database has no feed.
///
/// # Errors
/// Those of the engine.
pub fn tracked(session: &dyn Session) -> Result<Vec<Tracked>> {
    let mut tracked = Vec::new();
    let select = Select::all(tracked_schema());
    let read = session.query(&Source::Select(&select), &mut |row| {
        if let ValueRef::Text(name) = row.get(1) {
            let (name, pruned) = (name.to_owned(), integer(row, 2)?.unsigned_abs());
            tracked.push(Tracked { name, pruned });
        }
        Ok(true)
    });
    match read {
        Err(error) if error.kind() == ErrorKind::Schema => Ok(Vec::new()),
        read => read.map(|()| tracked),
    }
}

/// Whether a table is tracked, and its changes are written down as it is now: not where SQL dropped it
/// and made it anew, or added a column.
///
/// # Errors
/// Those of the engine; `Schema` where it is not there.
pub fn is_tracked(session: &dyn Session, table: &str) -> Result<bool> {
    let same = |name: &str| name.eq_ignore_ascii_case(table);
    if !tracked(session)?.iter().any(|tracked| same(&tracked.name)) {
        return Ok(false);
    }
    if session.triggers()?.is_some_and(|triggers| !is_watched(&triggers, table)) {
        return Ok(false);
    }
    let found = session.tables()?.into_iter().find(|found| same(found.name()));
    let found = found.ok_or_else(|| {
        let message = "the table is not there: create it first";
        Error::new(ErrorKind::Schema, message).in_table(table)
    })?;
    let none = compare_number(SEQ, Comparison::Less, 0);
    match Log::of(Arc::new(found))?.list(session, none, Some(1)) {
        Err(error) if error.kind() == ErrorKind::Schema => Ok(false),
        listed => listed.map(|_| true),
    }
}

/// The logs of all tracked tables, by their tables' names.
///
/// # Errors
/// As [`logs_in`].
pub fn logs(engine: &dyn Engine) -> Result<Vec<Log>> {
    logs_in(&*engine.session()?)
}

/// As [`logs`], in a session.
///
/// # Errors
/// `Schema` where nothing writes down the changes of a tracked table any more; those of the engine.
pub fn logs_in(session: &dyn Session) -> Result<Vec<Log>> {
    let tracked = tracked(session)?;
    if tracked.is_empty() {
        return Ok(Vec::new());
    }
    let is_tracked = |table: &TableSchema| {
        tracked.iter().any(|other| other.name.eq_ignore_ascii_case(table.name()))
    };
    let mut tables: Vec<_> = session.tables()?.into_iter().filter(is_tracked).collect();
    tables.sort_by(|a, b| a.name().cmp(b.name()));
    must_be_watched(session, &tables)?;
    tables.into_iter().map(|table| Log::of(Arc::new(table))).collect()
}

/// Refuses a tracked table whose changes go unseen.
///
/// # Errors
/// `Schema`; those of the engine.
pub fn must_be_watched<'t>(
    session: &dyn Session,
    tables: impl IntoIterator<Item = &'t TableSchema>,
) -> Result<()> {
    let Some(triggers) = session.triggers()? else { return Ok(()) };
    let mut tables = tables.into_iter();
    let Some(table) = tables.find(|table| !is_watched(&triggers, table.name())) else {
        return Ok(());
    };
    let message = "the table is tracked, but its triggers are gone, as where SQL drops a table and makes \
                   it anew: changes since then were not written down. Track it again, and begin \
                   followers and archives anew";
    Err(Error::new(ErrorKind::Schema, message).in_table(table.name()))
}

/// The number and the time, in microseconds since 1970, of the last change up to a number; `None` where
/// there is none left. By these two one knows whether a feed is the one that was read before.
///
/// # Errors
/// Those of the engine.
pub fn last_up_to(session: &dyn Session, logs: &[Log], number: u64) -> Result<Option<(u64, i64)>> {
    let up_to = compare_number(SEQ, Comparison::LessOrEqual, number);
    let mut last: Option<(u64, &Log)> = None;
    for log in logs {
        let found = log.last(session, Some(up_to.clone()))?;
        if found > last.map_or(0, |(number, _)| number) {
            last = Some((found, log));
        }
    }
    let Some((number, log)) = last else { return Ok(None) };
    let found = log.list(session, compare_number(SEQ, Comparison::Equal, number), Some(1))?;
    Ok(found.first().map(|change| (number, change.at.as_microsecond())))
}

/// The largest number that was taken out of some logs.
pub(super) fn pruned(session: &dyn Session, wanted: &[Log]) -> Result<u64> {
    let is_wanted = |tracked: &Tracked| {
        wanted.iter().any(|log| log.table.name().eq_ignore_ascii_case(&tracked.name))
    };
    let tracked = tracked(session)?;
    let pruned = tracked.iter().filter(|tracked| is_wanted(tracked)).map(|tracked| tracked.pruned);
    Ok(pruned.max().unwrap_or(0))
}

/// At most `limit` changes of the `wanted` logs with numbers above `since`, fewer where their rows
/// are long, and up to where that is all. `all` are the logs of all tracked tables.
///
/// # Errors
/// `NotFound` where changes after that number were taken out; those of the engine.
pub fn page(
    session: &dyn Session,
    all: &[Log],
    wanted: &[Log],
    since: u64,
    limit: usize,
) -> Result<ChangePage> {
    let read = Timestamp::now();
    let (last, is_border) = last_border(session, all)?;
    let border = is_border.then_some(TransactionBoundary { id: last, read });
    if last <= since {
        return Ok(ChangePage { changes: Vec::new(), next: since, border });
    }
    let (mut changes, mut last) = (Vec::new(), last);
    for log in wanted {
        let most = u64::try_from(limit).unwrap_or(u64::MAX);
        let (found, more) =
            log.list_within(session, between(since, last), Some(most), PAGE_BYTES)?;
        if let Some(end) = found.last().filter(|_| more) {
            // Behind it this log has changes that were not read.
            last = end.id;
        }
        changes.extend(found);
    }
    changes.retain(|change| change.id <= last);
    // What is taken out is noted in the same moment: nothing that was to be read is missing where
    // nothing is noted now.
    let pruned = pruned(session, wanted)?;
    if pruned > since {
        let message = format!(
            "changes up to {pruned} were taken out of the feed, and {since} is before that: begin \
             with a copy"
        );
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    changes.sort_by_key(|change| change.id);
    changes.truncate(limit);
    let next = match changes.last() {
        Some(change) if changes.len() >= limit => change.id,
        _ => last,
    };
    Ok(ChangePage { changes, next, border })
}

fn bytes_of(row: &dyn Row) -> usize {
    let bytes = |place| match row.get(place) {
        ValueRef::Text(text) => text.len(),
        ValueRef::Bytes(bytes) => bytes.len(),
        _ => size_of::<i64>(),
    };
    (0..row.len()).map(bytes).sum()
}

/// Changes with numbers above one and not above another.
fn between(above: u64, to: u64) -> Condition {
    Condition::And(vec![
        compare_number(SEQ, Comparison::Greater, above),
        compare_number(SEQ, Comparison::LessOrEqual, to),
    ])
}

/// A condition over a column with numbers of changes.
#[must_use]
pub fn compare_number(column: usize, comparison: Comparison, number: u64) -> Condition {
    let value = i64::try_from(number).unwrap_or(i64::MAX).into();
    Condition::Compare { column, comparison, value }
}
