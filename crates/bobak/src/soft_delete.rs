//! Restoring and purging records whose deleted rows stay.

use crate::Table;
use bobak_core::{Filter, Key, Result, SoftDelete, Timestamp};

impl<T: SoftDelete> Table<'_, T> {
    /// Restores the deleted record with this key; returns `false` if there is none.
    ///
    /// ```
    /// use bobak::prelude::*;
    /// #[derive(Record)]
    /// struct Note {
    ///     id: i64,
    ///     text: String,
    ///     #[record(deleted_at)]
    ///     deleted_at: Option<Timestamp>,
    /// }
    ///
    /// let db = Db::builder().record::<Note>().open("memory:")?;
    /// db.create_missing_tables()?;
    /// let notes = db.table::<Note>()?;
    /// let id = notes.insert(&Note { id: 0, text: "milk".into(), deleted_at: None })?;
    /// assert!(notes.delete(id)?);
    /// assert_eq!((notes.count(Query::all())?, notes.count(Query::all().only_deleted())?), (0, 1));
    /// assert!(notes.restore(id)?);
    /// assert_eq!(notes.require(id)?.text, "milk");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// `Duplicate` if a live record has a unique value of the deleted one meanwhile; as [`set`](Table::set).
    #[track_caller]
    pub fn restore(&self, key: impl Into<T::Key>) -> Result<bool> {
        let condition = key.into().with_values(|key| self.access.key_condition(key));
        self.restore_where(Filter::new(condition)).map(|rows| rows > 0)
    }

    /// Restores every deleted record that matches the filter; returns their number.
    ///
    /// # Errors
    /// As [`restore`](Table::restore).
    #[track_caller]
    pub fn restore_where(&self, filter: Filter<T>) -> Result<u64> {
        let filter = filter.and(T::DELETION.is_not_null());
        self.set_where(filter, [T::DELETION.set(None::<Timestamp>)])
    }

    /// Removes every record for good that was deleted before a time; returns their number. No hooks run.
    ///
    /// # Errors
    /// `Constraint` if another record refers to one of them with a restricting foreign key.
    #[track_caller]
    pub fn purge(&self, before: Timestamp) -> Result<u64> {
        self.delete_where(T::DELETION.lt(before))
    }
}
