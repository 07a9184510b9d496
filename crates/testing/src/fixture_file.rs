//! The rows of one fixture file.

use bobak::schema::{TableSchema, Type};
use bobak::{DynRow, Error, ErrorKind, Result, Value};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::Path;

/// A row of a file.
pub struct FixtureRow {
    /// The place in the file, for messages: `line 3`, `row 2`.
    pub place: String,
    /// The name that other rows refer to it by.
    pub name: Option<String>,
    /// The columns: names, and texts or values.
    pub fields: Vec<(String, FixtureValue)>,
}

/// A value of a file.
pub enum FixtureValue {
    Null,
    /// The text of a value.
    Text(String),
    /// A text that cannot be a document, a number or a reference to a row by name.
    Document(String),
}

/// The member of a row that names it.
const NAME: &str = "_name";

/// Reads a file, by its extension: `csv`, or JSON as an array or one object after the other.
pub fn read(file: &Path) -> Result<Vec<FixtureRow>> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Error::new(ErrorKind::Io, format!("cannot be read: {error}")))?;
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => read_csv(&text),
        _ => read_json(&text),
    }
}

fn read_csv(text: &str) -> Result<Vec<FixtureRow>> {
    let damaged = |error: csv::Error| Error::new(ErrorKind::Mismatch, error.to_string());
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().map_err(damaged)?.clone();
    let rows = reader.into_records().map(|record| {
        let record = record.map_err(damaged)?;
        let line = record.position().map_or(0, csv::Position::line);
        let fields = names.iter().zip(&record).map(|(name, text)| match text {
            "" => (name.to_owned(), FixtureValue::Null),
            text => (name.to_owned(), FixtureValue::Text(text.to_owned())),
        });
        Ok(row(format!("line {line}"), fields.collect()))
    });
    rows.collect()
}

fn read_json(text: &str) -> Result<Vec<FixtureRow>> {
    type Object = BTreeMap<String, Box<RawValue>>;
    let damaged = |error: serde_json::Error| Error::new(ErrorKind::Mismatch, error.to_string());
    let objects: Vec<Object> = match text.trim_start().starts_with('[') {
        true => serde_json::from_str(text).map_err(damaged)?,
        false => {
            let objects = serde_json::Deserializer::from_str(text).into_iter();
            objects.collect::<serde_json::Result<_>>().map_err(damaged)?
        }
    };
    let numbered = objects.into_iter().enumerate();
    let rows = numbered.map(|(place, object)| {
        let fields = object.into_iter().map(|(name, value)| Ok((name, json_value(value.get())?)));
        let fields = fields.collect::<serde_json::Result<_>>().map_err(damaged)?;
        Ok(row(format!("row {}", place + 1), fields))
    });
    rows.collect()
}

fn json_value(text: &str) -> serde_json::Result<FixtureValue> {
    Ok(match text.as_bytes().first() {
        Some(b'n') => FixtureValue::Null,
        Some(b'"') => FixtureValue::Text(serde_json::from_str(text)?),
        _ => FixtureValue::Document(text.to_owned()),
    })
}

fn row(place: String, mut fields: Vec<(String, FixtureValue)>) -> FixtureRow {
    let name = fields.iter().position(|(name, _)| name == NAME).map(|at| fields.remove(at).1);
    let name = match name {
        Some(FixtureValue::Text(name) | FixtureValue::Document(name)) => Some(name),
        _ => None,
    };
    FixtureRow { place, name, fields }
}

impl FixtureRow {
    /// The row as one of the table. `named` finds the key of a row by its table and name.
    ///
    /// # Errors
    /// `Schema` for an unknown column, `Mismatch` for a text that is no value of its column's type, `NotFound` for an
    /// unknown name.
    pub fn to_row(
        &self,
        table: &TableSchema,
        named: impl Fn(&str, &str) -> Option<Value<'static>>,
    ) -> Result<DynRow> {
        let mut row = DynRow::new();
        for (name, value) in &self.fields {
            let column = table.column_at(table.column(name)?)?;
            let is_document = column.ty == Type::Json;
            let value = match value {
                FixtureValue::Null if !column.nullable && column.ty == Type::Text => {
                    Value::from("")
                }
                FixtureValue::Null => Value::Null,
                FixtureValue::Text(text) => match (&column.reference, text.strip_prefix('@')) {
                    (Some(reference), Some(label)) => {
                        named(&reference.table, label).ok_or_else(|| {
                            let message = format!(
                                "no row before it has the name '{label}' in '{}'",
                                reference.table
                            );
                            Error::new(ErrorKind::NotFound, message).in_column(name.clone())
                        })?
                    }
                    _ => parse(column.ty, text).map_err(|error| error.in_column(name.clone()))?,
                },
                FixtureValue::Document(text) if is_document => Value::from(text.clone()),
                FixtureValue::Document(text) => {
                    parse(column.ty, text).map_err(|error| error.in_column(name.clone()))?
                }
            };
            row.set(name, value)?;
        }
        Ok(row)
    }
}

fn parse(ty: Type, text: &str) -> Result<Value<'static>> {
    let value = bobak_text::read::parse(ty, text.as_bytes());
    value.map(Value::into_owned).map_err(|message| Error::new(ErrorKind::Mismatch, message))
}
