//! Keys in paths: the key's columns as text, with commas between where there are several.

use crate::model::Table;
use crate::problem::Problem;
use crate::route::decode;
use bobak_core::{Error, ErrorKind, Result, Value};
use bobak_text::{read, write};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands in a segment of a path as it is.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Reads a key from a path's segment, percent signs and all.
///
/// # Errors
/// 400 where it has another number of parts than the key has columns, or a part is not of its
/// column's type.
pub(crate) fn read_key(table: &Table, segment: &str) -> Result<Vec<Value<'static>>, Problem> {
    let columns = table.schema.key();
    let parts: Vec<&str> = match columns.len() {
        1 => vec![segment],
        _ => segment.split(',').collect(),
    };
    if parts.len() != columns.len() {
        let message = format!("the key has {} parts, with commas between", columns.len());
        return Err(Problem::bad_request(message));
    }
    let mut key = Vec::with_capacity(parts.len());
    for (&place, part) in columns.iter().zip(parts) {
        key.push(read_part(table, place, &decode(part)?).map_err(|error| {
            Problem::with(hyper::StatusCode::BAD_REQUEST, table.name_error(error))
        })?);
    }
    Ok(key)
}

/// Reads a key as [`write_key`] writes it, where it is no path: behind `after=`.
///
/// # Errors
/// As [`read_key`].
pub(crate) fn read_part(table: &Table, place: usize, text: &str) -> Result<Value<'static>> {
    let Some(column) = table.schema.columns().get(place) else { return Ok(Value::Null) };
    let wrong = |why| Error::new(ErrorKind::Mismatch, why).in_column(column.name.clone());
    let value = read::parse(column.ty, text.as_bytes()).map_err(wrong)?;
    column.accept(value)
}

/// The key as a segment of a path.
pub(crate) fn write_key(table: &Table, key: &[Value<'_>]) -> String {
    let mut segment = String::new();
    for (at, (&place, value)) in table.schema.key().iter().zip(key).enumerate() {
        let Some(column) = table.schema.columns().get(place) else { continue };
        if at > 0 {
            segment.push(',');
        }
        let mut text = String::new();
        write::write(&mut text, column.ty, value.as_ref());
        segment.push_str(&escape(&text));
    }
    segment
}

/// A text as a segment of a path.
pub(crate) fn escape(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}
