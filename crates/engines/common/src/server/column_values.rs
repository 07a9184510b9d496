//! Values for statements, with the columns that they are of.

use crate::kept_type;
use bobak_core::{Collation, TableSchema, Type, Value, ValueRef};

/// A value for a statement, and the place of its column in the table.
pub type ColumnValue<'v> = (usize, Value<'v>);

/// A value of a column: a text in small letters, if the column ignores case.
#[must_use]
pub fn folded_value<'v>(table: &TableSchema, place: usize, value: ValueRef<'v>) -> ColumnValue<'v> {
    let collation = table.columns().get(place).map(|column| column.collation).unwrap_or_default();
    match value {
        ValueRef::Text(text) if collation != Collation::Binary => {
            (place, collation.fold(text).into_owned().into())
        }
        _ => (place, value.into()),
    }
}

/// The columns that an insert writes; the server may make the key.
pub fn written_columns(table: &TableSchema, made: bool) -> impl Iterator<Item = usize> + '_ {
    table.written_columns().filter(move |place| !(made && table.key().contains(place)))
}

/// Values with the types that they are of for Bobak.
#[must_use]
pub fn typed_values<'v>(
    table: &TableSchema,
    values: &'v [ColumnValue<'_>],
) -> Vec<(Type, ValueRef<'v>)> {
    values.iter().map(|(place, value)| (kept_type(table, *place), value.as_ref())).collect()
}

/// The types of the values that columns keep.
#[must_use]
pub fn kept_types(table: &TableSchema, places: &[usize]) -> Vec<Type> {
    places.iter().map(|place| kept_type(table, *place)).collect()
}
