//! How rows compare and hash: by columns, under the columns' collations.

use bobak_core::compare_in_column;
use bobak_core::{Collation, Storage, TableSchema, ValueRef, codec::EncodedRow};
use bobak_engine_common::exact_integer;
use std::cmp::Ordering;
use std::hash::Hasher;

/// Compares two rows by some columns.
#[inline]
pub(super) fn compare_rows(
    table: &TableSchema,
    columns: &[usize],
    a: EncodedRow<'_>,
    b: EncodedRow<'_>,
) -> Ordering {
    for &column in columns {
        let ordering = compare_in_column(table, column, a.value(column), b.value(column));
        if ordering.is_ne() {
            return ordering;
        }
    }
    Ordering::Equal
}

/// The value's first bytes as a number that sorts as the column does: a smaller value never has a larger prefix. Two
/// different values may have the same prefix, except in a column of integers that cannot be NULL.
#[inline]
pub(super) fn prefix(table: &TableSchema, column: usize, value: ValueRef<'_>) -> u64 {
    let schema = table.columns().get(column);
    if schema.is_some_and(|c| c.storage == Storage::Int) {
        return match value {
            ValueRef::Int(i) => integer_prefix(i),
            ValueRef::Null => 0,
            // A condition may compare the column with a float, but the column has none.
            ValueRef::Float(f) => integer_prefix(f as i64),
            ValueRef::Text(_) | ValueRef::Bytes(_) => u64::MAX,
        };
    }
    let (class, bits) = match value {
        ValueRef::Null => (0, 0),
        // Rounding keeps the order, but not every difference.
        ValueRef::Int(i) => (1, float_bits(i as f64)),
        ValueRef::Float(f) => (1, float_bits(f)),
        ValueRef::Text(text) => {
            let collation = schema.map(|c| c.collation).unwrap_or_default();
            (2, text_bits(collation, text))
        }
        ValueRef::Bytes(bytes) => (3, first_eight(bytes)),
    };
    (class << 62) | (bits >> 2)
}

/// The prefix of an integer in a column of integers.
#[inline]
pub(super) const fn integer_prefix(integer: i64) -> u64 {
    integer.cast_unsigned() ^ (1 << 63)
}

/// The integer with this prefix.
#[inline]
pub(super) const fn prefix_integer(prefix: u64) -> i64 {
    (prefix ^ (1 << 63)).cast_signed()
}

fn float_bits(float: f64) -> u64 {
    // Minus zero equals zero.
    let bits = (float + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
}

fn text_bits(collation: Collation, text: &str) -> u64 {
    match collation {
        Collation::Binary => first_eight(text.as_bytes()),
        Collation::NoCase => first_eight_of(text.bytes().map(|byte| byte.to_ascii_lowercase())),
        Collation::UnicodeNoCase => {
            let lower = text.chars().flat_map(char::to_lowercase);
            first_eight_of(lower.flat_map(|c| {
                let mut buffer = [0; 4];
                let length = c.encode_utf8(&mut buffer).len();
                buffer.into_iter().take(length)
            }))
        }
    }
}

#[inline]
fn first_eight(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => first_eight_of(bytes.iter().copied()),
    }
}

fn first_eight_of(bytes: impl Iterator<Item = u8>) -> u64 {
    let mut first = [0; 8];
    first.iter_mut().zip(bytes).for_each(|(position, byte)| *position = byte);
    u64::from_be_bytes(first)
}

/// Hashes a value. Equal values of a column have equal hashes, also the integer 1 and the float 1.0.
pub(super) fn hash_value(
    table: &TableSchema,
    column: usize,
    value: ValueRef<'_>,
    hasher: &mut impl Hasher,
) {
    match value {
        ValueRef::Null => hasher.write_u8(0),
        ValueRef::Int(i) => hasher.write_i64(i),
        ValueRef::Float(f) => match exact_integer(f) {
            Some(i) => hasher.write_i64(i),
            None => hasher.write_u64(f.to_bits()),
        },
        ValueRef::Text(text) => {
            let collation = table.columns().get(column).map(|c| c.collation).unwrap_or_default();
            hasher.write(collation.fold(text).as_bytes());
            hasher.write_u8(0xff);
        }
        ValueRef::Bytes(bytes) => {
            hasher.write(bytes);
            hasher.write_u8(0xfe);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::{ColumnSchema, Type, Value};
    use std::hash::{BuildHasher, RandomState};

    #[test]
    fn prefixes_and_hashes_agree_with_the_order() {
        let text = |collation| ColumnSchema::new("t", Type::Text).collation(collation);
        let columns = [
            ColumnSchema::new("i", Type::I64).nullable(true),
            ColumnSchema::new("f", Type::F64).nullable(true),
            ColumnSchema::new("b", Type::Bytes),
            ColumnSchema::new("a", Type::Any).nullable(true),
            text(Collation::Binary),
            text(Collation::NoCase),
            text(Collation::UnicodeNoCase),
        ];
        let ints = [i64::MIN, -1, 0, 1, 2, 1 << 53, (1 << 53) + 1, i64::MAX].map(Value::Int);
        let floats = [f64::NEG_INFINITY, -1e300, -1.5, -0.0, 0.0, 1.0, 1.5, 9e18, f64::INFINITY];
        let floats = floats.map(Value::Float);
        let texts = ["", "\0", "a", "A", "abcdefgh", "ABCDEFGHi", "abcdefgz", "É", "é", "日本語"];
        let texts = texts.map(Value::from);
        let bytes = [&[][..], &[0], &[0, 0], &[255; 9], &[255; 8]].map(Value::from);
        let hasher = RandomState::new();
        for column in columns {
            let values: Vec<&Value<'_>> = match column.ty {
                Type::I64 => ints.iter().chain([&Value::Null]).collect(),
                Type::F64 => floats.iter().chain([&Value::Null]).collect(),
                Type::Bytes => bytes.iter().collect(),
                Type::Text => texts.iter().collect(),
                _ => ints.iter().chain(&floats).chain(&texts).chain(&bytes).collect(),
            };
            let table = TableSchema::builder("x")
                .column(column)
                .column(ColumnSchema::new("id", Type::I64))
                .key(["id"])
                .build()
                .unwrap();
            let hash = |value: &Value<'_>| {
                let mut state = hasher.build_hasher();
                hash_value(&table, 0, value.as_ref(), &mut state);
                state.finish()
            };
            for a in &values {
                for b in &values {
                    let ordering = compare_in_column(&table, 0, a.as_ref(), b.as_ref());
                    let (pa, pb) = (prefix(&table, 0, a.as_ref()), prefix(&table, 0, b.as_ref()));
                    if pa != pb {
                        assert_eq!(pa.cmp(&pb), ordering, "{a:?} {b:?}");
                    }
                    if ordering.is_eq() {
                        assert_eq!((pa, hash(a)), (pb, hash(b)), "{a:?} {b:?}");
                    }
                }
            }
        }
        assert_eq!(prefix_integer(integer_prefix(-7)), -7);
    }
}
