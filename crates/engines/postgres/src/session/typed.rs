//! Typed statements: prepared once for their shape, so that no text is written for the same query with other values.

use crate::connection::{Connection, PreparedStatement};
use crate::error::locate;
use crate::session::state::SessionState;
use crate::table_info::SQL;
use bobak_core::{BulkChange, Join, Result, Select, Value};
use bobak_sql::{Statement, StatementShape};
use std::sync::Arc;

/// A prepared statement, and the values of its parameters.
pub(crate) type TypedStatement<'a> = (Arc<PreparedStatement>, Vec<Value<'a>>);

/// The statement of a query.
///
/// # Errors
/// Those of the server, such as `Schema` for a missing table, and of the connection.
pub(crate) fn select<'a>(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    select: &'a Select,
) -> Result<TypedStatement<'a>> {
    let shape = StatementShape::of_select(SQL, select);
    cached(connection, shape)
        .or_else(|shape| prepare(state, connection, shape, bobak_sql::select(SQL, select)))
        .map_err(|error| locate(error, &select.table))
}

/// The statement of an update or a delete.
///
/// # Errors
/// As [`select`].
pub(crate) fn change<'a>(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    change: &'a BulkChange<'a>,
) -> Result<TypedStatement<'a>> {
    let shape = StatementShape::of_change(SQL, change);
    cached(connection, shape)
        .or_else(|shape| prepare(state, connection, shape, bobak_sql::change(SQL, change)))
        .map_err(|error| locate(error, change.table))
}

/// The statement of a join; `None` if the server would calculate it in another way.
///
/// # Errors
/// As [`select`].
pub(crate) fn join<'a>(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    join: &'a Join,
) -> Result<Option<TypedStatement<'a>>> {
    let shape = match cached(connection, StatementShape::of_join(SQL, join)) {
        Ok(known) => return Ok(Some(known)),
        Err(shape) => shape,
    };
    let Some(statement) = bobak_sql::join(SQL, join) else { return Ok(None) };
    let prepared = prepare(state, connection, shape, statement).map_err(|error| {
        match join.tables.first() {
            Some(first) => locate(error, &first.table),
            None => error,
        }
    })?;
    Ok(Some(prepared))
}

/// The cached statement of a shape, or the shape.
fn cached<'a>(
    connection: &Connection,
    shape: Option<StatementShape<'a>>,
) -> Result<TypedStatement<'a>, Option<StatementShape<'a>>> {
    let shape = shape.ok_or(None)?;
    match connection.prepared_shape(shape.words()) {
        Some(known) => Ok((known, shape.into_values())),
        None => Err(Some(shape)),
    }
}

/// Prepares a statement, and caches it by its shape if that has its values.
fn prepare<'a>(
    state: &mut SessionState<'_>,
    connection: &mut Connection,
    shape: Option<StatementShape<'a>>,
    statement: Statement<'a>,
) -> Result<TypedStatement<'a>> {
    let prepared = state.prepare(connection, &statement.text, &[])?;
    if let Some(shape) = shape.filter(|shape| shape.values() == statement.parameters) {
        connection.cache_shape(shape.words(), &prepared);
    }
    Ok((prepared, statement.parameters))
}
