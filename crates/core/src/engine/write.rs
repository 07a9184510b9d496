//! What a session writes: one row, or all rows that match a condition.

use crate::{Assign, Condition, FieldSet, TableSchema, Value};
use std::sync::Arc;

/// What a [`Write`] does with its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Inserts the row. `Duplicate` if its key or a unique value exists already.
    Insert,
    /// Inserts the row, or does nothing if its key or a unique value exists already.
    InsertOrIgnore,
    /// Deletes the rows that have its key or one of its unique values, then inserts the row.
    InsertOrReplace,
    /// Inserts the row; if its key exists already, updates that row's `fields` and increments its
    /// version instead.
    Upsert,
    /// As `Upsert`, but by the unique index with this number in [`TableSchema::indexes`], which
    /// [`TableSchema::upsert_verb`] finds: updates the row that has its values in the index, whatever
    /// the key, and keeps that row's key. The outcome is then [`Outcome::of_updated`](crate::Outcome).
    ///
    /// An engine without a faster way calls [`fallback::upsert_on`](super::fallback::upsert_on).
    UpsertOn(u16),
    /// Sets the `fields` of the row with this key; `NotFound` if there is none. If the table has a
    /// version column, the row's version must equal the given one (else `Conflict`) and is
    /// incremented.
    Update,
    /// Deletes the row with this key. If there is none, the outcome is
    /// [`Changed(0)`](crate::Outcome::Changed).
    Delete,
}

impl Verb {
    /// Whether the verb updates a row that exists: such writes have `fields`.
    #[must_use]
    pub const fn sets_fields(self) -> bool {
        matches!(self, Self::Upsert | Self::UpsertOn(_) | Self::Update)
    }

    /// Whether the verb inserts a row if none exists, and updates it otherwise.
    #[must_use]
    pub const fn is_upsert(self) -> bool {
        matches!(self, Self::Upsert | Self::UpsertOn(_))
    }

    /// The columns by which the verb finds an existing row: those of the unique index of an `UpsertOn`, else of the
    /// key. No columns for the number of an index that the table does not have.
    #[must_use]
    pub fn conflict_columns(self, table: &TableSchema) -> &[usize] {
        match self {
            Self::UpsertOn(index) => {
                table.indexes().get(usize::from(index)).map_or(&[], |index| &index.columns)
            }
            _ => table.key(),
        }
    }
}

/// One row to write.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The table.
    pub table: &'a Arc<TableSchema>,
    /// What to do with the row.
    pub verb: Verb,
    /// For updates and upserts: the columns to set. Ignored otherwise.
    pub fields: FieldSet,
    /// The values of all columns in schema order; for `Delete`, of the key's columns in key order.
    pub values: &'a [Value<'a>],
}

/// An update or a delete of all rows that match a condition.
#[derive(Clone, Copy, Debug)]
pub struct BulkChange<'a> {
    /// The table.
    pub table: &'a Arc<TableSchema>,
    /// Which rows; all if `None`.
    pub condition: Option<&'a Condition>,
    /// The assignments of an update, with their values in stored form; versions are incremented.
    /// Neither the key nor the version is assigned. `None` deletes the rows.
    pub assign: Option<&'a [Assign]>,
}
