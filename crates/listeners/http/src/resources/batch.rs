//! Writes rows of several tables in one transaction, one operation per line.

use crate::database::handle::DatabaseHandle;
use crate::database::schema_cache::VisibleTables;
use crate::database::table::CachedTable;
use crate::json::error::invalid_json;
use crate::json::read::parse_row;
use crate::problem::Problem;
use crate::request::body_reader::{self, BodyReader};
use crate::request::context::RequestContext;
use crate::request::line_splitter::LineSplitter;
use crate::resources::bulk_load::{BulkLoad, CommitInterval, LoadOptions};
use crate::response::builder::ResponseBuilder;
use bobak_core::{Error, ErrorKind, Result, Verb};
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;

/// A line of a batch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchOperation<'a> {
    op: BatchVerb,
    #[serde(borrow)]
    table: Cow<'a, str>,
    /// The columns of a unique index, for an upsert by them.
    #[serde(borrow, default)]
    on: Vec<Cow<'a, str>>,
    #[serde(borrow)]
    row: &'a RawValue,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BatchVerb {
    Insert,
    Ignore,
    Replace,
    Upsert,
    Update,
    Delete,
}

/// `POST /batch`
pub(crate) async fn batch(request: &mut RequestContext) -> Result<ResponseBuilder, Problem> {
    request.check_media_type(&["application/x-ndjson", "application/jsonl"])?;
    let max_length = request.state.settings.max_response;
    let options = LoadOptions::take(&mut request.parameters, CommitInterval::End, max_length)?;
    request.parameters.finish()?;
    let catalog = request.database.schema.catalog().await?;
    let (database, max_line) = (Arc::clone(&request.database), request.state.settings.max_body);
    let work = move |body| run(&database, &catalog, options, max_line, body);
    let report = body_reader::consume(request, work).await?;
    Ok(ResponseBuilder::json(StatusCode::OK, report))
}

/// Runs a batch, and returns its report as JSON. `max_line` is the most bytes of a line.
pub(crate) fn run(
    database: &DatabaseHandle,
    catalog: &VisibleTables,
    options: LoadOptions,
    max_line: usize,
    body: BodyReader,
) -> Result<String, Problem> {
    let mut load = BulkLoad::new(&*database.engine, options);
    // An aborted body stops the batch, just as an invalid row does.
    read(&mut load, catalog, max_line, body).map_err(|problem| load.stopped_at_row(problem))?;
    load.finish().map_err(|error| load.stopped(error))
}

fn read(
    load: &mut BulkLoad<'_>,
    catalog: &VisibleTables,
    max_line: usize,
    mut body: BodyReader,
) -> Result<(), Problem> {
    let mut splitter = LineSplitter::new(max_line);
    let mut each = |line: &[u8]| add(load, catalog, line);
    while let Some(chunk) = body.next_chunk() {
        splitter.push(&chunk, &mut each)?;
    }
    match body.failure {
        Some(problem) => Err(problem),
        None => Ok(splitter.finish(&mut each)?),
    }
}

/// Adds a line. A line that is not an operation stops the batch even with `errors=skip`, because the
/// client and the server do not understand each other.
fn add(load: &mut BulkLoad<'_>, catalog: &VisibleTables, line: &[u8]) -> Result<()> {
    let number = load.rows();
    let operation: BatchOperation<'_> =
        serde_json::from_slice(line).map_err(|error| invalid_json(&error).at_row(number))?;
    let Some(table) = catalog.table(&operation.table) else {
        let error = Error::new(ErrorKind::NotFound, "the table does not exist").at_row(number);
        return Err(error.in_table(operation.table.into_owned()));
    };
    let verb = upsert_on(table, operation.op.verb(), operation.on.iter().map(|name| &**name))
        .map_err(|error| table.name_error(error).at_row(number))?;
    let row = parse_row(table, operation.row.get().as_bytes());
    load.add(table, verb, row)
}

/// The verb of an upsert by these columns, or the verb itself if there are none.
///
/// # Errors
/// `Misuse` if it is no upsert; `Schema` if the columns are neither the key nor those of a unique index.
pub(super) fn upsert_on<'n>(
    table: &CachedTable,
    verb: Verb,
    columns: impl IntoIterator<Item = &'n str>,
) -> Result<Verb> {
    let columns = columns.into_iter().map(|name| table.schema.column(name));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    match (columns.is_empty(), verb) {
        (true, verb) => Ok(verb),
        (false, Verb::Upsert) => Verb::upsert_by(&table.schema, &columns),
        _ => Err(Error::new(ErrorKind::Misuse, "'on' names the columns of an upsert only")),
    }
}

impl BatchVerb {
    const fn verb(self) -> Verb {
        match self {
            Self::Insert => Verb::Insert,
            Self::Ignore => Verb::InsertOrIgnore,
            Self::Replace => Verb::InsertOrReplace,
            Self::Upsert => Verb::Upsert,
            Self::Update => Verb::Update,
            Self::Delete => Verb::Delete,
        }
    }
}
