//! Keys in paths: the values of the key's columns as percent-encoded text, separated by commas.

use crate::database::table::CachedTable;
use crate::problem::Problem;
use crate::route::decode;
use bobak_core::{Error, ErrorKind, Result, Value, compare_values};
use bobak_text::{read, write};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All characters but those that RFC 3986 calls unreserved.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Parses a key from an encoded path segment.
///
/// # Errors
/// 400 if the number of values is not that of the key's columns, or a value does not fit its column.
pub(crate) fn parse_key(
    table: &CachedTable,
    segment: &str,
) -> Result<Vec<Value<'static>>, Problem> {
    let columns = table.schema.key();
    let values: Vec<&str> = match columns.len() {
        1 => vec![segment],
        _ => segment.split(',').collect(),
    };
    if values.len() != columns.len() {
        let message = format!("the key has {} values, separated by commas", columns.len());
        return Err(Problem::bad_request(message));
    }
    let mut key = Vec::with_capacity(values.len());
    for (&position, value) in columns.iter().zip(values) {
        key.push(parse_value(table, position, &decode(value)?).map_err(|error| {
            Problem::with_status(hyper::StatusCode::BAD_REQUEST, table.name_error(error))
        })?);
    }
    Ok(key)
}

fn parse_value(table: &CachedTable, position: usize, text: &str) -> Result<Value<'static>> {
    let Some(column) = table.schema.columns().get(position) else { return Ok(Value::Null) };
    let mismatch = |why| Error::new(ErrorKind::Mismatch, why).in_column(column.name.clone());
    let value = read::parse(column.ty, text.as_bytes()).map_err(mismatch)?;
    column.accept(value)
}

/// Encodes a key as a path segment.
pub(crate) fn encode_key(table: &CachedTable, key: &[Value<'_>]) -> String {
    let mut segment = String::new();
    for (index, (&position, value)) in table.schema.key().iter().zip(key).enumerate() {
        let Some(column) = table.schema.columns().get(position) else { continue };
        if index > 0 {
            segment.push(',');
        }
        let mut text = String::new();
        write::write(&mut text, column.ty, value.as_ref());
        segment.push_str(&encode_segment(&text));
    }
    segment
}

/// As [`encode_key`]; `None` if the table has no key, or the segment does not lead back to this one: SQLite permits NULL in
/// keys, values that are not of their column's type, and columns of any type, in which 5 differs from the text '5'.
pub(crate) fn encode_exact_key(table: &CachedTable, key: &[Value<'_>]) -> Option<String> {
    table.schema.check_has_key().ok()?;
    let segment = encode_key(table, key);
    let parsed = parse_key(table, &segment).ok()?;
    let mut values = parsed.iter().zip(key);
    let is_same = values.all(|(a, b)| compare_values(a.as_ref(), b.as_ref()).is_eq());
    is_same.then_some(segment)
}

/// Encodes a text as a path segment.
pub(crate) fn encode_segment(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}
