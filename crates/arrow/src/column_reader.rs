//! The values of an array as values of a column.

use crate::types::CURRENCY_SCALE;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, DecimalType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, downcast_integer};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use bobak_core::{Error, ErrorKind, Result, Storage, Type, Value, vector_bytes};

/// Reads the value of a row that is not NULL.
type ReadValue<'a> = Box<dyn Fn(usize) -> Result<Value<'a>> + 'a>;

/// An array, read as values of a column.
pub(crate) struct ColumnReader<'a> {
    nulls: Option<NullBuffer>,
    read: ReadValue<'a>,
}

impl<'a> ColumnReader<'a> {
    /// A reader of an array for a column of the type `wanted`.
    ///
    /// # Errors
    /// `Mismatch` if a column of that type does not take values of the array's type.
    pub fn new(array: &'a ArrayRef, wanted: Type) -> Result<Self> {
        let read = reader(array, wanted)
            .ok_or_else(|| Error::new(ErrorKind::Mismatch, mismatch(array.data_type(), wanted)))?;
        Ok(Self { nulls: array.logical_nulls(), read })
    }

    /// The value of a row.
    ///
    /// # Errors
    /// `OutOfRange` if the value has no stored form, such as nanoseconds.
    pub fn value(&self, row: usize) -> Result<Value<'a>> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(Value::Null);
        }
        (self.read)(row)
    }
}

fn mismatch(found: &DataType, wanted: Type) -> String {
    let hint = match (found, wanted) {
        (DataType::Timestamp(_, None), Type::Timestamp) => {
            ": a timestamp needs a time zone, and the array has none"
        }
        (DataType::Timestamp(_, Some(_)), Type::DateTime) => {
            ": a datetime has no time zone, and the array has one"
        }
        (DataType::Float32 | DataType::Float64, _) if wanted.is_integer() => {
            ": convert the floats to integers first"
        }
        (DataType::Float32 | DataType::Float64, Type::Currency) => {
            ": convert the floats to decimals first"
        }
        _ => "",
    };
    format!("a column of the type {wanted} takes no array of the type {found}{hint}")
}

/// Reads an array as values of the type `wanted`; `None` if they are of another kind.
fn reader<'a>(array: &'a ArrayRef, wanted: Type) -> Option<ReadValue<'a>> {
    if let DataType::Dictionary(..) = array.data_type() {
        return dictionary(array, wanted);
    }
    if *array.data_type() == DataType::Null {
        return Some(Box::new(|_| Ok(Value::Null)));
    }
    match wanted {
        Type::Bool => booleans(array),
        Type::Currency => decimals(array).or_else(|| whole_units(array)),
        Type::Date => dates(array).or_else(|| texts(array)),
        Type::Time => times(array).or_else(|| texts(array)),
        Type::DateTime => timestamps(array, false).or_else(|| texts(array)),
        Type::Timestamp => timestamps(array, true).or_else(|| texts(array)),
        Type::Uuid => bytes(array).or_else(|| texts(array)),
        Type::Vector(_) => vectors(array),
        Type::Any | Type::Decimal => plain(array),
        _ => match wanted.storage() {
            Storage::Int => integers(array),
            Storage::Float => floats(array).or_else(|| integers(array)),
            Storage::Text => texts(array),
            _ => bytes(array),
        },
    }
}

/// The values of an array whose column may have any.
fn plain(array: &ArrayRef) -> Option<ReadValue<'_>> {
    integers(array)
        .or_else(|| floats(array))
        .or_else(|| texts(array))
        .or_else(|| bytes(array))
        .or_else(|| booleans(array))
}

/// Reads the values that the keys of a dictionary stand for.
fn dictionary(array: &ArrayRef, wanted: Type) -> Option<ReadValue<'_>> {
    let DataType::Dictionary(key, _) = array.data_type() else { return None };
    macro_rules! of_key {
        ($key:ty) => {
            dictionary_of::<$key>(array, wanted)
        };
    }
    downcast_integer! {
        key.as_ref() => (of_key),
        _ => None
    }
}

fn dictionary_of<K: ArrowDictionaryKeyType>(
    array: &ArrayRef,
    wanted: Type,
) -> Option<ReadValue<'_>> {
    let array = array.as_dictionary_opt::<K>()?;
    let values = reader(array.values(), wanted)?;
    Some(Box::new(move |row| match array.key(row) {
        Some(key) => values(key),
        None => Ok(Value::Null),
    }))
}

