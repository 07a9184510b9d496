//! The statements for single rows and for several new ones. Parameters are `@P1`, `@P2` and so on.

use crate::columns::{all_equal, makes_key};
use crate::dialect::MssqlStatements;
use crate::names::{columns, quoted};
use bobak_core::{FieldSet, TableSchema};
use bobak_engine_common::StatementDialect;

/// The parameters of one statement: SQL Server takes 2,100, of which `sp_executesql` uses two itself.
const PARAMETERS: usize = 2_000;
/// The rows of one VALUES.
const ROWS: usize = 1_000;

/// The columns that an insert writes.
pub(crate) fn written(table: &TableSchema, made: bool) -> impl Iterator<Item = usize> + '_ {
    (0..table.columns().len()).filter(move |place| !(made && table.key().contains(place)))
}

fn marks(first: usize, count: usize) -> String {
    let marks: Vec<String> = (first..first + count).map(|at| format!("@P{at}")).collect();
    marks.join(", ")
}

/// Whether the table's key is one that the server makes, so that others are inserted by permission only.
pub(crate) fn has_identity(table: &TableSchema) -> bool {
    (0..table.columns().len()).any(|place| makes_key(table, place))
}

/// A statement in which keys of a table may be given.
pub(crate) fn with_given_keys(table: &TableSchema, statement: &str) -> String {
    let name = quoted(table.name());
    match has_identity(table) {
        true => {
            format!("SET IDENTITY_INSERT {name} ON; {statement}; SET IDENTITY_INSERT {name} OFF")
        }
        false => statement.to_owned(),
    }
}

pub(crate) fn insert(table: &TableSchema, made: bool) -> String {
    let places: Vec<usize> = written(table, made).collect();
    let name = quoted(table.name());
    let output = match made {
        true => format!(" OUTPUT inserted.{}", columns(table, table.key().iter().copied())),
        false => String::new(),
    };
    let text = match places.is_empty() {
        true => format!("INSERT INTO {name}{output} DEFAULT VALUES"),
        false => {
            let marks = marks(1, places.len());
            format!("INSERT INTO {name} ({}){output} VALUES ({marks})", columns(table, places))
        }
    };
    if made { text } else { with_given_keys(table, &text) }
}

/// How many rows with keys of the server's one statement inserts.
pub(crate) fn rows_per_insert(table: &TableSchema) -> usize {
    let width = written(table, true).count();
    ROWS.min(PARAMETERS / width.max(1))
}

/// Inserts so many rows; the keys that the server makes are in the order of the rows, and are returned in any.
pub(crate) fn insert_rows(table: &TableSchema, rows: usize) -> String {
    let places: Vec<usize> = written(table, true).collect();
    let width = places.len();
    let values: Vec<String> =
        (0..rows).map(|row| format!("({row}, {})", marks(row * width + 1, width))).collect();
    let names: Vec<String> = (0..width).map(|at| format!("c{at}")).collect();
    let names = names.join(", ");
    format!(
        "INSERT INTO {} ({}) OUTPUT inserted.{} SELECT {names} FROM (VALUES {}) AS v (n, {names}) ORDER BY n",
        quoted(table.name()),
        columns(table, places),
        columns(table, table.key().iter().copied()),
        values.join(", ")
    )
}

/// Some columns of the rows with the values of others.
pub(crate) fn get(
    table: &TableSchema,
    shown: impl IntoIterator<Item = usize>,
    by: &[usize],
    hint: &str,
) -> String {
    let (shown, name) = (columns(table, shown), quoted(table.name()));
    format!("SELECT {shown} FROM {name}{hint} WHERE {}", all_equal(table, by, 1))
}

/// Each kind of statement for a table.
pub(crate) fn all(table: &TableSchema) -> Vec<String> {
    let is_set = |place: &usize| !table.key().contains(place) && table.version() != Some(*place);
    let fields: FieldSet = (0..table.columns().len()).filter(is_set).collect();
    let mut texts = vec![
        insert(table, false),
        MssqlStatements.update(table, fields),
        MssqlStatements.overwrite(table, FieldSet::default(), table.key()),
        MssqlStatements.delete(table),
        get(table, 0..table.columns().len(), table.key(), " WITH (UPDLOCK, ROWLOCK)"),
        crate::bulk::statement(table, &crate::bulk::columns(table).unwrap_or_default()),
    ];
    if has_identity(table) {
        texts.extend([insert(table, true), insert_rows(table, 3)]);
    }
    texts.extend(MssqlStatements.delete_in_the_way(table, false).map(|(text, _)| text));
    texts
}
