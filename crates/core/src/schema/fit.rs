//! Validating rows from outside in one pass: whether their bytes are valid and fit the table.
//!
//! This pass recognizes only rows that are obviously valid. Others, such as a text with many bytes that
//! may have few characters, go to [`EncodedRow::check`] and the columns' checks, which report the error.

use super::{ColumnSchema, TableSchema};
use crate::codec::{BYTES, EncodedRow, FLOAT, INT, NULL, TEXT};
use crate::{Result, Row};
use crate::{Storage, Type};

/// What a column accepts.
#[derive(Clone, Copy, Debug)]
pub(super) enum AcceptedValues {
    /// Integers in a range.
    Int(i64, i64),
    Float,
    /// Floats that are an `f32`.
    Float32,
    /// Texts of at most this number of bytes.
    Text(usize),
    Bytes,
    /// Decided by the column's checks.
    Other,
}

impl AcceptedValues {
    pub fn of(column: &ColumnSchema) -> Self {
        match column.storage {
            Storage::Int => {
                let (low, high) = column.ty.integer_range().unwrap_or((i64::MIN, i64::MAX));
                Self::Int(low, high)
            }
            Storage::Float if column.ty == Type::F32 => Self::Float32,
            Storage::Float => Self::Float,
            Storage::Text if column.ty != Type::Text => Self::Other,
            Storage::Text => Self::Text(column.max_chars.map_or(usize::MAX, |max| max as usize)),
            Storage::Bytes if matches!(column.ty, Type::Vector(_)) => Self::Other,
            Storage::Bytes => Self::Bytes,
            _ => Self::Other,
        }
    }
}

impl TableSchema {
    /// Validates a row from outside, as [`EncodedRow::check`] and
    /// [`check_stored`](TableSchema::check_stored) do.
    ///
    /// # Errors
    /// `Corrupt`, `Mismatch`, `TooLong`, `OutOfRange`.
    #[inline]
    pub fn check_encoded<'a>(&self, key_only: bool, bytes: &'a [u8]) -> Result<EncodedRow<'a>> {
        let row = EncodedRow::new(bytes);
        let fits = if key_only {
            let key = self
                .key
                .iter()
                .map(|place| self.fits.get(*place).unwrap_or(&AcceptedValues::Other));
            row.len() == key.len() && are_plain(bytes, key)
        } else {
            row.len() == self.fits.len() && are_plain(bytes, self.fits.iter())
        };
        if !fits {
            self.check_slowly(key_only, bytes)?;
        }
        Ok(row)
    }

    #[cold]
    fn check_slowly(&self, key_only: bool, bytes: &[u8]) -> Result<()> {
        self.check_stored(key_only, &EncodedRow::check(bytes)?)
    }
}

