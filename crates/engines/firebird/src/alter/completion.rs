//! Ends changes of tables: adds what the descriptions in their comments have and they lack.

use super::row_checks::broken_check;
use crate::comment::{TableComment, whole};
use crate::connection::{Connection, RETRY};
use crate::firebird_table::{FirebirdTable, connections, own_number, unfinished};
use crate::mode::Mode;
use crate::names::{Names, quoted};
use crate::table_rules::{RuleKind, TableRule, rules};
use bobak_core::{Error, ErrorKind, Interrupt, Result, TableSchema};
use bobak_engine_common::{ServerOperations, StatementDialect};
use std::time::Instant;

/// Tables whose change has not ended.
#[derive(Debug, Default)]
struct UnfinishedTables {
    /// The names of those that this connection changes, or one that is gone.
    own: Vec<String>,
    /// Those of them that have the rows of others.
    moved: Vec<(String, TableSchema)>,
    /// The name of one that another connection changes.
    other: Option<String>,
}

/// Completes the changes of connections that are gone. Errors leave them for the next time.
pub(crate) fn complete_abandoned(connection: &mut Connection) {
    let _ = complete(connection);
}

/// The same, before the schema changes: waits for the changes of other connections.
///
/// # Errors
/// `Busy` if another connection changes a table; those of the changes.
pub(super) fn wait_and_complete(connection: &mut Connection) -> Result<()> {
    let (end, mut pause) = (Instant::now() + connection.busy_timeout, RETRY.0);
    while let Some(table) = complete(connection).map_err(unfinished_error)? {
        if Instant::now() >= end {
            let message = "another connection changes the form of this table";
            let table = crate::names::swap_case(&table).into_owned();
            return Err(Error::new(ErrorKind::Busy, message).in_table(table));
        }
        Interrupt::check()?;
        std::thread::sleep(pause);
        pause = (pause * 2).min(RETRY.1);
    }
    Ok(())
}

/// The error of a change that cannot be completed.
#[cold]
fn unfinished_error(error: Error) -> Error {
    let message = format!("an earlier change of a table has not ended: {}", error.message());
    let mut located = Error::new(error.kind(), message);
    if let Some(table) = error.table() {
        located = located.in_table(table.to_owned());
    }
    if let Some(column) = error.column() {
        located = located.in_column(column.to_owned());
    }
    located.with_source(error)
}

/// Ends the change that this connection makes.
///
/// # Errors
/// `Constraint` and `Duplicate` if rows that were written meanwhile break a new rule; those of the server.
pub(super) fn complete_own(connection: &mut Connection) -> Result<()> {
    complete(connection).map(drop)
}

/// Completes what it may; returns the name of a table that another connection changes. If that fails, the connection ends,
/// so that another can complete it.
fn complete(connection: &mut Connection) -> Result<Option<String>> {
    let completed = try_complete(connection);
    if completed.is_err() {
        connection.give_up();
    }
    completed
}

fn try_complete(connection: &mut Connection) -> Result<Option<String>> {
    let mut found = connection.in_mode(Mode::Read, find)?;
    if found.own.is_empty() {
        return Ok(found.other);
    }
    connection.forget_statements()?;
    if !found.moved.is_empty() {
        for (name, table) in &found.moved {
            super::copy::move_back(connection, name, table)?;
        }
        found = connection.in_mode(Mode::Read, find)?;
    }
    connection.change_schema(&found.own, None, |connection| finish(connection, &found.own))?;
    connection.forget_statements()?;
    Ok(found.other)
}

fn find(connection: &mut Connection) -> Result<UnfinishedTables> {
    let mut found = UnfinishedTables::default();
    let unfinished = unfinished(connection)?;
    if unfinished.is_empty() {
        return Ok(found);
    }
    let (own, all) = (own_number(connection)?, connections(connection)?);
    for (name, comment) in unfinished {
        if comment.connection().is_some_and(|number| number != own && all.contains(&number)) {
            found.other = Some(name);
            continue;
        }
        found.own.push(name.clone());
        if let TableComment::Moved(_, table) = comment {
            found.moved.push((name, table));
        }
    }
    Ok(found)
}

/// Completes these tables, as they are now: another connection may have done it.
fn finish(connection: &mut Connection, own: &[String]) -> Result<()> {
    let (mut changed, mut later) = (Vec::new(), Vec::new());
    for (name, comment) in unfinished(connection)? {
        match comment {
            _ if !own.contains(&name) => {}
            TableComment::Changed(_, table) => changed.push((name, table)),
            TableComment::Moved(..) | TableComment::Whole(_) => {}
            TableComment::Copy(_) => {
                connection.command(None, &format!("DROP TABLE {}", quoted(&name)))?;
            }
        }
    }
    let (names, tables) = (connection.names, connection.tables()?);
    for (name, table) in changed {
        let stored = FirebirdTable::read(connection, &name)?;
        for text in column_texts(names, &table, &stored) {
            connection.command(Some(&table), &text)?;
        }
        for rule in rules(names, &table, &tables)? {
            match rule.kind {
                _ if stored.has(names, &table, &rule) => {}
                RuleKind::Reference(_) => later.push((table.clone(), rule.text)),
                _ => add_rule(connection, &table, &rule)?,
            }
        }
        later.push((table.clone(), whole(names, &table)?));
    }
    connection.commands(&later)
}

/// Adds a rule. Firebird does not compare rows with a CHECK.
fn add_rule(connection: &mut Connection, table: &TableSchema, rule: &TableRule) -> Result<()> {
    let names = connection.names;
    if let RuleKind::Check(place) = rule.kind
        && let Some((sql, error)) = broken_check(names, table, place, &names.quoted(table.name()))?
        && connection.has_row(table, &sql)?
    {
        return Err(error);
    }
    connection.command(Some(table), &rule.text)
}

/// What columns have too much: what filled a new one.
fn column_texts(names: Names, table: &TableSchema, stored: &FirebirdTable) -> Vec<String> {
    let alter = format!("ALTER TABLE {}", names.quoted(table.name()));
    let mut texts = Vec::new();
    for (place, column) in table.columns().iter().enumerate() {
        let Some(found) = stored.column(&names.stored(&column.name)) else { continue };
        let name = quoted(&found.name);
        if column.nullable && found.is_required && !table.key().contains(&place) {
            texts.push(format!("{alter} ALTER {name} DROP NOT NULL"));
        }
        if column.default.is_none() && found.has_default {
            texts.push(format!("{alter} ALTER {name} DROP DEFAULT"));
        }
    }
    texts
}
