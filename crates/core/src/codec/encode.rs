//! Encoding rows, and changing encoded rows in place.

use super::{BYTES, EncodedRow, FLOAT, FRAME, INT, NULL, TEXT, set_integer, slot_of};
use crate::{Error, ErrorKind, Result, Row, Value, ValueRef};

/// Appends a row with its frame.
///
/// # Errors
/// `OutOfRange` if it has more than 65,535 columns or 2³² − 1 bytes; `out` is then unchanged.
pub fn encode(out: &mut Vec<u8>, row: &dyn Row) -> Result<()> {
    encode_values(out, row.len(), |column| row.get(column))
}

/// As [`encode`], with values from a function that is called once for each column, in order.
///
/// # Errors
/// As [`encode`].
#[inline]
pub fn encode_values<'v>(
    out: &mut Vec<u8>,
    columns: usize,
    value: impl Fn(usize) -> ValueRef<'v>,
) -> Result<()> {
    let start = out.len();
    let count = u16::try_from(columns).map_err(|_| too_large())?;
    let body = start + FRAME;
    let slots = body + 2 + columns;
    let heap = slots + columns * 8;
    out.resize(heap, 0);
    if let Some(head) = out.get_mut(body..body + 2) {
        head.copy_from_slice(&count.to_le_bytes());
    }
    for column in 0..columns {
        let (tag, slot) = match value(column) {
            ValueRef::Null => (NULL, 0),
            ValueRef::Int(i) => (INT, i.cast_unsigned()),
            ValueRef::Float(f) => (FLOAT, f.to_bits()),
            ValueRef::Text(text) => (TEXT, append(out, heap, text.as_bytes())),
            ValueRef::Bytes(bytes) => (BYTES, append(out, heap, bytes)),
        };
        if let Some(place) = out.get_mut(body + 2 + column) {
            *place = tag;
        }
        let at = slots + column * 8;
        if let Some(place) = out.get_mut(at..at + 8) {
            place.copy_from_slice(&slot.to_le_bytes());
        }
    }
    let Ok(length) = u32::try_from(out.len() - body) else {
        out.truncate(start);
        return Err(too_large());
    };
    if let Some(head) = out.get_mut(start..body) {
        head.copy_from_slice(&length.to_le_bytes());
    }
    Ok(())
}

/// As [`encode`], with values from a function that is cheap: it is called several times.
///
/// # Errors
/// As [`encode`].
#[inline]
pub fn encode_slice(out: &mut Vec<u8>, values: &[Value<'_>]) -> Result<()> {
    let bytes_of = |value: &Value<'_>| match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    let count = u16::try_from(values.len()).map_err(|_| too_large())?;
    let body = 2 + values.len() * 9 + values.iter().map(bytes_of).sum::<usize>();
    let length = u32::try_from(body).map_err(|_| too_large())?;
    out.reserve(FRAME + body);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
    out.extend(values.iter().map(|value| match value {
        Value::Null => NULL,
        Value::Int(_) => INT,
        Value::Float(_) => FLOAT,
        Value::Text(_) => TEXT,
        Value::Bytes(_) => BYTES,
    }));
    let mut offset = 0;
    for value in values {
        let slot = match value {
            Value::Null => 0,
            Value::Int(i) => i.cast_unsigned(),
            Value::Float(f) => f.to_bits(),
            Value::Text(_) | Value::Bytes(_) => {
                let length = bytes_of(value) as u64;
                let slot = offset | length << 32;
                offset += length;
                slot
            }
        };
        out.extend_from_slice(&slot.to_le_bytes());
    }
    for value in values {
        match value {
            Value::Text(text) => out.extend_from_slice(text.as_bytes()),
            Value::Bytes(bytes) => out.extend_from_slice(bytes),
            _ => {}
        }
    }
    Ok(())
}

/// A framed row of `N` columns under construction at the end of a buffer: with this, derived records
/// encode themselves field by field.
#[derive(Debug)]
pub struct RowEncoder<'a, const N: usize> {
    out: &'a mut Vec<u8>,
    start: usize,
    heap: usize,
    // Columns are numbered at compile time, so accesses need no bounds checks.
    tags: [u8; N],
    slots: [[u8; 8]; N],
}

impl<'a, const N: usize> RowEncoder<'a, N> {
    /// Begins a row with all columns NULL. Tables have far fewer columns than the codec allows.
    #[inline(always)]
    pub fn begin(out: &'a mut Vec<u8>) -> Self {
        static ZEROS: [u8; 512] = [0; 512];
        const { assert!(N <= u16::MAX as usize) };
        let start = out.len();
        let heap = start + FRAME + 2 + 9 * N;
        // Faster for a small row than filling with zeros.
        match ZEROS.get(..heap - start) {
            Some(zeros) => out.extend_from_slice(zeros),
            None => out.resize(heap, 0),
        }
        Self { out, start, heap, tags: [NULL; N], slots: [[0; 8]; N] }
    }

