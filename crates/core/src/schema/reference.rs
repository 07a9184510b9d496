//! Foreign keys: of one column, which the column has, and of several, which the table has.

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

/// A foreign key of a table: of several columns, or a further one of a column that has a [`Reference`].
///
/// A row in which one of the columns is NULL references nothing.
///
/// ```
/// use bobak_core::{ForeignKey, OnDelete};
/// let line = ForeignKey::new("order", ["shop", "number"], OnDelete::Cascade);
/// assert_eq!(line.referenced, ["shop", "number"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The positions of the table's columns, in ascending order. The
    /// [builder](crate::TableSchemaBuilder::foreign_key) sets them.
    pub columns: Vec<usize>,
    /// The referenced table.
    pub table: Cow<'static, str>,
    /// The names of its key columns, or of the columns of a unique index, in the order of `columns`.
    pub referenced: Vec<Cow<'static, str>>,
    /// What happens to this row when the referenced row is deleted.
    pub on_delete: OnDelete,
    /// What happens to this row when the referenced values change.
    pub on_update: OnUpdate,
    /// Whether the rule is checked when a transaction commits, not after each statement.
    pub deferred: bool,
}

impl ForeignKey {
    /// A foreign key to these columns, checked after each statement.
    #[must_use]
    pub fn new<N: Into<Cow<'static, str>>>(
        table: impl Into<Cow<'static, str>>,
        referenced: impl IntoIterator<Item = N>,
        on_delete: OnDelete,
    ) -> Self {
        let referenced = referenced.into_iter().map(Into::into).collect();
        let (columns, table) = (Vec::new(), table.into());
        let on_update = OnUpdate::NoAction;
        Self { columns, table, referenced, on_delete, on_update, deferred: false }
    }

    /// Sets what happens when the referenced values change.
    #[must_use]
    pub fn on_update(mut self, action: OnUpdate) -> Self {
        self.on_update = action;
        self
    }

    /// Has the foreign key checked when a transaction commits.
    #[must_use]
    pub fn deferred(mut self) -> Self {
        self.deferred = true;
        self
    }

    /// The same rule for the columns at these positions, which are in the order of the referenced columns.
    #[must_use]
    pub fn of_columns(mut self, columns: Vec<usize>) -> Self {
        let mut pairs: Vec<_> = columns.into_iter().zip(self.referenced).collect();
        pairs.sort();
        (self.columns, self.referenced) = pairs.into_iter().unzip();
        self
    }

    /// The foreign key as a column's; `None` if it has several columns.
    #[must_use]
    pub fn into_reference(self) -> Option<Reference> {
        let Self { table, referenced, on_delete, on_update, deferred, .. } = self;
        let [column] = <[_; 1]>::try_from(referenced).ok()?;
        Some(Reference { table, column, on_delete, on_update, deferred })
    }

    /// The foreign key of the column at this position.
    pub(super) fn of_column(position: usize, reference: &Reference) -> Self {
        let Reference { table, column, on_delete, on_update, deferred } = reference.clone();
        let (columns, referenced) = (vec![position], vec![column]);
        Self { columns, table, referenced, on_delete, on_update, deferred }
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
    /// The action as schemas are compared. `NoAction` is `Restrict`: both reject the delete, and where they differ, a table keeps
    /// what it was created with.
    #[must_use]
    pub const fn compared(self) -> Self {
        match self {
            Self::NoAction => Self::Restrict,
            other => other,
        }
    }

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
