//! Arrays of the values of a column.

use crate::batch_builder::BATCH_BYTES;
use crate::types::field;
use arrow_array::types::{
    Date32Type, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, FixedSizeBinaryArray,
    FixedSizeListArray, Float32Array, Float64Array, PrimitiveArray, StringArray,
};
use arrow_buffer::{
    BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer,
};
use arrow_schema::{DataType, Field};
use bobak_core::{
    ByteValues, ColumnBuffer, ColumnValues, Currency, Date, DateTime, Error, ErrorKind, Field as _,
    Result, Time, Timestamp, Type, Uuid, Value, ValueRef, vector_numbers,
};
use std::sync::Arc;

/// The most bytes of one value: with the values before it, its offset then fits 32 bits.
const VALUE_BYTES: usize = i32::MAX as usize - BATCH_BYTES;
const UUID_BYTES: usize = 16;

/// An error, and the row of the batch whose value caused it.
type AtRow = (usize, Error);

/// An empty buffer for the values of a type; one that takes no values if the type is not known.
pub(crate) fn column_buffer(ty: Type) -> ColumnBuffer {
    ColumnBuffer::new(match ty {
        Type::F32 | Type::F64 => ColumnValues::Floats(Vec::new()),
        Type::Text | Type::Json | Type::Decimal => ColumnValues::Texts(ByteValues::default()),
        Type::Bytes | Type::Uuid | Type::Vector(_) => ColumnValues::Bytes(ByteValues::default()),
        _ if is_integer(ty) => ColumnValues::Ints(Vec::new()),
        _ => ColumnValues::Other,
    })
}

/// Whether the values of a type are integers in its buffer.
const fn is_integer(ty: Type) -> bool {
    ty.is_integer()
        || matches!(
            ty,
            Type::Bool
                | Type::Currency
                | Type::Date
                | Type::Time
                | Type::DateTime
                | Type::Timestamp
        )
}

/// The size of a value in an array, without the bytes of texts and bytes.
pub(crate) const fn value_size(ty: Type) -> usize {
    match ty {
        Type::Bool | Type::I8 | Type::U8 => 1,
        Type::I16 | Type::U16 => 2,
        Type::I64 | Type::U64 | Type::F64 | Type::Time | Type::DateTime | Type::Timestamp => 8,
        Type::Currency | Type::Uuid => 16,
        Type::Vector(numbers) => numbers as usize * size_of::<f32>(),
        _ => 4,
    }
}

/// The form in which a buffer takes a value that it has not taken.
///
/// # Errors
/// `Mismatch` if the value does not have the column's type; `TooLong` for one of about 2 GiB.
#[cold]
pub(crate) fn converted(ty: Type, value: ValueRef<'_>) -> Result<Value<'static>> {
    match (ty, value) {
        // A value of the column's class is rejected only for its length.
        (Type::Text | Type::Json | Type::Decimal, ValueRef::Text(text)) => {
            Err(too_long(text.len()))
        }
        (Type::Decimal, ValueRef::Int(whole)) => Ok(Value::from(whole.to_string())),
        (Type::Text | Type::Json | Type::Decimal, _) => Err(Error::mismatch("text", value)),
        (Type::Bytes, ValueRef::Bytes(bytes)) => Err(too_long(bytes.len())),
        (Type::Bytes, _) => Err(Error::mismatch("bytes", value)),
        (Type::Uuid, _) => Ok(Value::from(Uuid::from_value(value)?.into_bytes().to_vec())),
        (Type::F64, _) => f64::from_value(value).map(Value::Float),
        (Type::F32, _) => f32::from_value(value).map(|float| Value::Float(float.into())),
        (Type::Vector(_), _) => Err(Error::mismatch(&ty.to_string(), value)),
        _ => stored_integer(ty, value).map(Value::Int),
    }
}

/// The integer of a value that is stored otherwise: a date or time that is kept as text.
fn stored_integer(ty: Type, value: ValueRef<'_>) -> Result<i64> {
    let read = |value: Value<'_>| i64::from_value(value.as_ref());
    match ty {
        Type::Date => read(Date::from_value(value)?.to_value()?),
        Type::Time => read(Time::from_value(value)?.to_value()?),
        Type::DateTime => read(DateTime::from_value(value)?.to_value()?),
        Type::Timestamp => read(Timestamp::from_value(value)?.to_value()?),
        Type::Currency => Currency::from_value(value).map(Currency::scaled),
        _ => Err(Error::mismatch(ty.name(), value)),
    }
}

/// The array of the values of a type, which the buffer loses.
///
/// # Errors
/// `Mismatch`, `OutOfRange` for a value that does not have the type.
pub(crate) fn array(ty: Type, buffer: &mut ColumnBuffer) -> Result<ArrayRef, AtRow> {
    match buffer.take() {
        (ColumnValues::Ints(ints), nulls) => integers(ty, ints, nulls),
        (ColumnValues::Floats(floats), nulls) => floats_of(ty, floats, &nulls),
        (ColumnValues::Texts(texts), nulls) => texts_of(texts, &nulls),
        (ColumnValues::Bytes(values), nulls) => {
            let (bytes, ends) = values.into_parts();
            match ty {
                Type::Uuid => uuids(bytes, &ends, &nulls),
                Type::Vector(numbers) => vectors(numbers, &bytes, &ends, &nulls),
                _ => {
                    let nulls = null_buffer(&nulls, ends.len() - 1);
                    done(BinaryArray::try_new(offsets(ends), Buffer::from_vec(bytes), nulls))
                }
            }
        }
        (ColumnValues::Other, _) => Err((0, Error::mismatch(ty.name(), ValueRef::Null))),
    }
}

fn done<A: arrow_array::Array + 'static>(
    array: Result<A, arrow_schema::ArrowError>,
) -> Result<ArrayRef, AtRow> {
    array.map(|array| Arc::new(array) as ArrayRef).map_err(|error| (0, crate::arrow_error(error)))
}

