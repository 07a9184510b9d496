//! What change capture needs to know of tables of MariaDB and MySQL that no schema says.

use super::SqlServer;
use crate::quote;
use bobak_core::{Error, ErrorKind, Result, TableSchema, Type, Value, ValueRef, change_log};

const ENGINE: &str = "SELECT t.ENGINE FROM information_schema.TABLES t \
    LEFT JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE \
    WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_NAME = ? AND e.TRANSACTIONS = 'NO'";

/// Rejects a table whose storage engine, such as MyISAM, keeps rows that a transaction rolls back: the log does not.
///
/// # Errors
/// `Unsupported` for such a table; those of the server and the connection.
pub(super) fn reject_without_transactions(
    server: &mut dyn SqlServer,
    table: &TableSchema,
) -> Result<()> {
    let mut engine = None;
    server.ask(ENGINE, &[Value::from(table.name())], &mut |row| {
        if let ValueRef::Text(name) = row.get(0) {
            engine = Some(name.to_owned());
        }
    })?;
    let Some(engine) = engine else { return Ok(()) };
    let message = format!(
        "the table's storage engine, {engine}, has no transactions, so rows that are rolled back \
         would stay in the table and not in its change log: ALTER TABLE ... ENGINE = InnoDB"
    );
    Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()))
}

const TYPES: &str = "SELECT COLUMN_NAME, DATA_TYPE FROM information_schema.COLUMNS \
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?";

/// The statement that gives the instants of a table's log the type that they have in the table, if it is another one. The
/// server converts a `TIMESTAMP` to the time zone of the writer's session, unless a `TIMESTAMP` is made of it.
///
/// # Errors
/// Those of the server and the connection.
pub(super) fn adapt_instants(
    server: &mut dyn SqlServer,
    table: &TableSchema,
) -> Result<Option<String>> {
    if !table.columns().iter().any(|column| column.ty == Type::Timestamp) {
        return Ok(None);
    }
    let dialect = server.dialect();
    let log = format!("{}{}", change_log::LOG_PREFIX, table.name());
    let mut is_timestamp = |table: &str| -> Result<Vec<String>> {
        let mut names = Vec::new();
        server.ask(TYPES, &[Value::from(table)], &mut |row| {
            if let (ValueRef::Text(name), ValueRef::Text("timestamp")) = (row.get(0), row.get(1)) {
                names.push(name.to_owned());
            }
        })?;
        Ok(names)
    };
    let (own, logged) = (is_timestamp(table.name())?, is_timestamp(&log)?);
    let mut changes = Vec::new();
    for column in table.columns().iter().filter(|column| column.ty == Type::Timestamp) {
        let wanted = own.iter().any(|name| *name == column.name);
        for name in ["old", "new"].map(|when| format!("{when}_{}", column.name)) {
            if logged.contains(&name) != wanted {
                let ty = if wanted { "TIMESTAMP(6) NULL DEFAULT NULL" } else { "DATETIME(6)" };
                let (name, comment) = (quote(dialect, &name), Type::Timestamp);
                changes.push(format!("MODIFY COLUMN {name} {ty} COMMENT 'bobak:{comment}'"));
            }
        }
    }
    let change = || format!("ALTER TABLE {} {}", quote(dialect, &log), changes.join(", "));
    Ok((!changes.is_empty()).then(change))
}

/// Puts a statement before those that create triggers.
pub(super) fn before_triggers(texts: &mut Vec<String>, statement: Option<String>) {
    let is_trigger = |text: &String| {
        ["CREATE OR REPLACE TRIGGER ", "DROP TRIGGER "].iter().any(|start| text.starts_with(start))
    };
    let place = texts.iter().position(is_trigger).unwrap_or(texts.len());
    texts.splice(place..place, statement);
}
