//! The statements for rows. Parameters are `:1`, `:2` and so on; one statement writes many rows if it is given many of them.

use crate::columns::{all_equal, makes_key};
use crate::dialect::OracleStatements;
use crate::names::{column, columns, quoted};
use bobak_core::{FieldSet, TableSchema};
use bobak_engine_common::StatementDialect;

/// The columns that an insert writes.
pub(crate) fn written(table: &TableSchema, made: bool) -> impl Iterator<Item = usize> + '_ {
    (0..table.columns().len()).filter(move |place| !(made && table.key().contains(place)))
}

/// Puts a column of the rows that are written in the last parameter.
pub(crate) fn returning(table: &TableSchema, text: &str, place: usize, at: usize) -> String {
    format!("{text} RETURNING {} INTO :{at}", column(table, place))
}

pub(crate) fn insert(table: &TableSchema, made: bool) -> String {
    let places: Vec<usize> = written(table, made).collect();
    let name = quoted(table.name());
    if places.is_empty() {
        // It is the key's.
        return format!("INSERT INTO {name} ({}) VALUES (DEFAULT)", columns(table, 0..1));
    }
    let marks: Vec<String> = (1..=places.len()).map(|at| format!(":{at}")).collect();
    format!("INSERT INTO {name} ({}) VALUES ({})", columns(table, places), marks.join(", "))
}

/// Some columns of the rows with the values of others.
pub(crate) fn get(
    table: &TableSchema,
    shown: impl IntoIterator<Item = usize>,
    by: &[usize],
    lock: &str,
) -> String {
    let (shown, name) = (columns(table, shown), quoted(table.name()));
    format!("SELECT {shown} FROM {name} WHERE {}{lock}", all_equal(table, by, 1))
}

/// Each kind of statement for a table.
pub(crate) fn all(table: &TableSchema) -> Vec<String> {
    let is_set = |place: &usize| !table.key().contains(place) && table.version() != Some(*place);
    let fields: FieldSet = (0..table.columns().len()).filter(is_set).collect();
    let key = table.key().first().copied().unwrap_or(0);
    let update_key =
        returning(table, &OracleStatements.overwrite(table, fields, table.key()), key, 99);
    let mut texts = vec![
        insert(table, false),
        OracleStatements.update(table, fields),
        OracleStatements.overwrite(table, FieldSet::default(), table.key()),
        update_key,
        OracleStatements.delete(table),
        returning(table, &OracleStatements.delete(table), key, 99),
        get(table, 0..table.columns().len(), table.key(), " FOR UPDATE NOWAIT"),
        get(table, table.key().iter().copied(), table.key(), " FOR UPDATE WAIT 5"),
        get(table, [key], table.key(), " FOR UPDATE SKIP LOCKED"),
    ];
    if makes_key(table, key) {
        texts.push(returning(table, &insert(table, true), key, 99));
    }
    texts.extend(OracleStatements.delete_in_the_way(table, false).map(|(text, _)| text));
    texts
}
