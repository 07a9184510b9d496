//! Changes of the schema.
//!
//! The server commits at each statement that changes the schema. So all steps are checked against
//! the tables that are there before the first is made; and where one fails all the same, those that
//! were made are taken back.

use super::mysql_tracking::{adapt_instants, before_triggers, reject_without_transactions};
use super::{SqlServer, has_forward_references, mysql_catalog};
use crate::{
    Dialect, FOLDED, TrackReason, add_column, add_foreign_key, add_index, add_reference,
    create_table_after, find_violations, folded, quote,
};
use bobak_core::{
    Collation, ColumnSchema, Error, ErrorKind, Result, SchemaChange, TableAlteration, TableSchema,
    Type, Value, ValueRef, change_log, change_log::TableMoves,
};
use std::sync::Arc;

/// Makes all of the changes, or none. Prepared statements must be forgotten afterwards.
///
/// # Errors
/// As [`Session::alter`](bobak_core::Session::alter).
pub fn run(server: &mut dyn SqlServer, changes: &[SchemaChange]) -> Result<()> {
    if let [change @ (SchemaChange::AlterTable(_) | SchemaChange::DropTable(_))] = changes {
        alter_one(server, change)?;
        return Ok(());
    }
    check_columns(server, changes)?;
    let tables = check_steps(server, changes)?;
    // Written before the first one runs: each step commits by itself.
    let steps = changes.iter().map(|change| Step::of(server.dialect(), change, &tables));
    let steps = steps.collect::<Result<Vec<_>>>()?;
    match changes {
        [first, ..] if has_forward_references(changes) => {
            // The foreign keys are checked again when the tables that they name are created.
            server.run(first.table(), "SET SESSION foreign_key_checks = 0")?;
            let done = run_steps(server, changes, steps);
            let checked = server.run(first.table(), "SET SESSION foreign_key_checks = 1");
            done.and(checked)
        }
        _ => run_steps(server, changes, steps),
    }
}

fn run_steps(
    server: &mut dyn SqlServer,
    changes: &[SchemaChange],
    steps: Vec<Option<Step<'_>>>,
) -> Result<()> {
    let mut made = Vec::new();
    for (change, step) in changes.iter().zip(steps) {
        let Some(step) = step else { continue };
        for text in &step.sql_texts {
            if let Err(error) = server.run(step.table, text) {
                return Err(take_back(server, &made, error));
            }
        }
        let table = step.table;
        made.push(step);
        for text in log_statements(server, change)? {
            if let Err(error) = server.run(table, &text) {
                return Err(take_back(server, &made, error));
            }
        }
    }
    Ok(())
}

/// Alters or drops a table: one statement, which cannot be taken back.
fn alter_one(server: &mut dyn SqlServer, change: &SchemaChange) -> Result<()> {
    let dialect = server.dialect();
    let alteration = match change {
        SchemaChange::AlterTable(alteration) => alteration,
        other => {
            let (table, log) =
                change_log::table_and_log(mysql_catalog::with_logs(server)?, other.table())?;
            if log.is_some() {
                let message = "the table is tracked: stop tracking it first";
                return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()));
            }
            let sql = format!("DROP TABLE {}", quote(dialect, table.name()));
            return server.run(&table, &sql);
        }
    };
    let (table, log) = stored(server, alteration)?;
    if let Some(log) = log.as_ref().filter(|_| table.same_as(alteration.to())) {
        return follow(server, &table, log, alteration);
    }
    let alteration = &alteration.for_stored(&table)?;
    let (from, to) = (alteration.from(), alteration.to());
    alteration.check_tracked(log.is_some())?;
    if log.is_some() {
        crate::feed::reject_unseen(dialect, to)?;
    }
    let is_taken = mysql_catalog::names(server)?.iter().any(|name| name == to.name());
    if alteration.renames_table() && is_taken {
        return Err(schema("the table already exists", to));
    }
    check_columns(server, std::slice::from_ref(change))?;
    reject_check(dialect, alteration)?;
    for (query, error) in find_violations(dialect, alteration) {
        let mut is_violated = false;
        server.ask(&query, &[], &mut |_| is_violated = true)?;
        if is_violated {
            return Err(error);
        }
    }
    let names = mysql_catalog::constraint_names(server, from)?;
    let texts = crate::alter_table(dialect, alteration, &names)?;
    let mut added = Vec::new();
    if let Some(log) = &log {
        move_log(server, log, alteration)?;
        added = widen_log(server, to)?;
    }
    if let Err(error) = texts.iter().try_for_each(|sql| server.run(to, sql)) {
        // Another attempt may give the column another type. The first error says more.
        let _ = added.iter().try_for_each(|sql| server.run(to, sql));
        return Err(error);
    }
    if log.is_none() {
        return Ok(());
    }
    let (table, log) = change_log::table_and_log(mysql_catalog::with_logs(server)?, to)?;
    let Some(log) = log else { return Ok(()) };
    let instants = adapt_instants(server, &table)?.into_iter();
    let mut texts = instants.chain(crate::track_altered(dialect, &table, &log, alteration)?);
    texts.try_for_each(|sql| server.run(to, &sql))
}

