//! The values of a column, one after the other in memory.

use crate::ValueRef;

/// Collects the values of one column, which have one class: integers, floats, texts or bytes. See
/// [`Row::append_to`](crate::Row::append_to).
///
/// ```
/// use bobak_core::{ColumnBuffer, ColumnValues, ValueRef};
///
/// let mut buffer = ColumnBuffer::new(ColumnValues::Ints(Vec::new()));
/// assert!(buffer.push(ValueRef::Int(7)));
/// assert!(buffer.push(ValueRef::Null));
/// assert!(!buffer.push(ValueRef::Text("seven")));
/// assert!(matches!(buffer.values(), ColumnValues::Ints(ints) if *ints == [7, 0]));
/// assert_eq!(buffer.nulls(), [1]);
/// ```
#[derive(Debug, Default)]
pub struct ColumnBuffer {
    values: ColumnValues,
    nulls: Vec<u32>,
}

/// The values of a [`ColumnBuffer`]. In the place of a NULL is 0, or nothing.
#[derive(Debug, Default)]
pub enum ColumnValues {
    /// Integers.
    Ints(Vec<i64>),
    /// Floats.
    Floats(Vec<f64>),
    /// The bytes of texts, which MAY be other than UTF-8: engines append them unchecked.
    Texts(ByteValues),
    /// Bytes.
    Bytes(ByteValues),
    /// The buffer takes no value, not even NULL.
    #[default]
    Other,
}

/// Values of any length, one after the other.
#[derive(Debug)]
pub struct ByteValues {
    bytes: Vec<u8>,
    ends: Vec<i32>,
}

impl ColumnBuffer {
    /// A buffer for values of this class.
    #[must_use]
    pub const fn new(values: ColumnValues) -> Self {
        Self { values, nulls: Vec::new() }
    }

    /// The values.
    #[must_use]
    pub const fn values(&self) -> &ColumnValues {
        &self.values
    }

    /// The values, for engines that append them in another way than [`push`](Self::push). They MUST append one for each row.
    #[inline]
    pub const fn values_mut(&mut self) -> &mut ColumnValues {
        &mut self.values
    }

    /// The rows that are NULL, ascending.
    #[must_use]
    pub fn nulls(&self) -> &[u32] {
        &self.nulls
    }

    /// Appends a value; `false`, and no change, if it has another class than the others, or is a text or bytes for which
    /// 31 bits of length do not suffice.
    #[inline]
    pub fn push(&mut self, value: ValueRef<'_>) -> bool {
        match (&mut self.values, value) {
            (ColumnValues::Ints(ints), ValueRef::Int(int)) => ints.push(int),
            (ColumnValues::Floats(floats), ValueRef::Float(float)) => floats.push(float),
            (ColumnValues::Texts(texts), ValueRef::Text(text)) => {
                return texts.push(text.as_bytes());
            }
            (ColumnValues::Bytes(values), ValueRef::Bytes(bytes)) => return values.push(bytes),
            (_, ValueRef::Null) => return self.push_null(),
            _ => return false,
        }
        true
    }

    /// Appends NULL; `false` if the buffer takes no value.
    #[inline]
    pub fn push_null(&mut self) -> bool {
        let row = match &mut self.values {
            ColumnValues::Ints(ints) => {
                ints.push(0);
                ints.len()
            }
            ColumnValues::Floats(floats) => {
                floats.push(0.0);
                floats.len()
            }
            ColumnValues::Texts(values) | ColumnValues::Bytes(values) => {
                values.push(&[]);
                values.len()
            }
            ColumnValues::Other => return false,
        };
        self.nulls.push(row as u32 - 1);
        true
    }

    /// The bytes of its texts or bytes.
    #[inline]
    #[must_use]
    pub const fn byte_length(&self) -> usize {
        match &self.values {
            ColumnValues::Texts(values) | ColumnValues::Bytes(values) => values.bytes.len(),
            _ => 0,
        }
    }

    /// Takes the values and the rows that are NULL, and leaves an empty buffer with space for as many.
    #[must_use]
    pub fn take(&mut self) -> (ColumnValues, Vec<u32>) {
        let next = match &self.values {
            ColumnValues::Ints(ints) => ColumnValues::Ints(Vec::with_capacity(ints.len())),
            ColumnValues::Floats(floats) => ColumnValues::Floats(Vec::with_capacity(floats.len())),
            ColumnValues::Texts(values) => ColumnValues::Texts(values.empty()),
            ColumnValues::Bytes(values) => ColumnValues::Bytes(values.empty()),
            ColumnValues::Other => ColumnValues::Other,
        };
        (std::mem::replace(&mut self.values, next), std::mem::take(&mut self.nulls))
    }
}

impl ByteValues {
    /// Appends a value; `false`, and no change, if the bytes of all were more than 2,147,483,647.
    #[inline]
    pub fn push(&mut self, value: &[u8]) -> bool {
        let Ok(end) = i32::try_from(self.bytes.len() + value.len()) else { return false };
        self.bytes.extend_from_slice(value);
        self.ends.push(end);
        true
    }

    /// The number of values.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.ends.len() - 1
    }

    /// Whether there are no values.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of all values, and where each ends, after a 0 as the beginning of the first.
    #[must_use]
    pub fn into_parts(self) -> (Vec<u8>, Vec<i32>) {
        (self.bytes, self.ends)
    }

    fn empty(&self) -> Self {
        let mut ends = Vec::with_capacity(self.ends.len());
        ends.push(0);
        Self { bytes: Vec::with_capacity(self.bytes.len()), ends }
    }
}

impl Default for ByteValues {
    fn default() -> Self {
        Self { bytes: Vec::new(), ends: vec![0] }
    }
}
