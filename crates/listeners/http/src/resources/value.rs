//! One value of bytes: read, whole or in part, and replaced, without holding it in memory.

use crate::database::table::CachedTable;
use crate::problem::Problem;
use crate::request::body_reader::{self, BodyReader};
use crate::request::context::RequestContext;
use crate::request::key::parse_key;
use crate::request::precondition::Precondition;
use crate::request::range::RequestedRange;
use crate::response::builder::{Body, ResponseBuilder};
use crate::response::compression::ContentCoding;
use crate::response::etag::Etag;
use crate::response::stream;
use crate::workers::blocking;
use bobak_core::{
    Engine, Error, ErrorKind, Result, Session, TransactionControl, Value, ValueAddress, ValueRange,
    ValueState,
};
use bytes::Bytes;
use hyper::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH,
};
use hyper::{Method, StatusCode};
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

/// How many bytes are read at once.
const PART: usize = 256 << 10;
/// Up to so many bytes are sent at once; more are streamed.
const MAX_AT_ONCE: u64 = 1 << 20;
const MEDIA_TYPE: &str = "application/octet-stream";

/// A value in the path of a request.
struct PathValue {
    table: Arc<CachedTable>,
    key: Vec<Value<'static>>,
    column: usize,
}

/// A value as it was found.
#[derive(Clone)]
struct FoundValue {
    state: ValueState,
    /// `None` for a long value in a table without versions: only reading all of it would tell whether it has changed.
    etag: Option<Etag>,
}

/// `GET /tables/{table}/rows/{key}/columns/{column}`
pub(crate) async fn get(
    request: &mut RequestContext,
    (table, key, column): (&str, &str, &str),
) -> Result<ResponseBuilder, Problem> {
    let value = Arc::new(PathValue::take(request, table, key, column).await?);
    let (shared, database) = (Arc::clone(&value), Arc::clone(&request.database));
    let find = move || Ok(shared.find(&*database.engine.session()?)?);
    let found = blocking::run(find).await?.ok_or_else(Problem::not_found)?;
    let Some(length) = found.state.length else {
        return Ok(ResponseBuilder::empty(StatusCode::NO_CONTENT));
    };
    let headers = request.headers();
    let etag = found.etag.as_ref();
    if etag.and_then(|etag| etag.matches(headers, &IF_NONE_MATCH)) == Some(true) {
        return Ok(found.tag(ResponseBuilder::empty(StatusCode::NOT_MODIFIED)));
    }
    let (status, range) = match RequestedRange::of(headers, length, etag) {
        RequestedRange::Whole => (StatusCode::OK, 0..length),
        RequestedRange::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        RequestedRange::Unsatisfiable => return Err(unsatisfiable(length)),
    };
    let count = range.end - range.start;
    let response = if request.parts.method == Method::HEAD {
        ResponseBuilder::empty(status)
    } else if count <= MAX_AT_ONCE {
        let database = Arc::clone(&request.database);
        let (state, bytes) = (found.state, range.clone());
        let read = move || Ok(value.read_into_memory(&*database.engine, state, bytes)?);
        ResponseBuilder::new(status, Body::Full(Some(Bytes::from(blocking::run(read).await?))))
    } else {
        send(request, value, found.state, range.clone()).await?.with_status(status)
    };
    let mut response = found.tag(response).with(CONTENT_LENGTH, &count.to_string());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    response.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if status == StatusCode::OK {
        return Ok(response);
    }
    let range = format!("bytes {}-{}/{length}", range.start, range.end - 1);
    Ok(response.with(CONTENT_RANGE, &range))
}

/// `PUT /tables/{table}/rows/{key}/columns/{column}`: the body is the value.
pub(crate) async fn put(
    request: &mut RequestContext,
    (table, key, column): (&str, &str, &str),
) -> Result<ResponseBuilder, Problem> {
    let value = PathValue::take(request, table, key, column).await?;
    request.check_media_type(&[MEDIA_TYPE])?;
    if request.headers().contains_key(CONTENT_RANGE) {
        let message =
            "a part of a value can't be written: send the whole value, without Content-Range";
        return Err(Problem::bad_request(message));
    }
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let Some(length) = length.and_then(|length| length.parse::<u64>().ok()) else {
        let message = "the request must say how long the value is: send a Content-Length";
        return Err(Problem::new(StatusCode::LENGTH_REQUIRED, ErrorKind::Misuse, message));
    };
    let limit = request.state.settings.max_value;
    if length > limit {
        return Err(Problem::too_large(format!("the value is longer than {limit} bytes")));
    }
    let (database, precondition) =
        (Arc::clone(&request.database), Precondition::new(request.headers()));
    let work = move |mut body: BodyReader| {
        let session = database.engine.session()?;
        let written = value.write_if(&*session, &precondition, length, &mut body);
        match (written, body.failure.take()) {
            (Err(_), Some(failure)) => Err(failure),
            (written, _) => written,
        }
    };
    let found = body_reader::consume(request, work).await?.ok_or_else(Problem::not_found)?;
    Ok(found.tag(ResponseBuilder::empty(StatusCode::NO_CONTENT)))
}

