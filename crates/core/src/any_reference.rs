//! References to a record of any of several types: the name of its table, and its key.

use crate::{
    Assign, AssignedValue, Assignment, Comparison, Condition, Error, Field, Filter, Record, Result,
    Row, TableSchema, ToOne, Value, ValueRef,
};
use std::marker::PhantomData;
use std::sync::Arc;

/// An enum with a variant for each record type that may be referred to, which holds the key. Implemented by
/// `#[derive(AnyReference)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a reference to a record of any type",
    label = "derive `AnyReference` for an enum with a variant for each record type"
)]
pub trait AnyReference: Sized {
    /// The type of the column with the table's name.
    type Table: Field;
    /// The type of the column with the key.
    type Key: Field;

    /// The name of the table; NULL for none.
    fn table_value(&self) -> Value<'static>;

    /// The key; NULL for none.
    ///
    /// # Errors
    /// As [`Field::to_value`].
    fn key_value(&self) -> Result<Value<'_>>;

    /// The reference from both values.
    ///
    /// # Errors
    /// `Mismatch` for a table that no variant names; as [`Field::from_value`].
    fn from_values(table: ValueRef<'_>, key: ValueRef<'_>) -> Result<Self>;
}

/// An [`AnyReference`] with a variant for the record `B`.
#[diagnostic::on_unimplemented(message = "`{Self}` has no variant for the record `{B}`")]
pub trait RefersTo<B> {}

impl<E: AnyReference> AnyReference for Option<E> {
    type Table = Option<E::Table>;
    type Key = Option<E::Key>;

    fn table_value(&self) -> Value<'static> {
        self.as_ref().map_or(Value::Null, E::table_value)
    }

    fn key_value(&self) -> Result<Value<'_>> {
        self.as_ref().map_or(Ok(Value::Null), E::key_value)
    }

    fn from_values(table: ValueRef<'_>, key: ValueRef<'_>) -> Result<Self> {
        match table {
            ValueRef::Null => Ok(None),
            _ => E::from_values(table, key).map(Some),
        }
    }
}

impl<E: RefersTo<B>, B> RefersTo<B> for Option<E> {}

/// The two columns of a field with `#[record(any)]`: `FIELD_table` and `FIELD_key`.
#[derive(Debug)]
pub struct AnyReferenceColumns<T, E> {
    /// The index of the column with the table's name. The key's column follows it.
    table: usize,
    types: PhantomData<fn() -> (T, E)>,
}

impl<T, E> Clone for AnyReferenceColumns<T, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, E> Copy for AnyReferenceColumns<T, E> {}

impl<T, E> AnyReferenceColumns<T, E> {
    /// The columns at this index of the schema and at the next one. The derive calls it.
    #[must_use]
    pub const fn new(table: usize) -> Self {
        Self { table, types: PhantomData }
    }

    /// The relation to the records `B`. A `T` that refers to another type is related to none of them. The
    /// [inverse](ToOne::inverse) leads from each `B` to the records that refer to it.
    #[must_use]
    pub const fn to<B: Record>(self) -> ToOne<T, B>
    where
        E: RefersTo<B>,
    {
        ToOne::of_any(self.table + 1, self.table, B::TABLE)
    }

    /// Records that refer to a record `B`, whichever.
    #[must_use]
    pub fn is<B: Record>(self) -> Filter<T>
    where
        E: RefersTo<B>,
    {
        Filter::new(equal(self.table, Value::from(B::TABLE)))
    }

    /// Records that refer to none.
    #[must_use]
    pub const fn is_null(self) -> Filter<T> {
        Filter::new(Condition::IsNull { column: self.table })
    }
}

impl<T, E: AnyReference> AnyReferenceColumns<T, E> {
    /// Records that refer to this one; for `None`, those that refer to none.
    #[must_use]
    pub fn eq(self, reference: &E) -> Filter<T> {
        let (table, key) = stored(reference);
        match table {
            Value::Null => self.is_null(),
            table => {
                let key = match key {
                    Value::Null => Condition::Or(Vec::new()),
                    key => equal(self.table + 1, key),
                };
                Filter::new(Condition::And(vec![equal(self.table, table), key]))
            }
        }
    }

    /// Sets both columns, in an update.
    #[must_use]
    pub fn set(self, reference: &E) -> [Assignment<T>; 2] {
        let (table, key) = stored(reference);
        [(self.table, table), (self.table + 1, key)].map(|(column, value)| {
            Assignment::new(AssignedValue::Value(Assign::Set { column, value }))
        })
    }
}

/// The values of both columns. A query with a key without a stored form fails.
fn stored<E: AnyReference>(reference: &E) -> (Value<'static>, Value<'static>) {
    let key = reference.key_value().map_or(Value::UNSTORABLE, Value::into_owned);
    (reference.table_value(), key)
}

fn equal(column: usize, value: Value<'static>) -> Condition {
    Condition::Compare { column, comparison: Comparison::Equal, value }
}

/// Reads a reference from two columns, and adds table and column to an error. Called by the derive.
///
/// # Errors
/// As [`AnyReference::from_values`].
pub fn read_any_reference<E: AnyReference>(
    row: &dyn Row,
    column: usize,
    schema: fn() -> &'static Arc<TableSchema>,
) -> Result<E> {
    E::from_values(row.get(column), row.get(column + 1))
        .map_err(|error| error.in_table(schema().name()).in_columns(schema(), &[column]))
}

/// The error of a table that no variant names. Called by the derive.
#[cold]
#[must_use]
pub fn unknown_table(table: ValueRef<'_>, known: &[&str]) -> Error {
    let message = format!("the name of one of the tables {}", known.join(", "));
    Error::mismatch(&message, table)
}
