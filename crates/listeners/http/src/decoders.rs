//! The decoders of this crate, for fuzzing. Not a part of its public API.

use crate::database::change_feed::ChangeFeed;
use crate::database::handle::DatabaseHandle;
use crate::database::table::CachedTable;
use crate::json::NumberFormat;
use crate::json::read::parse_row;
use crate::json::write::write_row;
use crate::problem::Problem;
use crate::request::body_reader::BodyReader;
use crate::request::column_list;
use crate::request::key::parse_key;
use crate::request::parameters::QueryParameters;
use crate::request::selection::RowSelection;
use crate::resources::batch;
use crate::resources::bulk_load::{CommitInterval, LoadOptions};
pub use crate::resources::import::ImportFormat;
use crate::resources::import::RowImport;
use crate::response::compression::ContentCoding;
use crate::response::etag::Etag;
use crate::route::{Resource, Route};
use bobak::aio::Workers;
use bobak_core::{Engine, Error, OnError, Result, TableSchema, Value};
use bobak_permissions::ProtectedDatabase;
use hyper::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue, IF_MATCH};
use std::num::NonZeroU64;
use std::sync::Arc;

/// The most bytes of a line or record.
const MAX_RECORD: usize = 1 << 20;

/// Parses an object as a row, and writes it as JSON. Returns the values and the JSON.
///
/// # Errors
/// Those of the parser.
pub fn row<'j>(schema: &Arc<TableSchema>, json: &'j [u8]) -> Result<(Vec<Value<'j>>, String)> {
    let table = CachedTable::new(Arc::clone(schema));
    let row = parse_row(&table, json)?;
    let mut text = String::new();
    let columns = 0..schema.columns().len();
    write_row(&mut text, &table, columns, NumberFormat::Exact, &row.values.as_slice());
    Ok((row.values, text))
}

/// Parses path and query of a list of rows.
///
/// # Errors
/// Those of the parsers.
pub fn target(schema: &Arc<TableSchema>, target: &str) -> Result<()> {
    let table = CachedTable::new(Arc::clone(schema));
    let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q)));
    let parse = || -> Result<(), Problem> {
        let route = Route::of(path)?;
        let _ = (route.resource.index(), route.resource.methods());
        if let Resource::Row(_, key) = &route.resource {
            let _ = parse_key(&table, key)?;
        }
        let mut parameters = QueryParameters::parse(query)?;
        let columns = parameters.take("columns");
        let _ = columns.map(|list| column_list::positions(&table, &list)).transpose()?;
        let selection = RowSelection::take(&mut parameters, &table, None)?;
        let _ = selection.select(&table, Vec::new(), true)?;
        parameters.finish()
    };
    parse().map_err(error)
}

/// Parses the headers with entity tags and content codings.
pub fn headers(value: &[u8]) {
    let Ok(value) = HeaderValue::from_bytes(value) else { return };
    let mut headers = HeaderMap::new();
    headers.insert(IF_MATCH, value.clone());
    headers.insert(ACCEPT_ENCODING, value);
    let _ = (Etag::of(b"").matches(&headers, &IF_MATCH), ContentCoding::accepted(&headers));
}

/// Imports a body that arrives in chunks, and returns the report. `table` is the table and the body's
/// format; without it, the body is a batch.
///
/// # Errors
/// The one that stopped the import.
pub fn import(
    engine: Arc<dyn Engine>,
    table: Option<(&Arc<TableSchema>, ImportFormat)>,
    on_error: OnError,
    chunks: Vec<Vec<u8>>,
) -> Result<String> {
    let feed = ChangeFeed::new(&engine);
    let protected = ProtectedDatabase::new("main", Arc::clone(&engine));
    let database = DatabaseHandle::new(protected, engine, feed, &Workers::new(1)?);
    let commit = NonZeroU64::new(3).map_or(CommitInterval::End, CommitInterval::Rows);
    let options = LoadOptions { on_error, commit, outcomes: true, max_outcomes_length: MAX_RECORD };
    let body = BodyReader::from_chunks(chunks);
    let result = match table {
        Some((schema, format)) => {
            let table = CachedTable::new(Arc::clone(schema));
            RowImport::new(table, options, format, MAX_RECORD).run(&database, body)
        }
        None => {
            let catalog = database.schema.refresh()?;
            batch::run(&database, &catalog, options, MAX_RECORD, body)
        }
    };
    result.map_err(error)
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn error(problem: Problem) -> Error {
    problem.error().to_bare()
}
