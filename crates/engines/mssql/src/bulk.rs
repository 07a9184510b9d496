//! The bulk load: rows as the protocol has them, without a statement for each.

use crate::columns::{sent_kind, type_text};
use crate::connection::Connection;
use crate::dialect::MssqlStatements;
use crate::texts::has_identity;
use crate::values::encode;
use crate::wire::{BulkColumn, TdsValue, push_bulk_end, push_bulk_head, push_bulk_row};
use bobak_core::{Result, TableSchema};
use bobak_engine_common::{ServerWrite, StatementDialect, TransactionConnection, in_column};

/// The columns of a table as a bulk load has them.
///
/// # Errors
/// `Unsupported` for a type that SQL Server has not.
pub(crate) fn columns(table: &TableSchema) -> Result<Vec<BulkColumn>> {
    let columns = table.columns().iter().enumerate().map(|(place, column)| {
        Ok(BulkColumn {
            name: column.name.to_string(),
            kind: sent_kind(table, place)?,
            is_nullable: column.nullable && !table.key().contains(&place),
        })
    });
    columns.collect()
}

/// The statement that begins a bulk load. What it loads is checked as other rows are.
pub(crate) fn statement(table: &TableSchema, columns: &[BulkColumn]) -> String {
    let columns = columns.iter().map(|column| {
        format!("{} {}", MssqlStatements.quoted(&column.name), type_text(column.kind))
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    let name = MssqlStatements.quoted(table.name());
    format!("INSERT BULK {name} ({columns}) WITH (CHECK_CONSTRAINTS, FIRE_TRIGGERS, KEEP_NULLS)")
}

/// Loads rows with their keys: all of them, or none.
///
/// # Errors
/// Those of the first row that is wrong, without its number; those of the connection.
pub(crate) fn load(
    connection: &mut Connection,
    table: &TableSchema,
    writes: &[ServerWrite<'_>],
) -> Result<()> {
    let columns = columns(table)?;
    let mut message = Vec::new();
    push_bulk_head(&mut message, &columns, connection.collation());
    for write in writes {
        let values = columns.iter().enumerate().map(|(place, column)| {
            encode(column.kind, write.row.get(place))
                .map_err(|error| in_column(error, table, Some(place)))
        });
        let values: Vec<TdsValue<'_>> = values.collect::<Result<_>>()?;
        push_bulk_row(&mut message, &columns, &values);
    }
    push_bulk_end(&mut message);
    let name = MssqlStatements.quoted(table.name());
    if !has_identity(table) {
        return connection.load(table, &statement(table, &columns), &message);
    }
    connection.command(Some(table), &format!("SET IDENTITY_INSERT {name} ON"))?;
    let loaded = connection.load(table, &statement(table, &columns), &message);
    if connection.is_broken() {
        return loaded;
    }
    let off = format!("SET IDENTITY_INSERT {name} OFF");
    let reset = bobak_core::Interrupt::hold_off(|| connection.command(Some(table), &off));
    loaded.and(reset)
}
