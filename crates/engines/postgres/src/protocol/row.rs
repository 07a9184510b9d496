//! Rows as the server sends them, decoded where they lie.

use crate::protocol::value::ColumnFormat;
use bobak_core::{Row, ValueRef};

/// A column of a result.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub name: String,
    pub oid: u32,
    pub kind: ColumnFormat,
}

/// The end of each value of the current row; NULL has none. Reused from row to row.
#[derive(Default)]
pub(crate) struct ValueSpans(Vec<(u32, u32)>);

/// The end that NULL has.
const NULL: u32 = u32::MAX;

impl ValueSpans {
    /// Finds the values of a DataRow.
    #[inline]
    pub fn of<'a>(&'a mut self, body: &'a [u8], columns: &'a [Column]) -> PgRow<'a> {
        self.0.clear();
        let mut at = 2;
        while let Some(length) = body.get(at..at + 4).and_then(|bytes| bytes.first_chunk()) {
            at += 4;
            match usize::try_from(i32::from_be_bytes(*length)) {
                Ok(length) => {
                    self.0.push((at as u32, (at + length) as u32));
                    at += length;
                }
                Err(_) => self.0.push((at as u32, NULL)),
            }
        }
        PgRow { body, spans: &self.0, columns }
    }
}

/// One row, lent.
pub(crate) struct PgRow<'a> {
    body: &'a [u8],
    spans: &'a [(u32, u32)],
    columns: &'a [Column],
}

impl Row for PgRow<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.spans.len()
    }

    #[inline]
    fn get(&self, column: usize) -> ValueRef<'_> {
        let (Some(&(start, end)), Some(known)) = (self.spans.get(column), self.columns.get(column))
        else {
            return ValueRef::Null;
        };
        if end == NULL {
            return ValueRef::Null;
        }
        self.body.get(start as usize..end as usize).map_or(ValueRef::Null, |b| known.kind.decode(b))
    }

    fn name(&self, column: usize) -> Option<&str> {
        self.columns.get(column).map(|column| column.name.as_str())
    }
}
