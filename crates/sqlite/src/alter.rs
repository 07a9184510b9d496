//! Changes of the schema.

use crate::connection::Connection;
use bobak_core::{Result, SchemaChange, TableSchema};
use bobak_sql::{Dialect, add_column, add_index, create_table};

/// Makes the changes in the open transaction. After an error the caller undoes what was done.
pub(crate) fn apply(connection: &mut Connection, changes: &[SchemaChange]) -> Result<()> {
    changes.iter().try_for_each(|change| one(connection, change))
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
