//! Exports all selected rows as a stream of NDJSON, CSV, or one JSON array, from one snapshot.

use crate::database::table::CachedTable;
use crate::json::NumberFormat;
use crate::json::cell::parse_cell;
use crate::json::write::{write_cell, write_row};
use crate::problem::Problem;
use crate::request::column_list;
use crate::request::context::RequestContext;
use crate::request::media_type::negotiate;
use crate::request::selection::RowSelection;
use crate::resources::related_rows::RelatedLoader;
#[cfg(feature = "arrow")]
use crate::response::arrow_stream::write_arrow;
use crate::response::builder::ResponseBuilder;
use crate::response::compression::ContentCoding;
use crate::response::stream;
#[cfg(feature = "arrow")]
use bobak_core::ResultColumn;
use bobak_core::{
    ColumnSchema, Engine, Error, ErrorKind, Expr, Result, Row, RowBuffer, Select, Source, Type,
    Value, ValueRef,
};
use bobak_text::{read, write};
use std::io::Write;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExportFormat {
    Ndjson,
    Csv,
    Json,
    #[cfg(feature = "arrow")]
    Arrow,
}

/// The formats: media types, values of `format`.
const FORMATS: &[(&str, &str, ExportFormat)] = &[
    ("application/x-ndjson", "ndjson", ExportFormat::Ndjson),
    ("text/csv", "csv", ExportFormat::Csv),
    ("application/json", "json", ExportFormat::Json),
    #[cfg(feature = "arrow")]
    (bobak::arrow::STREAM_MEDIA_TYPE, "arrow", ExportFormat::Arrow),
];

/// The values of `format`.
pub(crate) fn format_names() -> Vec<&'static str> {
    FORMATS.iter().map(|(_, name, _)| *name).collect()
}

/// An export of a table.
struct RowExport {
    table: Arc<CachedTable>,
    columns: Vec<usize>,
    numbers: NumberFormat,
    format: ExportFormat,
    /// The text for NULL in CSV.
    null: String,
    /// Whether to write values that an import would read as other values.
    lossy: bool,
    /// The most rows, and bytes, that the relations of the filter lead to.
    max_related: (u64, usize),
}

/// `GET /tables/{table}/export`
pub(crate) async fn export(
    request: &mut RequestContext,
    name: &str,
) -> Result<ResponseBuilder, Problem> {
    let table = request.table(name).await?;
    let tables = request.database.schema.tables().await?;
    let selection = RowSelection::take(&mut request.parameters, &table, Some(&tables))?;
    let columns = match request.parameters.take("columns") {
        Some(list) => column_list::positions(&table, &list)?,
        None => (0..table.schema.columns().len()).collect(),
    };
    let numbers = request.number_format()?;
    let choices: Vec<_> = FORMATS.iter().map(|(_, name, format)| (*name, *format)).collect();
    let format = match request.parameters.choice("format", &choices)? {
        Some(format) => format,
        None => {
            let types: Vec<_> =
                FORMATS.iter().map(|(media, _, format)| (*media, *format)).collect();
            negotiate(request.headers(), &types)?
        }
    };
    let null = request.parameters.take("null").unwrap_or_default();
    let lossy = request.parameters.flag("lossy")?;
    request.parameters.finish()?;
    let expressions = columns.iter().map(|&position| Expr::Column(position)).collect();
    let database = Arc::clone(&request.database);
    let weak_types = database.engine.capabilities().weak_types;
    let select = selection.select(&table, expressions, weak_types)?;
    let settings = &request.state.settings;
    let max_related = (settings.expand_rows, settings.max_response);
    let export = RowExport { table, columns, numbers, format, null, lossy, max_related };
    let media_type = match format {
        ExportFormat::Ndjson => "application/x-ndjson",
        ExportFormat::Csv => "text/csv; charset=utf-8; header=present",
        ExportFormat::Json => "application/json",
        #[cfg(feature = "arrow")]
        ExportFormat::Arrow => bobak::arrow::STREAM_MEDIA_TYPE,
    };
    let compression = ContentCoding::accepted(request.headers());
    let work = move |out: &mut dyn Write| export.run(&*database.engine, select, out);
    let (state, peer) = (Arc::clone(&request.state), Arc::clone(&request.peer));
    let log = move |error| state.log_peer(&peer, format_args!("got an aborted export: {error}"));
    stream::stream(request.stream_permit()?, media_type, compression, work, log).await
}

