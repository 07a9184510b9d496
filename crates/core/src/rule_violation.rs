//! What is wrong with a row that rules reject.

use std::fmt;

/// One thing that is wrong with a row. Its `Display` is a sentence: `name must not be blank`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Violation {
    column: Option<String>,
    message: String,
}

impl Violation {
    /// A violation in a column, or `None` for the row as a whole. The message continues the column's name:
    /// `must not be blank`.
    pub fn new(column: Option<&str>, message: impl Into<String>) -> Self {
        Self { column: column.map(str::to_owned), message: message.into() }
    }

    /// The column; `None` for the row as a whole.
    #[must_use]
    pub fn column(&self) -> Option<&str> {
        self.column.as_deref()
    }

    /// The message, which continues the column's name: `must not be blank`.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.column().unwrap_or("the row"), self.message)
    }
}
