//! Inserts a row.

use crate::database::row_writer::{self, PreparedWrite};
use crate::database::table::CachedTable;
use crate::json::read::parse_row;
use crate::problem::Problem;
use crate::request::context::RequestContext;
use crate::resources::stored_row::{self, created};
use crate::response::builder::ResponseBuilder;
use bobak_core::{FieldSet, GeneratedKey, Outcome, Value, Verb, prepare_dynamic_insert};
use std::sync::Arc;

/// `POST /tables/{table}/rows`
pub(crate) async fn create(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    let table = request.table(name).await?;
    let numbers = request.number_format()?;
    request.parameters.finish()?;
    let prefers_minimal = request.prefers_minimal();
    let body = request.body(&["application/json"]).await?;
    let shared_table = Arc::clone(&table);
    let (row, given_key) =
        row_writer::parse_body(body.len(), move || new_row(shared_table, &body)).await?;
    let shared_table = Arc::clone(&table);
    let (key, row) = row_writer::write(&request.database, row, move |engine, outcome| {
        let key = match outcome {
            Outcome::Inserted(Some(GeneratedKey::Int(key))) => vec![Value::Int(key)],
            Outcome::Inserted(Some(GeneratedKey::Uuid(key))) => {
                vec![Value::from(key.as_bytes().to_vec())]
            }
            _ => given_key,
        };
        let row = match prefers_minimal {
            true => None,
            // The row is inserted, so a failure to read it must not look like a failed insert.
            false => stored_row::find(engine, &shared_table, &key, None, numbers).unwrap_or(None),
        };
        Ok((key, row))
    })
    .await?;
    Ok(created(request, &table, &key, row))
}

/// Parses the row to insert, and its key.
fn new_row(
    table: Arc<CachedTable>,
    json: &[u8],
) -> Result<(PreparedWrite, Vec<Value<'static>>), Problem> {
    let mut row = parse_row(&table, json)?;
    row.complete(&table)?;
    prepare_dynamic_insert(&table.schema, &mut row.values)?;
    let key = row.key(&table).into_iter().map(Value::into_owned).collect();
    let values = row.values.into_iter().map(Value::into_owned).collect();
    let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
    let schema = table.insert_schema(row.given);
    Ok((PreparedWrite { table, schema, verb, fields, values }, key))
}
