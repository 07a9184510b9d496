//! A new row.

use crate::answer::Answer;
use crate::call::Call;
use crate::json::read_row;
use crate::key::write_key;
use crate::model::Table;
use crate::problem::Problem;
use crate::row::{self, Found};
use crate::write::{self, RowWrite};
use bobak_core::{FieldSet, GivenKey, Outcome, Value, Verb, prepare_row};
use hyper::StatusCode;
use hyper::header::LOCATION;
use std::sync::Arc;

/// `POST /tables/{table}/rows`
pub(crate) async fn create(call: &mut Call, name: &str) -> Result<Answer, Problem> {
    let table = call.table(name).await?;
    let numbers = call.numbers()?;
    call.parameters.finish()?;
    let minimal = call.wants_minimal();
    let body = call.body(&["application/json"]).await?;
    let theirs = Arc::clone(&table);
    let (row, given) = write::prepare(body.len(), move || new_row(theirs, &body)).await?;
    let theirs = Arc::clone(&table);
    let (key, row) = write::write(&call.base, row, move |engine, outcome| {
        let key = match outcome {
            Outcome::Inserted(Some(GivenKey::Int(key))) => vec![Value::Int(key)],
            _ => given,
        };
        let row = match minimal {
            true => None,
            // It is made: that it can't be read is no reason to say otherwise.
            false => row::find(engine, &theirs, &key, numbers).unwrap_or(None),
        };
        Ok((key, row))
    })
    .await?;
    Ok(created(call, &table, &key, row))
}

/// The answer that tells of a new row and where it is.
pub(crate) fn created(call: &Call, table: &Table, key: &[Value<'_>], row: Option<Found>) -> Answer {
    let place = call.head.uri.path();
    let rows = match place.rsplit_once("/rows") {
        Some((before, _)) => format!("{before}/rows"),
        None => place.to_owned(),
    };
    let answer = match row {
        Some(found) => found.into_answer(StatusCode::CREATED),
        None => Answer::empty(StatusCode::CREATED),
    };
    answer.with(LOCATION, &format!("{rows}/{}", write_key(table, key)))
}

/// A row to insert, from an object, and its key.
fn new_row(table: Arc<Table>, json: &[u8]) -> Result<(RowWrite, Vec<Value<'static>>), Problem> {
    let mut cells = read_row(&table, json)?;
    cells.complete(&table)?;
    prepare_row(&table.schema, &mut cells.values)?;
    let key = cells.key(&table).into_iter().map(Value::into_owned).collect();
    let values = cells.values.into_iter().map(Value::into_owned).collect();
    let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
    let schema = table.schema_for(cells.given);
    Ok((RowWrite { table, schema, verb, fields, values }, key))
}