/// Which of so many rows are not NULL; `None` if no row is.
fn null_buffer(nulls: &[u32], rows: usize) -> Option<NullBuffer> {
    if nulls.is_empty() {
        return None;
    }
    let mut valid = BooleanBufferBuilder::new(rows);
    valid.append_n(rows, true);
    nulls.iter().for_each(|&row| valid.set_bit(row as usize, false));
    Some(NullBuffer::new(valid.finish()))
}

fn offsets(ends: Vec<i32>) -> OffsetBuffer<i32> {
    OffsetBuffer::new(ScalarBuffer::from(ends))
}

fn integers(ty: Type, ints: Vec<i64>, nulls: Vec<u32>) -> Result<ArrayRef, AtRow> {
    match ty {
        Type::Bool => booleans(&ints, &nulls),
        Type::I8 => narrowed::<Int8Type>(ty, &ints, &nulls),
        Type::I16 => narrowed::<Int16Type>(ty, &ints, &nulls),
        Type::I32 => narrowed::<Int32Type>(ty, &ints, &nulls),
        Type::U8 => narrowed::<UInt8Type>(ty, &ints, &nulls),
        Type::U16 => narrowed::<UInt16Type>(ty, &ints, &nulls),
        Type::U32 => narrowed::<UInt32Type>(ty, &ints, &nulls),
        Type::U64 => narrowed::<UInt64Type>(ty, &ints, &nulls),
        Type::Date => narrowed::<Date32Type>(ty, &ints, &nulls),
        Type::Currency => narrowed::<Decimal128Type>(ty, &ints, &nulls),
        Type::Time => Ok(primitives::<Time64MicrosecondType>(ty, ints, &nulls)),
        Type::DateTime | Type::Timestamp => {
            Ok(primitives::<TimestampMicrosecondType>(ty, ints, &nulls))
        }
        _ => Ok(primitives::<Int64Type>(ty, ints, &nulls)),
    }
}

fn booleans(ints: &[i64], nulls: &[u32]) -> Result<ArrayRef, AtRow> {
    if let Some(row) = ints.iter().position(|int| !matches!(int, 0 | 1)) {
        return Err((row, outside(&ints[row].to_string(), Type::Bool)));
    }
    let bits = BooleanBuffer::collect_bool(ints.len(), |row| ints[row] == 1);
    Ok(Arc::new(BooleanArray::new(bits, null_buffer(nulls, ints.len()))))
}

/// Integers as those of another type.
fn narrowed<T: ArrowPrimitiveType>(ty: Type, ints: &[i64], nulls: &[u32]) -> Result<ArrayRef, AtRow>
where
    T::Native: TryFrom<i64>,
{
    let mut values = Vec::with_capacity(ints.len());
    for (row, &int) in ints.iter().enumerate() {
        let value = T::Native::try_from(int);
        values.push(value.map_err(|_| (row, outside(&int.to_string(), ty)))?);
    }
    Ok(primitives::<T>(ty, values, nulls))
}

fn primitives<T: ArrowPrimitiveType>(ty: Type, values: Vec<T::Native>, nulls: &[u32]) -> ArrayRef {
    let nulls = null_buffer(nulls, values.len());
    let array = PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls);
    Arc::new(array.with_data_type(field("", ty, true).data_type().clone()))
}

fn floats_of(ty: Type, floats: Vec<f64>, nulls: &[u32]) -> Result<ArrayRef, AtRow> {
    let valid = null_buffer(nulls, floats.len());
    if ty == Type::F64 {
        return Ok(Arc::new(Float64Array::new(ScalarBuffer::from(floats), valid)));
    }
    let mut singles = Vec::with_capacity(floats.len());
    for (row, &float) in floats.iter().enumerate() {
        let single = f32::from_value(ValueRef::Float(float));
        singles.push(single.map_err(|error| (row, error))?);
    }
    Ok(Arc::new(Float32Array::new(ScalarBuffer::from(singles), valid)))
}

