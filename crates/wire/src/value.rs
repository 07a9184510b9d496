//! Encodes and decodes values, and rows in the row codec.

use crate::reader::{MessageReader, corrupt, wrong};
use crate::writer::Encode;
use bobak_core::codec::{self, EncodedRow};
use bobak_core::{FieldSet, Result, Value, ValueRef};

const NULL: u8 = 0;
const INT: u8 = 1;
const FLOAT: u8 = 2;
const TEXT: u8 = 3;
const BYTES: u8 = 4;

pub(crate) fn encode(out: &mut Vec<u8>, value: ValueRef<'_>) -> Result<()> {
    match value {
        ValueRef::Null => out.encode_u8(NULL),
        ValueRef::Int(i) => {
            out.encode_u8(INT);
            out.encode_u64(i.cast_unsigned());
        }
        ValueRef::Float(f) => {
            out.encode_u8(FLOAT);
            out.encode_u64(f.to_bits());
        }
        ValueRef::Text(text) => {
            out.encode_u8(TEXT);
            out.encode_text(text)?;
        }
        ValueRef::Bytes(bytes) => {
            out.encode_u8(BYTES);
            out.encode_bytes(bytes)?;
        }
    }
    Ok(())
}

pub(crate) fn read(reader: &mut MessageReader<'_>) -> Result<Value<'static>> {
    Ok(match reader.u8()? {
        NULL => Value::Null,
        INT => Value::Int(reader.i64()?),
        FLOAT => {
            let float = f64::from_bits(reader.u64()?);
            if float.is_nan() {
                return Err(corrupt("NaN is not a value"));
            }
            Value::Float(float)
        }
        TEXT => Value::from(reader.text()?.to_owned()),
        BYTES => Value::from(reader.bytes()?.to_vec()),
        other => return Err(wrong("a value type", other)),
    })
}

/// Encodes a framed row.
#[inline]
pub(crate) fn encode_row(out: &mut Vec<u8>, values: &[Value<'_>]) -> Result<()> {
    codec::encode_values(out, values.len(), |index| {
        values.get(index).map_or(ValueRef::Null, Value::as_ref)
    })
}

/// Decodes a framed row.
#[inline]
pub(crate) fn read_row<'a>(reader: &mut MessageReader<'a>) -> Result<EncodedRow<'a>> {
    EncodedRow::check(reader.bytes()?)
}

/// The values of a checked row.
#[must_use]
pub(crate) fn values_of<'a>(row: &EncodedRow<'a>) -> Vec<Value<'a>> {
    (0..bobak_core::Row::len(row)).map(|index| row.value(index).into()).collect()
}

#[inline]
pub(crate) fn encode_fields(out: &mut Vec<u8>, fields: FieldSet) {
    let words = fields.words();
    let count = words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
    out.encode_u8(count as u8);
    words.iter().take(count).for_each(|word| out.encode_u64(*word));
}

#[inline]
pub(crate) fn read_fields(reader: &mut MessageReader<'_>) -> Result<FieldSet> {
    let count = reader.u8()?;
    let mut words = [0; 4];
    if usize::from(count) > words.len() {
        return Err(wrong("the length of a column set", count));
    }
    for word in words.iter_mut().take(count.into()) {
        *word = reader.u64()?;
    }
    Ok(FieldSet::from_words(words))
}
