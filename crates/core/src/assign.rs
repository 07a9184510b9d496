//! What an update of chosen columns does.

use crate::{Error, ErrorKind, Result, TableSchema, Value, ValueRef};
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

    /// The column's new value, computed from the old one.
    ///
    /// # Errors
    /// `OutOfRange` if a sum does not fit the column's type, `Mismatch` if an operand is not a
    /// number; with table and column.
    pub fn apply(&self, table: &TableSchema, old: ValueRef<'_>) -> Result<Value<'static>> {
        let (index, number) = match self {
            Self::Set { value, .. } => return Ok(value.clone()),
            Self::Add { column, value } => (*column, value.as_ref()),
        };
        let column = table.column_at(index)?;
        let range = column.ty.integer_range().unwrap_or((i64::MIN, i64::MAX));
        let name = |error: Error| error.in_table(table.name()).in_column(column.name.clone());
        add(old, number, range).map_err(name)
    }
}

/// The sum of two numbers; NULL if one of them is NULL. `range` is the least and the largest integer
/// of the result.
fn add(value: ValueRef<'_>, number: ValueRef<'_>, range: (i64, i64)) -> Result<Value<'static>> {
    let float = |a: f64, b: f64| {
        let sum = a + b;
        let message = "the sum of opposite infinities is no number";
        let sum = (!sum.is_nan()).then_some(Value::Float(sum));
        sum.ok_or_else(|| Error::new(ErrorKind::OutOfRange, message))
    };
    match (value, number) {
        (ValueRef::Null, _) | (_, ValueRef::Null) => Ok(Value::Null),
        (ValueRef::Int(a), ValueRef::Int(b)) => match a.checked_add(b) {
            Some(sum) if (range.0..=range.1).contains(&sum) => Ok(Value::Int(sum)),
            _ => {
                let message = format!("{a} + {b} does not fit the column");
                Err(Error::new(ErrorKind::OutOfRange, message))
            }
        },
        (ValueRef::Float(a), ValueRef::Float(b)) => float(a, b),
        (ValueRef::Float(a), ValueRef::Int(b)) => float(a, b as f64),
        (ValueRef::Int(a), ValueRef::Float(b)) => float(a as f64, b),
        (ValueRef::Int(_) | ValueRef::Float(_), other) | (other, _) => {
            Err(Error::mismatch("a number to add", other))
        }
    }
}
