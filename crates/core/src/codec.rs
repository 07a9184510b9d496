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

use crate::{Error, ErrorKind, Result, Row, Value, ValueRef};

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
                "a row has {} bytes, fewer than its head of {head}",
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
pub struct RowWriter<'a, const N: usize> {
    out: &'a mut Vec<u8>,
    start: usize,
    heap: usize,
    // Columns are numbered at compile time, so accesses need no bounds checks.
    tags: [u8; N],
    slots: [[u8; 8]; N],
}

impl<'a, const N: usize> RowWriter<'a, N> {
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

/// Appends text or bytes to the heap, which begins at `heap`, and returns their slot. Lengths over 32
/// bits are detected by the length of the whole row.
#[inline]
fn append(out: &mut Vec<u8>, heap: usize, bytes: &[u8]) -> u64 {
    let offset = out.len() - heap;
    out.extend_from_slice(bytes);
    (offset as u64 & 0xffff_ffff) | ((bytes.len() as u64) << 32)
}

#[cold]
fn corrupt(message: String) -> Error {
    Error::new(ErrorKind::Corrupt, message)
}

#[cold]
fn too_large() -> Error {
    Error::new(ErrorKind::OutOfRange, "the row has more than 65,535 columns or 4 GiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<Value<'static>> {
        vec![
            Value::Int(i64::MIN),
            Value::Null,
            "Namé\0 1".into(),
            Value::Float(-0.5),
            Value::Bytes(vec![0, 255].into()),
            "".into(),
        ]
    }

    #[test]
    fn decoding_returns_the_encoded_values() {
        let mut out = Vec::new();
        encode(&mut out, &sample().as_slice()).unwrap();
        let mut again = Vec::new();
        encode_slice(&mut again, &sample()).unwrap();
        assert_eq!(again, out);
        encode(&mut out, &[].as_slice() as &&[Value<'_>]).unwrap();
        let (row, used) = split_first(&out).unwrap();
        let row = EncodedRow::check(row.as_bytes()).unwrap();
        let back: Vec<_> = (0..row.len()).map(|i| row.get(i).to_owned()).collect();
        assert_eq!(back, sample());
        let kept = sample();
        let raw: Vec<_> = kept.iter().map(|v| RawValue::from(v.as_ref())).collect();
        let passed: Vec<_> = row.raw_values().collect();
        let mut told = Vec::new();
        row.for_each_raw(|place, value| told.push((place, value)));
        assert_eq!(told, passed.iter().copied().enumerate().collect::<Vec<_>>());
        assert_eq!(format!("{passed:?}"), format!("{raw:?}"));
        let single: Vec<_> = (0..row.len()).map(|i| row.raw_value(i)).collect();
        assert_eq!(format!("{single:?}"), format!("{raw:?}"));
        assert_eq!(row.get(6), ValueRef::Null);
        assert_eq!(split_first(&out[used..]).unwrap().0.len(), 0);
    }

    #[test]
    fn damaged_bytes_are_rejected_without_panic() {
        let mut out = Vec::new();
        encode(&mut out, &sample().as_slice()).unwrap();
        let whole = out[FRAME..].to_vec();
        for cut in 0..whole.len() {
            assert!(EncodedRow::check(&whole[..cut]).is_err(), "cut at {cut}");
            assert!(split_first(&out[..cut]).is_err());
        }
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                // Either rejected, or a different row that can be read without a panic.
                let _ = EncodedRow::check(&bytes);
                let row = EncodedRow::new(&bytes);
                (0..row.len().min(100)).for_each(|i| drop(row.get(i).to_owned()));
                row.raw_values().for_each(drop);
                row.for_each_raw(|_, _| ());
            }
        }
    }
}
