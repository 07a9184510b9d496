//! Reads the schema of any file as [`TableSchema`]s: the inverse of `create_table`.
//! What a schema cannot express remains in force in the database; [`details`](super::details) lists it.

use super::column::{self, CatalogColumn};
use super::foreign_key::DeclaredForeignKey;
use super::index::CatalogIndex;
use super::text::has_keyword;
use super::{foreign_key, index, search};
use crate::connection::Connection;
use bobak_core::change_log::Trigger;
use bobak_core::check::CheckExpression;
use bobak_core::search::SearchLanguage;
use bobak_core::{ColumnSchema, ErrorKind, Result, SideEffects, TableSchema, Type, Value};
use bobak_sql::{Dialect, list_triggers};

/// The tables of the main database, without views, virtual tables and their shadow tables.
/// | A table without a key gets its `rowid` as key, in the first column. Omits tables that a
/// schema cannot describe, for example because of too many columns.
pub(crate) fn read(connection: &mut Connection) -> Result<Vec<TableSchema>> {
    let mut tables = read_with_logs(connection)?;
    tables.retain(|table| !bobak_core::change_log::is_change_log_table(table.name()));
    Ok(tables)
}

/// The views and virtual tables of the main database, without those that fail, such as a view over a table that was
/// dropped. A view's column that is a table's own has its type; SQLite knows none of an expression.
pub(crate) fn views(connection: &mut Connection) -> Result<Vec<TableSchema>> {
    let list = connection.all_rows(
        "SELECT name FROM main.sqlite_schema WHERE type = 'view' \
         OR type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%' \
         AND sql NOT LIKE '%/* bobak: search % */ USING fts5(%' ORDER BY rowid",
        &[],
    )?;
    let mut views = Vec::new();
    for name in list.into_iter().flatten() {
        let name = column::text(Some(name));
        let columns = connection.all_rows(
            "SELECT name, type FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 1 ORDER BY cid",
            &[Value::from(name.as_str())],
        );
        let Ok(columns) = columns else { continue };
        let builder = columns.into_iter().fold(TableSchema::builder(name).view(), |view, row| {
            let mut row = row.into_iter();
            let (name, declared) = (column::text(row.next()), column::text(row.next()));
            view.column(column::of_type(name, declared).nullable(true))
        });
        views.extend(builder.build().ok());
    }
    Ok(views)
}

/// As [`read`], including the tables of change capture.
pub(crate) fn read_with_logs(connection: &mut Connection) -> Result<Vec<TableSchema>> {
    // Reads one state of the schema.
    connection.run("SAVEPOINT bobak_tables")?;
    let tables = read_all(connection);
    connection.run("RELEASE bobak_tables")?;
    tables
}

/// The triggers of the main database, without those that keep a search up to date.
pub(crate) fn triggers(connection: &mut Connection) -> Result<Vec<Trigger>> {
    let rows = connection.all_rows(list_triggers(Dialect::Sqlite), &[])?;
    let trigger = |row: Vec<Value<'static>>| {
        let mut row = row.into_iter();
        Trigger {
            table: column::text(row.next()),
            name: column::text(row.next()),
            is_outdated: row.next() == Some(Value::Int(1)),
        }
    };
    Ok(rows.into_iter().map(trigger).collect())
}

/// The side effects of writes in the main database.
pub(crate) fn side_effects(connection: &mut Connection) -> Result<SideEffects> {
    let mut effects = SideEffects::of_triggers(&triggers(connection)?);
    for row in connection.all_rows(bobak_sql::side_effects(Dialect::Sqlite), &[])? {
        let mut row = row.into_iter();
        effects.add(&column::text(row.next()), &column::text(row.next()));
    }
    Ok(effects)
}

fn read_all(connection: &mut Connection) -> Result<Vec<TableSchema>> {
    let list = connection.all_rows(
        "SELECT l.name, l.wr, s.sql FROM pragma_table_list AS l \
         JOIN main.sqlite_schema AS s ON s.type = 'table' AND s.name = l.name \
         WHERE l.schema = 'main' AND l.type = 'table' AND substr(l.name, 1, 7) <> 'sqlite_' \
         ORDER BY s.rowid",
        &[],
    )?;
    let mut tables = Vec::new();
    for row in list {
        let mut row = row.into_iter();
        let (name, without_rowid, sql) = (row.next(), row.next(), row.next());
        let table = read_table(
            connection,
            &column::text(name),
            without_rowid == Some(Value::Int(1)),
            &column::text(sql),
        );
        match table {
            Ok(table) => tables.extend(table),
            Err(error) if error.kind() == ErrorKind::Schema => {}
            Err(error) => return Err(error),
        }
    }
    Ok(tables)
}

