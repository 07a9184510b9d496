//! What became of one record.

use super::{Change, ChangeKind};
use crate::Table;
use bobak_core::feed::{Log, must_be_watched};
use bobak_core::{DynRow, Key, Record, Result, Timestamp, Value};
use std::sync::Arc;

/// One change of a record, and who made it when. See [`Table::history`].
#[derive(Clone, Debug, PartialEq)]
pub struct Revision<T> {
    /// The change's number. See [`Change::id`](crate::changes::Change::id).
    pub id: u64,
    /// What happened.
    pub kind: ChangeKind,
    /// When.
    pub at: Timestamp,
    /// Who did it, where that was said.
    pub who: Option<String>,
    /// The record before.
    pub before: Option<T>,
    /// The record after.
    pub after: Option<T>,
}

impl<T: Record> Table<'_, T> {
    /// The changes of the record with this key, in order, as far back as the feed goes. A record
    /// that was deleted and inserted again has both lives. Ask for
    /// [`TrackOptions::history`](crate::changes::TrackOptions::history) where it is to be quick.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// use bobak::changes::TrackOptions;
    /// # #[derive(Record, Debug, PartialEq)] struct City { id: i64, people: i64 }
    /// let db = Db::builder().track::<City>(TrackOptions::new().history(true)).open("memory:")?;
    /// db.create_missing_tables()?;
    /// let ann = db.with_actor("ann")?;
    /// let id = ann.table()?.insert(&City { id: 0, people: 100 })?;
    /// db.table::<City>()?.set(id, [City::PEOPLE.set(200)])?;
    ///
    /// let history = db.table::<City>()?.history(id)?;
    /// assert_eq!(history[0].who.as_deref(), Some("ann"));
    /// assert_eq!(history[1].before, Some(City { id, people: 100 }));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Schema` where the table is not tracked; those of the engine.
    pub fn history(&self, key: impl Into<T::Key>) -> Result<Vec<Revision<T>>> {
        let (_, changes) = key.into().with_values(|key| self.changes_of(key))?;
        changes.into_iter().map(revision).collect()
    }

    /// The record as it was at a moment; `None` where there was none. What was before the feed
    /// began, or before what was taken out of it, is taken to be as at its beginning.
    ///
    /// # Errors
    /// As [`history`](Table::history).
    pub fn as_of(&self, key: impl Into<T::Key>, at: Timestamp) -> Result<Option<T>> {
        let key = key.into();
        let (log, mut changes) = key.with_values(|key| self.changes_of(key))?;
        let until = changes.partition_point(|change| change.at <= at);
        // The row had this key: one whose key was changed has left it, or comes from another.
        let is_own = |row: &Option<DynRow>| match row {
            Some(row) => key.with_values(|key| log.is_row(key, row)),
            None => Ok(false),
        };
        if let Some(change) = until.checked_sub(1).and_then(|last| changes.get(last)) {
            return if is_own(&change.after)? { change.after_as() } else { Ok(None) };
        }
        if changes.is_empty() {
            return key.with_values(|key| self.access.get(key, T::read));
        }
        let first = changes.swap_remove(0);
        if is_own(&first.before)? { first.before_as() } else { Ok(None) }
    }

    fn changes_of(&self, key: &[Value<'_>]) -> Result<(Log, Vec<Change>)> {
        let log = Log::of(Arc::clone(&self.access.schema))?;
        let listed = self.access.handle.with(|session| {
            let (changes, _) = log.list_row(session, key, 0, None, usize::MAX)?;
            must_be_watched(session, [&*log.table]).map(|()| changes)
        });
        listed.map_err(|error| self.access.name(error)).map(|changes| (log, changes))
    }
}

fn revision<T: Record>(change: Change) -> Result<Revision<T>> {
    let (before, after) = (change.before_as()?, change.after_as()?);
    Ok(Revision { id: change.id, kind: change.kind, at: change.at, who: change.who, before, after })
}
