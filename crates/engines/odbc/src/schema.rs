//! Which tables there are, and changes of them: of PostgreSQL and MariaDB by the code that their own engines use, of any
//! other database by what the driver lists.

use crate::connection::Connection;
use crate::driver::CatalogList;
use crate::product::ProductKind;
use bobak_core::{
    ColumnSchema, Error, ErrorKind, OnDelete, Reference, Result, SchemaChange, SchemaDetails,
    TableSchema, Type,
};
use bobak_engine_common::{catalog_text as text, reject_generated};
use bobak_sql::server::{
    SqlServer, mysql_alter, mysql_catalog, mysql_details, postgres_alter, postgres_catalog,
    postgres_details, with_forward_references_last,
};
use bobak_sql::{Dialect, list_triggers, parse_declared};

/// The tables that a schema can describe.
///
/// # Errors
/// Those of the driver.
pub(crate) fn tables(connection: &mut Connection) -> Result<Vec<TableSchema>> {
    match connection.product.kind {
        ProductKind::Postgres => postgres_catalog::tables(connection),
        ProductKind::MySql => mysql_catalog::read(connection),
        ProductKind::Sqlite | ProductKind::Other => listed(connection),
    }
}

/// The views of PostgreSQL, MariaDB and MySQL; of other databases none.
///
/// # Errors
/// Those of the driver.
pub(crate) fn views(connection: &mut Connection) -> Result<Vec<TableSchema>> {
    match connection.product.kind {
        ProductKind::Postgres => postgres_catalog::views(connection),
        ProductKind::MySql => mysql_catalog::views(connection),
        ProductKind::Sqlite | ProductKind::Other => Ok(Vec::new()),
    }
}

/// What the database has that the schemas of its tables do not express, as far as the driver tells it.
///
/// # Errors
/// Those of the driver.
pub(crate) fn details(connection: &mut Connection) -> Result<SchemaDetails> {
    match connection.product.kind {
        ProductKind::Postgres => postgres_details::read(connection),
        ProductKind::MySql => Ok(mysql_details::read(connection)?.0),
        ProductKind::Sqlite | ProductKind::Other => listed_details(connection),
    }
}

/// Rejects what no database behind ODBC does, before any call.
///
/// # Errors
/// `Unsupported`.
pub(crate) fn reject_unsupported(changes: &[SchemaChange]) -> Result<()> {
    bobak_engine_common::reject_searches(changes, "ODBC")?;
    bobak_engine_common::reject_vectors(changes, "ODBC")?;
    match changes.iter().find(|change| matches!(change, SchemaChange::Track { .. })) {
        Some(change) => {
            let message =
                "change capture is not supported through ODBC: use the database's own engine";
            let error = Error::new(ErrorKind::Unsupported, message);
            Err(error.in_table(change.table().name().to_owned()))
        }
        None => Ok(()),
    }
}

/// Makes the changes. All or none, if they run in a transaction, or the database is MariaDB or MySQL.
///
/// # Errors
/// As [`Session::alter`](bobak_core::Session::alter).
pub(crate) fn alter(connection: &mut Connection, changes: &[SchemaChange]) -> Result<()> {
    let done = match connection.product.kind {
        ProductKind::Postgres => alter_postgres(connection, changes),
        ProductKind::MySql => mysql_alter::run(connection, changes),
        ProductKind::Sqlite => {
            changes.iter().try_for_each(|change| alter_sqlite(connection, change))
        }
        ProductKind::Other => {
            let message = "Bobak does not know how the schema of this database is changed: use the \
                           database's own tools";
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    };
    connection.forget_statements();
    done
}

fn alter_postgres(connection: &mut Connection, changes: &[SchemaChange]) -> Result<()> {
    for change in changes {
        let table = postgres_alter::table_of(change)?;
        postgres_alter::check(table)?;
    }
    for change in &with_forward_references_last(changes)? {
        let table = change.table();
        for text in postgres_alter::statements(connection, change)? {
            SqlServer::run(connection, table, &text)?;
        }
        for text in postgres_alter::log_statements(connection, change)? {
            SqlServer::run(connection, table, &text)?;
        }
    }
    Ok(())
}

fn alter_sqlite(connection: &mut Connection, change: &SchemaChange) -> Result<()> {
    let sqlite = Dialect::Sqlite;
    reject_generated("odbc", change.table())?;
    let texts = match change {
        SchemaChange::CreateTable(table) => bobak_sql::create_table(sqlite, table)?,
        SchemaChange::AddColumn { table, column } => bobak_sql::add_column(sqlite, table, *column)?,
        SchemaChange::AddIndex { table, index } => {
            vec![bobak_sql::add_index(sqlite, table, *index)?]
        }
        other => {
            let message = "through ODBC, this change of a table of SQLite is not supported: use the engine `sqlite`";
            return Err(unsupported(message, other.table()));
        }
    };
    let table = change.table();
    if table.columns().iter().any(|column| column.collation == bobak_core::Collation::UnicodeNoCase)
    {
        return Err(unsupported(
            "SQLite has no Unicode collations through ODBC: use the engine `sqlite`",
            table,
        ));
    }
    texts.iter().try_for_each(|text| SqlServer::run(connection, table, text))
}

fn unsupported(message: &str, table: &TableSchema) -> Error {
    Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned())
}

fn part(row: &[String], at: usize) -> &str {
    row.get(at).map_or("", String::as_str)
}