/// Adds the columns that a tracked table will have to its log; returns what drops them again. They come before those of the
/// table. So a log without a column of its table shows that a killed process has moved it on for the next alteration.
fn widen_log(server: &mut dyn SqlServer, to: &TableSchema) -> Result<Vec<String>> {
    let (dialect, wanted) = (server.dialect(), change_log::log_schema(to, false)?);
    let logs = mysql_catalog::with_logs(server)?;
    let Some(log) = logs.iter().find(|log| log.name() == wanted.name()) else {
        return Ok(Vec::new());
    };
    for sql in crate::feed::add_to_log(dialect, &wanted, log)? {
        server.run(to, &sql)?;
    }
    let missing = wanted.columns().iter().filter(|column| log.column(&column.name).is_err());
    let drop = |column: &ColumnSchema| {
        let name = quote(dialect, &column.name);
        format!("ALTER TABLE {} DROP COLUMN {name}", quote(dialect, log.name()))
    };
    Ok(missing.map(drop).collect())
}

/// As the end of [`alter_one`], of a table that a killed process has altered. If it has moved the log on, so will the next
/// alteration.
fn follow(
    server: &mut dyn SqlServer,
    table: &TableSchema,
    log: &TableSchema,
    alteration: &TableAlteration,
) -> Result<()> {
    let (dialect, wanted) = (server.dialect(), change_log::log_schema(table, false)?);
    if !crate::feed::add_to_log(dialect, &wanted, log)?.is_empty() {
        return Ok(());
    }
    let instants = adapt_instants(server, table)?.into_iter();
    let mut texts = instants.chain(crate::track_altered(dialect, table, log, alteration)?);
    texts.try_for_each(|sql| server.run(table, &sql))
}

/// The stored table and its log, which may have the new name of the table already if a process was killed.
fn stored(
    server: &mut dyn SqlServer,
    alteration: &TableAlteration,
) -> Result<(TableSchema, Option<TableSchema>)> {
    let tables = mysql_catalog::with_logs(server)?;
    let moved = format!("{}{}", change_log::LOG_PREFIX, alteration.to().name());
    let moved = tables.iter().find(|table| table.name() == moved).cloned();
    let (table, log) = change_log::table_and_log(tables, alteration.from())?;
    Ok((table, log.or(moved.filter(|_| alteration.renames_table()))))
}