fn booleans(array: &ArrayRef) -> Option<ReadValue<'_>> {
    let values = array.as_boolean_opt()?;
    Some(Box::new(|row| Ok(Value::from(values.value(row)))))
}

fn integers(array: &ArrayRef) -> Option<ReadValue<'_>> {
    if let Some(values) = array.as_primitive_opt::<UInt64Type>() {
        return Some(Box::new(|row| {
            let value = values.value(row);
            i64::try_from(value).map(Value::Int).map_err(|_| no_form(&value.to_string()))
        }));
    }
    small::<Int64Type>(array)
        .or_else(|| small::<Int32Type>(array))
        .or_else(|| small::<Int16Type>(array))
        .or_else(|| small::<Int8Type>(array))
        .or_else(|| small::<UInt32Type>(array))
        .or_else(|| small::<UInt16Type>(array))
        .or_else(|| small::<UInt8Type>(array))
}

/// Integers that fit 64 bits.
fn small<T: ArrowPrimitiveType>(array: &ArrayRef) -> Option<ReadValue<'_>>
where
    T::Native: Into<i64>,
{
    scaled::<T>(array, 1, 1)
}

/// Integers, multiplied and divided; those that cannot be divided have no stored form.
fn scaled<T: ArrowPrimitiveType>(array: &ArrayRef, times: i64, per: i64) -> Option<ReadValue<'_>>
where
    T::Native: Into<i64>,
{
    let values = array.as_primitive_opt::<T>()?;
    Some(Box::new(move |row| {
        let value: i64 = values.value(row).into();
        if value % per != 0 {
            return Err(no_form(&format!("{value} in {} of a unit", T::DATA_TYPE)));
        }
        let product = (value / per).checked_mul(times);
        product.map(Value::Int).ok_or_else(|| no_form(&value.to_string()))
    }))
}

fn floats(array: &ArrayRef) -> Option<ReadValue<'_>> {
    if let Some(values) = array.as_primitive_opt::<Float64Type>() {
        return Some(Box::new(|row| Ok(Value::Float(values.value(row)))));
    }
    let values = array.as_primitive_opt::<Float32Type>()?;
    Some(Box::new(|row| Ok(Value::Float(values.value(row).into()))))
}

fn texts(array: &ArrayRef) -> Option<ReadValue<'_>> {
    Some(match array.data_type() {
        DataType::Utf8 => {
            let values = array.as_string::<i32>();
            Box::new(|row| Ok(Value::from(values.value(row))))
        }
        DataType::LargeUtf8 => {
            let values = array.as_string::<i64>();
            Box::new(|row| Ok(Value::from(values.value(row))))
        }
        DataType::Utf8View => {
            let values = array.as_string_view();
            Box::new(|row| Ok(Value::from(values.value(row))))
        }
        _ => {
            return digits::<Decimal128Type>(array)
                .or_else(|| digits::<Decimal256Type>(array))
                .or_else(|| digits::<Decimal64Type>(array))
                .or_else(|| digits::<Decimal32Type>(array));
        }
    })
}

/// Decimals as texts of their digits.
fn digits<T: DecimalType>(array: &ArrayRef) -> Option<ReadValue<'_>> {
    let values = array.as_primitive_opt::<T>()?;
    Some(Box::new(|row| Ok(Value::from(values.value_as_string(row)))))
}

fn bytes(array: &ArrayRef) -> Option<ReadValue<'_>> {
    Some(match array.data_type() {
        DataType::Binary => {
            let values = array.as_binary::<i32>();
            Box::new(|row| Ok(Value::from(values.value(row))))
        }
        DataType::LargeBinary => {
            let values = array.as_binary::<i64>();
            Box::new(|row| Ok(Value::from(values.value(row))))
        }
        DataType::BinaryView => {
            let values = array.as_binary_view();
            Box::new(|row| Ok(Value::from(values.value(row))))
        }
        DataType::FixedSizeBinary(_) => {
            let values = array.as_fixed_size_binary();
            Box::new(|row| Ok(Value::from(values.value(row))))
        }
        _ => return None,
    })
}

/// Decimals as amounts.
fn decimals(array: &ArrayRef) -> Option<ReadValue<'_>> {
    let (DataType::Decimal32(_, scale)
    | DataType::Decimal64(_, scale)
    | DataType::Decimal128(_, scale)) = *array.data_type()
    else {
        return None;
    };
    decimals_of::<Decimal128Type>(array, scale)
        .or_else(|| decimals_of::<Decimal64Type>(array, scale))
        .or_else(|| decimals_of::<Decimal32Type>(array, scale))
}