/// The tables that the driver lists, with their columns, keys and indexes.
fn listed(connection: &mut Connection) -> Result<Vec<TableSchema>> {
    let names = connection.list(CatalogList::Tables)?;
    let columns = connection.list(CatalogList::Columns)?;
    let mut tables = Vec::new();
    for row in &names {
        let own = columns.iter().filter(|column| part(column, 1) == part(row, 1));
        let own = own.filter(|column| part(column, 2) == part(row, 2));
        let own: Vec<_> = own.cloned().collect();
        // What a schema cannot describe is left out.
        match table(connection, part(row, 2), &own) {
            Ok(found) => tables.extend(found),
            Err(error) if error.kind() == ErrorKind::Schema => {}
            Err(error) => return Err(error),
        }
    }
    Ok(tables)
}

/// The tables of the driver's list that have no schema, the views, and the triggers of SQLite.
fn listed_details(connection: &mut Connection) -> Result<SchemaDetails> {
    let (tables, mut details) = (listed(connection)?, SchemaDetails::default());
    let columns = connection.list(CatalogList::Columns)?;
    for row in connection.list(CatalogList::Tables)? {
        let name = part(&row, 2);
        if !name.starts_with("sqlite_") && !tables.iter().any(|table| table.name() == name) {
            let own = columns.iter().filter(|column| part(column, 2) == name);
            details.lose_table(name, own.map(|column| part(column, 3)));
        }
    }
    // Not every driver has a list of views.
    for row in connection.list(CatalogList::Views).unwrap_or_default() {
        details.lose(part(&row, 2), "view");
    }
    if connection.product.kind == ProductKind::Sqlite {
        SqlServer::ask(connection, list_triggers(Dialect::Sqlite), &[], &mut |row| {
            details.lose(&text(row, 0), format!("trigger {}", text(row, 1)));
        })?;
    }
    Ok(details)
}

fn table(
    connection: &mut Connection,
    name: &str,
    columns: &[Vec<String>],
) -> Result<Option<TableSchema>> {
    let kind = connection.product.kind;
    let mut key = connection.list(CatalogList::Key(name))?;
    key.sort_by_key(|row| part(row, 4).parse::<u32>().unwrap_or(0));
    let key: Vec<String> = key.iter().map(|row| part(row, 3).to_owned()).collect();
    if key.is_empty() || name.starts_with("sqlite_") {
        return Ok(None);
    }
    let references = connection.list(CatalogList::ForeignKeys(name))?;
    let mut builder = TableSchema::builder(name.to_owned());
    for row in columns {
        let mut column = column(kind, row);
        column.nullable &= !key.contains(&column.name.to_string());
        let own = references.iter().filter(|reference| part(reference, 7) == &*column.name);
        for reference in own.filter(|row| part(row, 8) == "1") {
            let constraint = part(reference, 11);
            let is_whole = references.iter().filter(|row| part(row, 11) == constraint).count() == 1;
            if is_whole || constraint.is_empty() {
                let (table, referenced) = (part(reference, 2), part(reference, 3));
                let on_delete = match part(reference, 10) {
                    "0" => OnDelete::Cascade,
                    "2" => OnDelete::SetNull,
                    "1" => OnDelete::Restrict,
                    _ => OnDelete::NoAction,
                };
                column.reference =
                    Some(Reference::new(table.to_owned(), referenced.to_owned(), on_delete));
            }
        }
        builder = builder.column(column);
    }
    builder = builder.key(key.clone());
    if kind == ProductKind::Other {
        // Bobak does not know how to ask for a key that this database generates.
        builder = builder.given_key();
    }
    for (index, unique, names) in indexes(connection, name)? {
        if names == key || index.starts_with("sqlite_autoindex") {
            continue;
        }
        builder = match unique {
            true => builder.unique_index(index, names),
            false => builder.index(index, names),
        };
    }
    builder.build().map(Some)
}

/// The indexes of a table: name, whether unique, columns.
fn indexes(connection: &mut Connection, table: &str) -> Result<Vec<(String, bool, Vec<String>)>> {
    let mut indexes: Vec<(String, bool, Vec<String>)> = Vec::new();
    for row in connection.list(CatalogList::Indexes(table))? {
        let (name, column) = (part(&row, 5), part(&row, 8));
        // `SQL_TABLE_STAT` describes the table.
        if name.is_empty() || column.is_empty() || part(&row, 6) == "0" {
            continue;
        }
        match indexes.iter_mut().find(|(known, ..)| known == name) {
            Some((.., columns)) => columns.push(column.to_owned()),
            None => indexes.push((name.to_owned(), part(&row, 3) == "0", vec![column.to_owned()])),
        }
    }
    Ok(indexes)
}

fn column(kind: ProductKind, row: &[String]) -> ColumnSchema {
    let (size, decimals) = (part(row, 6), part(row, 8));
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    let ty = match (kind, part(row, 4)) {
        (ProductKind::Sqlite, _) => parse_declared(Dialect::Sqlite, part(row, 5)).ty,
        (_, "-7") => Type::Bool,
        (_, "-6" | "5") => Type::I16,
        (_, "4") => Type::I32,
        (_, "-5") => Type::I64,
        (_, "7") => Type::F32,
        (_, "6" | "8") => Type::F64,
        (_, "2" | "3") if number(decimals) <= 4 && number(size) <= 15 + number(decimals) => {
            Type::Currency
        }
        (_, "-2" | "-3" | "-4") => Type::Bytes,
        (_, "-11") => Type::Uuid,
        (_, "9" | "91") => Type::Date,
        (_, "10" | "92") => Type::Time,
        (_, "11" | "93") => Type::DateTime,
        _ => Type::Text,
    };
    ColumnSchema::new(part(row, 3).to_owned(), ty).nullable(part(row, 10) != "0")
}
