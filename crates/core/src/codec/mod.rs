//! The row codec: one compact encoding of rows for batches, the memory engine, snapshots and the wire
//! protocol.
//!
//! All integers are little-endian. A row of *n* columns is
//!
//! | bytes | content |
//! |---|---|
//! | 2 | *n*, at most 65,535 |
//! | *n* | a tag per column: 0 NULL, 1 integer, 2 float, 3 text, 4 bytes |
//! | 8 × *n* | a slot per column: NULL 0; an integer in two's complement; a float in IEEE 754; for text and bytes the offset in the heap (4 bytes) and the length (4 bytes) |
//! | rest | the heap: the texts (UTF-8) and bytes, in column order, without gaps |
//!
//! So a column can be read without reading the columns before it. In a sequence of rows each row has a
//! *frame* in front: 4 bytes with the row's length. A row has at most 2³² − 1 bytes.

mod encode;
#[cfg(test)]
mod tests;

pub(crate) use encode::RowMut;
pub use encode::{RowEncoder, encode, encode_slice, encode_values};

use crate::{Error, ErrorKind, Result, Row, ValueRef};

pub(crate) const NULL: u8 = 0;
pub(crate) const INT: u8 = 1;
pub(crate) const FLOAT: u8 = 2;
pub(crate) const TEXT: u8 = 3;
pub(crate) const BYTES: u8 = 4;

/// A value of an encoded row whose text has not been validated: for code that only passes it on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RawValue<'a> {
    /// SQL NULL.
    Null,
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// The bytes of a text: UTF-8 if this process encoded the row.
    Text(&'a [u8]),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl<'a> From<ValueRef<'a>> for RawValue<'a> {
    #[inline]
    fn from(value: ValueRef<'a>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Int(i) => Self::Int(i),
            ValueRef::Float(f) => Self::Float(f),
            ValueRef::Text(text) => Self::Text(text.as_bytes()),
            ValueRef::Bytes(bytes) => Self::Bytes(bytes),
        }
    }
}

/// The length of a frame in bytes.
pub const FRAME: usize = 4;

/// An encoded row.
#[derive(Clone, Copy, Debug)]
pub struct EncodedRow<'a> {
    bytes: &'a [u8],
    columns: usize,
}

