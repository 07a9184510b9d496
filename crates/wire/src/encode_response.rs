//! Encodes responses, for servers. Each function appends one frame.

use crate::writer::Encode;
use crate::{FrameKind, Welcome, error, frame, schema};
use bobak_core::codec;
use bobak_core::{Error, Result, ResultColumn, Row, TableSchema};

/// Success without a result.
pub fn ok(out: &mut Vec<u8>, id: u32) {
    frame::encode_small(out, FrameKind::Ok, id, |_| ());
}

/// The server does not run this join.
pub fn declined(out: &mut Vec<u8>, id: u32) {
    frame::encode_small(out, FrameKind::Declined, id, |_| ());
}

/// The request failed.
pub fn error(out: &mut Vec<u8>, id: u32, error: &Error) {
    // Long texts are truncated, so it fits.
    let done = frame::encode(out, FrameKind::Error, false, id, |out| error::encode(out, error));
    debug_assert!(done.is_ok(), "an error fits in a frame");
}

/// The response to `Hello`.
///
/// # Errors
/// `OutOfRange` for a name larger than 4 GiB.
pub fn welcome(out: &mut Vec<u8>, id: u32, welcome: &Welcome) -> Result<()> {
    frame::encode(out, FrameKind::Welcome, false, id, |out| welcome.encode_body(out))
}

/// A number of rows.
pub fn count(out: &mut Vec<u8>, id: u32, rows: u64) {
    frame::encode_small(out, FrameKind::Count, id, |out| out.encode_u64(rows));
}

/// Framed rows.
///
/// # Errors
/// `OutOfRange` for 4 GiB or more.
pub fn rows(out: &mut Vec<u8>, id: u32, more: bool, rows: &[u8]) -> Result<()> {
    frame::encode(out, FrameKind::Rows, more, id, |out| {
        out.extend_from_slice(rows);
        Ok(())
    })
}

/// One row, or none.
///
/// # Errors
/// `OutOfRange` for a row that the row codec cannot represent.
#[inline]
pub fn row(out: &mut Vec<u8>, id: u32, row: Option<&dyn Row>) -> Result<()> {
    frame::encode(out, FrameKind::Rows, false, id, |out| {
        row.map_or(Ok(()), |row| codec::encode(out, row))
    })
}

/// A cursor's number and its columns; `more` says that the rows follow.
///
/// # Errors
/// `OutOfRange` for more than 65,535 columns.
pub fn columns(
    out: &mut Vec<u8>,
    id: u32,
    more: bool,
    cursor: u64,
    columns: &[ResultColumn],
) -> Result<()> {
    frame::encode(out, FrameKind::Columns, more, id, |out| {
        out.encode_u64(cursor);
        out.encode_position(columns.len())?;
        columns.iter().try_for_each(|column| {
            out.encode_text(&column.name)?;
            schema::encode_type(out, column.ty);
            Ok(())
        })
    })
}

/// Table schemas.
///
/// # Errors
/// `OutOfRange` for more tables than a message can contain.
pub fn schemas(out: &mut Vec<u8>, id: u32, tables: &[TableSchema]) -> Result<()> {
    frame::encode(out, FrameKind::Schemas, false, id, |out| {
        out.encode_count(tables.len())?;
        let mut bytes = Vec::new();
        tables.iter().try_for_each(|table| {
            bytes.clear();
            schema::encode(&mut bytes, table)?;
            out.encode_bytes(&bytes)
        })
    })
}