/// Streams a part of a value, from one state of it.
async fn send(
    request: &RequestContext,
    value: Arc<PathValue>,
    state: ValueState,
    range: Range<u64>,
) -> Result<ResponseBuilder, Problem> {
    let database = Arc::clone(&request.database);
    let work = move |out: &mut dyn Write| {
        value.read(&*database.engine, state, range, &mut |part| {
            out.write_all(part).map_err(|error| Error::io("send the value", error))
        })
    };
    let (state, peer) = (Arc::clone(&request.state), Arc::clone(&request.peer));
    let log = move |error| state.log_peer(&peer, format_args!("got an aborted value: {error}"));
    let permit = request.stream_permit()?;
    stream::stream(permit, MEDIA_TYPE, ContentCoding::Identity, work, log).await
}

impl PathValue {
    async fn take(
        request: &mut RequestContext,
        table: &str,
        key: &str,
        column: &str,
    ) -> Result<Self, Problem> {
        let table = request.table(table).await?;
        let key = parse_key(&table, key)?;
        request.parameters.finish()?;
        let columns = table.schema.columns();
        let column = columns.iter().position(|one| *one.name == *column);
        let value = Self { key, column: column.ok_or_else(Problem::not_found)?, table };
        value.address().check()?;
        Ok(value)
    }

    fn address(&self) -> ValueAddress<'_> {
        ValueAddress { table: &self.table.schema, key: &self.key, column: self.column }
    }

    /// The value's length and tag; `None` if there is no such row.
    fn find(&self, session: &dyn Session) -> Result<Option<FoundValue>> {
        let mut first = Vec::new();
        let range = ValueRange { offset: 0, limit: PART };
        let state = session.read_part(&self.address(), range, &mut first);
        let Some(state) = state.map_err(|error| self.table.name_error(error))? else {
            return Ok(None);
        };
        first.truncate(PART);
        let is_whole = state.length.is_none_or(|length| length <= PART as u64);
        let etag = (is_whole || state.version.is_some()).then(|| {
            first.extend_from_slice(format!("{:?}", (state.version, state.length)).as_bytes());
            Etag::of(&first)
        });
        Ok(Some(FoundValue { state, etag }))
    }

    fn read_into_memory(
        &self,
        engine: &dyn Engine,
        state: ValueState,
        range: Range<u64>,
    ) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read(engine, state, range, &mut |part| {
            bytes.extend_from_slice(part);
            Ok(())
        })?;
        Ok(bytes)
    }

    /// Passes a part of the value on in pieces, as long as it is in this state.
    fn read(
        &self,
        engine: &dyn Engine,
        state: ValueState,
        range: Range<u64>,
        each: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let session = engine.session()?;
        match session.begin_reading() {
            Err(error) if error.kind() != ErrorKind::Unsupported => return Err(error),
            // Without a snapshot, the state shows whether the row has changed.
            _ => {}
        }
        let (mut offset, mut part) = (range.start, Vec::new());
        // An engine that has the whole value in memory reads it once.
        let most = if engine.capabilities().value_parts { PART as u64 } else { u64::MAX };
        while offset < range.end {
            part.clear();
            let limit = usize::try_from((range.end - offset).min(most)).unwrap_or(usize::MAX);
            let found = session.read_part(&self.address(), ValueRange { offset, limit }, &mut part);
            let found = found.map_err(|error| self.table.name_error(error))?;
            if found != Some(state) || part.is_empty() {
                let message = "the row was changed while its value was read: read it again";
                return Err(self.address().error(ErrorKind::Conflict, message));
            }
            each(&part)?;
            offset += part.len() as u64;
        }
        Ok(())
    }

    /// Writes the value under the preconditions; `None` if there is no such row.
    fn write_if(
        &self,
        session: &dyn Session,
        precondition: &Precondition,
        length: u64,
        source: &mut BodyReader,
    ) -> Result<Option<FoundValue>, Problem> {
        let checks = !precondition.is_empty();
        if checks {
            session.control(TransactionControl::Begin)?;
            let found = self.find(session)?;
            precondition.check(found.and_then(|found| found.etag).as_ref())?;
        }
        let written = session.write_value(&self.address(), length, source);
        let is_found = written.map_err(|error| self.table.name_error(error))?;
        if checks {
            session.control(TransactionControl::Commit)?;
        }
        // The client may be allowed to write and not to read.
        let now = self.find(session).unwrap_or(None);
        let nothing = FoundValue { state: ValueState::default(), etag: None };
        Ok(is_found.then(|| now.unwrap_or(nothing)))
    }
}

impl FoundValue {
    /// Adds the tag.
    fn tag(&self, response: ResponseBuilder) -> ResponseBuilder {
        match &self.etag {
            Some(etag) => response.with(ETAG, etag.as_str()),
            None => response,
        }
    }
}

fn unsatisfiable(length: u64) -> Problem {
    let message = format!("the value has {length} bytes, and none in this range");
    let problem = Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, ErrorKind::OutOfRange, message);
    match HeaderValue::from_str(&format!("bytes */{length}")) {
        Ok(range) => problem.header(CONTENT_RANGE, range),
        Err(_) => problem,
    }
}
