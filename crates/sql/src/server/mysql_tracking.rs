//! Tables that MariaDB and MySQL cannot track.

use super::SqlServer;
use bobak_core::{Error, ErrorKind, Result, TableSchema, Value, ValueRef};

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
