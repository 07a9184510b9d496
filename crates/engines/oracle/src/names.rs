//! Names in the database, always in double quotes.
//!
//! Oracle reads a name without quotes in capitals. So that SQL text finds Bobak's tables without quotes, a name in small letters is
//! in capitals there, and one in capitals in small letters; a name in both stays as it is.

use bobak_core::TableSchema;
use bobak_engine_common::{column_name, substitute_name};
use std::borrow::Cow;

pub(crate) use bobak_engine_common::{check_name, index_name, key_name, reference_name, swap_case};

/// The bytes of a name, from version 12.2 on.
const BYTES: usize = 128;

/// The name of a table or a column, as the catalog has it. One that Oracle cannot have, because it is too long, has a quote or is
/// ROWID, has a substitute.
pub(crate) fn stored(name: &str) -> Cow<'_, str> {
    match name.len() > BYTES || name.contains(['"', '\0']) || name == "rowid" {
        true => substitute_name('n', &[name]).into(),
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
    quoted(column_name(table, place))
}

/// The name of what checks that a column has a value of its type.
pub(crate) fn type_check_name(table: &TableSchema, column: &str) -> String {
    substitute_name('t', &[table.name(), column])
}

/// The name of the sequence that makes the keys.
pub(crate) fn sequence_name(table: &TableSchema) -> String {
    substitute_name('s', &[table.name()])
}

/// The name of the column that takes the values of another, and then its name.
pub(crate) fn moved_name(table: &TableSchema, column: &str) -> String {
    substitute_name('m', &[table.name(), column])
}
