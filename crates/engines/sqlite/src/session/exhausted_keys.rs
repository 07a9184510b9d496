//! Tables whose largest key is the largest integer: there is no next one.

use crate::connection::Connection;
use bobak_core::{Error, ErrorKind, TableSchema, Value};

/// SQLite says that the disk is full if a table that never reuses keys has had the largest one.
#[cold]
pub(super) fn explain_full(
    connection: &mut Connection,
    table: &TableSchema,
    error: Error,
) -> Error {
    if error.kind() != ErrorKind::Full || !table.never_reuses_keys() {
        return error;
    }
    let sql = "SELECT 1 FROM sqlite_sequence WHERE name = ?1 AND seq = ?2";
    let parameters = [Value::from(table.name()), Value::Int(i64::MAX)];
    match connection.all_rows(sql, &parameters) {
        Ok(rows) if !rows.is_empty() => no_key_left(table),
        _ => error,
    }
}

/// The error for an insert that needs a key.
#[cold]
pub(super) fn no_key_left(table: &TableSchema) -> Error {
    let message = "the largest possible key is in use: give the row a key";
    let key = table.key().first().and_then(|&place| table.columns().get(place));
    let error = Error::new(ErrorKind::Full, message).in_table(table.name().to_owned());
    match key {
        Some(column) => error.in_column(column.name.clone()),
        None => error,
    }
}
