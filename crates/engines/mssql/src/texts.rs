//! The statements for single rows and for several new ones. Parameters are `@P1`, `@P2` and so on.

use crate::dialect::MssqlStatements;
use bobak_core::TableSchema;
use bobak_engine_common::{StatementDialect, makes_key, written_columns};

/// The parameters of one statement: SQL Server takes 2,100, of which `sp_executesql` uses two itself.
const PARAMETERS: usize = 2_000;
/// The rows of one VALUES.
const ROWS: usize = 1_000;

/// Whether the table's key is one that the server makes, so that others are inserted by permission only.
pub(crate) fn has_identity(table: &TableSchema) -> bool {
    (0..table.columns().len()).any(|place| makes_key(table, place))
}

/// A statement in which keys of a table may be given.
pub(crate) fn with_given_keys(table: &TableSchema, statement: &str) -> String {
    let name = MssqlStatements.quoted(table.name());
    match has_identity(table) {
        true => {
            format!("SET IDENTITY_INSERT {name} ON; {statement}; SET IDENTITY_INSERT {name} OFF")
        }
        false => statement.to_owned(),
    }
}

/// How many rows with keys of the server's one statement inserts.
pub(crate) fn rows_per_insert(table: &TableSchema) -> usize {
    let width = written_columns(table, true).count();
    ROWS.min(PARAMETERS / width.max(1))
}

/// Inserts so many rows; the keys that the server makes are in the order of the rows, and are returned in any.
pub(crate) fn insert_rows(table: &TableSchema, rows: usize) -> String {
    let places: Vec<usize> = written_columns(table, true).collect();
    let width = places.len();
    let row_values =
        |row: usize| format!("({row}, {})", MssqlStatements.numbers(row * width + 1, width));
    let values: Vec<String> = (0..rows).map(row_values).collect();
    let names: Vec<String> = (0..width).map(|at| format!("c{at}")).collect();
    let names = names.join(", ");
    format!(
        "INSERT INTO {} ({}) OUTPUT inserted.{} SELECT {names} FROM (VALUES {}) AS v (n, {names}) ORDER BY n",
        MssqlStatements.quoted(table.name()),
        MssqlStatements.columns(table, places),
        MssqlStatements.columns(table, table.key().iter().copied()),
        values.join(", ")
    )
}

/// Locks the row with a key.
pub(crate) fn lock(table: &TableSchema, shown: impl IntoIterator<Item = usize>) -> String {
    let (shown, name) =
        (MssqlStatements.columns(table, shown), MssqlStatements.quoted(table.name()));
    let by_key = MssqlStatements.all_equal(table, table.key(), 1);
    format!("SELECT {shown} FROM {name} WITH (UPDLOCK, ROWLOCK) WHERE {by_key}")
}

/// Each kind of statement for a table.
pub(crate) fn all(table: &TableSchema) -> Vec<String> {
    let mut texts = MssqlStatements.samples(table);
    texts.extend([
        with_given_keys(table, &MssqlStatements.insert(table, false)),
        lock(table, 0..table.columns().len()),
        crate::bulk::statement(table, &crate::bulk::columns(table).unwrap_or_default()),
    ]);
    if has_identity(table) {
        texts.extend([MssqlStatements.insert(table, true), insert_rows(table, 3)]);
    }
    texts
}
