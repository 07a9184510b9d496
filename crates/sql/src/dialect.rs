//! The dialects, and the small texts in which they differ.

use bobak_core::Collation;

/// Whose SQL a text is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// SQLite, from 3.35 on.
    Sqlite,
}

/// A name as an identifier: quoted, its own quotes doubled.
///
/// ```
/// use bobak_sql::{Dialect, quote};
/// assert_eq!(quote(Dialect::Sqlite, r#"the "best""#), r#""the ""best""""#);
/// ```
#[must_use]
pub fn quote(dialect: Dialect, name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 2);
    push_quoted(dialect, &mut text, name);
    text
}

impl Dialect {
    /// How many parameters a statement may have.
    pub(crate) const fn max_parameters(self) -> usize {
        match self {
            Self::Sqlite => 32_766,
        }
    }

    /// The collation's clause, with a space before; nothing for the dialect's own order.
    pub(crate) const fn collate(self, collation: Collation) -> &'static str {
        match (self, collation) {
            (Self::Sqlite, Collation::Binary) => "",
            (Self::Sqlite, Collation::NoCase) => " COLLATE NOCASE",
            (Self::Sqlite, Collation::UnicodeNoCase) => " COLLATE BOBAK_UNICODE_NOCASE",
        }
    }

    /// The clause that makes a comparison one of bytes, whatever the column's collation.
    pub(crate) const fn collate_bytes(self) -> &'static str {
        match self {
            Self::Sqlite => " COLLATE BINARY",
        }
    }

    /// The operator that matches a pattern, ASCII letters in either case, without an escape.
    pub(crate) const fn like(self) -> &'static str {
        match self {
            Self::Sqlite => " LIKE ",
        }
    }

    /// A condition that is true, or false, for every row.
    pub(crate) const fn truth(self, kept: bool) -> &'static str {
        match (self, kept) {
            (Self::Sqlite, true) => "1",
            (Self::Sqlite, false) => "0",
        }
    }

    /// An expression that fails when it is evaluated, with the error of an overflowing sum.
    pub(crate) const fn overflow(self) -> &'static str {
        match self {
            // The one built-in function that is documented to fail, and with "integer overflow", as
            // SUM does.
            Self::Sqlite => "abs(-9223372036854775808)",
        }
    }
}

pub(crate) fn push_quoted(dialect: Dialect, text: &mut String, name: &str) {
    let quote = match dialect {
        Dialect::Sqlite => '"',
    };
    text.push(quote);
    for character in name.chars() {
        if character == quote {
            text.push(quote);
        }
        text.push(character);
    }
    text.push(quote);
}
