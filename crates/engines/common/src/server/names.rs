//! The names of what belongs to a table, where those of all tables share one name space, or are short.

use bobak_core::TableSchema;
use std::borrow::Cow;

/// The name of a column. For a place that the table has not, one that no column has: the server rejects it.
#[must_use]
pub fn column_name(table: &TableSchema, place: usize) -> &str {
    table.columns().get(place).map_or("", |column| &column.name)
}

/// A name that says what it is of, by a hash of its parts: FNV-1a.
#[must_use]
pub fn substitute_name(kind: char, parts: &[&str]) -> String {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("bobak_{kind}{hash:016x}")
}

/// The name of an index.
#[must_use]
pub fn index_name(table: &TableSchema, index: &str) -> String {
    substitute_name('i', &[table.name(), index])
}

/// The name of the key.
#[must_use]
pub fn key_name(table: &TableSchema) -> String {
    substitute_name('k', &[table.name()])
}

/// The name of a column's check.
#[must_use]
pub fn check_name(table: &TableSchema, column: &str) -> String {
    substitute_name('c', &[table.name(), column])
}

/// The name of the foreign key of these columns.
#[must_use]
pub fn reference_name(table: &TableSchema, columns: &[usize], to: &str) -> String {
    substitute_name('f', &[table.name(), &table.column_names(columns), to])
}

/// A name with its letters in the other case, if all are in one.
#[must_use]
pub fn swap_case(name: &str) -> Cow<'_, str> {
    let has = |test: fn(&u8) -> bool| name.bytes().any(|byte| test(&byte));
    match (has(u8::is_ascii_lowercase), has(u8::is_ascii_uppercase)) {
        (true, false) => name.to_ascii_uppercase().into(),
        (false, true) => name.to_ascii_lowercase().into(),
        _ => name.into(),
    }
}
