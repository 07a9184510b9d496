//! What columns and indexes are in the database.
//!
//! SQL Server ignores spaces at the end of texts that it compares, and zeros at the end of bytes. Bobak does not. A text of a
//! key, a unique index or a foreign key that ends with a space is therefore rejected, and lookups compare lengths, too. Case
//! is folded by a computed column, which an index is of: the server's own case-insensitive collations have other rules.

use crate::dialect::MssqlStatements;
use crate::values::is_text;
use crate::wire::SentKind;
use bobak_core::{ColumnSchema, Error, ErrorKind, LengthLimit, Result, TableSchema, Type};
use bobak_engine_common::{StatementDialect, column_name, in_column, is_exact, substitute_name};

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
        _ => return Err(unsupported("SQL Server has no columns of any type", table, place)),
    })
}

fn is_indexed(table: &TableSchema, place: usize) -> bool {
    table.indexes().iter().any(|index| index.columns.contains(&place))
}

fn unsupported(message: &str, table: &TableSchema, place: usize) -> Error {
    in_column(Error::new(ErrorKind::Unsupported, message), table, Some(place))
}

/// A type in a definition.
pub(crate) fn type_text(kind: SentKind) -> String {
    let collate = if matches!(kind, SentKind::Text(_)) { COLLATE } else { "" };
    format!("{}{collate}", kind.name())
}

/// The name of a column's default.
pub(crate) fn default_name(table: &TableSchema, column: &ColumnSchema) -> String {
    MssqlStatements.own(substitute_name('d', &[table.name(), &column.name]))
}

/// The name of the computed column by which an index compares a column.
pub(crate) fn folded_name(table: &TableSchema, place: usize) -> String {
    MssqlStatements.quoted(&format!("bobak_{}", column_name(table, place)))
}

/// The computed columns that a table's key and its unique indexes need.
pub(crate) fn computed(table: &TableSchema) -> Vec<String> {
    let places = (0..table.columns().len()).filter(|place| is_folded(table, *place));
    places.filter_map(|place| computed_column(table, place)).collect()
}

/// The definition of the computed column of a column; `None` if it needs none.
pub(crate) fn computed_column(table: &TableSchema, place: usize) -> Option<String> {
    Some(format!("{} AS {}", folded_name(table, place), MssqlStatements.folded(table, place)?))
}

/// Whether a unique index or the key is of what a column folds to.
pub(crate) fn is_folded(table: &TableSchema, place: usize) -> bool {
    let mut indexes = table.indexes().iter().filter(|index| index.unique);
    let is_unique =
        table.key().contains(&place) || indexes.any(|index| index.columns.contains(&place));
    is_unique && MssqlStatements.folded(table, place).is_some()
}

/// The condition that a column equals a parameter, which is named more than once. A comparison ignores spaces and zeros at the
/// end.
pub(crate) fn equal(table: &TableSchema, place: usize, parameter: &str) -> String {
    let column = table.columns().get(place);
    let (is_text, name) = (column.is_some_and(is_text), MssqlStatements.column(table, place));
    if !is_text && column.is_none_or(|column| column.ty != Type::Bytes) {
        return format!("{name} = {parameter}");
    }
    let left = match MssqlStatements.folded(table, place).filter(|_| is_text) {
        Some(_) if is_folded(table, place) => folded_name(table, place),
        Some(text) => text,
        None => name,
    };
    let collate = if is_text { COLLATE } else { "" };
    format!("({left} = {parameter}{collate} AND DATALENGTH({left}) = DATALENGTH({parameter}))")
}
