//! What an update of chosen columns does.

use crate::{Result, TableSchema, Value};
use std::marker::PhantomData;

/// One change to one column, untyped.
#[derive(Clone, Debug, PartialEq)]
pub enum Assign {
    /// The column gets the value.
    Set {
        /// The column's place.
        column: usize,
        /// The value.
        value: Value<'static>,
    },
    /// The number is added to the column; NULL stays NULL.
    Add {
        /// The column's place.
        column: usize,
        /// The number.
        value: Value<'static>,
    },
}

/// An [`Assign`] over the record `T`. Made by [`Column::set`](crate::Column::set) and
/// [`Column::add`](crate::Column::add).
#[derive(Clone, Debug)]
pub struct Assignment<T> {
    assign: Assign,
    record: PhantomData<fn() -> T>,
}

impl<T> Assignment<T> {
    pub(crate) const fn new(assign: Assign) -> Self {
        Self { assign, record: PhantomData }
    }

    /// The untyped change.
    #[must_use]
    pub fn into_assign(self) -> Assign {
        self.assign
    }
}

impl Assign {
    /// The column's place.
    #[must_use]
    pub const fn column(&self) -> usize {
        match self {
            Self::Set { column, .. } | Self::Add { column, .. } => *column,
        }
    }

    /// The change with its value in the column's stored form.
    ///
    /// # Errors
    /// `Schema` for a column that the table has not; as
    /// [`ColumnSchema::accept`](crate::ColumnSchema::accept) for a wrong value.
    pub fn resolve(self, table: &TableSchema) -> Result<Self> {
        let schema = table.column_at(self.column())?;
        let accept = |value| schema.accept(value).map_err(|error| error.in_table(table.name()));
        Ok(match self {
            Self::Set { column, value } => Self::Set { column, value: accept(value)? },
            Self::Add { column, value } => Self::Add { column, value: accept(value)? },
        })
    }
}
