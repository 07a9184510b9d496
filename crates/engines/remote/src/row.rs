//! Rows of SQL text, which know the names of their columns.

use bobak_core::codec::EncodedRow;
use bobak_core::{Row, ValueRef};
use bobak_wire::Column;

/// A row and its columns.
pub(crate) struct NamedRow<'a> {
    pub row: EncodedRow<'a>,
    pub columns: &'a [Column],
}

impl Row for NamedRow<'_> {
    fn len(&self) -> usize {
        Row::len(&self.row)
    }

    #[inline]
    fn get(&self, column: usize) -> ValueRef<'_> {
        self.row.value(column)
    }

    fn name(&self, column: usize) -> Option<&str> {
        self.columns.get(column).map(|column| column.name.as_str())
    }
}
