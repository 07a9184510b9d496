//! The statements for rows. Parameters are `:1`, `:2` and so on; one statement writes many rows if it is given many of them.

use crate::dialect::OracleStatements;
use crate::names::column;
use bobak_core::{FieldSet, TableSchema};
use bobak_engine_common::{StatementDialect, makes_key};

/// Puts a column of the rows that are written in the last parameter.
pub(crate) fn returning(table: &TableSchema, text: &str, place: usize, at: usize) -> String {
    format!("{text} RETURNING {} INTO :{at}", column(table, place))
}

/// Reads columns of the row with a key, and locks it as the clause says.
pub(crate) fn lock(
    table: &TableSchema,
    shown: impl IntoIterator<Item = usize>,
    clause: &str,
) -> String {
    OracleStatements.get(table, shown, table.key()) + clause
}

/// Each kind of statement for a table.
pub(crate) fn all(table: &TableSchema) -> Vec<String> {
    let is_set = |place: &usize| !table.key().contains(place) && table.version() != Some(*place);
    let fields: FieldSet = (0..table.columns().len()).filter(is_set).collect();
    let key = table.key().first().copied().unwrap_or(0);
    let update_key =
        returning(table, &OracleStatements.overwrite(table, fields, table.key()), key, 99);
    let mut texts = vec![
        OracleStatements.insert(table, false),
        OracleStatements.update(table, fields),
        OracleStatements.overwrite(table, FieldSet::default(), table.key()),
        update_key,
        OracleStatements.delete(table),
        returning(table, &OracleStatements.delete(table), key, 99),
        lock(table, 0..table.columns().len(), " FOR UPDATE NOWAIT"),
        lock(table, table.key().iter().copied(), " FOR UPDATE WAIT 5"),
        lock(table, [key], " FOR UPDATE SKIP LOCKED"),
    ];
    if makes_key(table, key) {
        texts.push(returning(table, &OracleStatements.insert(table, true), key, 99));
    }
    texts.extend(OracleStatements.delete_in_the_way(table, false).map(|(text, _)| text));
    texts
}