/// Texts, checked all at once.
fn texts_of(texts: ByteValues, nulls: &[u32]) -> Result<ArrayRef, AtRow> {
    let (bytes, ends) = texts.into_parts();
    let valid = null_buffer(nulls, ends.len() - 1);
    let (offsets, bytes) = (offsets(ends), Buffer::from_vec(bytes));
    StringArray::try_new(offsets.clone(), bytes.clone(), valid)
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|_| no_text(&offsets, &bytes))
}

/// The first text that is not UTF-8.
#[cold]
fn no_text(offsets: &[i32], bytes: &[u8]) -> AtRow {
    let texts = offsets.windows(2).map(|ends| &bytes[ends[0] as usize..ends[1] as usize]);
    let mut others = texts.enumerate().filter(|(_, text)| std::str::from_utf8(text).is_err());
    let (row, other) = others.next().unwrap_or_default();
    (row, Error::mismatch("text", ValueRef::Bytes(other)))
}

fn uuids(bytes: Vec<u8>, ends: &[i32], nulls: &[u32]) -> Result<ArrayRef, AtRow> {
    check_lengths(ends, nulls, &bytes, UUID_BYTES, |bytes| {
        Uuid::from_value(ValueRef::Bytes(bytes)).map(|_| ())
    })?;
    let bytes = with_nulls(bytes, ends.len() - 1, nulls, UUID_BYTES);
    let nulls = null_buffer(nulls, ends.len() - 1);
    done(FixedSizeBinaryArray::try_new(UUID_BYTES as i32, Buffer::from_vec(bytes), nulls))
}

fn vectors(numbers: u16, bytes: &[u8], ends: &[i32], nulls: &[u32]) -> Result<ArrayRef, AtRow> {
    let size = usize::from(numbers) * size_of::<f32>();
    check_lengths(ends, nulls, bytes, size, |bytes| {
        let expected = Type::Vector(numbers).to_string();
        Err(Error::mismatch(&expected, ValueRef::Bytes(bytes)))
    })?;
    let bytes = with_nulls(bytes.to_vec(), ends.len() - 1, nulls, size);
    let values: Float32Array = vector_numbers(&bytes).collect::<Vec<_>>().into();
    let number = Arc::new(Field::new("item", DataType::Float32, false));
    let nulls = null_buffer(nulls, ends.len() - 1);
    done(FixedSizeListArray::try_new(number, i32::from(numbers), Arc::new(values), nulls))
}

/// Checks that values which are not NULL have so many bytes; `otherwise` is the error of one that has not.
fn check_lengths(
    ends: &[i32],
    nulls: &[u32],
    bytes: &[u8],
    size: usize,
    otherwise: impl Fn(&[u8]) -> Result<()>,
) -> Result<(), AtRow> {
    if nulls.is_empty()
        && bytes.len() == (ends.len() - 1) * size
        && ends.windows(2).all(|ends| (ends[1] - ends[0]) as usize == size)
    {
        return Ok(());
    }
    for (row, ends) in ends.windows(2).enumerate() {
        let value = &bytes[ends[0] as usize..ends[1] as usize];
        if value.len() != size && nulls.binary_search(&(row as u32)).is_err() {
            otherwise(value).map_err(|error| (row, error))?;
        }
    }
    Ok(())
}

/// The bytes of values of one size, with zeros in the place of NULLs.
fn with_nulls(bytes: Vec<u8>, rows: usize, nulls: &[u32], size: usize) -> Vec<u8> {
    if nulls.is_empty() {
        return bytes;
    }
    let (mut all, mut rest) = (Vec::with_capacity(rows * size), bytes.chunks_exact(size));
    for row in 0..rows as u32 {
        match nulls.binary_search(&row) {
            Ok(_) => all.resize(all.len() + size, 0),
            Err(_) => all.extend_from_slice(rest.next().unwrap_or_default()),
        }
    }
    all
}

/// Checks that a value has an offset.
#[inline]
pub(crate) fn check_length(bytes: usize) -> Result<()> {
    if bytes <= VALUE_BYTES { Ok(()) } else { Err(too_long(bytes)) }
}

#[cold]
fn too_long(bytes: usize) -> Error {
    let message = format!("a value of {bytes} bytes is too long for Arrow's 32-bit offsets");
    Error::new(ErrorKind::TooLong, message)
}

#[cold]
fn outside(value: &str, ty: Type) -> Error {
    Error::new(ErrorKind::OutOfRange, format!("{value} does not fit {ty}"))
}
