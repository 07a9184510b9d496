//! The decoders of this crate, for those who try them with any bytes: no part of its interface.

use crate::error::ServerError;
use crate::protocol::row::{PgColumn, ValueSpans};
use crate::protocol::value::ColumnFormat;
use bobak_core::{Error, Row, Value};

/// Reads a row whose columns are of these types, each with its modifier.
#[must_use]
pub fn row(types: &[(u32, i32)], body: &[u8]) -> Vec<Value<'static>> {
    let column = |&(oid, modifier): &(u32, i32)| PgColumn {
        name: String::new(),
        oid,
        modifier,
        kind: ColumnFormat::of(oid, modifier),
    };
    let columns: Vec<PgColumn> = types.iter().map(column).collect();
    let mut spans = ValueSpans::default();
    let row = spans.of(body, &columns);
    (0..row.len()).map(|place| row.get(place).to_owned()).collect()
}

/// Reads the fields of an error.
#[must_use]
pub fn error(body: &[u8]) -> Error {
    ServerError::parse(body).into_error()
}
