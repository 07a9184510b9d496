//! Rows of SQL texts, which carry the names and types of their columns.

use bobak_core::codec::EncodedRow;
use bobak_core::{ResultColumn, Row, Type, ValueRef};

/// A row and its columns.
pub(crate) struct RenamedRow<'a> {
    pub row: EncodedRow<'a>,
    pub columns: &'a [ResultColumn],
}

impl Row for RenamedRow<'_> {
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

    fn ty(&self, column: usize) -> Type {
        self.columns.get(column).map_or(Type::Any, |column| column.ty)
    }
}
