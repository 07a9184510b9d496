//! Schema changes.

use super::alter_table;
use crate::connection::Connection;
use bobak_core::{
    Error, ErrorKind, Result, SchemaChange, TableAlteration, TableSchema, Value, change_log,
};
use bobak_sql::{
    Dialect, TrackReason, add_column, add_index, create_table, existing_index,
    substitute_index_name, substitute_index_names, untrack,
};

/// Applies the changes in the open transaction. After an error the caller undoes them.
pub(crate) fn apply(connection: &mut Connection, changes: &[SchemaChange]) -> Result<()> {
    changes.iter().try_for_each(|change| one(connection, change))
}

fn one(connection: &mut Connection, change: &SchemaChange) -> Result<()> {
    match change {
        SchemaChange::CreateTable(table) => {
            if is_taken(connection, table.name(), "")? {
                let error = Error::new(ErrorKind::Schema, "the table already exists");
                return Err(error.in_table(table.name().to_owned()));
            }
            let table = &with_free_names(connection, table)?;
            run(connection, table, &create_table(Dialect::Sqlite, table)?)?;
            match table.search() {
                // So that rows deleted by REPLACE fire the triggers.
                Some(_) => connection.run_owned("PRAGMA recursive_triggers = on"),
                None => Ok(()),
            }
        }
        SchemaChange::AddColumn { table, column } => {
            run(connection, table, &add_column(Dialect::Sqlite, table, *column)?)?;
            let added = table.columns().get(*column).map_or("", |column| &column.name);
            widen_log(connection, table, added)
        }
        SchemaChange::AlterTable(alteration) => alter_table::run(connection, alteration),
        SchemaChange::DropTable(table) => alter_table::drop_table(connection, table),
        SchemaChange::AddIndex { table, index } => {
            reject_existing(connection, table, *index)?;
            let table = &with_free_names(connection, table)?;
            run(connection, table, &[add_index(Dialect::Sqlite, table, *index)?])
        }
        SchemaChange::Track { table, history } => {
            let (table, log) = stored(connection, table)?;
            let triggers = crate::schema::tables::triggers(connection)?;
            let captured = change_log::is_captured(&triggers, table.name());
            let reason = TrackReason::Track { captured, history: *history };
            track(connection, &table, log.as_ref(), reason)?;
            // So that rows deleted by REPLACE fire the triggers of change capture.
            connection.run_owned("PRAGMA recursive_triggers = on")
        }
        SchemaChange::Untrack(table) => {
            let tables = crate::schema::tables::read_with_logs(connection)?;
            match change_log::log_to_drop(tables, table)? {
                (table, Some(_)) => run(connection, &table, &untrack(Dialect::Sqlite, &table)?),
                (_, None) => Ok(()),
            }
        }
        _ => Err(Error::new(
            ErrorKind::Unsupported,
            "the sqlite engine does not support this schema change",
        )),
    }
}

/// Adds a new column of the table to its log, if it is tracked.
fn widen_log(connection: &mut Connection, table: &TableSchema, added: &str) -> Result<()> {
    match stored(connection, table)? {
        (table, Some(log)) => track(connection, &table, Some(&log), TrackReason::Added(added)),
        (_, None) => Ok(()),
    }
}

/// Adapts the log of a tracked table to an alteration that was just made.
pub(super) fn adapt_log(connection: &mut Connection, alteration: &TableAlteration) -> Result<()> {
    match stored(connection, alteration.to())? {
        (table, Some(log)) => {
            let texts = bobak_sql::track_altered(Dialect::Sqlite, &table, &log, alteration)?;
            run(connection, &table, &texts)
        }
        (_, None) => Ok(()),
    }
}

/// The table with names of indexes that no other table or index has.
pub(super) fn with_free_names(
    connection: &mut Connection,
    table: &TableSchema,
) -> Result<TableSchema> {
    substitute_index_names(Dialect::Sqlite, table, |name| is_taken(connection, name, table.name()))
}

/// Whether a table, view or index has this name, except for the indexes of a table.
pub(super) fn is_taken(connection: &mut Connection, name: &str, owner: &str) -> Result<bool> {
    let found = connection.all_rows(
        "SELECT 1 FROM main.sqlite_schema WHERE name = ?1 COLLATE NOCASE AND type <> 'trigger' \
         AND NOT (type = 'index' AND tbl_name = ?2 COLLATE NOCASE)",
        &[Value::from(name), Value::from(owner)],
    )?;
    Ok(!found.is_empty())
}

/// Rejects an index that the table has, under its own name or a substitute.
fn reject_existing(connection: &mut Connection, table: &TableSchema, index: usize) -> Result<()> {
    let Some(index) = table.indexes().get(index) else { return Ok(()) };
    let substitute = substitute_index_name(Dialect::Sqlite, table.name(), &index.name);
    let found = connection.all_rows(
        "SELECT 1 FROM main.sqlite_schema WHERE type = 'index' AND tbl_name = ?1 COLLATE NOCASE \
         AND (name = ?2 COLLATE NOCASE OR name = ?3 COLLATE NOCASE)",
        &[Value::from(table.name()), Value::from(&*index.name), Value::from(&*substitute)],
    )?;
    if found.is_empty() { Ok(()) } else { Err(existing_index(table, &index.name)) }
}

fn track(
    connection: &mut Connection,
    table: &TableSchema,
    log: Option<&TableSchema>,
    reason: TrackReason<'_>,
) -> Result<()> {
    run(connection, table, &bobak_sql::track(Dialect::Sqlite, table, log, reason)?)
}

/// The table as it is in the file, and its change log if it is tracked.
fn stored(
    connection: &mut Connection,
    table: &TableSchema,
) -> Result<(TableSchema, Option<TableSchema>)> {
    change_log::table_and_log(crate::schema::tables::read_with_logs(connection)?, table)
}

fn run(connection: &mut Connection, table: &TableSchema, statements: &[String]) -> Result<()> {
    for sql in statements {
        connection.run_owned(sql).map_err(|error| error.in_table(table.name().to_owned()))?;
    }
    Ok(())
}
