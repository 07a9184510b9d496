//! Rules of whole records.

use crate::rules::Violations;
use crate::{AnyColumn, Record, Result, Row};

impl Violations {
    /// Adds a violation in a column of the record. The message continues the column's name: `must not be blank`.
    pub fn add<T: Record>(&mut self, column: impl Into<AnyColumn<T>>, message: impl Into<String>) {
        let name =
            T::schema().columns().get(column.into().index()).map(|column| column.name.as_ref());
        self.push(name, message);
    }
}

/// Runs a validator of whole records on a row with the columns of the record's schema.
///
/// # Errors
/// As [`Record::read`].
pub fn check_record<T: Record>(
    row: &dyn Row,
    violations: &mut Violations,
    validator: impl FnOnce(&T, &mut Violations),
) -> Result<()> {
    validator(&T::read(row)?, violations);
    Ok(())
}
