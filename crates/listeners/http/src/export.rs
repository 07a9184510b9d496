//! Exports: all rows that a filter keeps, as NDJSON, CSV or one JSON array, of one moment.

use crate::answer::Answer;
use crate::call::Call;
use crate::coding::Coding;
use crate::json::{Numbers, read_cell, write_cell, write_row};
use crate::model::Table;
use crate::problem::Problem;
use crate::selection::Selection;
use crate::stream;
use bobak_core::{
    ColumnSchema, Engine, Error, ErrorKind, Expr, Result, Row, RowBuffer, Select, Source, Type,
    Value, ValueRef,
};
use bobak_text::{read, write};
use std::io::Write;
use std::sync::Arc;

/// The forms of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Ndjson,
    Csv,
    Json,
}

const FORMS: [(&str, Form); 3] = [
    ("application/x-ndjson", Form::Ndjson),
    ("text/csv", Form::Csv),
    ("application/json", Form::Json),
];

/// What writes the rows.
struct Export {
    table: Arc<Table>,
    places: Vec<usize>,
    numbers: Numbers,
    form: Form,
    /// What stands for NULL in CSV.
    null: String,
    /// Whether values are written that another one would be when they are read again.
    lossy: bool,
}

/// `GET /tables/{table}/export`
pub(crate) async fn export(call: &mut Call, name: &str) -> Result<Answer, Problem> {
    let table = call.table(name).await?;
    let selection = Selection::take(&mut call.parameters, &table)?;
    let places = match call.parameters.take("columns") {
        Some(names) => table.places(&names)?,
        None => (0..table.schema.columns().len()).collect(),
    };
    let numbers = call.numbers()?;
    let words = [("ndjson", Form::Ndjson), ("csv", Form::Csv), ("json", Form::Json)];
    let form = match call.parameters.choice("format", &words)? {
        Some(form) => form,
        None => call.accepts(&FORMS)?,
    };
    let null = call.parameters.take("null").unwrap_or_default();
    let lossy = call.parameters.flag("lossy")?;
    call.parameters.finish()?;
    let columns = places.iter().map(|&place| Expr::Column(place)).collect();
    let select = selection.select(&table, columns)?;
    let base = Arc::clone(&call.base);
    let export = Export { table, places, numbers, form, null, lossy };
    let media = match form {
        Form::Ndjson => "application/x-ndjson",
        Form::Csv => "text/csv; charset=utf-8; header=present",
        Form::Json => "application/json",
    };
    let work = move |out: &mut dyn Write| export.run(&*base.engine, &select, out);
    stream::produce(call, media, Coding::wanted(call.headers()), work).await
}

impl Export {
    fn run(&self, engine: &dyn Engine, select: &Select, out: &mut dyn Write) -> Result<()> {
        let session = engine.session()?;
        let mut cursor = session.open(&Source::Select(select))?;
        let mut rows = RowBuffer::default();
        let mut text = String::new();
        let mut count = 0;
        self.begin(&mut text);
        loop {
            session.fetch(&mut cursor, &mut rows)?;
            if rows.rows() == 0 {
                break;
            }
            while let Some(row) = rows.next_row()? {
                self.row(&mut text, &row, count).map_err(|error| error.at_row(count))?;
                count += 1;
            }
            send(out, &mut text)?;
        }
        session.close(&mut cursor);
        if self.form == Form::Json {
            text.push_str(if count == 0 { "]\n" } else { "\n]\n" });
        }
        send(out, &mut text)
    }

