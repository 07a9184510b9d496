//! Changes of the schema.

use crate::connection::Connection;
use crate::error::locate;
use crate::facts::SQL;
use crate::session::State;
use bobak_core::{Collation, Error, ErrorKind, Result, SchemaChange, Storage, TableSchema, Type};

/// Makes the changes, all or none.
///
/// # Errors
/// As [`Session::alter`](bobak_core::Session::alter).
pub(crate) fn run(
    state: &mut State<'_>,
    connection: &mut Connection,
    changes: &[SchemaChange],
) -> Result<()> {
    changes.iter().try_for_each(|change| check(table_of(change)))?;
    let own = !state.open;
    let begin = if own { "BEGIN" } else { "SAVEPOINT bobak_alter" };
    connection.simple(begin, |_| {})?;
    let mut done = Ok(());
    for change in changes {
        let statements = statements(change);
        for statement in &statements {
            done = connection.simple(statement, |_| {}).map_err(|e| locate(e, table_of(change)));
            if done.is_err() {
                break;
            }
        }
        if done.is_err() {
            break;
        }
    }
    let end = match (done.is_ok(), own) {
        (true, true) => "COMMIT",
        (true, false) => "RELEASE bobak_alter",
        (false, true) => "ROLLBACK",
        (false, false) => "ROLLBACK TO bobak_alter; RELEASE bobak_alter",
    };
    if done.is_ok() && own {
        connection.stake();
    }
    let ended = if connection.is_broken { Ok(()) } else { connection.simple(end, |_| {}) };
    state.inner.facts().clear();
    connection.forget_statements();
    state.altered |= !own;
    if let Err(error) = done {
        if !own && (connection.is_broken || error.kind() == ErrorKind::Serialization) {
            state.give_up(connection);
        }
        return Err(error);
    }
    ended
}

fn table_of(change: &SchemaChange) -> &TableSchema {
    match change {
        SchemaChange::CreateTable(table)
        | SchemaChange::AddColumn { table, .. }
        | SchemaChange::AddIndex { table, .. } => table,
        _ => unreachable_table(),
    }
}

/// A change that this crate does not know yet has no statements, and its table is never asked for
/// more than its name.
fn unreachable_table() -> &'static TableSchema {
    static NONE: std::sync::OnceLock<TableSchema> = std::sync::OnceLock::new();
    NONE.get_or_init(|| {
        let builder = TableSchema::builder("unknown");
        let column = bobak_core::ColumnSchema::of::<i64>("id");
        builder.column(column).key(["id"]).build().expect("one column is a table")
    })
}

fn statements(change: &SchemaChange) -> Vec<String> {
    match change {
        SchemaChange::CreateTable(table) => bobak_sql::create_table(SQL, table),
        SchemaChange::AddColumn { table, column } => bobak_sql::add_column(SQL, table, *column),
        SchemaChange::AddIndex { table, index } => {
            let mut all = vec![bobak_sql::add_index(SQL, table, *index)];
            all.extend(bobak_sql::index_remark(SQL, table, *index));
            all
        }
        _ => vec!["unsupported change".to_owned()],
    }
}

/// The most bytes of a name: the server cuts longer ones, silently.
const NAME: usize = 63;

/// Refuses what the server can't keep.
fn check(table: &TableSchema) -> Result<()> {
    let refused = |message: String| {
        Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()))
    };
    let columns = table.columns().iter().map(|column| &column.name[..]);
    let indexes = table.indexes().iter().map(|index| &index.name[..]);
    let names = std::iter::once(table.name()).chain(columns).chain(indexes);
    if let Some(long) = names.into_iter().find(|name| name.len() > NAME) {
        return refused(format!("the name '{long}' has more than {NAME} bytes"));
    }
    for column in table.columns() {
        let place = |error: Error| {
            error.in_table(table.name().to_owned()).in_column(column.name.to_string())
        };
        if column.ty == Type::Any || column.storage == Storage::Any {
            let message = "a column of any class: PostgreSQL's columns have one type each";
            return Err(place(Error::new(ErrorKind::Unsupported, message)));
        }
        if column.reference.is_some() && column.collation != Collation::Binary {
            let message = "a foreign key between texts whose case does not count";
            return Err(place(Error::new(ErrorKind::Unsupported, message)));
        }
        // A default must be a value of the column: the same answer as from other engines.
        if let Some(value) = &column.default {
            let known = column.accept(value.clone()).map_err(place);
            if matches!(value, bobak_core::Value::Text(text) if text.contains('\0')) {
                let message = "a default with a NUL, which PostgreSQL keeps in no text";
                return Err(place(Error::new(ErrorKind::Unsupported, message)));
            }
            if known.is_err() && column.nullable && !value.is_null() {
                continue;
            }
        }
    }
    Ok(())
}
