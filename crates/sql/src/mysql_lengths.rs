//! How long the columns of MariaDB and MySQL are.
//!
//! An index's row has 3,072 bytes at most, so a text or bytes in one need a length. In a key, a
//! unique index or a foreign key, one without a limit of its own is a VARCHAR or VARBINARY as long
//! as fits: a longer value is rejected with `TooLong`. Of an index that is not unique it is only the
//! beginning that is in it.

use crate::declared_type;
use crate::dialect::Dialect;
use bobak_core::{Collation, ColumnSchema, LengthLimit, Storage, TableSchema, Type};

/// The most bytes of an index's row, with some to spare for lengths and NULLs.
const INDEX_BYTES: u32 = 3_000;

/// The most bytes of a row without its long texts, with some to spare.
const ROW_BYTES: u32 = 60_000;
/// A text of as many characters is a VARCHAR in every row.
const SHORT_CHARS: u32 = 50;
/// The longest text, in characters, that is a VARCHAR only for its place in an index.
pub(crate) const INDEX_CHARS: u32 = 700;

/// The column's type, which its place in indexes may limit.
pub(crate) fn column_type(dialect: Dialect, table: &TableSchema, place: usize) -> String {
    let Some(column) = table.columns().get(place) else {
        return String::new();
    };
    match (limit(table, place), column.storage) {
        (None, _) if must_be_long(table, place) => "LONGTEXT".to_owned(),
        (None, _) => declared_type(dialect, column),
        (Some(bytes), Storage::Text) => format!("VARCHAR({})", bytes / 4),
        (Some(bytes), _) => format!("VARBINARY({bytes})"),
    }
}

/// Whether the texts of a row would have more bytes than the server permits, and this one need not be a VARCHAR. Its limit
/// is then Bobak's alone.
fn must_be_long(table: &TableSchema, place: usize) -> bool {
    let is_long = |column: &ColumnSchema| {
        column.ty == Type::Text && column.max_chars.is_some_and(|max| max > SHORT_CHARS)
    };
    let Some(column) = table.columns().get(place).filter(|column| is_long(column)) else {
        return false;
    };
    let has = |columns: &[usize]| columns.contains(&place);
    let is_indexed = table.indexes().iter().any(|index| has(&index.columns))
        || table.all_foreign_keys().iter().any(|key| has(&key.columns))
        || has(table.key());
    let bytes: u32 = table.columns().iter().filter_map(size).sum();
    bytes > ROW_BYTES && !is_indexed && column.collation == Collation::Binary
}

/// How long a value of a column may be because the column, which has no limit itself, is part of a key or a unique
/// index; `None` if it is not, or has a limit.
#[must_use]
pub fn mysql_length_limit(table: &TableSchema, place: usize) -> Option<LengthLimit> {
    let bytes = limit(table, place)?;
    Some(match table.columns().get(place)?.storage {
        Storage::Text => LengthLimit::Characters(bytes / 4),
        _ => LengthLimit::Bytes(bytes),
    })
}

/// How many bytes a value may have because the column, which has no limit itself, is part of a key or a unique index;
/// `None` if it is not, or has a limit.
pub(crate) fn limit(table: &TableSchema, place: usize) -> Option<u32> {
    let column = table.columns().get(place)?;
    if size(column).is_some() {
        return None;
    }
    let unique = table.indexes().iter().filter(|index| index.unique);
    let mut lists: Vec<&[usize]> = unique.map(|index| index.columns.as_slice()).collect();
    lists.push(table.key());
    lists.retain(|columns| columns.contains(&place));
    let alone = [place];
    if column.reference.is_some() {
        lists.push(&alone);
    }
    let keys = table.foreign_keys().iter().map(|key| key.columns.as_slice());
    lists.extend(keys.filter(|columns| columns.contains(&place)));
    let room = lists.into_iter().map(|columns| share(table, columns, false)).min()?;
    Some(match column.storage {
        Storage::Text => (room / 4).clamp(1, INDEX_CHARS) * 4,
        _ => room.max(1),
    })
}

/// Whether the column's values have no limit.
pub(crate) fn is_endless(table: &TableSchema, place: usize) -> bool {
    table.columns().get(place).is_some_and(|column| size(column).is_none())
}

/// The maximum number of bytes of a value in an index; `None` if there is no limit.
pub(crate) fn size(column: &ColumnSchema) -> Option<u32> {
    match (column.storage, column.ty) {
        (Storage::Text, _) if column.is_kept_as_text() => Some(160),
        (Storage::Text, _) => column.max_chars.filter(|max| *max <= 4_000).map(|max| max * 4),
        (Storage::Bytes, Type::Uuid) => Some(16),
        (Storage::Bytes | Storage::Any, _) => None,
        (Storage::Int | Storage::Float, _) => Some(10),
    }
}

/// How many bytes of an index each of its values without a limit may have; with `all` the long ones
/// with a limit too.
pub(crate) fn share(table: &TableSchema, columns: &[usize], all: bool) -> u32 {
    let sizes = columns.iter().map(|&place| table.columns().get(place).and_then(size));
    let is_long = |size: &Option<u32>| size.is_none_or(|bytes| all && bytes > 160);
    let (long, short): (Vec<_>, Vec<_>) = sizes.partition(is_long);
    let taken: u32 = short.into_iter().flatten().sum();
    INDEX_BYTES.saturating_sub(taken) / u32::try_from(long.len().max(1)).unwrap_or(1)
}