fn decimals_of<T: ArrowPrimitiveType>(array: &ArrayRef, scale: i8) -> Option<ReadValue<'_>>
where
    T::Native: Into<i128>,
{
    let values = array.as_primitive_opt::<T>()?;
    let places = i32::from(CURRENCY_SCALE) - i32::from(scale);
    let factor = 10i128.checked_pow(places.unsigned_abs())?;
    Some(Box::new(move |row| {
        let value: i128 = values.value(row).into();
        let amount = if places >= 0 {
            value.checked_mul(factor)
        } else {
            (value % factor == 0).then_some(value / factor)
        };
        let amount = amount.and_then(|amount| i64::try_from(amount).ok());
        let shown = || format!("the decimal {value} with {scale} places");
        amount.map(Value::Int).ok_or_else(|| no_form(&shown()))
    }))
}

/// Integers as amounts: whole units.
fn whole_units(array: &ArrayRef) -> Option<ReadValue<'_>> {
    let whole = integers(array)?;
    Some(Box::new(move |row| {
        let value = whole(row)?;
        bobak_core::convert(value.as_ref(), Type::I64, Type::Currency)
            .map(Value::from)
            .map(Value::into_owned)
    }))
}

fn dates(array: &ArrayRef) -> Option<ReadValue<'_>> {
    const MILLIS_PER_DAY: i64 = 86_400_000;
    small::<Date32Type>(array).or_else(|| scaled::<Date64Type>(array, 1, MILLIS_PER_DAY))
}

fn times(array: &ArrayRef) -> Option<ReadValue<'_>> {
    scaled::<Time64MicrosecondType>(array, 1, 1)
        .or_else(|| scaled::<Time64NanosecondType>(array, 1, 1_000))
        .or_else(|| scaled::<Time32MillisecondType>(array, 1_000, 1))
        .or_else(|| scaled::<Time32SecondType>(array, 1_000_000, 1))
}

/// Timestamps with a time zone, or without.
fn timestamps(array: &ArrayRef, zoned: bool) -> Option<ReadValue<'_>> {
    let DataType::Timestamp(unit, zone) = array.data_type() else { return None };
    if zone.is_some() != zoned {
        return None;
    }
    match unit {
        TimeUnit::Second => scaled::<TimestampSecondType>(array, 1_000_000, 1),
        TimeUnit::Millisecond => scaled::<TimestampMillisecondType>(array, 1_000, 1),
        TimeUnit::Microsecond => scaled::<TimestampMicrosecondType>(array, 1, 1),
        TimeUnit::Nanosecond => scaled::<TimestampNanosecondType>(array, 1, 1_000),
    }
}

/// Lists of floats. The column checks their lengths.
fn vectors(array: &ArrayRef) -> Option<ReadValue<'_>> {
    let (DataType::FixedSizeList(number, _) | DataType::List(number) | DataType::LargeList(number)) =
        array.data_type()
    else {
        return None;
    };
    let of_floats = matches!(number.data_type(), DataType::Float32 | DataType::Float64);
    let list: Box<dyn Fn(usize) -> ArrayRef + '_> = match array.data_type() {
        DataType::FixedSizeList(..) => {
            let lists = array.as_fixed_size_list();
            Box::new(|row| lists.value(row))
        }
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            Box::new(|row| lists.value(row))
        }
        _ => {
            let lists = array.as_list::<i64>();
            Box::new(|row| lists.value(row))
        }
    };
    of_floats.then(|| -> ReadValue<'_> { Box::new(move |row| vector(&list(row))) })
}

/// The stored form of a vector; numbers of 64 bits become the nearest ones of 32.
fn vector(numbers: &ArrayRef) -> Result<Value<'static>> {
    if numbers.null_count() > 0 {
        return Err(Error::new(ErrorKind::Mismatch, "a number of the vector is NULL"));
    }
    let narrow: Vec<f32> = match numbers.as_primitive_opt::<Float32Type>() {
        Some(own) => own.values().to_vec(),
        None => match numbers.as_primitive_opt::<Float64Type>() {
            Some(wide) => wide.values().iter().map(|number| *number as f32).collect(),
            None => Vec::new(),
        },
    };
    Ok(Value::from(vector_bytes(&narrow)))
}

#[cold]
fn no_form(value: &str) -> Error {
    let message = format!("{value} cannot be stored without rounding, or is out of range");
    Error::new(ErrorKind::OutOfRange, message)
}
