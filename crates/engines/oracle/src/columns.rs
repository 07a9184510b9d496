//! What columns are in the database.

use crate::checks::OracleChecks;
use crate::names::{check_name, column as name_of, literal, own, quoted, type_check_name};
use crate::values::{OracleType, SERVER, is_text, stored_bytes};
use bobak_core::{
    Collation, ColumnSchema, Currency, Error, ErrorKind, LengthLimit, Result, TableSchema, Type,
    ValueRef,
};
use bobak_engine_common::{calendar, check_condition, in_column};

/// The characters of a text in a key or an index, unless the column says it: an index entry has about 6,000 bytes.
const TEXT_CHARS: u16 = 400;
/// The characters of the longest text in a row: 4,000 bytes, of which a character has up to 4.
const MOST_CHARS: u32 = 1_000;
/// The bytes of a value in an index.
const BYTES: u16 = 800;
/// The bytes of a literal.
const LITERAL: usize = 4_000;

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
            let error = Error::new(ErrorKind::Unsupported, "columns of any type, on Oracle");
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

/// A value of a column as a literal.
///
/// # Errors
/// `OutOfRange` for a value that the column does not have, `Unsupported` for one that is too long.
pub(crate) fn value_literal(column: &ColumnSchema, value: ValueRef<'_>) -> Result<String> {
    let text = match (value, column.ty) {
        (ValueRef::Null, _) => "NULL".to_owned(),
        (ValueRef::Int(scaled), Type::Currency) => Currency::from_scaled(scaled).to_string(),
        (
            ValueRef::Int(integer),
            ty @ (Type::Date | Type::Time | Type::DateTime | Type::Timestamp),
        ) => moment_literal(ty, integer)?,
        (ValueRef::Int(integer), _) => integer.to_string(),
        (ValueRef::Float(float), _) => float_literal(float),
        (ValueRef::Text(text), _) => literal(text),
        (ValueRef::Bytes(bytes), ty) => {
            let stored = if ty == Type::Uuid { bytes.into() } else { stored_bytes(bytes) };
            let digits: Vec<String> = stored.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("HEXTORAW('{}')", digits.concat())
        }
    };
    if text.len() > LITERAL {
        let message = format!("Oracle has no literals of more than {LITERAL} bytes");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    Ok(text)
}

fn float_literal(float: f64) -> String {
    match float {
        _ if float.is_nan() => "BINARY_DOUBLE_NAN".to_owned(),
        f64::INFINITY => "BINARY_DOUBLE_INFINITY".to_owned(),
        f64::NEG_INFINITY => "-BINARY_DOUBLE_INFINITY".to_owned(),
        // A NUMBER has all digits of a float of this size.
        _ if float == 0.0 || (1e-80..1e80).contains(&float.abs()) => {
            format!("CAST({float:e} AS BINARY_DOUBLE)")
        }
        _ => format!("TO_BINARY_DOUBLE('{float:e}')"),
    }
}

fn moment_literal(ty: Type, integer: i64) -> Result<String> {
    let (date, time) = calendar::texts_of(ty, integer, SERVER)?;
    Ok(match ty {
        Type::Date => format!("DATE '{date}'"),
        Type::Time => format!("INTERVAL '0 {time}' DAY(1) TO SECOND(6)"),
        _ => format!("TIMESTAMP '{date} {time}'"),
    })
}

/// The expression by which a column is compared; `None` for a plain column.
pub(crate) fn folded(table: &TableSchema, place: usize) -> Option<String> {
    let column = table.columns().get(place).filter(|column| is_text(column))?;
    let name = name_of(table, place);
    match column.collation {
        Collation::Binary => None,
        Collation::NoCase => Some(letters(&name, false)),
        Collation::UnicodeNoCase => Some(lower(&name)),
    }
}

/// A text with all of its letters in small.
pub(crate) fn lower(text: &str) -> String {
    format!("LOWER(REPLACE({text}, 'İ', 'i\u{307}'))")
}

/// A text with its letters of ASCII in one case, and no others.
pub(crate) fn letters(text: &str, upper: bool) -> String {
    let (large, small) = ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz");
    let (from, to) = if upper { (small, large) } else { (large, small) };
    format!("TRANSLATE({text}, '{from}', '{to}')")
}

/// What an index or a condition compares of a column.
pub(crate) fn compared(table: &TableSchema, place: usize) -> String {
    folded(table, place).unwrap_or_else(|| name_of(table, place))
}

/// What a unique index is of. Oracle takes rows for equal if some of their values are NULL and the others equal; so an index of
/// several columns that may be NULL leaves out the rows in which one is NULL.
pub(crate) fn unique_parts(table: &TableSchema, places: &[usize]) -> Vec<String> {
    let is_nullable =
        |place: &&usize| table.columns().get(**place).is_some_and(|column| column.nullable);
    let nullable: Vec<String> = places
        .iter()
        .filter(is_nullable)
        .map(|&place| format!("{} IS NOT NULL", name_of(table, place)))
        .collect();
    let parts = places.iter().map(|&place| compared(table, place));
    match places.len() > 1 && !nullable.is_empty() {
        true => {
            let condition = nullable.join(" AND ");
            parts.map(|part| format!("CASE WHEN {condition} THEN {part} END")).collect()
        }
        false => parts.collect(),
    }
}

/// A parameter, as a column of this place is compared with it.
pub(crate) fn mark(table: &TableSchema, place: usize, at: usize) -> String {
    match table.columns().get(place).map(|column| column.ty) {
        // It is bound as a TIMESTAMP, and a DATE would be converted to that, which no index is of.
        Some(Type::Date) => format!("CAST(:{at} AS DATE)"),
        _ => format!(":{at}"),
    }
}

/// The condition that columns equal the parameters from number `first` on.
pub(crate) fn all_equal(table: &TableSchema, columns: &[usize], first: usize) -> String {
    let parts = columns
        .iter()
        .zip(first..)
        .map(|(&place, at)| format!("{} = {}", compared(table, place), mark(table, place, at)));
    parts.collect::<Vec<_>>().join(" AND ")
}

/// The constraints of a column: its check, and what keeps other values out of its type.
///
/// # Errors
/// As [`CheckExpression::parse`](bobak_core::check::CheckExpression::parse).
pub(crate) fn checks(table: &TableSchema, place: usize) -> Result<Vec<String>> {
    let column = table.column_at(place)?;
    let name = quoted(&column.name);
    let of_type = match oracle_type(table, place)? {
        OracleType::Bool => Some(format!("{name} IN (0, 1)")),
        OracleType::Json => Some(format!("{name} IS JSON")),
        // NUMBER has larger ones: a version must not go on after the largest.
        OracleType::Int(..) if table.version() == Some(place) => {
            Some(format!("{name} <= {}", i64::MAX))
        }
        _ => None,
    };
    let constraint =
        |name: String, condition: String| format!("CONSTRAINT {} CHECK ({condition})", own(&name));
    let of_type = of_type.map(|text| constraint(type_check_name(table, &column.name), text));
    let check = check_condition(&OracleChecks, table, column)?;
    let check = check.map(|text| constraint(check_name(table, &column.name), text));
    Ok(of_type.into_iter().chain(check).collect())
}
