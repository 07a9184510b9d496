//! The sequences that make keys. A sequence does not know of keys that rows are given, and to change it ends a transaction; so
//! that is done on a connection of its own.

use crate::connection::Connection;
use crate::dialect::OracleStatements;
use crate::names::sequence_name;
use crate::writes::has_sequence;
use bobak_core::{Result, TableSchema};
use bobak_engine_common::{StatementConnection, StatementDialect, no_key_left};

/// The most keys that are left out after one that a row was given, so that many more can be given until the sequence is changed
/// again.
const HEADROOM: u32 = 1_000;
/// How often a connection changes a sequence without leaving keys out.
const UNSPACED: u32 = 8;

/// There is no such sequence: another program's table has an identity column, which goes on by itself or not at all.
const NO_SEQUENCE: i32 = 2_289;
/// It is at its end.
const AT_END: i32 = 8_004;

/// The statement that creates the sequence of a table's keys.
pub(crate) fn created(table: &TableSchema) -> String {
    let name = OracleStatements.own(sequence_name(table));
    format!("CREATE SEQUENCE {name} START WITH 1 INCREMENT BY 1 MAXVALUE {} CACHE 100", i64::MAX)
}

/// Makes the sequence go on after this key, on a connection of its own.
fn restart(connection: &mut Connection, table: &TableSchema, key: i64) -> Result<()> {
    connection.restarts = connection.restarts.saturating_add(1);
    let doublings = connection.restarts.saturating_sub(UNSPACED).min(HEADROOM.ilog2());
    let sql = restarted(table, key, 1 << doublings);
    match connection.another()?.command(Some(table), &sql) {
        Err(error) if error.code() == Some(NO_SEQUENCE) => Ok(()),
        other => other,
    }
}

/// The statement by which a sequence goes on so far after a key.
pub(crate) fn restarted(table: &TableSchema, key: i64, headroom: i64) -> String {
    let next = key.saturating_add(headroom).max(1);
    format!(
        "ALTER SEQUENCE {} RESTART START WITH {next}",
        OracleStatements.own(sequence_name(table))
    )
}

/// Makes the sequence go on after the largest key.
///
/// # Errors
/// Those of the server; `OutOfRange` if there is no larger key.
pub(crate) fn skip(connection: &mut Connection, table: &TableSchema) -> Result<()> {
    let key = table.key().first().copied().unwrap_or(0);
    let sql = format!(
        "SELECT MAX({}) FROM {}",
        OracleStatements.column(table, key),
        OracleStatements.quoted(table.name())
    );
    match connection.integers(Some((table, table.key())), &sql, &[])?.pop() {
        Some(i64::MAX) => Err(no_key_left(table)),
        largest => restart(connection, table, largest.unwrap_or(0)),
    }
}

/// Makes the sequence go on after a key that a row was given.
///
/// # Errors
/// Those of the server.
pub(crate) fn pass(connection: &mut Connection, table: &TableSchema, key: i64) -> Result<()> {
    if !has_sequence(table) || key < 1 {
        return Ok(());
    }
    let sql = format!("SELECT {}.NEXTVAL FROM DUAL", OracleStatements.own(sequence_name(table)));
    let next = match connection.integers(Some((table, table.key())), &sql, &[]) {
        Err(error) if matches!(error.code(), Some(AT_END | NO_SEQUENCE)) => return Ok(()),
        next => next?,
    };
    match next.iter().any(|next| *next <= key) {
        true => restart(connection, table, key),
        false => Ok(()),
    }
}
