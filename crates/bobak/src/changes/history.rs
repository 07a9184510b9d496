//! The history of one record.

use super::{Change, ChangeKind};
use crate::table::Table;
use bobak_changes::{ChangeLog, check_capture};
use bobak_core::{DynRow, Error, ErrorKind, Key, Record, Result, Timestamp, Value};
use std::sync::Arc;

/// One change of a record, with its time and actor. See [`Table::history`].
#[derive(Clone, Debug, PartialEq)]
pub struct Revision<T> {
    /// The number of the change. See [`Change::id`](crate::changes::Change::id).
    pub id: u64,
    /// What was changed.
    pub kind: ChangeKind,
    /// When it was made.
    pub at: Timestamp,
    /// Who made it, if an actor was set.
    pub actor: Option<String>,
    /// The record before the change; `None` for an insert.
    pub before: Option<T>,
    /// The record after the change; `None` for a delete.
    pub after: Option<T>,
}

impl<T: Record> Table<'_, T> {
    /// The changes of the record with this key, in order, as far back as the change log goes, also from before the record
    /// was deleted and inserted again. [`TrackOptions::history`](crate::changes::TrackOptions::history) makes this fast.
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
    /// assert_eq!(history[0].actor.as_deref(), Some("ann"));
    /// assert_eq!(history[1].before, Some(City { id, people: 100 }));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Schema` if the table is not tracked; those of the engine.
    pub fn history(&self, key: impl Into<T::Key>) -> Result<Vec<Revision<T>>> {
        let (_, changes) = key.into().with_values(|key| self.changes_of(key))?;
        changes.into_iter().map(revision).collect()
    }

    /// The record as it was at a moment; `None` if there was none. Before the first recorded change, the record is assumed to
    /// have been as that change found it.
    ///
    /// # Errors
    /// As [`history`](Table::history).
    pub fn as_of(&self, key: impl Into<T::Key>, at: Timestamp) -> Result<Option<T>> {
        let key = key.into();
        let (log, mut changes) = key.with_values(|key| self.changes_of(key))?;
        let until = changes.partition_point(|change| change.at <= at);
        // A change of the key moves a row to or from this key.
        let is_same_row = |row: &Option<DynRow>| match row {
            Some(row) => key.with_values(|key| log.is_row(key, row)),
            None => Ok(false),
        };
        if let Some(change) = until.checked_sub(1).and_then(|last| changes.get(last)) {
            return if is_same_row(&change.after)? { change.after_as() } else { Ok(None) };
        }
        if changes.is_empty() {
            return key.with_values(|key| self.access.get(key, T::read));
        }
        let first = changes.swap_remove(0);
        if is_same_row(&first.before)? { first.before_as() } else { Ok(None) }
    }

    fn changes_of(&self, key: &[Value<'_>]) -> Result<(ChangeLog, Vec<Change>)> {
        if !T::rules().encrypted.is_empty() {
            let message = "the change log has only ciphertext of encrypted fields: read it with `Db::changes`";
            return Err(Error::new(ErrorKind::Unsupported, message).in_table(T::TABLE));
        }
        let log = ChangeLog::new(Arc::clone(&self.access.schema))?;
        let listed = self.access.source.with(|session| {
            let (changes, _) = log.list_row(session, key, 0, None, usize::MAX)?;
            check_capture(session, [&*log.table]).map(|()| changes)
        });
        listed.map_err(|error| self.access.in_table(error)).map(|changes| (log, changes))
    }
}

fn revision<T: Record>(change: Change) -> Result<Revision<T>> {
    let (before, after) = (change.before_as()?, change.after_as()?);
    Ok(Revision {
        id: change.id,
        kind: change.kind,
        at: change.at,
        actor: change.actor,
        before,
        after,
    })
}