/// Gives the log of a tracked table its new names. Until its triggers are replaced, other writes of the table fail, so that
/// none goes past the log.
fn move_log(
    server: &mut dyn SqlServer,
    log: &TableSchema,
    alteration: &TableAlteration,
) -> Result<()> {
    let Some(moves) = TableMoves::of(alteration) else { return Ok(()) };
    let (dialect, from) = (server.dialect(), alteration.from());
    check_tracked_name(alteration.to())?;
    if let Some(moved) = moves.alter_log(log)? {
        for sql in crate::begin_moves(dialect, from) {
            server.run(from, &sql)?;
        }
        alter_one(server, &SchemaChange::AlterTable(Arc::new(moved)))?;
    }
    if is_noted(server, &moves)? {
        return Ok(());
    }
    let noted = ["START TRANSACTION".to_owned()].into_iter();
    let mut noted = noted.chain(crate::note_moves(dialect, from, &moves));
    match noted.try_for_each(|sql| server.run(from, &sql)) {
        Ok(()) => server.run(from, "COMMIT"),
        Err(error) => {
            // The first error says more.
            let _ = server.run(from, "ROLLBACK");
            Err(error)
        }
    }
}

/// Whether these moves are the last that is noted of the table: a killed process has not altered it yet.
fn is_noted(server: &mut dyn SqlServer, moves: &TableMoves) -> Result<bool> {
    let mut is_noted = None;
    let found = |name: &str, layout: &str| match TableMoves::parse(layout) {
        Some(last) if name.is_empty() => (last.to == moves.to).then(|| last == *moves),
        _ => (name == moves.from || name == moves.to).then_some(false),
    };
    let sql = "SELECT name, layout FROM bobak_layout ORDER BY id DESC";
    server.ask(sql, &[], &mut |row| {
        if let (None, ValueRef::Text(name), ValueRef::Text(layout)) =
            (is_noted, row.get(0), row.get(1))
        {
            is_noted = found(name, layout);
        }
    })?;
    Ok(is_noted == Some(true))
}

/// Rejects a name with which those of the triggers are too long.
fn check_tracked_name(table: &TableSchema) -> Result<()> {
    if change_log::LOG_PREFIX.len() + "insert_".len() + table.name().len() <= MAX_NAME_LENGTH {
        return Ok(());
    }
    let message = format!("a tracked table's name has {} bytes at most", MAX_NAME_LENGTH - 17);
    Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()))
}

/// Rejects a changed CHECK on MySQL, where it is no part of the column's definition.
fn reject_check(dialect: Dialect, alteration: &TableAlteration) -> Result<()> {
    let (renamed, to) = (alteration.renamed(), alteration.to());
    for (old, new) in alteration.kept().filter(|_| dialect == Dialect::MySql) {
        if let Some((before, after)) = renamed.columns().get(old).zip(to.columns().get(new))
            && before.check != after.check
        {
            let message = "CHECKs of MySQL can be changed in SQL only";
            return Err(unsupported(message, to, after));
        }
    }
    Ok(())
}

/// A change as statements, with the one that takes it back.
struct Step<'a> {
    table: &'a TableSchema,
    sql_texts: Vec<String>,
    undo: String,
}

impl<'a> Step<'a> {
    fn of(
        dialect: Dialect,
        change: &'a SchemaChange,
        tables: &[TableSchema],
    ) -> Result<Option<Self>> {
        let alter =
            |table: &TableSchema| format!("ALTER TABLE {} DROP ", quote(dialect, table.name()));
        Ok(Some(match change {
            SchemaChange::CreateTable(table) => Self {
                table,
                sql_texts: create_table_after(dialect, table, tables)?,
                undo: format!("DROP TABLE {}", quote(dialect, table.name())),
            },
            SchemaChange::AddColumn { table, column } => {
                let Some(schema) = table.columns().get(*column) else { return Ok(None) };
                let mut undo = format!("{}COLUMN {}", alter(table), quote(dialect, &schema.name));
                if schema.collation != Collation::Binary {
                    let name = quote(dialect, &format!("{FOLDED}{}", schema.name));
                    undo = format!(
                        "{}COLUMN {name}, DROP COLUMN {}",
                        alter(table),
                        quote(dialect, &schema.name)
                    );
                }
                Self { table, sql_texts: add_column(dialect, table, *column)?, undo }
            }
            SchemaChange::AddIndex { table, index } => {
                let Some(schema) = table.indexes().get(*index) else { return Ok(None) };
                let undo = format!("{}INDEX {}", alter(table), quote(dialect, &schema.name));
                Self { table, sql_texts: vec![add_index(dialect, table, *index)?], undo }
            }
            // Alone in a change, so there is nothing to undo: see `check_steps`.
            SchemaChange::AddReference { table, column } => Self {
                table,
                sql_texts: add_reference(dialect, table, *column)?,
                undo: "DO 0".to_owned(),
            },
            SchemaChange::AddForeignKey { table, foreign_key } => Self {
                table,
                sql_texts: add_foreign_key(dialect, table, *foreign_key, tables)?,
                undo: "DO 0".to_owned(),
            },
            // What these do depends on what is there: see `log_statements`.
            SchemaChange::Track { table, .. } | SchemaChange::Untrack(table) => {
                Self { table, sql_texts: Vec::new(), undo: "DO 0".to_owned() }
            }
            _ => return Ok(None),
        }))
    }
}

