//! Changes of the schema.
//!
//! A change of a table's form takes up to three transactions: see `docs/firebird.md`. Between them the comment on the table says
//! that it is being changed, and `completion` knows from it what is missing.

mod completion;
mod copy;
mod in_place;
mod kept_column;
mod row_checks;
mod table_change;

pub(crate) use completion::complete_abandoned;

use crate::connection::Connection;
use crate::firebird_table::own_number;
use crate::mode::Mode;
use crate::schema;
use bobak_core::{Error, ErrorKind, Result, SchemaChange, TableAlteration, TableSchema};
use bobak_engine_common::{ServerOperations, StatementDialect, find_table, missing_table};
use table_change::TableChange;

/// Makes the changes.
///
/// # Errors
/// As [`Session::alter`](bobak_core::Session::alter).
pub(crate) fn run(connection: &mut Connection, changes: &[SchemaChange]) -> Result<()> {
    completion::wait_and_complete(connection)?;
    let stored = connection.in_mode(Mode::Read, Connection::tables)?;
    connection.forget_statements()?;
    match changes {
        [SchemaChange::AlterTable(alteration)] => alter_table(connection, alteration, stored),
        [SchemaChange::DropTable(table)] => drop_table(connection, table, &stored),
        _ => add(connection, stored, changes),
    }
}

fn alter_table(
    connection: &mut Connection,
    alteration: &TableAlteration,
    stored: Vec<TableSchema>,
) -> Result<()> {
    let change = TableChange::read(connection, alteration, stored)?;
    change.check_copied()?;
    match change.copies_rows() {
        _ if change.alteration.renames_table() => copy::rename(connection, &change),
        true => copy::run(connection, &change),
        false => in_place::run(connection, &change),
    }
}

fn drop_table(
    connection: &mut Connection,
    table: &TableSchema,
    stored: &[TableSchema],
) -> Result<()> {
    let place = find_table(stored, table).ok_or_else(|| missing_table(table))?;
    let references_it = |other: &TableSchema| {
        let keys = other.all_foreign_keys();
        keys.iter().any(|key| key.table.eq_ignore_ascii_case(table.name()))
    };
    let mut others = stored.iter().enumerate().filter(|(other, _)| *other != place);
    if let Some((_, other)) = others.find(|(_, other)| references_it(other)) {
        let message = format!("the foreign keys of {} reference it", other.name());
        return Err(Error::new(ErrorKind::Constraint, message).in_table(table.name().to_owned()));
    }
    let text = format!("DROP TABLE {}", connection.names.quoted(table.name()));
    connection.change_schema(&[], Some(table), |connection| connection.command(Some(table), &text))
}

/// Creates tables, and adds columns, indexes and foreign keys.
fn add(
    connection: &mut Connection,
    stored: Vec<TableSchema>,
    changes: &[SchemaChange],
) -> Result<()> {
    let number = connection.in_mode(Mode::Read, own_number)?;
    let plan = schema::plan(connection.names, number, stored.clone(), changes)?;
    connection.in_mode(Mode::Read, |connection| {
        plan.unfinished.iter().try_for_each(|whole| {
            match find_table(&stored, whole).and_then(|place| stored.get(place)) {
                None => Ok(()),
                Some(table) => row_checks::run_added(connection, table, whole),
            }
        })
    })?;
    let named = changes.last().map(|change| &**change.table());
    if !plan.texts.is_empty() {
        connection.change_schema(&[], named, |connection| connection.commands(&plan.texts))?;
    }
    if plan.unfinished.is_empty() { Ok(()) } else { completion::complete_own(connection) }
}
