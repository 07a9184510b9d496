//! What columns and indexes are in the database.
//!
//! Firebird ignores spaces at the end of texts that it compares, and Bobak does not. So texts of keys, of unique indexes and of
//! foreign keys are kept as their bytes (`CHARACTER SET OCTETS`), which compare exactly and sort as texts do; SQL text reads and
//! compares them as texts. If that is not enough, as for other collations and for columns of BLOBs, an index is one of an
//! expression.

use crate::names::Names;
use crate::values::is_text;
use bobak_core::{
    Collation, ColumnSchema, Error, ErrorKind, LengthLimit, Result, TableSchema, Type,
};
use bobak_engine_common::{StatementDialect, in_column, is_exact};

/// The bytes of a text in an index on its own; with others it has a part of [`KEY_BYTES`].
pub(crate) const TEXT_BYTES: usize = 1_020;
/// The bytes of a length and a colon.
const LENGTH: usize = 11;
/// The bytes of an index's key on pages of 16 KB, after what each of its parts adds.
const KEY_BYTES: usize = 3_000;
/// A longer text is a BLOB, since the VARCHARs of a row may have 65,535 bytes together.
const VARCHAR_CHARS: u32 = 250;

/// The bytes that a text of a key or an index may have.
pub(crate) fn text_bytes(table: &TableSchema, place: usize) -> Option<usize> {
    let column =
        table.columns().get(place).filter(|column| is_text(column) || column.ty == Type::Bytes)?;
    let texts = |columns: &[usize]| {
        let is_text = |place: &&usize| table.columns().get(**place).is_some_and(is_text);
        columns.contains(&place).then(|| columns.iter().filter(is_text).count())
    };
    let most = table
        .indexes()
        .iter()
        .map(|index| &*index.columns)
        .chain([table.key()])
        .filter_map(texts)
        .max();
    let most = most.or_else(|| is_exact(table, place).then_some(1))?;
    let own = column
        .max_chars
        .map_or(TEXT_BYTES, |chars| usize::try_from(chars).unwrap_or(TEXT_BYTES) * 4);
    Some(own.min(TEXT_BYTES).min(KEY_BYTES / most.max(1)).max(4) / 4 * 4)
}

/// How long a value of the column may be.
pub(crate) fn length_limit(table: &TableSchema, place: usize) -> Option<LengthLimit> {
    let bytes = u32::try_from(text_bytes(table, place)?).ok()?;
    let is_bytes = is_octets(table, place) || !is_text(table.columns().get(place)?);
    Some(if is_bytes { LengthLimit::Bytes(bytes) } else { LengthLimit::Characters(bytes / 4) })
}

/// Whether a column's texts are kept as their bytes.
pub(crate) fn is_octets(table: &TableSchema, place: usize) -> bool {
    let column = table.columns().get(place);
    column.is_some_and(|column| is_text(column) && column.collation == Collation::Binary)
        && is_exact(table, place)
}

/// The column's type.
///
/// # Errors
/// `Unsupported` for a type that Firebird has not.
pub(crate) fn sql_type(table: &TableSchema, place: usize) -> Result<String> {
    let column = table.column_at(place)?;
    let name = match column.ty {
        _ if is_text(column) => return Ok(text_type(table, place, column)),
        Type::Bool => "BOOLEAN",
        Type::I8 | Type::I16 | Type::U8 => "SMALLINT",
        Type::I32 | Type::U16 => "INTEGER",
        // TIMESTAMP and TIME have ten-thousandths of a second only.
        Type::I64 | Type::U32 | Type::U64 | Type::Time | Type::DateTime | Type::Timestamp => {
            "BIGINT"
        }
        Type::F32 | Type::F64 => "DOUBLE PRECISION",
        Type::Currency => "NUMERIC(18, 4)",
        Type::Date => "DATE",
        Type::Uuid => "CHAR(16) CHARACTER SET OCTETS",
        Type::Bytes if table.all_foreign_keys().iter().any(|key| key.columns.contains(&place)) => {
            let message = "foreign keys of bytes: Firebird ignores zeros at their end";
            return Err(unsupported(message, table, place));
        }
        Type::Bytes | Type::Vector(_) => match text_bytes(table, place) {
            Some(bytes) => return Ok(format!("VARCHAR({bytes}) CHARACTER SET OCTETS")),
            None => "BLOB SUB_TYPE BINARY",
        },
        _ => return Err(unsupported("Firebird has no columns of any type", table, place)),
    };
    Ok(name.to_owned())
}

fn text_type(table: &TableSchema, place: usize, column: &ColumnSchema) -> String {
    let chars = match (text_bytes(table, place), column.max_chars) {
        (Some(bytes), _) if is_octets(table, place) => {
            return format!("VARCHAR({bytes}) CHARACTER SET OCTETS");
        }
        (Some(bytes), _) => bytes / 4,
        (None, _) if column.is_kept_as_text() => 40,
        (None, Some(max)) if max <= VARCHAR_CHARS => usize::try_from(max).unwrap_or(1).max(1),
        _ => return "BLOB SUB_TYPE TEXT CHARACTER SET UTF8".to_owned(),
    };
    format!("VARCHAR({chars}) CHARACTER SET UTF8")
}

fn unsupported(message: &str, table: &TableSchema, place: usize) -> Error {
    in_column(Error::new(ErrorKind::Unsupported, message), table, Some(place))
}

/// A text of up to so many bytes as it is compared under a collation: by its bytes.
pub(crate) fn octets(text: &str, collation: Collation, bytes: usize) -> String {
    let folded = match collation {
        Collation::Binary => text.to_owned(),
        // Letters of the character set NONE are those of ASCII.
        Collation::NoCase => format!("LOWER(CAST({text} AS VARCHAR({bytes}) CHARACTER SET NONE))"),
        Collation::UnicodeNoCase => format!("LOWER(REPLACE({text}, 'İ', 'i\u{307}'))"),
    };
    format!("CAST({folded} AS VARCHAR({bytes}) CHARACTER SET OCTETS)")
}

/// Bytes as an index compares them: after their length.
pub(crate) fn counted(bytes: &[u8]) -> Vec<u8> {
    [format!("{}:", bytes.len()).as_bytes(), bytes].concat()
}

/// The same for a column whose index was added after the table, and that is kept as another column is.
pub(crate) fn exact(names: Names, table: &TableSchema, place: usize) -> String {
    names.folded(table, place).unwrap_or_else(|| {
        let bytes = match table.columns().get(place).is_some_and(is_text) {
            true => text_bytes(table, place).unwrap_or(TEXT_BYTES),
            false => 40,
        };
        octets(&names.column(table, place), Collation::Binary, bytes)
    })
}

/// The condition that a column equals a parameter.
pub(crate) fn equal(names: Names, table: &TableSchema, place: usize) -> String {
    let column = table.columns().get(place);
    let bytes = text_bytes(table, place).unwrap_or(TEXT_BYTES) + LENGTH;
    // A key cannot have been kept otherwise.
    let is_exact = column.is_some_and(is_text) && !table.key().contains(&place);
    match names.folded(table, place).or_else(|| is_exact.then(|| exact(names, table, place))) {
        Some(text) => format!("{text} = {}", octets("?", Collation::Binary, bytes)),
        None => format!("{} = ?", names.column(table, place)),
    }
}