/// Whether a row's bytes are valid and each value obviously fits.
#[inline]
fn are_plain<'f>(bytes: &[u8], fits: impl ExactSizeIterator<Item = &'f AcceptedValues>) -> bool {
    let columns = fits.len();
    let Some((head, heap)) = bytes.split_at_checked(2 + columns * 9) else { return false };
    let Some((tags, slots)) = head.split_at_checked(2 + columns) else { return false };
    let (slots, _) = slots.as_chunks::<8>();
    let (mut end, mut texts, mut others) = (0, true, false);
    for ((tag, slot), fit) in tags.iter().skip(2).zip(slots).zip(fits) {
        let slot = u64::from_le_bytes(*slot);
        let (start, length) = ((slot & 0xffff_ffff) as usize, (slot >> 32) as usize);
        let fits = match (*tag, fit) {
            (INT, AcceptedValues::Int(low, high)) => (*low..=*high).contains(&slot.cast_signed()),
            (TEXT, AcceptedValues::Text(most)) => {
                // All texts are validated together below, so none may start inside a character.
                texts &= heap.get(start).is_none_or(|first| first & 0xc0 != 0x80);
                let fits = start == end && length <= *most;
                end = start.saturating_add(length);
                fits
            }
            (NULL, _) => slot == 0,
            (FLOAT, AcceptedValues::Float) => !f64::from_bits(slot).is_nan(),
            (FLOAT, AcceptedValues::Float32) => {
                let float = f64::from_bits(slot);
                f64::from(float as f32) == float
            }
            (BYTES, AcceptedValues::Bytes) => {
                others |= length > 0;
                let fits = start == end;
                end = start.saturating_add(length);
                fits
            }
            _ => false,
        };
        if !fits {
            return false;
        }
    }
    end == heap.len() && texts && !others && std::str::from_utf8(heap).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, Type, Value, codec};

    fn table() -> TableSchema {
        let column = |name, ty| ColumnSchema::new(name, ty).nullable(true);
        TableSchema::builder("t")
            .column(ColumnSchema::new("id", Type::I64))
            .column(column("small", Type::I8))
            .column(column("name", Type::Text).max_chars(3))
            .column(column("more", Type::Text))
            .column(column("data", Type::Bytes))
            .column(column("ratio", Type::F64))
            .column(column("single", Type::F32))
            .column(column("document", Type::Json))
            .key(["id"])
            .build()
            .unwrap()
    }

    fn row(values: &[Value<'_>]) -> Vec<u8> {
        let mut out = Vec::new();
        codec::encode_slice(&mut out, values).unwrap();
        out.split_off(codec::FRAME)
    }

    fn values(name: &str, more: &str, data: &[u8]) -> Vec<u8> {
        let data = Value::Bytes(data.to_vec().into());
        let (name, more) = (name.to_owned().into(), more.to_owned().into());
        let (ratio, single) = (Value::Float(0.1), Value::Float(0.5));
        row(&[Value::Int(1), Value::Int(-128), name, more, data, ratio, single, "[1]".into()])
    }

    /// A row with these values after the key, and NULL after them.
    fn some_values(values: &[Value<'_>]) -> Vec<u8> {
        let mut all = vec![Value::Int(1)];
        all.extend_from_slice(values);
        all.resize(8, Value::Null);
        row(&all)
    }

    #[test]
    fn fast_validation_agrees_with_full_validation() {
        let table = table();
        let whole = [
            values("abc", "déf", b""),
            values("äöü", "", b"x\xff"),
            values("äöüß", "", b""),
            values("", "", b""),
            some_values(&[]),
            some_values(&[Value::Int(128)]),
            some_values(&[
                Value::Null,
                Value::Null,
                Value::Null,
                Value::Null,
                Value::Null,
                Value::Float(0.1),
            ]),
            row(&[Value::Int(1)]),
            row(&[Value::Null]),
            row(&[]),
        ];
        for bytes in &whole {
            agree(&table, bytes);
            for at in 0..bytes.len() {
                agree(&table, &bytes[..at]);
                for bit in 0..8 {
                    let mut bytes = bytes.clone();
                    bytes[at] ^= 1 << bit;
                    agree(&table, &bytes);
                }
            }
        }
    }

    fn agree(table: &TableSchema, bytes: &[u8]) {
        for key_only in [false, true] {
            let slow = EncodedRow::check(bytes).and_then(|row| table.check_stored(key_only, &row));
            let quick = table.check_encoded(key_only, bytes);
            let kind = |error: crate::Error| error.kind();
            assert_eq!(quick.map(drop).map_err(kind), slow.map_err(kind), "{bytes:?}");
        }
    }

    #[test]
    fn character_split_between_two_texts_is_rejected() {
        let mut bytes = values("aé", "bc", b"");
        // "aé" and "bc" become "a\xc3" and "\xa9bc": together they are UTF-8.
        let slots = 2 + 8;
        bytes[slots + 2 * 8 + 4] -= 1;
        bytes[slots + 3 * 8] -= 1;
        bytes[slots + 3 * 8 + 4] += 1;
        let error = table().check_encoded(false, &bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
}
