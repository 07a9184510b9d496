//! What columns and indexes are in the database.
//!
//! SQL Server ignores spaces at the end of texts that it compares, and zeros at the end of bytes. Bobak does not. A text of a
//! key, a unique index or a foreign key that ends with a space is therefore rejected, and lookups compare lengths, too. Case
//! is folded by a computed column, which an index is of: the server's own case-insensitive collations have other rules.

use crate::checks::MssqlChecks;
use crate::names::{check_name, column as name_of, folded_name, literal, quoted};
use crate::values::{SERVER, is_text};
use crate::wire::SentKind;
use bobak_core::{
    Collation, ColumnSchema, Currency, Error, ErrorKind, Field, LengthLimit, Result, TableSchema,
    Type, ValueRef,
};
use bobak_engine_common::{calendar, check_condition, in_column, is_exact};

/// The order of units of UTF-16: nothing is folded.
pub(crate) const COLLATE: &str = " COLLATE Latin1_General_100_BIN2";
/// The units of a text in an index, whose key has 1,700 bytes at most; 900 if the rows are in its order.
const TEXT_UNITS: u16 = 400;
/// The longest text with a declared length.
const MOST_UNITS: u32 = 4_000;
/// The bytes of a value in an index.
const BYTES: u16 = 800;

/// The units of UTF-16 that a text of a key or an index may have. Those that must match exactly have the same, since a foreign
/// key's columns must have the type of those that they reference.
fn text_units(table: &TableSchema, place: usize) -> Option<u16> {
    let column = table.columns().get(place).filter(|column| is_text(column))?;
    if is_exact(table, place) {
        return Some(TEXT_UNITS);
    }
    // A character outside the first plane has two units.
    let own = column.max_chars.and_then(|chars| u16::try_from(chars).ok()?.checked_mul(2));
    is_indexed(table, place).then(|| own.unwrap_or(TEXT_UNITS).clamp(2, TEXT_UNITS))
}

/// How long a value of the column may be.
pub(crate) fn length_limit(table: &TableSchema, place: usize) -> Option<LengthLimit> {
    match sent_kind(table, place).ok()? {
        SentKind::Text(units) => units.map(|units| LengthLimit::Utf16Units(units.into())),
        SentKind::Bytes(bytes) => bytes.map(|bytes| LengthLimit::Bytes(bytes.into())),
        _ => None,
    }
}

/// The column's type as it is sent.
///
/// # Errors
/// `Unsupported` for a type that SQL Server has not.
pub(crate) fn sent_kind(table: &TableSchema, place: usize) -> Result<SentKind> {
    let column = table.column_at(place)?;
    Ok(match column.ty {
        _ if is_text(column) => match (text_units(table, place), column.max_chars) {
            (Some(units), _) => SentKind::Text(Some(units)),
            (None, _) if column.is_kept_as_text() => SentKind::Text(Some(80)),
            (None, Some(chars)) if chars <= MOST_UNITS / 2 => {
                SentKind::Text(u16::try_from(chars.max(1) * 2).ok())
            }
            _ => SentKind::Text(None),
        },
        Type::Bool => SentKind::Bit,
        Type::U8 => SentKind::Int(1),
        Type::I8 | Type::I16 => SentKind::Int(2),
        Type::I32 | Type::U16 => SentKind::Int(4),
        Type::I64 | Type::U32 | Type::U64 => SentKind::Int(8),
        Type::F32 | Type::F64 => SentKind::Float,
        Type::Currency => SentKind::Money,
        Type::Date => SentKind::Date,
        Type::Time => SentKind::Time,
        Type::DateTime | Type::Timestamp => SentKind::Moment,
        Type::Uuid => SentKind::Uuid,
        Type::Bytes if is_exact(table, place) || is_indexed(table, place) => {
            if table.all_foreign_keys().iter().any(|key| key.columns.contains(&place)) {
                let message = "foreign keys of bytes: SQL Server ignores zeros at their end";
                return Err(unsupported(message, table, place));
            }
            SentKind::Bytes(Some(BYTES))
        }
        Type::Bytes => SentKind::Bytes(None),
        _ => return Err(unsupported("columns of any type, on SQL Server", table, place)),
    })
}

fn is_indexed(table: &TableSchema, place: usize) -> bool {
    table.indexes().iter().any(|index| index.columns.contains(&place))
}

fn unsupported(message: &str, table: &TableSchema, place: usize) -> Error {
    in_column(Error::new(ErrorKind::Unsupported, message), table, Some(place))
}

/// A value of a column as a literal.
///
/// # Errors
/// `OutOfRange` for a value that the column does not have.
pub(crate) fn value_literal(column: &ColumnSchema, value: ValueRef<'_>) -> Result<String> {
    let cast = |text: String, kind: SentKind| format!("CAST('{text}' AS {})", kind.name());
    Ok(match (value, column.ty) {
        (ValueRef::Null, _) => "NULL".to_owned(),
        (ValueRef::Int(scaled), Type::Currency) => {
            format!("CAST({} AS decimal(19,4))", Currency::from_scaled(scaled))
        }
        (
            ValueRef::Int(integer),
            ty @ (Type::Date | Type::Time | Type::DateTime | Type::Timestamp),
        ) => moment_literal(ty, integer)?,
        // The smallest integer is no literal: its sign is an operator.
        (ValueRef::Int(i64::MIN), _) => "CAST('-9223372036854775808' AS bigint)".to_owned(),
        (ValueRef::Int(integer), _) => integer.to_string(),
        (ValueRef::Float(float), _) => format!("{float:e}"),
        (ValueRef::Text(text), _) => literal(text),
        (ValueRef::Bytes(bytes), Type::Uuid) => cast(
            Field::from_value(ValueRef::Bytes(bytes))
                .map(|uuid: bobak_core::Uuid| uuid.to_string())?,
            SentKind::Uuid,
        ),
        (ValueRef::Bytes(bytes), _) => {
            let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("0x{}", digits.concat())
        }
    })
}

