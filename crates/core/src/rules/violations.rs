//! What rules find wrong with a row.

use crate::rule_violation::Violation;

/// What a validator of whole records found wrong.
///
/// ```
/// # use bobak_core::{Column, Record};
/// use bobak_core::rules::Violations;
///
/// fn check<T: Record>(violations: &mut Violations, until: Column<T, i64>) {
///     violations.add(until, "must not be before the first day");
///     violations.add_to_record("overlaps another booking");
/// }
/// ```
#[derive(Debug, Default)]
pub struct Violations(Vec<Violation>);

impl Violations {
    /// Adds a violation of the record as a whole: `overlaps another booking`.
    pub fn add_to_record(&mut self, message: impl Into<String>) {
        self.push(None, message);
    }

    /// Adds a violation in the column with this name, or of the row as a whole.
    pub fn push(&mut self, column: Option<&str>, message: impl Into<String>) {
        self.0.push(Violation::new(column, message));
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The violations in the order in which they were added.
    #[must_use]
    pub fn into_vec(self) -> Vec<Violation> {
        self.0
    }
}
