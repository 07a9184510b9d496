//! Reading: a row by its key, and queries as SQL.

use crate::connection::Connection;
use crate::error::translate;
use crate::session::write::get_statement;
use bobak_core::{Error, ErrorKind, Parameter, Result, Row, Source, TableSchema, Type, Value};
use bobak_sql::{Dialect, Statement};

/// A program's SQL text, and the types of its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SqlText<'a> {
    pub sql: &'a str,
    pub parameters: &'a [Type],
}

/// A source as SQL.
pub(crate) fn statement<'a>(source: &'a Source<'a>) -> Statement<'a> {
    match source {
        Source::Select(select) => bobak_sql::select(Dialect::Sqlite, select),
        Source::Sql { text, parameters } => {
            Statement { text: (*text).to_owned(), parameters: Parameter::values(parameters) }
        }
    }
}

/// The types of a source's parameters.
pub(crate) fn parameter_types(source: &Source<'_>) -> Vec<Type> {
    match source {
        Source::Select(_) => Vec::new(),
        Source::Sql { parameters, .. } => Parameter::types(parameters),
    }
}

/// Calls `row` with the row that has this key.
#[inline]
pub(crate) fn get(
    connection: &mut Connection,
    table: &TableSchema,
    key: &[Value<'_>],
    row: &mut dyn FnMut(&dyn Row) -> Result<()>,
) -> Result<bool> {
    if key.len() != table.key().len() {
        return Err(wrong_key(table, key.len()));
    }
    let id = get_statement(connection, table)?;
    let values = key.iter().map(Value::as_ref);
    let failed = |failure| translate(failure, Some(table));
    let mut rows = connection.db.rows(id, values).map_err(failed)?;
    match rows.next().map_err(failed)? {
        Some(found) => row(&found).map(|()| true),
        None => Ok(false),
    }
}

#[cold]
fn wrong_key(table: &TableSchema, given: usize) -> Error {
    let error = Error::wrong_number(ErrorKind::Misuse, given, table.key().len(), "key column");
    error.in_table(table.name().to_owned())
}