impl RowExport {
    fn run(&self, engine: &dyn Engine, select: Select, out: &mut dyn Write) -> Result<()> {
        let session = engine.session()?;
        let (rows, bytes) = self.max_related;
        let mut loader = RelatedLoader::new(engine, &*session, rows, bytes);
        let select = loader.resolve(select).map_err(Problem::into_error)?;
        #[cfg(feature = "arrow")]
        if self.format == ExportFormat::Arrow {
            let columns = self.result_columns();
            return write_arrow(&*session, &Source::Select(&select), Some(&columns), out)
                .map_err(|error| self.table.name_error(error));
        }
        let mut cursor = session.open(&Source::Select(&select))?;
        let mut rows = RowBuffer::default();
        let mut text = String::new();
        let mut count = 0;
        self.write_start(&mut text);
        loop {
            session.fetch(&mut cursor, &mut rows)?;
            if rows.rows() == 0 {
                break;
            }
            while let Some(row) = rows.next_row()? {
                self.write_row(&mut text, &row, count)
                    .map_err(|error| error.in_row(self.key(&row)).at_row(count))?;
                count += 1;
            }
            send(out, &mut text)?;
        }
        session.close(&mut cursor);
        if self.format == ExportFormat::Json {
            text.push_str(if count == 0 { "]\n" } else { "\n]\n" });
        }
        send(out, &mut text)
    }

    /// The names and values of the row's key, as far as they are exported.
    fn key<'r>(&'r self, row: &'r dyn Row) -> impl Iterator<Item = (&'r str, ValueRef<'r>)> {
        self.table.schema.key().iter().filter_map(|&column| {
            let at = self.columns.iter().position(|&exported| exported == column)?;
            Some((&*self.table.schema.columns().get(column)?.name, row.get(at)))
        })
    }

    #[cfg(feature = "arrow")]
    fn result_columns(&self) -> Vec<ResultColumn> {
        let columns = self.table.schema.columns();
        let columns = self.columns.iter().filter_map(|&position| columns.get(position));
        columns.map(|column| ResultColumn::new(&*column.name, column.ty)).collect()
    }

    fn write_start(&self, out: &mut String) {
        match self.format {
            ExportFormat::Json => out.push('['),
            ExportFormat::Csv => {
                let columns = self.table.schema.columns();
                let names = self.columns.iter().filter_map(|&position| columns.get(position));
                for (index, column) in names.enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    write_csv_field(out, &column.name);
                }
                out.push_str("\r\n");
            }
            _ => {}
        }
    }

    fn write_row(&self, out: &mut String, row: &dyn Row, index: u64) -> Result<()> {
        match self.format {
            ExportFormat::Csv => return self.write_csv_record(out, row),
            ExportFormat::Json => out.push_str(if index == 0 { "\n" } else { ",\n" }),
            _ => {}
        }
        for (index, &position) in self.columns.iter().enumerate() {
            let Some(column) = self.table.schema.columns().get(position) else { continue };
            let value = row.get(index);
            if self.may_be_lossy(column, value) && !survives_json(column, value) {
                return Err(self.lossy_error(column));
            }
        }
        write_row(out, &self.table, self.columns.iter().copied(), self.numbers, row);
        if self.format == ExportFormat::Ndjson {
            out.push('\n');
        }
        Ok(())
    }

    fn write_csv_record(&self, out: &mut String, row: &dyn Row) -> Result<()> {
        let start = out.len();
        let mut field = String::new();
        for (index, &position) in self.columns.iter().enumerate() {
            out.push_str(if index > 0 { "," } else { "" });
            let Some(column) = self.table.schema.columns().get(position) else { continue };
            let value = row.get(index);
            field.clear();
            if value.is_null() {
                field.push_str(&self.null);
                self.check_null(column, position)?;
                write_csv_field(out, &field);
            } else {
                self.write_csv_value(&mut field, column, value)?;
                write_csv_value(out, &field);
            }
        }
        // Readers skip an empty line, so a record of one empty field is quoted.
        if out.len() == start && !self.columns.is_empty() {
            out.push_str("\"\"");
        }
        out.push_str("\r\n");
        Ok(())
    }

    fn write_csv_value(
        &self,
        field: &mut String,
        column: &ColumnSchema,
        value: ValueRef<'_>,
    ) -> Result<()> {
        write::write(field, column.ty, value);
        if column.ty == Type::Any && matches!(value, ValueRef::Float(_)) {
            write::mark_as_float(field);
        }
        if self.may_be_lossy(column, value) && !survives_csv(column, value, field.as_bytes()) {
            return Err(self.lossy_error(column));
        }
        // An empty text is `""`. One that is alone is no different from NULL, which must not be an empty line.
        let is_distinct = field.is_empty() && self.columns.len() > 1;
        if column.nullable && *field == self.null && !is_distinct {
            let message = "a value equals the text for NULL: choose another text with 'null'";
            let error = Error::new(ErrorKind::Mismatch, message);
            return Err(self.table.name_error(error.in_column(column.name.clone())));
        }
        Ok(())
    }

    /// Checks that an import reads the text for NULL as NULL, or rejects it. It takes it for a value in a column that may not
    /// be NULL, such as a key, in which SQLite permits NULL.
    fn check_null(&self, column: &ColumnSchema, position: usize) -> Result<()> {
        let is_read = column.nullable || self.lossy || self.table.is_generated(position);
        if is_read || survives_csv(column, ValueRef::Null, self.null.as_bytes()) {
            return Ok(());
        }
        Err(self.lossy_error(column))
    }

    /// Whether an import might read the value as another one: values in columns of any type, values
    /// in SQLite files that are not of their column's type, and the JSON document `null`.
    fn may_be_lossy(&self, column: &ColumnSchema, value: ValueRef<'_>) -> bool {
        let is_unusual = || {
            column.ty == Type::Any
                || is_null_document(column, value)
                || column.check_stored(value).is_err()
        };
        !self.lossy && !value.is_null() && is_unusual()
    }

    #[cold]
    fn lossy_error(&self, column: &ColumnSchema) -> Error {
        let message = "an import would read a value as another one, because the value is not of its \
                       column's type, is NULL in a key, or is the JSON document null: leave out the row or the \
                       column, or set 'lossy'";
        let error = Error::new(ErrorKind::Mismatch, message).in_column(column.name.clone());
        self.table.name_error(error)
    }
}

