//! The statements for rows. Parameters are `:1`, `:2` and so on; one statement writes many rows if it is given many of them.

use crate::dialect::OracleStatements;
use bobak_core::TableSchema;
use bobak_engine_common::{StatementDialect, makes_key};

/// Puts a column of the rows that are written in the last parameter.
pub(crate) fn returning(table: &TableSchema, text: &str, place: usize, at: usize) -> String {
    format!("{text} RETURNING {} INTO :{at}", OracleStatements.column(table, place))
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
    let key = table.key().first().copied().unwrap_or(0);
    let mut texts = OracleStatements.samples(table);
    let keys: Vec<String> =
        texts.iter().filter(|text| text.starts_with(['U', 'D'])).cloned().collect();
    texts.extend(keys.iter().map(|text| returning(table, text, key, 99)));
    texts.extend([
        lock(table, 0..table.columns().len(), " FOR UPDATE NOWAIT"),
        lock(table, table.key().iter().copied(), " FOR UPDATE WAIT 5"),
        lock(table, [key], " FOR UPDATE SKIP LOCKED"),
    ]);
    if makes_key(table, key) {
        texts.push(returning(table, &OracleStatements.insert(table, true), key, 99));
    }
    texts
}