impl<'a> EncodedRow<'a> {
    /// Wraps bytes that this process encoded. Damaged bytes never cause a panic, but damaged columns read
    /// as NULL: use [`EncodedRow::check`] for bytes from elsewhere.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        let columns = match bytes {
            [a, b, ..] => usize::from(u16::from_le_bytes([*a, *b])),
            _ => 0,
        };
        Self { bytes, columns }
    }

    /// Validates bytes from a file or the network: every offset and every text.
    ///
    /// # Errors
    /// `Corrupt`, naming the first damaged column.
    pub fn check(bytes: &'a [u8]) -> Result<Self> {
        let row = Self::new(bytes);
        let head = 2 + row.columns * 9;
        let Some((head, heap)) = bytes.split_at_checked(head) else {
            return Err(corrupt(format!(
                "a row has {} bytes, fewer than its header of {head}",
                bytes.len()
            )));
        };
        let (tags, slots) = head.split_at_checked(2 + row.columns).unwrap_or_default();
        let (slots, _) = slots.as_chunks::<8>();
        let mut end = 0;
        for (column, (tag, slot)) in tags.iter().skip(2).zip(slots).enumerate() {
            let slot = u64::from_le_bytes(*slot);
            let ok = match *tag {
                INT => true,
                tag @ (TEXT | BYTES) => {
                    let (start, length) = ((slot & 0xffff_ffff) as usize, (slot >> 32) as usize);
                    let bytes = heap.get(start..).and_then(|rest| rest.get(..length));
                    let in_order = start == end;
                    end = start.saturating_add(length);
                    in_order
                        && bytes
                            .is_some_and(|bytes| tag == BYTES || std::str::from_utf8(bytes).is_ok())
                }
                NULL => slot == 0,
                FLOAT => !f64::from_bits(slot).is_nan(),
                _ => false,
            };
            if !ok {
                return Err(corrupt(format!("column {column} of the row is damaged")));
            }
        }
        if end != heap.len() {
            return Err(corrupt(format!("the row has {} extra bytes", heap.len() - end)));
        }
        Ok(row)
    }

    /// The bytes, without the frame.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// As [`Row::get`], with the lifetime of the bytes.
    #[inline]
    #[must_use]
    pub fn value(&self, column: usize) -> ValueRef<'a> {
        if column >= self.columns {
            return ValueRef::Null;
        }
        match self.tag(column) {
            INT => ValueRef::Int(i64::from_le_bytes(self.slot(column))),
            FLOAT => ValueRef::Float(f64::from_le_bytes(self.slot(column))),
            TEXT => match self.heap(column).map(std::str::from_utf8) {
                Some(Ok(text)) => ValueRef::Text(text),
                _ => ValueRef::Null,
            },
            BYTES => self.heap(column).map_or(ValueRef::Null, ValueRef::Bytes),
            _ => ValueRef::Null,
        }
    }

    /// As [`value`](Self::value), without validating text.
    #[inline]
    #[must_use]
    pub fn raw_value(&self, column: usize) -> RawValue<'a> {
        if column >= self.columns {
            return RawValue::Null;
        }
        match self.tag(column) {
            INT => RawValue::Int(i64::from_le_bytes(self.slot(column))),
            FLOAT => RawValue::Float(f64::from_le_bytes(self.slot(column))),
            TEXT => self.heap(column).map_or(RawValue::Null, RawValue::Text),
            BYTES => self.heap(column).map_or(RawValue::Null, RawValue::Bytes),
            _ => RawValue::Null,
        }
    }

    /// Whether the column is NULL or does not exist.
    #[inline]
    #[must_use]
    pub fn is_null(&self, column: usize) -> bool {
        column >= self.columns || self.tag(column) == NULL
    }

    /// All values in order, texts not validated: the fastest way to read a whole row.
    #[inline]
    pub fn raw_values(&self) -> impl ExactSizeIterator<Item = RawValue<'a>> + use<'a> {
        let (tags, rest) = self.bytes.split_at_checked(2 + self.columns).unwrap_or_default();
        let (slots, heap) = rest.split_at_checked(8 * self.columns).unwrap_or_default();
        let (slots, _) = slots.as_chunks::<8>();
        let bytes = move |slot: u64| {
            let (offset, length) = ((slot & 0xffff_ffff) as usize, (slot >> 32) as usize);
            heap.get(offset..offset + length).unwrap_or_default()
        };
        tags.get(2..).unwrap_or_default().iter().zip(slots).map(move |(tag, slot)| match *tag {
            INT => RawValue::Int(i64::from_le_bytes(*slot)),
            FLOAT => RawValue::Float(f64::from_le_bytes(*slot)),
            TEXT => RawValue::Text(bytes(u64::from_le_bytes(*slot))),
            BYTES => RawValue::Bytes(bytes(u64::from_le_bytes(*slot))),
            _ => RawValue::Null,
        })
    }

    /// As [`raw_values`](Self::raw_values), as calls of `each` with the columns' indexes. `each` is
    /// compiled once for each kind of value, so it need not match on the kind again.
    #[inline(always)]
    pub fn for_each_raw(&self, mut each: impl FnMut(usize, RawValue<'a>)) {
        let (tags, rest) = self.bytes.split_at_checked(2 + self.columns).unwrap_or_default();
        let (slots, heap) = rest.split_at_checked(8 * self.columns).unwrap_or_default();
        let (slots, _) = slots.as_chunks::<8>();
        let bytes = |slot: u64| {
            let (offset, length) = ((slot & 0xffff_ffff) as usize, (slot >> 32) as usize);
            heap.get(offset..).and_then(|rest| rest.get(..length)).unwrap_or_default()
        };
        let tags = tags.get(2..).unwrap_or_default();
        for (place, (tag, slot)) in tags.iter().zip(slots).enumerate() {
            let slot = u64::from_le_bytes(*slot);
            match *tag {
                INT => each(place, RawValue::Int(slot.cast_signed())),
                TEXT => each(place, RawValue::Text(bytes(slot))),
                FLOAT => each(place, RawValue::Float(f64::from_bits(slot))),
                BYTES => each(place, RawValue::Bytes(bytes(slot))),
                _ => each(place, RawValue::Null),
            }
        }
    }

    #[inline]
    fn tag(&self, column: usize) -> u8 {
        self.bytes.get(2 + column).copied().unwrap_or(NULL)
    }

    #[inline]
    fn slot(&self, column: usize) -> [u8; 8] {
        let at = 2 + self.columns + column * 8;
        self.bytes.get(at..).and_then(|slots| slots.first_chunk()).copied().unwrap_or_default()
    }

    #[inline]
    fn span(&self, column: usize) -> (usize, usize) {
        let slot = u64::from_le_bytes(self.slot(column));
        ((slot & 0xffff_ffff) as usize, (slot >> 32) as usize)
    }

    #[inline]
    fn heap(&self, column: usize) -> Option<&'a [u8]> {
        let (offset, length) = self.span(column);
        self.bytes.get(2 + self.columns * 9 + offset..)?.get(..length)
    }
}

impl Row for EncodedRow<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.columns
    }

    #[inline]
    fn get(&self, column: usize) -> ValueRef<'_> {
        self.value(column)
    }
}

/// The offset of a column's slot in a framed row of `columns` columns.
pub(crate) const fn slot_of(columns: usize, column: usize) -> usize {
    FRAME + 2 + columns + 8 * column
}

/// Overwrites the integer in a slot.
#[inline]
pub(crate) fn set_integer(out: &mut [u8], slot: usize, value: i64) {
    if let Some(place) = out.get_mut(slot..).and_then(|rest| rest.first_chunk_mut()) {
        *place = value.to_le_bytes();
    }
}

/// Splits off the first framed row, with its frame.
#[inline]
pub(crate) fn split_first_mut(bytes: &mut [u8]) -> Option<(&mut [u8], &mut [u8])> {
    let length = u32::from_le_bytes(*bytes.first_chunk()?);
    bytes.split_at_mut_checked(FRAME + length as usize)
}

/// Appends an encoded row with its frame.
pub fn frame(out: &mut Vec<u8>, row: EncodedRow<'_>) {
    // The length fits: the row was encoded, or read from a frame.
    out.extend_from_slice(&(row.bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(row.bytes);
}

/// The first framed row, and its length including the frame.
///
/// # Errors
/// `Corrupt` if the bytes end before the row.
#[inline]
pub fn split_first(bytes: &[u8]) -> Result<(EncodedRow<'_>, usize)> {
    if let [a, b, c, d, rest @ ..] = bytes {
        let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
        if let Some(row) = rest.get(..length) {
            return Ok((EncodedRow::new(row), FRAME + length));
        }
    }
    Err(corrupt("the data ends in the middle of a row".to_owned()))
}

#[cold]
fn corrupt(message: String) -> Error {
    Error::new(ErrorKind::Corrupt, message)
}
