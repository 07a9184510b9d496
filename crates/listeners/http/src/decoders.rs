//! The decoders of this crate, for those who try them with any bytes: no part of its interface.

use crate::batch;
use crate::coding::Coding;
use crate::etag::Etag;
use crate::feed::Feed;
use crate::import::Import;
use crate::json::{Numbers, read_row, write_row};
use crate::key::read_key;
use crate::load::{Commit, LoadOptions};
use crate::model::{Base, Table};
use crate::parameters::Parameters;
use crate::problem::Problem;
use crate::route::{Resource, Route};
use crate::selection::Selection;
use crate::stream::Inflow;
use bobak::aio::Workers;
use bobak_core::{Engine, Error, OnError, Result, TableSchema, Value};
use hyper::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue, IF_MATCH};
use std::num::NonZeroU64;
use std::sync::Arc;

/// The longest line, or record, that is taken.
const LONGEST: usize = 1 << 20;

/// Reads one object as a row, writes it, and gives its values and its text.
///
/// # Errors
/// What is wrong with it.
pub fn row<'j>(schema: &Arc<TableSchema>, json: &'j [u8]) -> Result<(Vec<Value<'j>>, String)> {
    let table = Table::new(Arc::clone(schema));
    let cells = read_row(&table, json)?;
    let mut text = String::new();
    let places = 0..schema.columns().len();
    write_row(&mut text, &table, places, Numbers::Exact, &cells.values.as_slice());
    Ok((cells.values, text))
}

/// Reads a path and what stands behind its question mark, as a list of rows would.
///
/// # Errors
/// What is wrong with it.
pub fn target(schema: &Arc<TableSchema>, target: &str) -> Result<()> {
    let table = Table::new(Arc::clone(schema));
    let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q)));
    let read = || -> Result<(), Problem> {
        let route = Route::of(path)?;
        let _ = (route.resource.place(), route.resource.allow());
        if let Resource::Row(_, key) = &route.resource {
            let _ = read_key(&table, key)?;
        }
        let mut parameters = Parameters::read(query)?;
        let columns = parameters.take("columns");
        let _ = columns.map(|names| table.places(&names)).transpose()?;
        let selection = Selection::take(&mut parameters, &table)?;
        let _ = selection.select(&table, Vec::new())?;
        parameters.finish()
    };
    read().map_err(error)
}

/// Reads the headers of tags and codings.
pub fn headers(value: &[u8]) {
    let Ok(value) = HeaderValue::from_bytes(value) else { return };
    let mut headers = HeaderMap::new();
    headers.insert(IF_MATCH, value.clone());
    headers.insert(ACCEPT_ENCODING, value);
    let _ = (Etag::of(b"").is_in(&headers, &IF_MATCH), Coding::wanted(&headers));
}

/// Imports a body that comes in parts, and gives the report: into a table, as CSV or NDJSON; or, without one, as a batch
/// over several tables.
///
/// # Errors
/// What stopped it.
pub fn import(
    engine: Arc<dyn Engine>,
    table: Option<(&Arc<TableSchema>, bool)>,
    on_error: OnError,
    parts: Vec<Vec<u8>>,
) -> Result<String> {
    let feed = Feed::new(&engine);
    let base = Base::new("main", engine, feed, &Workers::new(1)?);
    let commit = NonZeroU64::new(3).map_or(Commit::End, Commit::Rows);
    let options = LoadOptions { on_error, commit, outcomes: true, longest: LONGEST };
    let body = Inflow::of_parts(parts);
    let done = match table {
        Some((schema, csv)) => {
            Import::new(Table::new(Arc::clone(schema)), options, csv, LONGEST).run(&base, body)
        }
        None => batch::run(&base, &*base.refresh()?, options, LONGEST, body),
    };
    done.map_err(error)
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn error(problem: Problem) -> Error {
    problem.error().to_bare()
}
