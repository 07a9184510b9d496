//! The mapping between column types and Arrow's types.

use arrow_schema::{ArrowError, DataType, Field, TimeUnit};
use bobak_core::{Error, ErrorKind, Type};
use std::sync::Arc;

/// The precision of amounts: that of a 64-bit integer.
pub(crate) const CURRENCY_PRECISION: u8 = 19;
/// The decimal places of amounts.
pub(crate) const CURRENCY_SCALE: i8 = 4;
/// The key of a field's metadata with the name of its extension type.
const EXTENSION_NAME: &str = "ARROW:extension:name";
/// The key of the extension type's own metadata, which Arrow's `arrow.json` and `arrow.uuid` have empty.
const EXTENSION_METADATA: &str = "ARROW:extension:metadata";

/// The Arrow field of a column.
///
/// [`Type::Any`] becomes the type `Null`: a [`BatchBuilder`](crate::BatchBuilder) replaces it by the type of the first batch's
/// values. [`Type::Decimal`] becomes text, because its values have no common number of places.
///
/// ```
/// use bobak_core::Type;
/// use bobak_arrow::arrow_schema::DataType;
/// let price = bobak_arrow::field("price", Type::Currency, false);
/// assert_eq!(price.data_type(), &DataType::Decimal128(19, 4));
/// ```
#[must_use]
pub fn field(name: &str, ty: Type, nullable: bool) -> Field {
    let field = Field::new(name, data_type(ty), nullable);
    let extension = match ty {
        Type::Uuid => "arrow.uuid",
        Type::Json => "arrow.json",
        _ => return field,
    };
    let metadata = [(EXTENSION_NAME, extension), (EXTENSION_METADATA, "")];
    field.with_metadata(metadata.map(|(key, value)| (key.to_owned(), value.to_owned())))
}

fn data_type(ty: Type) -> DataType {
    match ty {
        Type::Bool => DataType::Boolean,
        Type::I8 => DataType::Int8,
        Type::I16 => DataType::Int16,
        Type::I32 => DataType::Int32,
        Type::I64 => DataType::Int64,
        Type::U8 => DataType::UInt8,
        Type::U16 => DataType::UInt16,
        Type::U32 => DataType::UInt32,
        Type::U64 => DataType::UInt64,
        Type::F32 => DataType::Float32,
        Type::F64 => DataType::Float64,
        Type::Text | Type::Json | Type::Decimal => DataType::Utf8,
        Type::Bytes => DataType::Binary,
        Type::Uuid => DataType::FixedSizeBinary(16),
        Type::Currency => DataType::Decimal128(CURRENCY_PRECISION, CURRENCY_SCALE),
        Type::Date => DataType::Date32,
        Type::Time => DataType::Time64(TimeUnit::Microsecond),
        Type::DateTime => DataType::Timestamp(TimeUnit::Microsecond, None),
        Type::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Type::Vector(numbers) => {
            let number = Arc::new(Field::new("item", DataType::Float32, false));
            DataType::FixedSizeList(number, i32::from(numbers))
        }
        _ => DataType::Null,
    }
}

/// The type of a column that takes an Arrow field's values, for a new table. `None` if no column does.
///
/// It is the inverse of [`field`], and also takes the forms that other programs write: texts and bytes with long offsets,
/// views and dictionaries, dates, times and timestamps in other units, and decimals: as amounts if these can hold all numbers of
/// the precision, and otherwise as texts of their digits.
#[must_use]
pub fn column_type(field: &Field) -> Option<Type> {
    let extension = field.metadata().get(EXTENSION_NAME).map(String::as_str);
    match (of_data_type(field.data_type())?, extension) {
        (Type::Text, Some("arrow.json")) => Some(Type::Json),
        (ty, _) => Some(ty),
    }
}

fn of_data_type(ty: &DataType) -> Option<Type> {
    Some(match ty {
        DataType::Boolean => Type::Bool,
        DataType::Int8 => Type::I8,
        DataType::Int16 => Type::I16,
        DataType::Int32 => Type::I32,
        DataType::Int64 => Type::I64,
        DataType::UInt8 => Type::U8,
        DataType::UInt16 => Type::U16,
        DataType::UInt32 => Type::U32,
        DataType::UInt64 => Type::U64,
        DataType::Float32 => Type::F32,
        DataType::Float64 => Type::F64,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Type::Text,
        DataType::FixedSizeBinary(16) => Type::Uuid,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Type::Bytes,
        DataType::FixedSizeBinary(_) => Type::Bytes,
        ty if ty.is_decimal() => {
            if is_currency(ty) {
                Type::Currency
            } else {
                Type::Text
            }
        }
        DataType::Date32 | DataType::Date64 => Type::Date,
        DataType::Time32(_) | DataType::Time64(_) => Type::Time,
        DataType::Timestamp(_, None) => Type::DateTime,
        DataType::Timestamp(_, Some(_)) => Type::Timestamp,
        DataType::Dictionary(_, values) => return of_data_type(values),
        DataType::FixedSizeList(number, length) if is_float(number) => {
            Type::Vector(u16::try_from(*length).ok().filter(|length| *length > 0)?)
        }
        _ => return None,
    })
}

/// Whether every number of a decimal type is an amount.
fn is_currency(ty: &DataType) -> bool {
    let (DataType::Decimal32(precision, scale)
    | DataType::Decimal64(precision, scale)
    | DataType::Decimal128(precision, scale)) = *ty
    else {
        return false;
    };
    let own = (precision, scale) == (CURRENCY_PRECISION, CURRENCY_SCALE);
    // 14 digits before the point always fit; of 15 only those up to 922,337,203,685,477.
    own || (0..=CURRENCY_SCALE).contains(&scale) && i16::from(precision) - i16::from(scale) <= 14
}

fn is_float(field: &Field) -> bool {
    matches!(field.data_type(), DataType::Float32 | DataType::Float64)
}

/// An error of Arrow's library: `Unsupported` for a compression that this program does not read, `Corrupt` for bytes that are no
/// Arrow data, `Io` of a stream's own reader or writer.
#[must_use]
pub fn arrow_error(error: ArrowError) -> Error {
    if let ArrowError::IoError(message, source) = error {
        return Error::new(ErrorKind::Io, message).with_source(source);
    }
    let text = error.to_string();
    if let Some(name) = unknown_compression(&text) {
        let message = format!(
            "this program does not read data that is compressed with {name}: write it with LZ4, or without compression"
        );
        return Error::new(ErrorKind::Unsupported, message);
    }
    Error::new(ErrorKind::Corrupt, format!("the Arrow data is damaged: {text}"))
}

/// The compression that the libraries lack, of their messages `… zstd IPC decompression requires the zstd feature` and `…
/// Disabled feature at compile time: brotli`.
fn unknown_compression(message: &str) -> Option<&str> {
    let ipc = message.split_once(" IPC decompression requires").map(|(before, _)| before);
    let parquet = message.split_once("Disabled feature at compile time: ").map(|(_, name)| name);
    ipc.and_then(|before| before.rsplit(' ').next()).or(parquet).map(str::trim)
}
