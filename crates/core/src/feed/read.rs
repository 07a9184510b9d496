//! The logs of several tables, put in one order.
//!
//! Whoever sees a change sees all those with smaller numbers, since numbers are in the order of
//! commits. So the largest number is looked for first, and only what is not above it is read:
//! reads of different logs then fit together though they are not of the same moment.

use super::change::{Change, integer};
use super::{AT, SEQ, log_schema, new_place, old_place, tracked_schema};
use crate::{
    Comparison, Condition, Engine, Error, ErrorKind, Expr, Result, Select, Session, Source,
    TableSchema, Timestamp, Value, ValueRef,
};
use std::sync::Arc;

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
        let select = Select {
            condition: Some(condition.resolve(&self.schema)?),
            limit,
            ..Select::all(&self.schema)
        };
        let mut changes = Vec::new();
        let read = session.query(&Source::Select(&select), &mut |row| {
            changes.push(Change::from_log(&self.table, &self.names, row)?);
            Ok(true)
        });
        match read {
            Err(error) if error.kind() == ErrorKind::Schema => Err(self.misfit(error)),
            read => read.map(|()| changes),
        }
    }

    /// A condition for the changes of the row with a key, as it was before or after.
    #[must_use]
    pub fn of_row(&self, key: &[Value<'_>]) -> Condition {
        let side = |place: fn(usize) -> usize| {
            let equals = |(&column, value): (&usize, &Value<'_>)| Condition::Compare {
                column: place(column),
                comparison: Comparison::Equal,
                value: value.clone().into_owned(),
            };
            Condition::And(self.table.key().iter().zip(key).map(equals).collect())
        };
        Condition::Or(vec![side(old_place), side(new_place)])
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

/// The logs of all tracked tables, by their tables' names.
///
/// # Errors
/// Those of the engine.
pub fn logs(engine: &dyn Engine) -> Result<Vec<Log>> {
    logs_in(&*engine.session()?)
}

/// As [`logs`], in a session.
///
/// # Errors
/// Those of the engine.
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
    tables.into_iter().map(|table| Log::of(Arc::new(table))).collect()
}

/// The largest number of all, those taken out included.
///
/// # Errors
/// Those of the engine.
pub fn last_id(session: &dyn Session, logs: &[Log]) -> Result<u64> {
    let pruned = tracked(session)?.iter().map(|tracked| tracked.pruned).max();
    logs.iter().try_fold(pruned.unwrap_or(0), |last, log| Ok(last.max(log.last(session, None)?)))
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

/// At most `limit` changes of the `wanted` logs with numbers above `since`, and up to where that is
/// all. `all` are the logs of all tracked tables.
///
/// # Errors
/// `NotFound` where changes after that number were taken out; those of the engine.
pub fn page(
    session: &dyn Session,
    all: &[Log],
    wanted: &[Log],
    since: u64,
    limit: usize,
) -> Result<(Vec<Change>, u64)> {
    let last = last_id(session, all)?;
    if last <= since {
        return Ok((Vec::new(), since));
    }
    let mut changes = Vec::new();
    for log in wanted {
        let most = u64::try_from(limit).unwrap_or(u64::MAX);
        changes.extend(log.list(session, between(since, last), Some(most))?);
    }
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
    Ok((changes, next))
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
