//! Queries inside conditions.

use crate::{Condition, Error, ErrorKind, Result, TableSchema};
use std::sync::Arc;

/// One column of the rows of a table that match a condition. NULLs are left out.
#[derive(Clone, Debug)]
pub struct SubQuery {
    /// The table.
    pub table: Arc<TableSchema>,
    /// The index of the column whose values are compared.
    pub column: usize,
    /// Which rows; all if `None`.
    pub condition: Option<Condition>,
}

impl PartialEq for SubQuery {
    fn eq(&self, other: &Self) -> bool {
        let same_table =
            self.table.name() == other.table.name() && self.table.same_as(&other.table);
        same_table && self.column == other.column && self.condition == other.condition
    }
}

impl SubQuery {
    /// Checks that a column of `outer` can be compared with the values.
    ///
    /// # Errors
    /// `Schema` if there is no such column; `Mismatch` if the columns are stored in different forms.
    pub fn check_compared(&self, outer: &TableSchema, compared: usize) -> Result<()> {
        let compared = outer.column_at(compared)?;
        let selected = self.table.column_at(self.column)?;
        if compared.storage != selected.storage {
            let message = format!(
                "the column cannot be compared with '{}' of {}: their types differ",
                selected.name,
                self.table.name()
            );
            return Err(Error::new(ErrorKind::Mismatch, message)
                .in_table(outer.name())
                .in_column(compared.name.clone()));
        }
        Ok(())
    }

    /// As [`Condition::resolve`], for a subquery whose values a column of `outer` is compared with.
    pub(crate) fn resolve_against(self, outer: &TableSchema, compared: usize) -> Result<Self> {
        self.check_compared(outer, compared)?;
        let condition = self.condition.map(|part| part.resolve(&self.table)).transpose()?;
        Ok(Self { condition, ..self })
    }
}
