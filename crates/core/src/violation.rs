//! The errors of rules that reject a row. Every engine returns the same kind, table and columns.

use crate::check::CheckExpression;
use crate::{Error, ErrorKind, TableSchema};

impl Error {
    /// The error of a row whose values in these columns another row has: the key, or a unique index.
    #[cold]
    #[must_use]
    pub fn duplicate(table: &TableSchema, columns: &[usize]) -> Self {
        let message = match (columns == table.key(), columns) {
            (true, _) => "another row has this key already",
            (_, [_]) => "another row has this value already",
            _ => "another row has these values already",
        };
        Self::new(ErrorKind::Duplicate, message).in_table(table.name()).in_columns(table, columns)
    }

    /// The error of a row that a CHECK rejects. It names all columns of the constraint.
    #[cold]
    #[must_use]
    pub fn check_violation(table: &TableSchema, check: &CheckExpression) -> Self {
        let message = format!("the check '{}' rejects the row", check.to_text(table));
        let error = Self::new(ErrorKind::Constraint, message).in_table(table.name());
        error.in_columns(table, &check.columns())
    }

    /// The error of a row of `table` whose `column` references a row of `parent` that does not exist.
    #[cold]
    #[must_use]
    pub fn missing_parent(table: &str, column: &str, parent: &str) -> Self {
        let message = format!("no row of {parent} has this value");
        Self::new(ErrorKind::Constraint, message).in_table(table).in_column(column)
    }

    /// The error of a row of `parent` that can be neither deleted nor changed, since `column` of a row of
    /// `table` references it. It names the referring table and column.
    #[cold]
    #[must_use]
    pub fn still_referenced(table: &str, column: &str, parent: &str) -> Self {
        let message = format!("rows of {table} refer to the row of {parent}");
        Self::new(ErrorKind::Constraint, message).in_table(table).in_column(column)
    }

    /// Adds columns as [`column`](Self::column) returns them, unless the error has one.
    #[must_use]
    pub fn in_columns(self, table: &TableSchema, positions: &[usize]) -> Self {
        let columns = positions.iter().filter_map(|position| table.columns().get(*position));
        let names: Vec<&str> = columns.map(|column| column.name.as_ref()).collect();
        if names.is_empty() { self } else { self.in_column(names.join(", ")) }
    }
}
