//! Foreign keys of one column.

use std::borrow::Cow;

/// A foreign key of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The referenced table.
    pub table: Cow<'static, str>,
    /// Its key column, or a unique column.
    pub column: Cow<'static, str>,
    /// What happens to this row when the referenced row is deleted.
    pub on_delete: OnDelete,
    /// What happens to this row when the referenced value changes.
    pub on_update: OnUpdate,
    /// Whether the rule is checked when a transaction commits, not after each statement.
    pub deferred: bool,
}

impl Reference {
    /// A foreign key to this column, checked after each statement.
    #[must_use]
    pub fn new(
        table: impl Into<Cow<'static, str>>,
        column: impl Into<Cow<'static, str>>,
        on_delete: OnDelete,
    ) -> Self {
        let (table, column) = (table.into(), column.into());
        Self { table, column, on_delete, on_update: OnUpdate::NoAction, deferred: false }
    }
}

/// What happens to a row when the row that it references is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum OnDelete {
    /// The delete fails with `Constraint`.
    #[default]
    Restrict,
    /// This row is deleted too.
    Cascade,
    /// The column becomes NULL.
    SetNull,
    /// The delete fails with `Constraint` if the row is still referenced when the rule is checked: at the end of
    /// the statement, or at the commit if the rule is [deferred](Reference::deferred).
    NoAction,
}

impl OnDelete {
    /// Whether a delete changes or deletes the rows that reference the deleted row.
    #[must_use]
    pub const fn changes_rows(self) -> bool {
        matches!(self, Self::Cascade | Self::SetNull)
    }
}

/// What happens to a row when the value that it references changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum OnUpdate {
    /// The update fails with `Constraint` if the old value is still referenced when the rule is checked.
    #[default]
    NoAction,
    /// The update fails with `Constraint`.
    Restrict,
    /// This row gets the new value.
    Cascade,
    /// The column becomes NULL.
    SetNull,
}

impl OnUpdate {
    /// Whether an update changes the rows that reference the changed value.
    #[must_use]
    pub const fn changes_rows(self) -> bool {
        matches!(self, Self::Cascade | Self::SetNull)
    }
}
