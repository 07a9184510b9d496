//! Changes of the schema: all in one transaction.

use crate::connection::Connection;
use bobak_core::{Result, SchemaChange, TableSchema};
use bobak_sql::{Dialect, add_column, add_index, create_table};

/// Makes the changes, or none of them.
pub(crate) fn apply(connection: &mut Connection, changes: &[SchemaChange]) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    connection.run("BEGIN IMMEDIATE")?;
    let done = changes.iter().try_for_each(|change| one(connection, change));
    let result = done.and_then(|()| connection.run("COMMIT"));
    if result.is_err() && !connection.db.is_autocommit() {
        connection.run("ROLLBACK")?;
    }
    result
}

fn one(connection: &mut Connection, change: &SchemaChange) -> Result<()> {
    match change {
        SchemaChange::CreateTable(table) => {
            run(connection, table, &create_table(Dialect::Sqlite, table))
        }
        SchemaChange::AddColumn { table, column } => {
            run(connection, table, &add_column(Dialect::Sqlite, table, *column))
        }
        SchemaChange::AddIndex { table, index } => {
            run(connection, table, &[add_index(Dialect::Sqlite, table, *index)])
        }
        _ => Err(bobak_core::Error::new(
            bobak_core::ErrorKind::Unsupported,
            "the sqlite engine does not know this change of a schema",
        )),
    }
}

fn run(connection: &mut Connection, table: &TableSchema, statements: &[String]) -> Result<()> {
    for sql in statements {
        connection.run_owned(sql).map_err(|error| error.in_table(table.name().to_owned()))?;
    }
    Ok(())
}
