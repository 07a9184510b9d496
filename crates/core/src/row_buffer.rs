//! Buffers of encoded rows.

use crate::codec::EncodedRow;
use crate::{Result, Row};

/// A buffer of encoded rows, with a reading position: cursors return their rows in these.
#[derive(Clone, Debug, Default)]
pub struct RowBuffer {
    bytes: Vec<u8>,
    rows: usize,
    next: usize,
    current: usize,
}

impl RowBuffer {
    /// Removes all rows, and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows = 0;
        self.next = 0;
        self.current = 0;
    }

    /// Makes room for so many more bytes.
    pub fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve(bytes);
    }

    /// The number of rows, those already read included.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The size in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Whether every row was read.
    #[inline]
    #[must_use]
    pub const fn is_drained(&self) -> bool {
        self.next >= self.bytes.len()
    }

    /// Appends a row.
    ///
    /// # Errors
    /// `OutOfRange` if the row is larger than the codec allows; nothing is added then.
    pub fn push(&mut self, row: &dyn Row) -> Result<()> {
        crate::codec::encode(&mut self.bytes, row)?;
        self.rows += 1;
        Ok(())
    }

    /// Appends an encoded row.
    pub fn push_encoded(&mut self, row: EncodedRow<'_>) {
        crate::codec::frame(&mut self.bytes, row);
        self.rows += 1;
    }

    /// Validates and appends encoded rows, each with its frame, from the network or a file.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are not rows; nothing is added then.
    pub fn push_framed(&mut self, bytes: &[u8]) -> Result<()> {
        let (mut rest, mut rows) = (bytes, 0);
        while !rest.is_empty() {
            let (row, used) = crate::codec::split_first(rest)?;
            EncodedRow::check(row.as_bytes())?;
            rest = rest.get(used..).unwrap_or_default();
            rows += 1;
        }
        self.bytes.extend_from_slice(bytes);
        self.rows += rows;
        Ok(())
    }

    /// The encoded rows, each with its frame, those already read included.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads the next row; `None` after the last.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are not rows.
    pub fn next_row(&mut self) -> Result<Option<EncodedRow<'_>>> {
        match self.bytes.get(self.next..) {
            Some(rest) if !rest.is_empty() => {
                let (row, used) = crate::codec::split_first(rest)?;
                self.current = self.next;
                self.next += used;
                Ok(Some(row))
            }
            _ => Ok(None),
        }
    }

    /// The position of the row that was read last: for [`row_at`](RowBuffer::row_at).
    #[inline]
    #[must_use]
    pub const fn position(&self) -> usize {
        self.current
    }

    /// The row at a [`position`](RowBuffer::position); a row without columns if none starts there.
    #[inline]
    #[must_use]
    pub fn row_at(&self, position: usize) -> EncodedRow<'_> {
        let rest = self.bytes.get(position..).unwrap_or_default();
        crate::codec::split_first(rest).map_or(EncodedRow::new(&[]), |(row, _)| row)
    }
}
