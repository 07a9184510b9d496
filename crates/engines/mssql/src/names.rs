//! Names in the database: as they are, in brackets.

use bobak_core::TableSchema;

/// A name in brackets.
pub(crate) fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// A text as a literal.
pub(crate) fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
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

/// The name of the key: those of constraints share one name space with tables.
pub(crate) fn key_name(table: &TableSchema) -> String {
    substitute('k', &[table.name()])
}

/// The name of a column's check.
pub(crate) fn check_name(table: &TableSchema, column: &str) -> String {
    substitute('c', &[table.name(), column])
}

/// The name of a column's default.
pub(crate) fn default_name(table: &TableSchema, column: &str) -> String {
    substitute('d', &[table.name(), column])
}

/// The name of the foreign key of these columns.
pub(crate) fn reference_name(table: &TableSchema, columns: &[usize], to: &str) -> String {
    substitute('f', &[table.name(), &table.column_names(columns), to])
}

/// The name of the computed column by which an index compares a column.
pub(crate) fn folded_name(table: &TableSchema, place: usize) -> String {
    let name = table.columns().get(place).map_or("", |column| &column.name);
    quoted(&format!("bobak_{name}"))
}
