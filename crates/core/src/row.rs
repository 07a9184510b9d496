//! Rows as engines lend them, and rows in the codec's bytes.

use crate::{Error, Field, Result, TableSchema, ValueRef, codec::EncodedRow};
use std::sync::Arc;

/// A row lent by an engine: valid inside the call that hands it over.
pub trait Row {
    /// How many columns it has.
    fn len(&self) -> usize;

    /// The value of a column, counted from 0; NULL from [`len`](Row::len) on.
    fn get(&self, column: usize) -> ValueRef<'_>;

    /// The name of a column, where the engine knows it: for rows of SQL text.
    fn name(&self, column: usize) -> Option<&str> {
        let _ = column;
        None
    }

    /// Whether it has no column.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Row for &[crate::Value<'_>] {
    fn len(&self) -> usize {
        <[_]>::len(self)
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        <[_]>::get(self, column).map_or(ValueRef::Null, crate::Value::as_ref)
    }
}

/// Reads one field, naming table and column where it fails: what the derive calls.
///
/// # Errors
/// As [`Field::from_value`].
#[inline]
pub fn read_field<V: Field>(
    row: &dyn Row,
    column: usize,
    schema: fn() -> &'static Arc<TableSchema>,
) -> Result<V> {
    V::from_value(row.get(column)).map_err(|error| name_column(error, column, schema()))
}

/// Overwrites one field, naming table and column where it fails.
///
/// # Errors
/// As [`Field::read_from`].
#[inline]
pub fn read_field_into<V: Field>(
    field: &mut V,
    row: &dyn Row,
    column: usize,
    schema: fn() -> &'static Arc<TableSchema>,
) -> Result<()> {
    field.read_from(row.get(column)).map_err(|error| name_column(error, column, schema()))
}

#[cold]
fn name_column(error: Error, column: usize, schema: &TableSchema) -> Error {
    let error = error.in_table(schema.name());
    match schema.columns().get(column) {
        Some(column) => error.in_column(column.name.as_ref()),
        None => error,
    }
}

/// A run of rows in the codec's bytes: how cursors hand rows over, a part at a time.
#[derive(Clone, Debug, Default)]
pub struct RowBuffer {
    bytes: Vec<u8>,
    rows: usize,
    next: usize,
    current: usize,
}

impl RowBuffer {
    /// Takes the rows out, keeping the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows = 0;
        self.next = 0;
        self.current = 0;
    }

    /// How many rows it holds, those already handed out included.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// How many bytes it holds.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Whether every row was handed out.
    #[inline]
    #[must_use]
    pub const fn is_drained(&self) -> bool {
        self.next >= self.bytes.len()
    }

    /// Adds a row.
    ///
    /// # Errors
    /// `OutOfRange` where the row is larger than the codec allows; nothing is added then.
    pub fn push(&mut self, row: &dyn Row) -> Result<()> {
        crate::codec::encode(&mut self.bytes, row)?;
        self.rows += 1;
        Ok(())
    }

    /// Adds a row that is encoded already.
    pub fn push_encoded(&mut self, row: EncodedRow<'_>) {
        crate::codec::frame(&mut self.bytes, row);
        self.rows += 1;
    }

    /// Adds rows that are encoded already, one after the other, each with its frame, from the wire
    /// or from a file. Every row is checked.
    ///
    /// # Errors
    /// `Corrupt` where the bytes are not rows; nothing is added then.
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

    /// The rows as they are kept, those already handed out included: encoded, one after the
    /// other, each with its frame.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Hands the next row out, `None` after the last.
    ///
    /// # Errors
    /// `Corrupt` where the bytes are not rows.
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

    /// Where the row is that was handed out last: for [`row_at`](RowBuffer::row_at).
    #[inline]
    #[must_use]
    pub const fn position(&self) -> usize {
        self.current
    }

    /// The row at a [`position`](RowBuffer::position); one without columns where none begins.
    #[inline]
    #[must_use]
    pub fn row_at(&self, position: usize) -> EncodedRow<'_> {
        let rest = self.bytes.get(position..).unwrap_or_default();
        crate::codec::split_first(rest).map_or(EncodedRow::new(&[]), |(row, _)| row)
    }
}
