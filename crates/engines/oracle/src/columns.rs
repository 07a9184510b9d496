//! What columns are in the database.

use crate::dialect::OracleStatements;
use crate::values::{OracleType, is_text};
use bobak_core::{ColumnSchema, Error, ErrorKind, LengthLimit, Result, TableSchema, Type};
use bobak_engine_common::{SchemaDialect, in_column};

/// The characters of a text in a key or an index, unless the column says it: an index entry has about 6,000 bytes.
const TEXT_CHARS: u16 = 400;
/// The characters of the longest text in a row: 4,000 bytes, of which a character has up to 4.
const MOST_CHARS: u32 = 1_000;
/// The bytes of a value in an index.
const BYTES: u16 = 800;
/// Whether a column is in the key, an index or a foreign key.
fn is_indexed(table: &TableSchema, place: usize) -> bool {
    table.key().contains(&place)
        || table.indexes().iter().any(|index| index.columns.contains(&place))
        || table.all_foreign_keys().iter().any(|key| key.columns.contains(&place))
}

/// The column's type in the database.
///
/// # Errors
/// `Unsupported` for a type that Oracle has not.
pub(crate) fn oracle_type(table: &TableSchema, place: usize) -> Result<OracleType> {
    let column = table.column_at(place)?;
    let int = |digits, low: i64, high: i64| OracleType::Int(digits, low, high);
    Ok(match column.ty {
        _ if is_text(column) => text_type(table, place, column),
        Type::Bool => OracleType::Bool,
        Type::U8 => int(3, 0, u8::MAX.into()),
        Type::I8 => int(3, i8::MIN.into(), i8::MAX.into()),
        Type::I16 => int(5, i16::MIN.into(), i16::MAX.into()),
        Type::U16 => int(5, 0, u16::MAX.into()),
        Type::I32 => int(10, i32::MIN.into(), i32::MAX.into()),
        Type::U32 => int(10, 0, u32::MAX.into()),
        Type::I64 => int(19, i64::MIN, i64::MAX),
        Type::U64 => int(20, 0, i64::MAX),
        Type::F32 | Type::F64 => OracleType::Double,
        Type::Currency => OracleType::Money,
        Type::Date => OracleType::Date,
        Type::Time => OracleType::Time,
        Type::DateTime | Type::Timestamp => OracleType::Moment,
        Type::Uuid => OracleType::Uuid,
        Type::Bytes if is_indexed(table, place) => OracleType::Raw(BYTES),
        Type::Bytes => OracleType::Blob,
        _ => {
            let error = Error::new(ErrorKind::Unsupported, "Oracle has no columns of any type");
            return Err(in_column(error, table, Some(place)));
        }
    })
}

/// How long a value of the column may be.
pub(crate) fn length_limit(table: &TableSchema, place: usize) -> Option<LengthLimit> {
    match oracle_type(table, place).ok()? {
        OracleType::Text(chars) => Some(LengthLimit::Characters(chars.into())),
        OracleType::Raw(bytes) => Some(LengthLimit::Bytes(bytes.into())),
        _ => None,
    }
}

fn text_type(table: &TableSchema, place: usize, column: &ColumnSchema) -> OracleType {
    let own = column.max_chars.and_then(|chars| u16::try_from(chars.clamp(1, MOST_CHARS)).ok());
    match column.max_chars {
        _ if column.is_kept_as_text() => OracleType::Text(own.unwrap_or(80)),
        _ if is_indexed(table, place) => OracleType::Text(own.unwrap_or(TEXT_CHARS)),
        _ if column.ty == Type::Json => OracleType::Json,
        Some(chars) if chars > MOST_CHARS => OracleType::Clob,
        // Long texts cannot be compared.
        None if column.check.is_none() && column.ty == Type::Text => OracleType::Clob,
        _ => OracleType::Text(own.unwrap_or(1_000)),
    }
}

/// What a unique index is of. Oracle takes rows for equal if some of their values are NULL and the others equal; so an index of
/// several columns that may be NULL leaves out the rows in which one is NULL.
pub(crate) fn unique_parts(table: &TableSchema, places: &[usize]) -> Vec<String> {
    let nullable = OracleStatements.not_null(table, places);
    let parts = places.iter().map(|&place| OracleStatements.indexed(table, place));
    match places.len() > 1 && !nullable.is_empty() {
        true => {
            let condition = nullable.join(" AND ");
            parts.map(|part| format!("CASE WHEN {condition} THEN {part} END")).collect()
        }
        false => parts.collect(),
    }
}
