//! Names in the database: as they are, in brackets.

use bobak_core::TableSchema;
use bobak_engine_common::{column_name, substitute_name};

pub(crate) use bobak_engine_common::{check_name, index_name, key_name, reference_name};

/// A name in brackets.
pub(crate) fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// A text as a literal.
pub(crate) fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

pub(crate) fn column(table: &TableSchema, place: usize) -> String {
    quoted(column_name(table, place))
}

/// The name of a column's default.
pub(crate) fn default_name(table: &TableSchema, column: &str) -> String {
    substitute_name('d', &[table.name(), column])
}

/// The name of the computed column by which an index compares a column.
pub(crate) fn folded_name(table: &TableSchema, place: usize) -> String {
    quoted(&format!("bobak_{}", column_name(table, place)))
}
