//! Records whose deleted rows stay.

use crate::{Column, Query, Record, Timestamp};

/// A record whose rows stay when they are deleted, with the time of the deletion. `#[record(deleted_at)]` on a field
/// implements it.
pub trait SoftDelete: Record {
    /// The column with the time of the deletion; NULL in live rows.
    const DELETION: Column<Self, Option<Timestamp>>;
    /// The column that is true in live rows and NULL in deleted ones, for unique indexes: the field with
    /// `#[record(live)]`. Default: none.
    const LIVENESS: Option<Column<Self, Option<bool>>> = None;
}

impl<T: SoftDelete> Query<T> {
    /// The records that match the query, deleted ones included.
    #[must_use]
    pub fn with_deleted(self) -> Self {
        self.and(T::DELETION.is_null().or(T::DELETION.is_not_null()))
    }

    /// The deleted records that match the query.
    #[must_use]
    pub fn only_deleted(self) -> Self {
        self.and(T::DELETION.is_not_null())
    }
}
