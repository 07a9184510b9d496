//! The values of one column of a batch that is being built.

use crate::any_values::AnyValues;
use crate::batch_builder::BATCH_BYTES;
use crate::types::field;
use arrow_array::builder::{
    ArrayBuilder, BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, Float32Builder,
    Float64Builder, PrimitiveBuilder, StringBuilder,
};
use arrow_array::types::{
    Date32Type, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType, FixedSizeListArray, Float32Array};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{DataType, Field};
use bobak_core::{
    Currency, Date, DateTime, Error, ErrorKind, Result, Time, Timestamp, Type, Uuid, ValueRef,
    vector_numbers,
};
use std::sync::Arc;

/// The most bytes of one value: with the values before it, its offset then fits 32 bits.
const VALUE_BYTES: usize = i32::MAX as usize - BATCH_BYTES;

/// The values of one column.
pub(crate) trait ColumnValues: Send {
    /// Appends a value, and returns its approximate size in bytes.
    ///
    /// # Errors
    /// `Mismatch`, `OutOfRange` for a value that does not have the column's type; `TooLong`.
    fn push(&mut self, value: ValueRef<'_>) -> Result<usize>;

    /// The array of the values since the last call.
    ///
    /// # Errors
    /// None that a caller can cause.
    fn finish(&mut self) -> Result<ArrayRef>;
}

/// A column of this type. After a batch it has space for as many values as that had.
pub(crate) fn column_values(ty: Type) -> Box<dyn ColumnValues> {
    match ty {
        Type::Bool => Box::new(Booleans(BooleanBuilder::new())),
        Type::I8 => Integers::<Int8Type>::boxed(ty),
        Type::I16 => Integers::<Int16Type>::boxed(ty),
        Type::I32 => Integers::<Int32Type>::boxed(ty),
        Type::I64 => Integers::<Int64Type>::boxed(ty),
        Type::U8 => Integers::<UInt8Type>::boxed(ty),
        Type::U16 => Integers::<UInt16Type>::boxed(ty),
        Type::U32 => Integers::<UInt32Type>::boxed(ty),
        Type::U64 => Integers::<UInt64Type>::boxed(ty),
        Type::Currency => Integers::<Decimal128Type>::boxed(ty),
        Type::Date => Integers::<Date32Type>::boxed(ty),
        Type::Time => Integers::<Time64MicrosecondType>::boxed(ty),
        Type::DateTime | Type::Timestamp => Integers::<TimestampMicrosecondType>::boxed(ty),
        Type::F32 => Box::new(Floats32(Float32Builder::new())),
        Type::F64 => Box::new(Floats64(Float64Builder::new())),
        Type::Text | Type::Json | Type::Decimal => {
            Box::new(Texts { builder: StringBuilder::new(), decimal: ty == Type::Decimal })
        }
        Type::Bytes => Box::new(Bytes(BinaryBuilder::new())),
        Type::Uuid => Box::new(Uuids(FixedSizeBinaryBuilder::new(16))),
        Type::Vector(numbers) => Box::new(Vectors::new(numbers)),
        _ => Box::new(AnyValues::default()),
    }
}

/// Integers of a type, and the types that are stored as integers.
struct Integers<T: ArrowPrimitiveType> {
    builder: PrimitiveBuilder<T>,
    ty: Type,
}

impl<T: ArrowPrimitiveType> Integers<T>
where
    T::Native: TryFrom<i64>,
{
    fn boxed(ty: Type) -> Box<dyn ColumnValues> {
        Box::new(Self { builder: Self::builder(ty, 0), ty })
    }

    fn builder(ty: Type, rows: usize) -> PrimitiveBuilder<T> {
        let ty = field("", ty, true).data_type().clone();
        PrimitiveBuilder::with_capacity(rows).with_data_type(ty)
    }

    #[inline]
    fn push_integer(&mut self, integer: i64) -> Result<usize> {
        match T::Native::try_from(integer) {
            Ok(native) => {
                self.builder.append_value(native);
                Ok(size_of::<T::Native>())
            }
            Err(_) => Err(outside(&integer.to_string(), self.ty)),
        }
    }
}

impl<T: ArrowPrimitiveType> ColumnValues for Integers<T>
where
    T::Native: TryFrom<i64>,
{
    #[inline]
    fn push(&mut self, value: ValueRef<'_>) -> Result<usize> {
        match value {
            ValueRef::Int(integer) => self.push_integer(integer),
            ValueRef::Null => {
                self.builder.append_null();
                Ok(size_of::<T::Native>())
            }
            other => self.push_integer(stored_integer(self.ty, other)?),
        }
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let next = Self::builder(self.ty, self.builder.len());
        Ok(Arc::new(std::mem::replace(&mut self.builder, next).finish()))
    }
}

/// The integer of a value that is stored otherwise: a date or time that is kept as text.
#[cold]
fn stored_integer(ty: Type, value: ValueRef<'_>) -> Result<i64> {
    use bobak_core::Field;
    let read = |value: bobak_core::Value<'_>| i64::from_value(value.as_ref());
    match ty {
        Type::Date => read(Date::from_value(value)?.to_value()?),
        Type::Time => read(Time::from_value(value)?.to_value()?),
        Type::DateTime => read(DateTime::from_value(value)?.to_value()?),
        Type::Timestamp => read(Timestamp::from_value(value)?.to_value()?),
        Type::Currency => Currency::from_value(value).map(Currency::scaled),
        _ => Err(Error::mismatch(ty.name(), value)),
    }
}

struct Booleans(BooleanBuilder);

impl ColumnValues for Booleans {
    #[inline]
    fn push(&mut self, value: ValueRef<'_>) -> Result<usize> {
        match value {
            ValueRef::Int(integer @ (0 | 1)) => self.0.append_value(integer == 1),
            ValueRef::Null => self.0.append_null(),
            ValueRef::Int(integer) => return Err(outside(&integer.to_string(), Type::Bool)),
            other => return Err(Error::mismatch(Type::Bool.name(), other)),
        }
        Ok(1)
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.0.finish()))
    }
}

