//! Imports any number of rows into one table, as NDJSON, CSV, or a stream in Arrow IPC.

use crate::database::handle::DatabaseHandle;
use crate::database::table::CachedTable;
use crate::json::ParsedRow;
use crate::json::read::parse_row;
use crate::problem::Problem;
use crate::request::body_reader::{self, BodyReader};
use crate::request::column_list::duplicate_name;
use crate::request::context::RequestContext;
use crate::request::line_splitter::LineSplitter;
use crate::request::media_type::media_type_of;
use crate::resources::batch::upsert_on;
use crate::resources::bulk_load::{BulkLoad, CommitInterval, LoadOptions};
use crate::response::builder::ResponseBuilder;
use bobak_core::{Error, ErrorKind, FieldSet, Result, Type, Value, Verb};
use bobak_text::csv::{EXPLICIT, QuoteMarker, has_empty_value};
use bobak_text::read;
use csv::ByteRecord;
use hyper::StatusCode;
use hyper::header::CONTENT_TYPE;
use std::io::{self, Cursor, Read};
use std::sync::Arc;

const NDJSON: &str = "application/x-ndjson";
const CSV: &str = "text/csv";
/// A record after the last one of a CSV body. If a quote is left open, the last record swallows it,
/// which the CSV reader itself does not detect.
const SENTINEL: &str = "\u{0}end of the body\u{0}";

/// The format of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// A row of JSON in each line.
    Ndjson,
    /// CSV with a header.
    Csv,
    /// A stream in Arrow IPC.
    #[cfg(feature = "arrow")]
    Arrow,
}

/// The media types of bodies.
const FORMATS: &[(&str, ImportFormat)] = &[
    (NDJSON, ImportFormat::Ndjson),
    ("application/jsonl", ImportFormat::Ndjson),
    (CSV, ImportFormat::Csv),
    #[cfg(feature = "arrow")]
    (bobak::arrow::STREAM_MEDIA_TYPE, ImportFormat::Arrow),
];

/// An import into a table.
pub(crate) struct RowImport {
    pub(super) table: Arc<CachedTable>,
    pub(super) verb: Verb,
    options: LoadOptions,
    format: ImportFormat,
    /// The text for NULL in CSV.
    null: String,
    /// The most bytes of a line, record or record batch.
    pub(super) max_record: usize,
}

/// `POST /tables/{table}/import`
pub(crate) async fn import(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    let table = request.table(name).await?;
    request.check_media_type(&FORMATS.iter().map(|(name, _)| *name).collect::<Vec<_>>())?;
    let media_type = media_type_of(request.headers(), &CONTENT_TYPE);
    let format = FORMATS.iter().find(|(name, _)| name.eq_ignore_ascii_case(media_type));
    let format = format.map_or(ImportFormat::Ndjson, |(_, format)| *format);
    let modes = [
        ("insert", Verb::Insert),
        ("ignore", Verb::InsertOrIgnore),
        ("replace", Verb::InsertOrReplace),
        ("upsert", Verb::Upsert),
        ("update", Verb::Update),
        ("delete", Verb::Delete),
    ];
    let verb = request.parameters.choice("mode", &modes)?.unwrap_or(Verb::Insert);
    let on = request.parameters.take("on").unwrap_or_default();
    let columns = on.split(',').map(str::trim).filter(|name| !name.is_empty());
    let verb = upsert_on(&table, verb, columns).map_err(|error| table.name_error(error))?;
    let max_length = request.state.settings.max_response;
    let options = LoadOptions::take(&mut request.parameters, CommitInterval::Batch, max_length)?;
    let null = request.parameters.take("null").unwrap_or_default();
    request.parameters.finish()?;
    let max_record = request.state.settings.max_body;
    let import = RowImport { table, verb, options, format, null, max_record };
    let database = Arc::clone(&request.database);
    let report = body_reader::consume(request, move |body| import.run(&database, body)).await?;
    Ok(ResponseBuilder::json(StatusCode::OK, report))
}

impl RowImport {
    /// An import of new rows, for [`decoders`](crate::decoders).
    pub fn new(
        table: CachedTable,
        options: LoadOptions,
        format: ImportFormat,
        max_record: usize,
    ) -> Self {
        let (table, null) = (Arc::new(table), String::new());
        Self { table, verb: Verb::Insert, options, format, null, max_record }
    }

    /// Imports a body, and returns the report as JSON.
    pub fn run(&self, database: &DatabaseHandle, body: BodyReader) -> Result<String, Problem> {
        let mut load = BulkLoad::new(&*database.engine, self.options);
        let result = match self.format {
            ImportFormat::Ndjson => self.read_ndjson(&mut load, body),
            ImportFormat::Csv => self.read_csv(&mut load, body),
            #[cfg(feature = "arrow")]
            ImportFormat::Arrow => self.read_arrow(&mut load, body),
        };
        // An aborted body stops the import, just as an invalid row does.
        result.map_err(|problem| load.stopped_at_row(problem))?;
        load.finish().map_err(|error| load.stopped(error))
    }

    fn read_ndjson(&self, load: &mut BulkLoad<'_>, mut body: BodyReader) -> Result<(), Problem> {
        let mut splitter = LineSplitter::new(self.max_record);
        let mut each = |line: &[u8]| load.add(&self.table, self.verb, parse_row(&self.table, line));
        while let Some(chunk) = body.next_chunk() {
            splitter.push(&chunk, &mut each)?;
        }
        match body.failure {
            Some(problem) => Err(problem),
            None => Ok(splitter.finish(&mut each)?),
        }
    }

