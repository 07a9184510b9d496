//! Assignments: what an update sets.

use crate::join::JoinExpr;
use crate::{Error, ErrorKind, Result, TableSchema, Value, ValueRef};
use std::marker::PhantomData;

/// An assignment to one column, untyped.
#[derive(Clone, Debug, PartialEq)]
pub enum Assign {
    /// Sets the column to a value.
    Set {
        /// The column's index.
        column: usize,
        /// The new value.
        value: Value<'static>,
    },
    /// Adds a number to the column; NULL stays NULL.
    Add {
        /// The column's index.
        column: usize,
        /// The number to add.
        value: Value<'static>,
    },
}

/// What an [`Assignment`] sets a column to.
#[derive(Clone, Debug, PartialEq)]
pub enum AssignedValue {
    /// A value, or a number to add.
    Value(Assign),
    /// An expression of the row, whose columns are those of the table 0.
    Expr {
        /// The column's index.
        column: usize,
        /// The expression.
        expr: JoinExpr,
    },
}

/// An assignment to a column of the record `T`, made by [`Column::set`](crate::Column::set) and
/// [`Column::add`](crate::Column::add).
#[derive(Clone, Debug)]
pub struct Assignment<T> {
    value: AssignedValue,
    record: PhantomData<fn() -> T>,
}

impl<T> Assignment<T> {
    pub(crate) const fn new(value: AssignedValue) -> Self {
        Self { value, record: PhantomData }
    }

    /// The untyped assignment.
    #[must_use]
    pub fn into_value(self) -> AssignedValue {
        self.value
    }
}

impl<T> From<AssignedValue> for Assignment<T> {
    fn from(value: AssignedValue) -> Self {
        Self::new(value)
    }
}

impl AssignedValue {
    /// The column's index.
    #[must_use]
    pub const fn column(&self) -> usize {
        match self {
            Self::Value(assign) => assign.column(),
            Self::Expr { column, .. } => *column,
        }
    }
}

impl Assign {
    /// The column's index.
    #[must_use]
    pub const fn column(&self) -> usize {
        match self {
            Self::Set { column, .. } | Self::Add { column, .. } => *column,
        }
    }

    /// The assignment with its value in the column's stored form.
    ///
    /// # Errors
    /// `Schema` if the table has no such column; as
    /// [`ColumnSchema::accept`](crate::ColumnSchema::accept) for a value of the wrong type.
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
        let message = "the sum of opposite infinities is not a number";
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
