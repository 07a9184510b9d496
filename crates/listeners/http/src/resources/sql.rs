//! Executes an SQL statement, if the settings permit it.

use crate::json::NumberFormat;
use crate::json::error::invalid_json;
use crate::json::plan::plan_json;
use crate::json::sql_arguments::parse_arguments;
use crate::json::write::write_cell;
use crate::problem::Problem;
use crate::request::context::RequestContext;
use crate::request::media_type::negotiate;
use crate::resources::export::{write_csv_field, write_csv_value};
#[cfg(feature = "arrow")]
use crate::response::arrow_stream::write_arrow;
use crate::response::builder::ResponseBuilder;
use crate::response::compression::ContentCoding;
use crate::response::stream;
use crate::settings::SqlAccess;
use crate::workers::blocking;
use bobak_core::plan::{ExplainedQuery, QueryPlan};
use bobak_core::sql_token::{SqlSyntax, SqlTokenizer};
use bobak_core::{
    Error, ErrorKind, Parameter, Result, ResultColumn, Row, RowBuffer, Session, Source,
    SqlArguments, TransactionControl,
};
use bobak_permissions::read_only_policy;
use bobak_sql::{only_reads, returns_rows};
use bobak_text::json::write_string;
use bobak_text::write;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::io::Write;
use std::sync::Arc;

/// The request's body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SqlStatement {
    sql: String,
    #[serde(default)]
    parameters: Option<Box<RawValue>>,
    /// Whether to reject the statement if it writes, whatever the client may do.
    #[serde(default)]
    read_only: bool,
    /// Whether to return the statement's plan, and not to run it.
    #[serde(default)]
    explain: bool,
}

/// A format in which results are streamed, however long they are.
#[derive(Clone, Copy)]
enum StreamFormat {
    Csv,
    #[cfg(feature = "arrow")]
    Arrow,
}

/// The media types of results; JSON is not a stream.
const MEDIA_TYPES: &[(&str, Option<StreamFormat>)] = &[
    ("application/json", None),
    ("text/csv", Some(StreamFormat::Csv)),
    #[cfg(feature = "arrow")]
    (bobak::arrow::STREAM_MEDIA_TYPE, Some(StreamFormat::Arrow)),
];

/// How to write a result, and how much of it.
#[derive(Clone, Copy)]
struct ResultFormat {
    numbers: NumberFormat,
    max_rows: u64,
    /// The result ends after the row that exceeds this length.
    max_length: usize,
}

/// `POST /sql`
pub(crate) async fn sql(request: &mut RequestContext) -> Result<ResponseBuilder, Problem> {
    let mut access = request.client.sql;
    if access == SqlAccess::None {
        return Err(Problem::not_found());
    }
    let numbers = request.number_format()?;
    let limit = request.parameters.number("limit")?;
    request.parameters.finish()?;
    let stream = negotiate(request.headers(), MEDIA_TYPES)?;
    let body = request.body(&["application/json"]).await?;
    let statement: SqlStatement =
        serde_json::from_slice(&body).map_err(|error| invalid_json(&error))?;
    if statement.read_only {
        access = SqlAccess::Read;
    }
    let arguments = statement.parameters.map(|json| parse_arguments(&json)).transpose()?;
    let arguments = arguments.unwrap_or(SqlArguments::Positional(Vec::new()));
    let (text, parameters) = arguments.bind(&statement.sql)?;
    let text = text.into_owned();
    let explain = statement.explain;
    if let Some(format) = stream
        && returns_rows(&text)
        && !explain
    {
        return stream_rows(request, access, format, text, parameters).await;
    }
    let settings = &request.state.settings;
    let max_rows = limit.unwrap_or(u64::MAX).min(settings.max_page_size);
    let max_length = settings.max_response;
    let format = ResultFormat { numbers, max_rows, max_length };
    let database = Arc::clone(&request.database);
    let body = blocking::run(move || {
        let session = database.engine.session()?;
        if access == SqlAccess::Read {
            allow_only_reads(&*session, &text)?;
        }
        let source = Source::Sql { text: &text, parameters: &parameters };
        if explain {
            let plan = QueryPlan::ask(&*session, &ExplainedQuery::Source(source))?;
            return Ok(plan_json(&plan.unwrap_or_default()).to_string());
        }
        if !returns_rows(&text) {
            let changed = session.execute(&text, &parameters)?;
            if may_change_schema(&text) {
                database.schema.invalidate();
            }
            return Ok(format!("{{\"changed\":{changed}}}\n"));
        }
        Ok(query(&*session, &source, format)?)
    })
    .await?;
    Ok(ResponseBuilder::json(StatusCode::OK, body))
}

