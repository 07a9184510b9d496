//! Parts of a change of the schema, for engines of servers with SQL texts of their own.

use crate::{missing_table, table_exists};
use bobak_core::{Error, ErrorKind, ForeignKey, Result, SchemaChange, TableSchema, Type};

/// Where a table is among others: the case of ASCII letters is ignored.
#[must_use]
pub fn find_table(tables: &[TableSchema], table: &TableSchema) -> Option<usize> {
    tables.iter().position(|known| known.name().eq_ignore_ascii_case(table.name()))
}

/// Adds the tables that are created to the stored ones; all others must exist.
///
/// # Errors
/// `Schema`.
pub fn add_created_tables(stored: &mut Vec<TableSchema>, changes: &[SchemaChange]) -> Result<()> {
    for change in changes {
        if let SchemaChange::CreateTable(table) = change {
            if find_table(stored, table).is_some() {
                return Err(table_exists(table));
            }
            stored.push(TableSchema::clone(table));
        } else if find_table(stored, change.table()).is_none() {
            return Err(missing_table(change.table()));
        }
    }
    Ok(())
}

/// The foreign keys of this one column.
#[must_use]
pub fn foreign_keys_of(table: &TableSchema, place: usize) -> Vec<ForeignKey> {
    let keys = table.all_foreign_keys().into_iter();
    keys.filter(|key| key.columns == [place]).collect()
}

/// Rejects tables that are searched: for engines without full-text search. `name` is the engine's in messages.
///
/// # Errors
/// `Unsupported`.
pub fn reject_searches(changes: &[SchemaChange], name: &str) -> Result<()> {
    let searched = changes.iter().find_map(|change| match change {
        SchemaChange::CreateTable(table) => table.search().map(|_| table),
        SchemaChange::AlterTable(alteration) => alteration.to().search().map(|_| alteration.to()),
        _ => None,
    });
    match searched {
        None => Ok(()),
        Some(table) => {
            let message = format!("full-text search is not supported by {name}");
            Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()))
        }
    }
}

/// Rejects tables with vectors: for engines without them. `name` is the engine's in messages.
///
/// # Errors
/// `Unsupported`.
pub fn reject_vectors(changes: &[SchemaChange], name: &str) -> Result<()> {
    let has_vector = |table: &&TableSchema| {
        table.columns().iter().any(|column| matches!(column.ty, Type::Vector(_)))
    };
    let mut tables = changes.iter().map(|change| match change {
        SchemaChange::AlterTable(alteration) => &**alteration.to(),
        change => &**change.table(),
    });
    match tables.find(has_vector) {
        None => Ok(()),
        Some(table) => {
            let message = format!("columns of vectors are not supported by {name}");
            Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()))
        }
    }
}

/// Rejects what an engine does not do that only creates tables and adds columns, indexes and foreign keys. `server` is its
/// name in messages.
///
/// # Errors
/// `Unsupported`.
pub fn reject_table_changes(changes: &[SchemaChange], server: &str) -> Result<()> {
    let is_other = |change: &&SchemaChange| {
        matches!(change, SchemaChange::AlterTable(_) | SchemaChange::DropTable(_))
    };
    match changes.iter().find(is_other) {
        None => reject_other_changes(changes, server),
        Some(change) => {
            let message = format!(
                "Bobak does not change the forms of tables, nor drop them, on {server}: use its own tools"
            );
            Err(unsupported(&message, change.table()))
        }
    }
}

/// Rejects change capture, full-text search and foreign keys that are checked at the commit; and tables that are altered or
/// dropped along with other changes. `server` is the engine's name in messages.
///
/// # Errors
/// `Unsupported`.
pub fn reject_other_changes(changes: &[SchemaChange], server: &str) -> Result<()> {
    reject_searches(changes, server)?;
    for change in changes {
        let table = change.table();
        match change {
            SchemaChange::DropTable(_) | SchemaChange::AlterTable(_) if changes.len() > 1 => {
                let message =
                    format!("{server} alters or drops a table only in a change of its own");
                return Err(unsupported(&message, table));
            }
            SchemaChange::DropTable(_) => continue,
            SchemaChange::CreateTable(_)
            | SchemaChange::AlterTable(_)
            | SchemaChange::AddColumn { .. }
            | SchemaChange::AddIndex { .. }
            | SchemaChange::AddReference { .. }
            | SchemaChange::AddForeignKey { .. } => {}
            _ => {
                return Err(unsupported(
                    &format!("change capture is not supported by {server}"),
                    table,
                ));
            }
        }
        reject_deferred(table, server)?;
    }
    Ok(())
}

fn unsupported(message: &str, table: &TableSchema) -> Error {
    Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned())
}

fn reject_deferred(table: &TableSchema, server: &str) -> Result<()> {
    match table.all_foreign_keys().iter().find(|key| key.deferred) {
        None => Ok(()),
        Some(key) => {
            let message = format!(
                "foreign keys that are checked at the commit are not supported by {server}"
            );
            let error = Error::new(ErrorKind::Unsupported, message);
            let columns = table.column_names(&key.columns);
            Err(error.in_table(table.name().to_owned()).in_column(columns))
        }
    }
}