struct Floats64(Float64Builder);

impl ColumnValues for Floats64 {
    #[inline]
    fn push(&mut self, value: ValueRef<'_>) -> Result<usize> {
        use bobak_core::Field;
        match value {
            ValueRef::Float(float) => self.0.append_value(float),
            ValueRef::Null => self.0.append_null(),
            other => self.0.append_value(f64::from_value(other)?),
        }
        Ok(size_of::<f64>())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let next = Float64Builder::with_capacity(self.0.len());
        Ok(Arc::new(std::mem::replace(&mut self.0, next).finish()))
    }
}

struct Floats32(Float32Builder);

impl ColumnValues for Floats32 {
    #[inline]
    fn push(&mut self, value: ValueRef<'_>) -> Result<usize> {
        use bobak_core::Field;
        match value {
            ValueRef::Null => self.0.append_null(),
            other => self.0.append_value(f32::from_value(other)?),
        }
        Ok(size_of::<f32>())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.0.finish()))
    }
}

struct Texts {
    builder: StringBuilder,
    decimal: bool,
}

impl ColumnValues for Texts {
    #[inline]
    fn push(&mut self, value: ValueRef<'_>) -> Result<usize> {
        match value {
            ValueRef::Text(text) => {
                check_length(text.len())?;
                self.builder.append_value(text);
                return Ok(text.len() + size_of::<i32>());
            }
            ValueRef::Null => self.builder.append_null(),
            ValueRef::Int(whole) if self.decimal => self.builder.append_value(whole.to_string()),
            other => return Err(Error::mismatch("text", other)),
        }
        Ok(size_of::<i32>())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let bytes = self.builder.values_slice().len();
        let next = StringBuilder::with_capacity(self.builder.len(), bytes);
        Ok(Arc::new(std::mem::replace(&mut self.builder, next).finish()))
    }
}

struct Bytes(BinaryBuilder);

impl ColumnValues for Bytes {
    #[inline]
    fn push(&mut self, value: ValueRef<'_>) -> Result<usize> {
        match value {
            ValueRef::Bytes(bytes) => {
                check_length(bytes.len())?;
                self.0.append_value(bytes);
                return Ok(bytes.len() + size_of::<i32>());
            }
            ValueRef::Null => self.0.append_null(),
            other => return Err(Error::mismatch("bytes", other)),
        }
        Ok(size_of::<i32>())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.0.finish()))
    }
}

struct Uuids(FixedSizeBinaryBuilder);

impl ColumnValues for Uuids {
    #[inline]
    fn push(&mut self, value: ValueRef<'_>) -> Result<usize> {
        use bobak_core::Field;
        match value {
            ValueRef::Null => self.0.append_null(),
            other => {
                let bytes = Uuid::from_value(other)?.into_bytes();
                self.0.append_value(bytes).map_err(crate::arrow_error)?;
            }
        }
        Ok(16)
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        Ok(Arc::new(self.0.finish()))
    }
}

/// Vectors of one length.
struct Vectors {
    dimensions: u16,
    numbers: Vec<f32>,
    nulls: NullBufferBuilder,
}

impl Vectors {
    fn new(dimensions: u16) -> Self {
        Self { dimensions, numbers: Vec::new(), nulls: NullBufferBuilder::new(0) }
    }
}

impl ColumnValues for Vectors {
    fn push(&mut self, value: ValueRef<'_>) -> Result<usize> {
        let length = usize::from(self.dimensions);
        let size = length * size_of::<f32>();
        match value {
            ValueRef::Bytes(bytes) if bytes.len() == size => {
                self.numbers.extend(vector_numbers(bytes));
                self.nulls.append_non_null();
            }
            ValueRef::Null => {
                self.numbers.resize(self.numbers.len() + length, 0.0);
                self.nulls.append_null();
            }
            other => {
                let expected = Type::Vector(self.dimensions).to_string();
                return Err(Error::mismatch(&expected, other));
            }
        }
        Ok(size)
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let numbers = Float32Array::from(std::mem::take(&mut self.numbers));
        let number = Arc::new(Field::new("item", DataType::Float32, false));
        let (length, nulls) = (i32::from(self.dimensions), self.nulls.finish());
        FixedSizeListArray::try_new(number, length, Arc::new(numbers), nulls)
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(crate::arrow_error)
    }
}

/// Checks that a value has an offset.
#[inline]
pub(crate) fn check_length(bytes: usize) -> Result<()> {
    if bytes <= VALUE_BYTES {
        return Ok(());
    }
    let message = format!("a value of {bytes} bytes is too long for Arrow's 32-bit offsets");
    Err(Error::new(ErrorKind::TooLong, message))
}

#[cold]
fn outside(value: &str, ty: Type) -> Error {
    Error::new(ErrorKind::OutOfRange, format!("{value} does not fit {ty}"))
}
