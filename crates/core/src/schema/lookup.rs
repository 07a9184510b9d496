//! Which columns find the rows of a table.

use crate::TableSchema;

impl TableSchema {
    /// Whether the key, or one of the [indexes](Self::indexes), begins with a column, so that it finds the rows with a value.
    #[must_use]
    pub fn is_indexed(&self, column: usize) -> bool {
        self.is_indexed_together([column])
    }

    /// Whether the key, or one of the [indexes](Self::indexes), begins with some columns in any order, so that it finds the
    /// rows with a value of each.
    #[must_use]
    pub fn is_indexed_together(
        &self,
        columns: impl IntoIterator<Item = usize, IntoIter: Clone>,
    ) -> bool {
        let columns = columns.into_iter();
        let begins = |index: &[usize]| {
            let first = index.get(..columns.clone().count());
            first.is_some_and(|first| columns.clone().all(|column| first.contains(&column)))
        };
        begins(self.key()) || self.indexes().iter().any(|index| begins(&index.columns))
    }

    /// Whether the key has these different columns, in any order, and no others.
    #[must_use]
    pub fn is_key(&self, columns: impl IntoIterator<Item = usize, IntoIter: Clone>) -> bool {
        let columns = columns.into_iter();
        let count = columns.clone().count();
        let key = self.key();
        count > 0 && count == key.len() && columns.clone().all(|column| key.contains(&column))
    }
}
