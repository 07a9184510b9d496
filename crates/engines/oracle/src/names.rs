//! Names in the database, always in double quotes.
//!
//! Oracle reads a name without quotes in capitals. So that SQL text finds Bobak's tables without quotes, a name in small letters is
//! in capitals there, and one in capitals in small letters; a name in both stays as it is.

use bobak_core::TableSchema;
use std::borrow::Cow;

/// The bytes of a name, from version 12.2 on.
const BYTES: usize = 128;

/// A name with its letters in the other case, if all are in one.
pub(crate) fn swap_case(name: &str) -> Cow<'_, str> {
    let has = |test: fn(&u8) -> bool| name.bytes().any(|byte| test(&byte));
    match (has(u8::is_ascii_lowercase), has(u8::is_ascii_uppercase)) {
        (true, false) => name.to_ascii_uppercase().into(),
        (false, true) => name.to_ascii_lowercase().into(),
        _ => name.into(),
    }
}

/// The name of a table or a column, as the catalog has it. One that Oracle cannot have, because it is too long, has a quote or is
/// ROWID, has a substitute.
pub(crate) fn stored(name: &str) -> Cow<'_, str> {
    match name.len() > BYTES || name.contains(['"', '\0']) || name == "rowid" {
        true => substitute('n', &[name]).into(),
        false => swap_case(name),
    }
}

/// A name of a table or a column in quotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", stored(name))
}

/// A name of Bobak's own, in quotes.
pub(crate) fn own(name: &str) -> String {
    format!("\"{name}\"")
}

/// A text as a literal. The empty one is NULL to Oracle: Bobak's is [`EMPTY`](crate::values::EMPTY).
pub(crate) fn literal(text: &str) -> String {
    match text {
        "" => "CHR(0)".to_owned(),
        _ => format!("'{}'", text.replace('\'', "''")),
    }
}

pub(crate) fn column(table: &TableSchema, place: usize) -> String {
    // For a place that the table has not, a name that no column has: the server rejects it.
    quoted(table.columns().get(place).map_or("", |column| &column.name))
}

/// Columns, parted by commas.
pub(crate) fn columns(table: &TableSchema, places: impl IntoIterator<Item = usize>) -> String {
    let names: Vec<_> = places.into_iter().map(|place| column(table, place)).collect();
    names.join(", ")
}

/// FNV-1a.
fn substitute(kind: char, parts: &[&str]) -> String {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("bobak_{kind}{hash:016x}")
}

/// The name of an index.
pub(crate) fn index_name(table: &TableSchema, index: &str) -> String {
    substitute('i', &[table.name(), index])
}

/// The name of the key.
pub(crate) fn key_name(table: &TableSchema) -> String {
    substitute('k', &[table.name()])
}

/// The name of a column's check.
pub(crate) fn check_name(table: &TableSchema, column: &str) -> String {
    substitute('c', &[table.name(), column])
}

/// The name of what checks that a column has a value of its type.
pub(crate) fn type_check_name(table: &TableSchema, column: &str) -> String {
    substitute('t', &[table.name(), column])
}

/// The name of the sequence that makes the keys.
pub(crate) fn sequence_name(table: &TableSchema) -> String {
    substitute('s', &[table.name()])
}

/// The name of the column that takes the values of another, and then its name.
pub(crate) fn moved_name(table: &TableSchema, column: &str) -> String {
    substitute('m', &[table.name(), column])
}

/// The name of the foreign key of these columns.
pub(crate) fn reference_name(table: &TableSchema, columns: &[usize], to: &str) -> String {
    substitute('f', &[table.name(), &table.column_names(columns), to])
}