fn moment_literal(ty: Type, integer: i64) -> Result<String> {
    let (date, time) = calendar::texts_of(ty, integer, SERVER)?;
    Ok(match ty {
        Type::Date => format!("CAST('{date}' AS date)"),
        Type::Time => format!("CAST('{time}' AS time(6))"),
        _ => format!("CAST('{date}T{time}' AS datetime2(6))"),
    })
}

/// The expression by which an index compares a column that its own values do not do it for; `None` for a plain column.
pub(crate) fn folded(table: &TableSchema, place: usize) -> Option<String> {
    let column = table.columns().get(place)?;
    let name = name_of(table, place);
    match column.collation {
        // After their length, so that zeros at the end count.
        _ if column.ty == Type::Bytes => {
            Some(format!("CAST(CAST(DATALENGTH({name}) AS binary(4)) + {name} AS varbinary(804))"))
        }
        _ if !is_text(column) => None,
        Collation::Binary => None,
        Collation::NoCase => Some(letters(&name, false)),
        Collation::UnicodeNoCase => Some(lower(&name)),
    }
}

/// A text with all of its letters in small.
pub(crate) fn lower(text: &str) -> String {
    format!("LOWER(REPLACE({text}, N'İ', N'i\u{307}'))")
}

/// A text with its letters of ASCII in one case, and no others.
pub(crate) fn letters(text: &str, upper: bool) -> String {
    let (large, small) = ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz");
    let (from, to) = if upper { (small, large) } else { (large, small) };
    format!("TRANSLATE({text}{COLLATE}, N'{from}', N'{to}')")
}

/// The computed columns that a table's key and its unique indexes need.
pub(crate) fn computed(table: &TableSchema) -> Vec<String> {
    let places = (0..table.columns().len()).filter(|place| is_folded(table, *place));
    places.filter_map(|place| computed_column(table, place)).collect()
}

/// The definition of the computed column of a column; `None` if it needs none.
pub(crate) fn computed_column(table: &TableSchema, place: usize) -> Option<String> {
    Some(format!("{} AS {}", folded_name(table, place), folded(table, place)?))
}

/// Whether a unique index or the key is of what a column folds to.
pub(crate) fn is_folded(table: &TableSchema, place: usize) -> bool {
    let mut indexes = table.indexes().iter().filter(|index| index.unique);
    let is_unique =
        table.key().contains(&place) || indexes.any(|index| index.columns.contains(&place));
    is_unique && folded(table, place).is_some()
}

/// The column that an index is of.
pub(crate) fn indexed(table: &TableSchema, place: usize) -> String {
    if is_folded(table, place) { folded_name(table, place) } else { name_of(table, place) }
}

/// The condition that a column equals a parameter, which is named more than once.
fn equal(table: &TableSchema, place: usize, parameter: &str) -> String {
    let name = name_of(table, place);
    let column = table.columns().get(place);
    let is_text = column.is_some_and(is_text);
    let (left, right) = match (folded(table, place), column.map(|column| column.collation)) {
        (Some(_), _) if column.is_some_and(|column| column.ty == Type::Bytes) => {
            (name.clone(), parameter.to_owned())
        }
        (Some(text), _) => {
            let left = if is_folded(table, place) { folded_name(table, place) } else { text };
            (left, format!("{parameter}{COLLATE}"))
        }
        (None, Some(Collation::Binary)) if is_text => {
            (name.clone(), format!("{parameter}{COLLATE}"))
        }
        _ => (name.clone(), parameter.to_owned()),
    };
    match is_text || column.is_some_and(|column| column.ty == Type::Bytes) {
        true => format!("({left} = {right} AND DATALENGTH({left}) = DATALENGTH({parameter}))"),
        false => format!("{left} = {right}"),
    }
}

/// The condition that columns equal the parameters from number `first` on.
pub(crate) fn all_equal(table: &TableSchema, columns: &[usize], first: usize) -> String {
    let parts =
        columns.iter().zip(first..).map(|(&place, at)| equal(table, place, &format!("@P{at}")));
    parts.collect::<Vec<_>>().join(" AND ")
}

/// The constraint of a column's check; `None` if it has none.
///
/// # Errors
/// As [`CheckExpression::parse`](bobak_core::check::CheckExpression::parse).
pub(crate) fn check(table: &TableSchema, column: &ColumnSchema) -> Result<Option<String>> {
    let Some(condition) = check_condition(&MssqlChecks, table, column)? else { return Ok(None) };
    let name = quoted(&check_name(table, &column.name));
    Ok(Some(format!("CONSTRAINT {name} CHECK ({condition})")))
}