    fn begin(&self, out: &mut String) {
        match self.form {
            Form::Ndjson => {}
            Form::Json => out.push('['),
            Form::Csv => {
                let names =
                    self.places.iter().filter_map(|&place| self.table.schema.columns().get(place));
                for (at, column) in names.enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    push_field(out, &column.name);
                }
                out.push_str("\r\n");
            }
        }
    }

    fn row(&self, out: &mut String, row: &dyn Row, number: u64) -> Result<()> {
        match self.form {
            Form::Csv => return self.line(out, row),
            Form::Ndjson => {}
            Form::Json => out.push_str(if number == 0 { "\n" } else { ",\n" }),
        }
        for (at, &place) in self.places.iter().enumerate() {
            let Some(column) = self.table.schema.columns().get(place) else { continue };
            let value = row.get(at);
            if self.doubts(column, value) && !comes_back_from_json(column, value) {
                return Err(self.refuse(column));
            }
        }
        write_row(out, &self.table, self.places.iter().copied(), self.numbers, row);
        if self.form == Form::Ndjson {
            out.push('\n');
        }
        Ok(())
    }

    /// Ends a line of CSV. Readers pass over an empty one, so a single field without a text is in quotes.
    fn end_line(&self, out: &mut String, start: usize) {
        if out.len() == start && !self.places.is_empty() {
            out.push_str("\"\"");
        }
        out.push_str("\r\n");
    }

    /// A line of CSV.
    fn line(&self, out: &mut String, row: &dyn Row) -> Result<()> {
        let start = out.len();
        let mut cell = String::new();
        for (at, &place) in self.places.iter().enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            let Some(column) = self.table.schema.columns().get(place) else { continue };
            let value = row.get(at);
            cell.clear();
            if value.is_null() {
                cell.push_str(&self.null);
            } else {
                write::write(&mut cell, column.ty, value);
                if column.ty == Type::Any && matches!(value, ValueRef::Float(_)) {
                    mark_float(&mut cell);
                }
                if self.doubts(column, value) && !comes_back(column, value, cell.as_bytes()) {
                    return Err(self.refuse(column));
                }
                // Who reads it could not tell it from NULL.
                if column.nullable && cell == self.null {
                    let message = "a value is written as NULL is: choose another text with null=";
                    let error = Error::new(ErrorKind::Mismatch, message);
                    return Err(self.table.name_error(error.in_column(column.name.clone())));
                }
            }
            push_field(out, &cell);
        }
        self.end_line(out, start);
        Ok(())
    }
}

impl Export {
    /// Whether only a look at its text tells if a value comes back: in a column that takes
    /// anything, where SQLite holds what the column's type is not, and of JSON's `null`.
    fn doubts(&self, column: &ColumnSchema, value: ValueRef<'_>) -> bool {
        let is_odd = || {
            column.ty == Type::Any
                || is_null_document(column, value)
                || column.check_stored(value).is_err()
        };
        !self.lossy && !value.is_null() && is_odd()
    }

    /// The error for a value that another one would be when it is read again.
    #[cold]
    fn refuse(&self, column: &ColumnSchema) -> Error {
        let message = "a value would come back as another one: it is of another kind than its \
                       column says, or JSON's null, which is read as NULL: leave the row or the column out, or ask for it with lossy";
        let error = Error::new(ErrorKind::Mismatch, message).in_column(column.name.clone());
        self.table.name_error(error)
    }
}

/// Whether it is JSON's `null` beside which there may be NULLs.
fn is_null_document(column: &ColumnSchema, value: ValueRef<'_>) -> bool {
    column.ty == Type::Json
        && column.nullable
        && matches!(value, ValueRef::Text(text) if text.trim() == "null")
}

/// Whether a text is read as the value, or not at all, which nobody overlooks.
fn comes_back(column: &ColumnSchema, value: ValueRef<'_>, text: &[u8]) -> bool {
    same(column, value, read::parse(column.ty, text).ok())
}

fn comes_back_from_json(column: &ColumnSchema, value: ValueRef<'_>) -> bool {
    let mut json = String::new();
    write_cell(&mut json, column.ty, Numbers::Exact, value);
    same(column, value, read_cell(column, &json).ok())
}

fn same(column: &ColumnSchema, value: ValueRef<'_>, read: Option<Value<'_>>) -> bool {
    let accepted = read.and_then(|read| column.accept(read).ok());
    accepted.is_none_or(|read| read.as_ref() == value)
}

/// Where anything goes, only its text says that a number is a float.
fn mark_float(text: &mut String) {
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        text.push_str(".0");
    }
}

/// A field of CSV (RFC 4180): in quotes where it must be.
fn push_field(out: &mut String, text: &str) {
    if !text.contains(['"', ',', '\n', '\r']) {
        return out.push_str(text);
    }
    out.push('"');
    for (at, part) in text.split('"').enumerate() {
        out.push_str(if at > 0 { "\"\"" } else { "" });
        out.push_str(part);
    }
    out.push('"');
}

fn send(out: &mut dyn Write, text: &mut String) -> Result<()> {
    let sent = out.write_all(text.as_bytes());
    text.clear();
    sent.map_err(|error| Error::io("send the rows", error))
}