/// Whether the value is the JSON document `null` in a column that may also contain NULL.
fn is_null_document(column: &ColumnSchema, value: ValueRef<'_>) -> bool {
    column.ty == Type::Json
        && column.nullable
        && matches!(value, ValueRef::Text(text) if text.trim() == "null")
}

/// Whether an import of the text yields the value, or fails, which nobody overlooks.
fn survives_csv(column: &ColumnSchema, value: ValueRef<'_>, text: &[u8]) -> bool {
    is_same_or_invalid(column, value, read::parse(column.ty, text).ok())
}

/// As [`survives_csv`], for JSON.
fn survives_json(column: &ColumnSchema, value: ValueRef<'_>) -> bool {
    let mut json = String::new();
    write_cell(&mut json, column.ty, NumberFormat::Exact, value);
    is_same_or_invalid(column, value, parse_cell(column, &json).ok())
}

fn is_same_or_invalid(
    column: &ColumnSchema,
    value: ValueRef<'_>,
    parsed: Option<Value<'_>>,
) -> bool {
    let accepted = parsed.and_then(|parsed| column.accept(parsed).ok());
    accepted.is_none_or(|parsed| parsed.as_ref() == value)
}

/// Appends a value that is not NULL as a field of CSV: an empty one is `""`, where NULL is nothing.
pub(crate) fn write_csv_value(out: &mut String, text: &str) {
    if text.is_empty() { out.push_str("\"\"") } else { write_csv_field(out, text) }
}

/// Appends a field of CSV (RFC 4180), in quotes if necessary.
pub(crate) fn write_csv_field(out: &mut String, text: &str) {
    if !text.contains(['"', ',', '\n', '\r']) {
        return out.push_str(text);
    }
    out.push('"');
    for (index, part) in text.split('"').enumerate() {
        out.push_str(if index > 0 { "\"\"" } else { "" });
        out.push_str(part);
    }
    out.push('"');
}

fn send(out: &mut dyn Write, text: &mut String) -> Result<()> {
    let sent = out.write_all(text.as_bytes());
    text.clear();
    sent.map_err(|error| Error::io("send the rows", error))
}
