//! Names in the database, always in double quotes.
//!
//! Oracle reads a name without quotes in capitals. So that SQL text finds Bobak's tables without quotes, a name in small letters is
//! in capitals there, and one in capitals in small letters; a name in both stays as it is.

use bobak_core::TableSchema;
use bobak_engine_common::substitute_name;
use std::borrow::Cow;

pub(crate) use bobak_engine_common::swap_case;

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
