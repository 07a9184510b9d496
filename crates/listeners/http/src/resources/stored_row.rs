//! A row as responses contain it.

use crate::database::table::CachedTable;
use crate::json::NumberFormat;
use crate::json::write::write_row;
use crate::request::context::RequestContext;
use crate::request::key::encode_exact_key;
use crate::response::builder::ResponseBuilder;
use crate::response::etag::Etag;
use bobak_core::{Engine, Result, Row, Value};
use hyper::StatusCode;
use hyper::header::{ETAG, LOCATION};

/// A row as JSON, with its entity tag.
pub(crate) struct RowDocument {
    pub body: String,
    pub etag: Etag,
}

impl RowDocument {
    /// `columns` are the positions of the columns to write, `None` for all.
    pub fn new(
        table: &CachedTable,
        row: &dyn Row,
        columns: Option<&[usize]>,
        numbers: NumberFormat,
    ) -> Self {
        let mut body = String::with_capacity(256);
        // The tag covers all columns, whichever the client wants.
        write_row(&mut body, table, 0..table.schema.columns().len(), NumberFormat::Exact, row);
        let etag = Etag::of(body.as_bytes());
        table.note_length(body.len());
        if columns.is_some() || numbers != NumberFormat::Exact {
            body.clear();
            let all: Vec<usize> = (0..table.schema.columns().len()).collect();
            let columns = columns.unwrap_or(&all);
            let values: Vec<Value<'_>> =
                columns.iter().map(|&position| row.get(position).into()).collect();
            write_row(&mut body, table, columns.iter().copied(), numbers, &values.as_slice());
        }
        body.push('\n');
        Self { body, etag }
    }

    pub fn into_response(self, status: StatusCode) -> ResponseBuilder {
        ResponseBuilder::json(status, self.body).with(ETAG, self.etag.as_str())
    }
}

/// Reads these columns, `None` for all, of the row with this key; `None` if it does not exist.
///
/// # Errors
/// The engine's.
pub(crate) fn find(
    engine: &dyn Engine,
    table: &CachedTable,
    key: &[Value<'_>],
    columns: Option<&[usize]>,
    numbers: NumberFormat,
) -> Result<Option<RowDocument>> {
    let mut document = None;
    engine.get(&table.schema, key, &mut |row| {
        document = Some(RowDocument::new(table, row, columns, numbers));
        Ok(())
    })?;
    Ok(document)
}

/// The response for a new row, with its location, unless its key has no exact one: 201 with the row, 204 if `row` is `None`.
pub(crate) fn created(
    request: &RequestContext,
    table: &CachedTable,
    key: &[Value<'_>],
    row: Option<RowDocument>,
) -> ResponseBuilder {
    let path = request.parts.uri.path();
    let rows = match path.rsplit_once("/rows") {
        Some((table, _)) => format!("{table}/rows"),
        None => path.to_owned(),
    };
    let response = match row {
        Some(row) => row.into_response(StatusCode::CREATED),
        None => ResponseBuilder::empty(StatusCode::NO_CONTENT),
    };
    match encode_exact_key(table, key) {
        Some(key) => response.with(LOCATION, &format!("{rows}/{key}")),
        None => response,
    }
}
