//! Rows in the binary forms of `COPY` and of arrays.

use crate::protocol::value::{self, Outside};
use bobak_core::codec::{EncodedRow, RawValue};
use bobak_core::{Result, Row, ValueRef};

/// One row: the number of its columns, then each with its length.
#[inline]
pub(super) fn copy_row(
    out: &mut Vec<u8>,
    types: &[u32],
    row: &EncodedRow<'_>,
    key: Option<(usize, i64)>,
) -> Result<()> {
    out.extend_from_slice(&(types.len() as u16).to_be_bytes());
    for ((place, oid), value) in types.iter().enumerate().zip(row.raw_values()) {
        match (key, value) {
            (Some((at, key)), _) if at == place => {
                value::encode(out, ValueRef::Int(key), *oid, Outside::Rejected)?;
            }
            (_, value) => encode_raw(out, value, *oid)?,
        }
    }
    Ok(())
}

#[inline]
fn encode_raw(out: &mut Vec<u8>, value: RawValue<'_>, oid: u32) -> Result<()> {
    match value {
        RawValue::Text(text) => value::encode_text(out, text, oid),
        RawValue::Null => value::encode(out, ValueRef::Null, oid, Outside::Rejected),
        RawValue::Int(integer) => {
            value::encode(out, ValueRef::Int(integer), oid, Outside::Rejected)
        }
        RawValue::Float(float) => {
            value::encode(out, ValueRef::Float(float), oid, Outside::Rejected)
        }
        RawValue::Bytes(bytes) => {
            value::encode(out, ValueRef::Bytes(bytes), oid, Outside::Rejected)
        }
    }
}

/// One column of all rows as an array of one dimension: dimensions, whether there are NULLs, the
/// type, the length, the first index.
pub(super) fn array(
    rows: &[EncodedRow<'_>],
    place: usize,
    oid: u32,
    made: Option<&[i64]>,
) -> Result<Vec<u8>> {
    let mut made = made.map(|keys| keys.iter());
    let mut out = Vec::with_capacity(20 + rows.len() * 12);
    for number in [1, 1, oid, rows.len() as u32, 1] {
        out.extend_from_slice(&number.to_be_bytes());
    }
    for row in rows {
        let mut value = row.get(place);
        if value.is_null()
            && let Some(key) = made.as_mut().and_then(Iterator::next)
        {
            value = ValueRef::Int(*key);
        }
        value::encode(&mut out, value, oid, Outside::Rejected)?;
    }
    Ok(out)
}