/// The statements that adapt the change log of a tracked table, or of one that will be tracked, to its new columns.
fn log_statements(server: &mut dyn SqlServer, change: &SchemaChange) -> Result<Vec<String>> {
    let dialect = server.dialect();
    let mut stored =
        |table: &TableSchema| change_log::table_and_log(mysql_catalog::with_logs(server)?, table);
    match change {
        SchemaChange::Track { table, history } => {
            let (table, log) = stored(table)?;
            check_tracked_name(&table)?;
            reject_without_transactions(server, &table)?;
            let triggers = mysql_catalog::triggers(server)?;
            let captured = change_log::is_captured(&triggers, table.name());
            let reason = TrackReason::Track { captured, history: *history };
            let mut texts = crate::track(dialect, &table, log.as_ref(), reason)?;
            before_triggers(&mut texts, adapt_instants(server, &table)?);
            Ok(texts)
        }
        SchemaChange::AddColumn { table, column } => {
            let added = table.columns().get(*column).map_or("", |column| &column.name);
            match stored(table)? {
                (table, Some(log)) => {
                    crate::track(dialect, &table, Some(&log), TrackReason::Added(added))
                }
                (_, None) => Ok(Vec::new()),
            }
        }
        SchemaChange::Untrack(table) => {
            match change_log::log_to_drop(mysql_catalog::with_logs(server)?, table)? {
                (table, Some(_)) => crate::untrack(dialect, &table),
                (_, None) => Ok(Vec::new()),
            }
        }
        _ => Ok(Vec::new()),
    }
}

/// The most characters of a name.
const MAX_NAME_LENGTH: usize = 64;

