//! Sort keys: bytes that sort as values do, for stores whose keys are bytes.

use bobak_core::{TableSchema, ValueRef};

/// Appends a value of a column to a sort key.
///
/// Sort keys compare byte by byte as [`compare_in_column`](bobak_core::compare_in_column) compares
/// their values, column by column: NULL first, then numbers, texts by the column's collation, and
/// bytes. Two keys are equal exactly if their values are. No value's bytes are the beginning of another
/// value's, so the keys that begin with some columns' values are one range.
///
/// | value | bytes |
/// |---|---|
/// | NULL | 0 |
/// | number | 1, the nearest float (8 bytes), what an integer exceeds it by (2 bytes) |
/// | text | 2, the folded text, 0 0 |
/// | bytes | 3, the bytes, 0 0 |
///
/// A zero byte in texts and bytes becomes 0 255.
///
/// ```
/// use bobak_core::{ColumnSchema, TableSchema, ValueRef};
/// use bobak_engine_common::push_sort_key;
///
/// let table = TableSchema::builder("t").column(ColumnSchema::of::<i64>("id")).key(["id"]).build()?;
/// let key = |number| {
///     let mut key = Vec::new();
///     push_sort_key(&mut key, &table, 0, ValueRef::Int(number));
///     key
/// };
/// assert!(key(-5) < key(3) && key(3) < key(i64::MAX));
/// # Ok::<(), bobak_core::Error>(())
/// ```
pub fn push_sort_key(key: &mut Vec<u8>, schema: &TableSchema, column: usize, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => key.push(0),
        ValueRef::Int(integer) => {
            let float = integer as f64;
            // At most 512: a float of this size has a distance of 1,024 to the next.
            let rest = i128::from(integer) - float as i128;
            push_number(key, float, rest as i16);
        }
        ValueRef::Float(float) => push_number(key, float, 0),
        ValueRef::Text(text) => {
            let collation = schema.columns().get(column).map(|c| c.collation).unwrap_or_default();
            key.push(2);
            push_escaped(key, collation.fold(text).as_bytes());
        }
        ValueRef::Bytes(bytes) => {
            key.push(3);
            push_escaped(key, bytes);
        }
    }
}

/// The sort key of some columns of a row.
pub fn sort_key<'v>(
    schema: &TableSchema,
    columns: &[usize],
    value: impl Fn(usize) -> ValueRef<'v>,
) -> Vec<u8> {
    let mut key = Vec::new();
    columns.iter().for_each(|&column| push_sort_key(&mut key, schema, column, value(column)));
    key
}

fn push_number(key: &mut Vec<u8>, float: f64, rest: i16) {
    // Minus zero equals zero.
    let bits = (float + 0.0).to_bits();
    let sorted = if bits >> 63 == 1 { !bits } else { bits | (1 << 63) };
    key.push(1);
    key.extend_from_slice(&sorted.to_be_bytes());
    key.extend_from_slice(&(rest.cast_unsigned() ^ (1 << 15)).to_be_bytes());
}

fn push_escaped(key: &mut Vec<u8>, bytes: &[u8]) {
    for part in bytes.split_inclusive(|byte| *byte == 0) {
        key.extend_from_slice(part);
        if part.last() == Some(&0) {
            key.push(0xff);
        }
    }
    key.extend_from_slice(&[0, 0]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_core::{Collation, ColumnSchema, Type, Value, compare_in_column};

    #[test]
    fn sort_keys_sort_as_their_values() {
        let text =
            |collation| ColumnSchema::new("t", Type::Any).nullable(true).collation(collation);
        let numbers = [i64::MIN, i64::MIN + 1, -1, 0, 1, 255, 256, (1 << 53) + 1, i64::MAX];
        let floats = [f64::NEG_INFINITY, -1e300, -1.5, -0.0, 0.0, 1.0, 1.5, 9e15, f64::INFINITY];
        let big =
            [9_223_372_036_854_775_807.0, 9_007_199_254_740_992.0, -9_223_372_036_854_775_808.0];
        let texts = ["", "\0", "\0\0", "\0a", "a", "A", "aB", "a\0", "ab", "Ab", "É", "é", "日本"];
        let bytes = [&[][..], &[0], &[0, 0], &[0, 255], &[1], &[255], &[255, 255]];
        let mut values = vec![Value::Null];
        values.extend(numbers.map(Value::Int));
        values.extend(floats.map(Value::Float));
        values.extend(big.map(Value::Float));
        values.extend(texts.map(Value::from));
        values.extend(bytes.map(Value::from));
        for collation in [Collation::Binary, Collation::NoCase, Collation::UnicodeNoCase] {
            let table = TableSchema::builder("x")
                .column(text(collation))
                .column(ColumnSchema::of::<i64>("id"))
                .key(["id"])
                .build()
                .unwrap();
            for a in &values {
                for b in &values {
                    let (a, b) = (a.as_ref(), b.as_ref());
                    let key = |value| sort_key(&table, &[0], |_| value);
                    let expected = compare_in_column(&table, 0, a, b);
                    assert_eq!(key(a).cmp(&key(b)), expected, "{a:?} {b:?}");
                    let is_beginning = key(a).len() < key(b).len() && key(b).starts_with(&key(a));
                    assert!(!is_beginning, "{a:?} {b:?}");
                }
            }
        }
    }
}
