//! Encodes keys, for the server and for comparisons.

use crate::values::encode::encode;
use bobak_core::{Collation, Result, Row, TableSchema, ValueRef, Verb, codec};
use bobak_engine_common::check_row_length;
use mysql::Value as Wire;

/// A key's values as bytes: the same for keys that the table takes as the same.
pub(crate) type KeyBytes = Vec<u8>;

/// A value of a key, as the column that compares has it.
pub(crate) fn key_value(table: &TableSchema, place: usize, value: ValueRef<'_>) -> Result<Wire> {
    match (collation(table, place), value) {
        (collation, ValueRef::Text(text)) if collation != Collation::Binary => {
            Ok(Wire::Bytes(collation.fold(text).into_owned().into_bytes()))
        }
        _ => encode(table, place, value),
    }
}

/// The key of a row with all columns, as parameters.
pub(crate) fn push_key(
    table: &TableSchema,
    row: &dyn Row,
    parameters: &mut Vec<Wire>,
) -> Result<()> {
    push_columns(table, table.key(), row, parameters)
}

/// The values of some columns of a row with all columns, as parameters that they are compared with.
pub(crate) fn push_columns(
    table: &TableSchema,
    columns: &[usize],
    row: &dyn Row,
    parameters: &mut Vec<Wire>,
) -> Result<()> {
    for &place in columns {
        parameters.push(key_value(table, place, row.get(place))?);
    }
    Ok(())
}

/// A key whose values are in key order, as parameters.
pub(crate) fn push_bare_key(
    table: &TableSchema,
    key: &dyn Row,
    parameters: &mut Vec<Wire>,
) -> Result<()> {
    check_row_length(table, Verb::Delete, key)?;
    for (at, &place) in table.key().iter().enumerate() {
        parameters.push(key_value(table, place, key.get(at))?);
    }
    Ok(())
}

/// The bytes of a key, whose values `value` gives in key order.
pub(crate) fn key_bytes<'v>(
    table: &TableSchema,
    value: impl Fn(usize) -> ValueRef<'v>,
) -> Result<KeyBytes> {
    let folded: Vec<_> = (0..table.key().len())
        .map(|at| {
            let place = table.key().get(at).copied().unwrap_or_default();
            match value(at) {
                ValueRef::Text(text) => Some(collation(table, place).fold(text)),
                _ => None,
            }
        })
        .collect();
    let mut bytes = Vec::new();
    codec::encode_values(&mut bytes, table.key().len(), |at| match folded.get(at) {
        Some(Some(text)) => ValueRef::Text(text),
        _ => value(at),
    })?;
    Ok(bytes)
}

fn collation(table: &TableSchema, place: usize) -> Collation {
    table.columns().get(place).map(|column| column.collation).unwrap_or_default()
}
