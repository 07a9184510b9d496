//! What a session writes: one row, or all rows that match a condition.

use crate::{Assign, Condition, Error, ErrorKind, FieldSet, Result, TableSchema, Value};
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
    /// [`Verb::upsert_by`] finds: updates the row that has its values in the index, whatever
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
    /// The verb of an upsert that finds an existing row by these columns, in any order: `Upsert` for the key,
    /// `UpsertOn` for a unique index without generated columns.
    ///
    /// # Errors
    /// `Schema` if they are neither.
    pub fn upsert_by(table: &TableSchema, columns: &[usize]) -> Result<Self> {
        let wanted: FieldSet = columns.iter().copied().collect();
        let is_same = |columns: &[usize]| wanted == columns.iter().copied().collect();
        if is_same(table.key()) {
            return Ok(Self::Upsert);
        }
        let is_usable =
            |index: &crate::IndexSchema| index.unique && !table.is_computed_index(index);
        let is_wanted = |index: &crate::IndexSchema| is_usable(index) && is_same(&index.columns);
        let index = table.indexes().iter().position(is_wanted);
        if let Some(index) = index.and_then(|index| u16::try_from(index).ok()) {
            return Ok(Self::UpsertOn(index));
        }
        let list = |columns: &[usize]| format!("({})", table.column_names(columns));
        let unique = table.indexes().iter().filter(|index| is_usable(index));
        let keys = std::iter::once(list(table.key())).chain(unique.map(|key| list(&key.columns)));
        let message = format!(
            "an upsert needs the columns of the key or of a unique index, which are {}, not {}",
            keys.collect::<Vec<_>>().join(", "),
            list(columns)
        );
        Err(Error::new(ErrorKind::Schema, message).in_table(table.name().to_owned()))
    }

    /// The number of the index by which an upsert on the `described` table finds a row of the stored one: 0 is the
    /// key's, 1 the first of [`TableSchema::indexes`]. The stored table may have its indexes in another order.
    ///
    /// # Errors
    /// `Schema` if the stored table has no such unique index.
    pub fn upsert_index(self, described: &TableSchema, stored: &TableSchema) -> Result<usize> {
        let Self::UpsertOn(_) = self else { return Ok(0) };
        Ok(match Self::upsert_by(stored, self.conflict_columns(described))? {
            Self::UpsertOn(index) => usize::from(index) + 1,
            _ => 0,
        })
    }

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

impl TableSchema {
    /// Checks that rows can be written with this verb.
    ///
    /// # Errors
    /// `Unsupported` for a view; and to replace rows if a unique index has [generated](crate::ColumnSchema::generated) columns,
    /// since the rows in the way are not known before.
    #[inline]
    pub fn check_written(&self, verb: Verb) -> Result<()> {
        self.check_writable()?;
        if verb != Verb::InsertOrReplace || !self.has_generated_columns() {
            return Ok(());
        }
        match self.indexes().iter().find(|index| index.unique && self.is_computed_index(index)) {
            Some(index) => Err(self.reject_replaced(index)),
            None => Ok(()),
        }
    }

    #[cold]
    fn reject_replaced(&self, index: &crate::IndexSchema) -> Error {
        let message = format!(
            "the unique index '{}' has generated columns, so the rows in the way of a new one are not known: delete \
             them, or upsert by the key",
            index.name
        );
        Error::new(ErrorKind::Unsupported, message).in_table(self.name().to_owned())
    }
}

/// One row to write.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The table.
    pub table: &'a Arc<TableSchema>,
    /// What to do with the row.
    pub verb: Verb,
    /// For updates and upserts: the columns to set, none of them [generated](crate::ColumnSchema::generated). Ignored
    /// otherwise.
    pub fields: FieldSet,
    /// The values of all columns in schema order, those of [generated](crate::ColumnSchema::generated) ones to be
    /// ignored; for `Delete`, of the key's columns in key order.
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