pub(super) fn read_table(
    connection: &mut Connection,
    name: &str,
    without_rowid: bool,
    sql: &str,
) -> Result<Option<TableSchema>> {
    let keys = foreign_key::read(connection, name, sql)?;
    let mut columns = column::read(connection, name, sql, &keys)?;
    let indexes = index::read(connection, name)?;
    for index in &indexes {
        if let ([single], true) = (&index.columns[..], index.is_column_rule(name)) {
            for column in columns.iter_mut().filter(|column| column.schema.name == *single) {
                column.schema.unique = true;
            }
        }
    }
    let searched = search::read(connection, name)?;
    read_expressions(&mut columns);
    loop {
        let table = build(name, without_rowid, sql, &keys, &columns, &indexes, searched.as_ref());
        let checked = table.and_then(|table| {
            table.iter().try_for_each(bobak_core::check_generated_columns).map(|()| table)
        });
        match checked.map_err(|error| (wrong_expression(&columns, &error), error)) {
            Ok(table) => return Ok(table),
            // The column is left out.
            Err((Some(place), _)) => drop(columns.remove(place)),
            Err((None, error)) => return Err(error),
        }
    }
}

/// The generated column whose expression a schema has no place for.
fn wrong_expression(columns: &[CatalogColumn], error: &bobak_core::Error) -> Option<usize> {
    if !matches!(error.kind(), ErrorKind::Schema | ErrorKind::Unsupported) {
        return None;
    }
    columns.iter().position(|column| {
        column.schema.generated.is_some() && error.column() == Some(&*column.schema.name)
    })
}

/// Gives generated columns their expressions with the record's own values. Leaves out those that have another one than a
/// schema can have.
fn read_expressions(columns: &mut Vec<CatalogColumn>) {
    if columns.iter().all(|column| column.schema.generated.is_none()) {
        return;
    }
    let plain = |column: &CatalogColumn| ColumnSchema { generated: None, ..column.schema.clone() };
    let plain = columns.iter().map(plain).collect();
    let table = TableSchema::builder("columns").columns(plain).view().build();
    columns.retain_mut(|column| {
        let Some(text) = &column.schema.generated else { return true };
        let Ok(table) = &table else { return false };
        let Ok(expression) = CheckExpression::parse_stored_value(text, table) else { return false };
        column.schema.generated = Some(expression.to_text(table).into());
        true
    });
}

fn build(
    name: &str,
    without_rowid: bool,
    sql: &str,
    keys: &[DeclaredForeignKey],
    columns: &[CatalogColumn],
    indexes: &[CatalogIndex],
    searched: Option<&(SearchLanguage, Vec<String>)>,
) -> Result<Option<TableSchema>> {
    let mut key: Vec<_> = columns.iter().filter(|column| column.key_place > 0).collect();
    key.sort_by_key(|column| column.key_place);
    let key: Vec<_> = key.iter().map(|column| column.schema.name.clone()).collect();
    let is_rowid = !without_rowid && key.len() == 1 && !indexes.iter().any(|i| i.origin == "pk");
    let mut builder = TableSchema::builder(name.to_owned());
    if key.is_empty() {
        let Some(rowid) = rowid_name(columns) else {
            return Ok(None);
        };
        builder = builder.column(ColumnSchema::new(rowid, Type::I64)).key([rowid]).hidden_key();
    } else {
        builder = builder.key(key);
    }
    if sql.contains(bobak_sql::GIVEN_KEY) {
        builder = builder.given_key();
    } else if !is_rowid && columns.iter().any(|c| c.key_place > 0 && c.schema.ty == Type::I64) {
        // SQLite generates keys for rowids only.
        builder = builder.given_key();
    } else if is_rowid && has_keyword(sql, "AUTOINCREMENT") {
        builder = builder.never_reuse_keys();
    }
    for column in columns {
        builder = builder.column(column.schema.clone());
    }
    for (names, key) in further_keys(keys, columns) {
        builder = builder.foreign_key(names, key);
    }
    for index in indexes.iter().filter(|i| i.origin != "pk" && !i.is_column_rule(name)) {
        if index.columns.iter().any(|name| !columns.iter().any(|c| c.schema.name == *name)) {
            // Over a generated column that is left out.
            continue;
        }
        let (name, columns) = (index.usable_name(name, indexes), index.columns.clone());
        builder = if index.unique {
            builder.unique_index(name, columns)
        } else {
            builder.index(name, columns)
        };
    }
    if let Some((language, columns)) = searched {
        builder = builder.search(columns.iter().cloned(), *language);
    }
    builder.build().map(|table| Some(bobak_core::check::with_record_values(table)))
}

/// A name for the rowid that no column has.
fn rowid_name(columns: &[CatalogColumn]) -> Option<&'static str> {
    let taken = |name: &str| columns.iter().any(|c| c.schema.name.eq_ignore_ascii_case(name));
    ["rowid", "_rowid_", "oid"].into_iter().find(|name| !taken(name))
}

/// The foreign keys that no column has as its own, with their columns.
fn further_keys(
    keys: &[DeclaredForeignKey],
    columns: &[CatalogColumn],
) -> Vec<(Vec<String>, bobak_core::ForeignKey)> {
    let find = |name: &str| columns.iter().find(|c| c.schema.name.eq_ignore_ascii_case(name));
    let mut own: Vec<&str> = Vec::new();
    let mut further = Vec::new();
    for key in keys {
        let Some(schema) = key.schema() else { continue };
        match &key.columns[..] {
            [column] if !own.contains(&column.as_str()) => own.push(column),
            // A generated column may be in no schema.
            names if names.iter().all(|name| find(name).is_some()) => {
                further.push((names.to_vec(), schema));
            }
            _ => {}
        }
    }
    further
}