/// All rows of a query as a stream of any length.
async fn stream_rows(
    request: &RequestContext,
    access: SqlAccess,
    format: StreamFormat,
    text: String,
    parameters: Vec<Parameter<'static>>,
) -> Result<ResponseBuilder, Problem> {
    let database = Arc::clone(&request.database);
    let work = move |out: &mut dyn Write| {
        let session = database.engine.session()?;
        if access == SqlAccess::Read {
            allow_only_reads(&*session, &text)?;
        }
        let source = Source::Sql { text: &text, parameters: &parameters };
        match format {
            StreamFormat::Csv => write_csv(&*session, &source, out),
            #[cfg(feature = "arrow")]
            StreamFormat::Arrow => write_arrow(&*session, &source, None, out),
        }
    };
    let (state, peer) = (Arc::clone(&request.state), Arc::clone(&request.peer));
    let log = move |error| state.log_peer(&peer, format_args!("got an aborted result: {error}"));
    let compression = ContentCoding::accepted(request.headers());
    let media_type = match format {
        StreamFormat::Csv => "text/csv; charset=utf-8; header=present",
        #[cfg(feature = "arrow")]
        StreamFormat::Arrow => bobak::arrow::STREAM_MEDIA_TYPE,
    };
    stream::stream(request.stream_permit()?, media_type, compression, work, log).await
}

/// Writes the column names, and all rows.
fn write_csv(session: &dyn Session, source: &Source<'_>, out: &mut dyn Write) -> Result<()> {
    let mut cursor = session.open(source)?;
    let mut line = String::new();
    for (index, column) in cursor.columns.iter().enumerate() {
        line.push_str(if index > 0 { "," } else { "" });
        write_csv_field(&mut line, &column.name);
    }
    line.push_str("\r\n");
    let mut rows = RowBuffer::default();
    loop {
        let sent = out.write_all(line.as_bytes());
        sent.map_err(|error| Error::io("send a result", error))?;
        line.clear();
        session.fetch(&mut cursor, &mut rows)?;
        if rows.rows() == 0 {
            break;
        }
        while let Some(row) = rows.next_row()? {
            write_csv_record(&mut line, &cursor.columns, &row);
        }
    }
    session.close(&mut cursor);
    Ok(())
}

/// A record: NULL is the empty field, and an empty text is `""`.
fn write_csv_record(out: &mut String, columns: &[ResultColumn], row: &dyn Row) {
    let (start, mut field) = (out.len(), String::new());
    for (index, column) in columns.iter().enumerate() {
        out.push_str(if index > 0 { "," } else { "" });
        let value = row.get(index);
        if value.is_null() {
            continue;
        }
        field.clear();
        write::write(&mut field, column.ty, value);
        write_csv_value(out, &field);
    }
    // Readers skip an empty line.
    if out.len() == start {
        out.push_str("\"\"");
    }
    out.push_str("\r\n");
}

/// Whether the text has more than comments and semicolons.
fn has_statement(text: &str) -> bool {
    let mut tokens = SqlTokenizer::new(SqlSyntax::Sqlite, text).significant();
    tokens.any(|token| !token.is_operator(";"))
}

/// Whether a statement may change the schema: all statements but plain writes.
fn may_change_schema(text: &str) -> bool {
    let word = text.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next();
    let writes = ["insert", "update", "delete", "replace"];
    !writes.iter().any(|write| word.is_some_and(|word| word.eq_ignore_ascii_case(write)))
}

/// Makes the session reject statements that write.
fn allow_only_reads(session: &dyn Session, text: &str) -> Result<()> {
    match session.set_authorizer(read_only_policy()) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {}
        result => return result,
    }
    // Without an authorizer, the statement's text decides. A function that it calls may still write, so the statement runs in a
    // transaction that is never committed, and in which the database itself rejects what it can.
    if !only_reads(text) {
        // As SQLite says it, which takes such a text for one that reads.
        if !has_statement(text) {
            return Err(Error::new(ErrorKind::Syntax, "the SQL has no statement"));
        }
        return Err(Error::new(ErrorKind::Denied, "only statements that read are permitted"));
    }
    session.control(TransactionControl::Begin)?;
    session.forbid_writes()
}

/// Runs a query, and returns its result as JSON.
fn query(session: &dyn Session, source: &Source<'_>, format: ResultFormat) -> Result<String> {
    let mut cursor = session.open(source)?;
    let mut body = String::from("{\"columns\":[");
    for (index, column) in cursor.columns.iter().enumerate() {
        body.push_str(if index > 0 { "," } else { "" });
        write_string(&mut body, &column.name);
    }
    body.push_str("],\n\"rows\":[");
    let (mut rows, mut count, mut more) = (RowBuffer::default(), 0, false);
    'fetch: loop {
        session.fetch(&mut cursor, &mut rows)?;
        if rows.rows() == 0 {
            break;
        }
        while let Some(row) = rows.next_row()? {
            if count == format.max_rows || body.len() >= format.max_length {
                more = true;
                break 'fetch;
            }
            body.push_str(if count == 0 { "\n[" } else { ",\n[" });
            for (index, column) in cursor.columns.iter().enumerate() {
                body.push_str(if index > 0 { "," } else { "" });
                write_cell(&mut body, column.ty, format.numbers, row.get(index));
            }
            body.push(']');
            count += 1;
        }
    }
    session.close(&mut cursor);
    body.push_str(if more { "],\n\"more\":true}\n" } else { "],\n\"more\":false}\n" });
    Ok(body)
}