/// Takes back what was made; says what is left where that fails.
fn take_back(server: &mut dyn SqlServer, made: &[Step<'_>], error: Error) -> Error {
    for step in made.iter().rev() {
        if let Err(second) = server.run(step.table, &step.undo) {
            let message = format!(
                "{}; and the earlier changes of table {} could not be undone: {}",
                error.message(),
                step.table.name(),
                second.message()
            );
            return Error::new(error.kind(), message).with_source(error);
        }
    }
    error
}

/// Rejects what the server can't keep.
fn check_columns(server: &mut dyn SqlServer, changes: &[SchemaChange]) -> Result<()> {
    let mut checked = false;
    for (table, column) in changes.iter().flat_map(new_columns) {
        if column.ty == Type::Any {
            let message = "this server has no columns without a type";
            return Err(unsupported(message, table, column));
        }
        if column.collation == Collation::UnicodeNoCase && !checked {
            checked = true;
            if !folds_as_rust(server)? {
                let message =
                    "this server's lower case of some letters differs from that of Unicode 14";
                return Err(unsupported(message, table, column));
            }
        }
    }
    Ok(())
}

fn unsupported(message: &str, table: &TableSchema, column: &ColumnSchema) -> Error {
    Error::new(ErrorKind::Unsupported, message)
        .in_table(table.name())
        .in_column(column.name.as_ref())
}

fn new_columns(change: &SchemaChange) -> Vec<(&TableSchema, &ColumnSchema)> {
    match change {
        SchemaChange::CreateTable(table) => {
            table.columns().iter().map(|column| (&**table, column)).collect()
        }
        SchemaChange::AddColumn { table, column } => {
            table.columns().get(*column).map(|column| (&**table, column)).into_iter().collect()
        }
        SchemaChange::AlterTable(alteration) => {
            let table = alteration.to();
            table.columns().iter().map(|column| (&**table, column)).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether the expression that folds texts there gives what [`Collation::fold`] does, letter for
/// letter in the planes that have letters of two cases.
fn folds_as_rust(server: &mut dyn SqlServer) -> Result<bool> {
    let letters: String = (' '..='\u{1ffff}').collect();
    let expression = folded(server.dialect(), Collation::UnicodeNoCase, "CONVERT(? USING utf8mb4)");
    let sql = format!("SELECT {expression}");
    let mut is_same = false;
    let queried = server.ask(&sql, &[Value::from(letters.as_str())], &mut |row| {
        is_same = row.get(0) == ValueRef::Text(&Collation::UnicodeNoCase.fold(&letters));
    });
    match queried {
        // An unknown collation.
        Err(error) if error.kind() == ErrorKind::Engine => Ok(false),
        queried => queried.map(|()| is_same),
    }
}

/// Rejects steps that can't be made, before the first is; returns the tables as they will be.
fn check_steps(server: &mut dyn SqlServer, changes: &[SchemaChange]) -> Result<Vec<TableSchema>> {
    let mut there = mysql_catalog::read(server)?;
    let names = mysql_catalog::names(server)?;
    let mut made: Vec<&str> = Vec::new();
    for change in changes {
        match change {
            SchemaChange::CreateTable(table) => {
                let name = table.name();
                if names.iter().any(|n| n == name) || made.contains(&name) {
                    return Err(schema("the table already exists", table));
                }
                made.push(name);
                there.push(TableSchema::clone(table));
            }
            SchemaChange::AddColumn { table, column } => {
                let Some(schema_) = table.columns().get(*column) else { continue };
                let same = |n: &String| n == table.name();
                if !names.iter().any(same) && !made.contains(&table.name()) {
                    return Err(schema("there is no such table", table));
                }
                let found = there.iter().find(|t| t.name() == table.name());
                if found.is_some_and(|found| found.column(&schema_.name).is_ok()) {
                    let message = format!("column '{}' already exists", schema_.name);
                    return Err(schema(&message, table));
                }
            }
            SchemaChange::AddIndex { table, index } => {
                let Some(index) = table.indexes().get(*index) else { continue };
                if !names.iter().any(|n| n == table.name()) && !made.contains(&table.name()) {
                    return Err(schema("there is no such table", table));
                }
                let found = there.iter().find(|t| t.name() == table.name());
                let same = |t: &TableSchema| t.indexes().iter().any(|i| i.name == index.name);
                if found.is_some_and(same) && !made.contains(&table.name()) {
                    let message = format!("index '{}' already exists", index.name);
                    return Err(schema(&message, table));
                }
            }
            SchemaChange::AddReference { table, .. }
            | SchemaChange::AddForeignKey { table, .. } => {
                if changes.len() > 1 {
                    let message = "this server adds a foreign key only in a change of its own";
                    return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()));
                }
            }
            SchemaChange::Track { .. } | SchemaChange::Untrack(_) => {}
            SchemaChange::AlterTable(_) | SchemaChange::DropTable(_) => {
                let message = "this server alters or drops a table only in a change of its own";
                let table = change.table().name().to_owned();
                return Err(Error::new(ErrorKind::Unsupported, message).in_table(table));
            }
            _ => {
                let message = "this engine does not support this schema change";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        }
    }
    Ok(there)
}

#[cold]
fn schema(message: &str, table: &TableSchema) -> Error {
    Error::new(ErrorKind::Schema, message).in_table(table.name())
}
