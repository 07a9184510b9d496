//! Updates or deletes all rows that match a filter, with one statement.

use crate::database::handle::DatabaseHandle;
use crate::database::table::CachedTable;
use crate::json::read::parse_row;
use crate::problem::Problem;
use crate::request::context::RequestContext;
use crate::request::precondition::Precondition;
use crate::request::selection::take_filter;
use crate::response::builder::ResponseBuilder;
use crate::workers::blocking;
use bobak::query::EngineQueries;
use bobak_core::{
    Assign, AssignedValue, BulkChange, Condition, Error, ErrorKind, Result, Value,
    stamp_assignments,
};
use hyper::StatusCode;
use std::sync::Arc;

/// `PATCH /tables/{table}/rows?filter=`: sets the given columns of all rows that match, to the values of the body, or to the
/// expressions of `set=`.
pub(crate) async fn patch(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    let expressions = request.parameters.take("set");
    let (table, condition) = take(request, name).await?;
    if let Some(expressions) = expressions {
        if request.next_chunk().await?.is_some() {
            let message = "columns are set by the body or by 'set', and not by both";
            return Err(Problem::bad_request(message));
        }
        return set(request, table, condition, &expressions).await;
    }
    let body = request.body(&["application/json", "application/merge-patch+json"]).await?;
    let database = Arc::clone(&request.database);
    let changed = blocking::run(move || {
        let assigns = assignments(&table, &body)?;
        Ok(change(&database, &table, &condition, Some(&assigns))?)
    });
    Ok(report(changed.await?))
}

/// Sets columns to expressions. There is no body.
async fn set(
    request: &mut RequestContext,
    table: Arc<CachedTable>,
    condition: Condition,
    expressions: &str,
) -> Result<ResponseBuilder, Problem> {
    let bad_request = |error| Problem::with_status(StatusCode::BAD_REQUEST, error);
    let values = AssignedValue::parse_list(expressions, &table.schema).map_err(bad_request)?;
    let engine = Arc::clone(&request.database.engine);
    let queries = EngineQueries::new(engine, request.state.settings.expand_rows);
    let changed = blocking::run(move || {
        let changed = queries.set_where(&table.schema, condition, values);
        Ok(changed.map_err(|error| table.name_error(error))?)
    });
    Ok(report(changed.await?))
}

/// `DELETE /tables/{table}/rows?filter=`: deletes all rows that match.
pub(crate) async fn delete(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    let (table, condition) = take(request, name).await?;
    let database = Arc::clone(&request.database);
    let changed = blocking::run(move || Ok(change(&database, &table, &condition, None)?));
    Ok(report(changed.await?))
}

/// The table, and the rows to change. Without a filter nothing is changed: it is too easily forgotten.
async fn take(
    request: &mut RequestContext,
    name: &str,
) -> Result<(Arc<CachedTable>, Condition), Problem> {
    let table = request.table(name).await?;
    let condition = take_filter(&mut request.parameters, "", &table, None)?;
    request.parameters.finish()?;
    if !Precondition::new(request.headers()).is_empty() {
        let message =
            "If-Match and If-None-Match are for the state of one row: change it by its key";
        return Err(Problem::bad_request(message));
    }
    table.schema.check_writable()?;
    let missing = || Problem::bad_request("which rows? Name them by 'filter'");
    Ok((table, condition.ok_or_else(missing)?))
}

/// What a body sets.
fn assignments(table: &CachedTable, body: &[u8]) -> Result<Vec<Assign>> {
    let schema = &table.schema;
    let row = parse_row(table, body)?;
    row.check_nulls(table)?;
    if schema.key().iter().chain(&schema.version()).any(|position| row.given.contains(*position)) {
        let message = "the key and the version can't be set in several rows at once";
        return Err(table.name_error(Error::new(ErrorKind::Misuse, message)));
    }
    let value = |position: usize| row.values.get(position).cloned().unwrap_or_default();
    let set = |column: usize| Assign::Set { column, value: Value::into_owned(value(column)) };
    let mut assigns: Vec<Assign> = row.given.iter().map(set).collect();
    if assigns.is_empty() {
        let message = "the body names no column to set";
        return Err(table.name_error(Error::new(ErrorKind::Misuse, message)));
    }
    stamp_assignments(schema, &mut assigns);
    Ok(assigns)
}

fn change(
    database: &DatabaseHandle,
    table: &CachedTable,
    condition: &Condition,
    assign: Option<&[Assign]>,
) -> Result<u64> {
    let change = BulkChange { table: &table.schema, condition: Some(condition), assign };
    let session = database.engine.session()?;
    session.change(&change).map_err(|error| table.name_error(error))
}

fn report(changed: u64) -> ResponseBuilder {
    ResponseBuilder::json(StatusCode::OK, format!("{{\"changed\":{changed}}}\n"))
}