    fn read_csv(&self, load: &mut BulkLoad<'_>, body: BodyReader) -> Result<(), Problem> {
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .from_reader(CsvRowReader::new(body, self.max_record));
        let header = reader.byte_headers().map_err(csv_problem).cloned();
        let positions = match header {
            Ok(header) if reader.get_ref().is_at_end() && ends_with_sentinel(&header) => {
                return if is_sentinel(&header) { Ok(()) } else { Err(open_quote().into()) };
            }
            Ok(header) => self.positions(&header)?,
            Err(problem) => return Err(reader.into_inner().failure().unwrap_or(problem)),
        };
        let mut record = ByteRecord::new();
        loop {
            reader.get_mut().remaining = self.max_record;
            match reader.read_byte_record(&mut record) {
                Ok(true) if reader.get_ref().is_at_end() && ends_with_sentinel(&record) => {
                    if is_sentinel(&record) {
                        return Ok(());
                    }
                    return Err(self.table.name_error(open_quote()).into());
                }
                Ok(false) => return Ok(()),
                Ok(true) => load.add(&self.table, self.verb, self.parse(&positions, &record))?,
                Err(error) => {
                    let failure = reader.into_inner().failure();
                    return Err(failure.unwrap_or_else(|| csv_problem(error)));
                }
            }
        }
    }

    /// The positions of the columns in the header.
    fn positions(&self, header: &ByteRecord) -> Result<Vec<usize>, Problem> {
        let mut positions = Vec::with_capacity(header.len());
        for name in header {
            let name = String::from_utf8_lossy(name.strip_prefix(EXPLICIT).unwrap_or(name));
            let name = name.strip_prefix('\u{feff}').unwrap_or(&name);
            let position = self.table.schema.column(name)?;
            if positions.contains(&position) {
                return Err(duplicate_name(name).into());
            }
            positions.push(position);
        }
        Ok(positions)
    }

    fn parse<'r>(&self, positions: &[usize], record: &'r ByteRecord) -> Result<ParsedRow<'r>> {
        let (fields, expected) = (record.len(), positions.len());
        if fields != expected {
            let message = format!("the record has {fields} fields, but the header has {expected}");
            return Err(Error::new(ErrorKind::Syntax, message));
        }
        let columns = self.table.schema.columns();
        let mut values = vec![Value::Null; columns.len()];
        for (&position, field) in positions.iter().zip(record) {
            let (Some(column), Some(slot)) = (columns.get(position), values.get_mut(position))
            else {
                continue;
            };
            // A quoted empty field is an empty value, if the type has one. One that is alone would otherwise be an empty line,
            // which readers skip.
            let (field, is_quoted) =
                field.strip_prefix(EXPLICIT).map_or((field, false), |rest| (rest, expected > 1));
            let can_be_null = column.nullable || self.table.is_generated(position);
            let is_value = is_quoted && has_empty_value(column.ty) && column.ty != Type::Json;
            if can_be_null && !is_value && field == self.null.as_bytes() {
                continue;
            }
            let mismatch =
                |why| Error::new(ErrorKind::Mismatch, why).in_column(column.name.clone());
            let value = read::parse(column.ty, field).map_err(mismatch)?;
            *slot = match column.check_stored(value.as_ref()) {
                Ok(()) if !column.ty.has_text_form() => value,
                _ => column.accept(value)?,
            };
        }
        Ok(ParsedRow { values, given: positions.iter().copied().collect::<FieldSet>() })
    }
}

fn csv_problem(error: csv::Error) -> Problem {
    if let csv::ErrorKind::Io(error) = error.kind()
        && error.kind() == io::ErrorKind::FileTooLarge
    {
        return Problem::too_large(error.to_string());
    }
    Problem::bad_request(format!("invalid CSV: {error}"))
}

fn open_quote() -> Error {
    Error::new(ErrorKind::Syntax, "unclosed quote in the last record")
}

fn is_sentinel(record: &ByteRecord) -> bool {
    record.len() == 1 && record.get(0) == Some(SENTINEL.as_bytes())
}

fn ends_with_sentinel(record: &ByteRecord) -> bool {
    let last = record.len().checked_sub(1).and_then(|last| record.get(last));
    last.is_some_and(|field| {
        field.strip_suffix(b"\n").unwrap_or(field).ends_with(SENTINEL.as_bytes())
    })
}

/// A CSV body that limits the length of a record and ends with the [`SENTINEL`].
struct CsvRowReader {
    body: QuoteMarker<BodyReader>,
    /// How many bytes the current record may still have.
    remaining: usize,
    max_record: usize,
    /// The sentinel, from the end of the body on.
    sentinel: Option<Cursor<String>>,
}

impl CsvRowReader {
    const fn new(body: BodyReader, max_record: usize) -> Self {
        let body = QuoteMarker::new(body, b',');
        Self { body, remaining: max_record, max_record, sentinel: None }
    }

    const fn is_at_end(&self) -> bool {
        self.sentinel.is_some()
    }

    /// Why the body could not be read.
    fn failure(self) -> Option<Problem> {
        self.body.into_inner().failure
    }
}

impl Read for CsvRowReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.remaining == 0 {
            let message = format!("a record has more than {} bytes", self.max_record);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        if let Some(sentinel) = &mut self.sentinel {
            return sentinel.read(buffer);
        }
        let count = self.body.read(buffer)?;
        if count == 0 && !buffer.is_empty() {
            let sentinel = self.sentinel.insert(Cursor::new(format!("\n{SENTINEL}\n")));
            return sentinel.read(buffer);
        }
        self.remaining = self.remaining.saturating_sub(count);
        Ok(count)
    }
}