    /// Writes a column's value. Columns must be written in order, each once.
    #[inline(always)]
    pub fn put<const COLUMN: usize>(&mut self, value: Value<'_>) {
        let (tag, slot) = match value {
            Value::Null => (NULL, 0),
            Value::Int(i) => (INT, i.cast_unsigned()),
            Value::Float(f) => (FLOAT, f.to_bits()),
            Value::Text(text) => (TEXT, append(self.out, self.heap, text.as_bytes())),
            Value::Bytes(bytes) => (BYTES, append(self.out, self.heap, &bytes)),
        };
        if let (Some(t), Some(s)) = (self.tags.get_mut(COLUMN), self.slots.get_mut(COLUMN)) {
            (*t, *s) = (tag, slot.to_le_bytes());
        }
    }

    /// Finishes the row.
    ///
    /// # Errors
    /// `OutOfRange` if it has 4 GiB or more.
    #[inline(always)]
    pub fn finish(self) -> Result<()> {
        let length = u32::try_from(self.out.len() - self.start - FRAME).map_err(|_| too_large())?;
        let head = self.out.get_mut(self.start..self.heap).unwrap_or_default();
        if let Some((frame, rest)) = head.split_first_chunk_mut::<FRAME>()
            && let Some((count, rest)) = rest.split_first_chunk_mut::<2>()
            && let Some((tags, slots)) = rest.split_first_chunk_mut::<N>()
        {
            *frame = length.to_le_bytes();
            *count = (N as u16).to_le_bytes();
            *tags = self.tags;
            slots.copy_from_slice(self.slots.as_flattened());
        }
        Ok(())
    }
}

/// A framed row whose slots and tags can be changed in place.
#[derive(Debug)]
pub(crate) struct RowMut<'a> {
    row: &'a mut [u8],
    columns: usize,
}

impl<'a> RowMut<'a> {
    pub(crate) const fn new(row: &'a mut [u8], columns: usize) -> Self {
        Self { row, columns }
    }

    /// Whether the column has this integer.
    #[inline]
    pub(crate) fn is_integer(&self, column: usize, integer: i64) -> bool {
        self.tag(column) == Some(INT) && self.slot(column) == integer.cast_unsigned()
    }

    /// The length of the column's text; `None` if it has no text.
    #[inline]
    pub(crate) fn text_length(&self, column: usize) -> Option<u64> {
        (self.tag(column)? == TEXT).then(|| self.slot(column) >> 32)
    }

    /// Sets an integer column to NULL.
    #[inline]
    pub(crate) fn set_null(&mut self, column: usize) {
        self.set(column, NULL, 0);
    }

    /// Sets a column to an integer. It must not have a text or bytes.
    #[inline]
    pub(crate) fn set_integer(&mut self, column: usize, integer: i64) {
        self.set(column, INT, integer);
    }

    /// The row for reading.
    pub(crate) fn as_row(&self) -> EncodedRow<'_> {
        EncodedRow::new(self.row.get(FRAME..).unwrap_or_default())
    }

    #[inline]
    fn set(&mut self, column: usize, tag: u8, slot: i64) {
        set_integer(self.row, slot_of(self.columns, column), slot);
        if let Some(place) = self.row.get_mut(FRAME + 2 + column) {
            *place = tag;
        }
    }

    #[inline]
    fn tag(&self, column: usize) -> Option<u8> {
        self.row.get(FRAME + 2 + column).copied()
    }

    #[inline]
    fn slot(&self, column: usize) -> u64 {
        let slot =
            self.row.get(slot_of(self.columns, column)..).and_then(|rest| rest.first_chunk());
        slot.map_or(0, |slot| u64::from_le_bytes(*slot))
    }
}

/// Appends text or bytes to the heap, which begins at `heap`, and returns their slot. Lengths over 32
/// bits are detected by the length of the whole row.
#[inline]
fn append(out: &mut Vec<u8>, heap: usize, bytes: &[u8]) -> u64 {
    let offset = out.len() - heap;
    out.extend_from_slice(bytes);
    (offset as u64 & 0xffff_ffff) | ((bytes.len() as u64) << 32)
}

#[cold]
fn too_large() -> Error {
    Error::new(ErrorKind::OutOfRange, "the row has more than 65,535 columns or 4 GiB")
}
