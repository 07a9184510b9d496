//! The dialects, and the small texts in which they differ.

use bobak_core::sql_token::SqlSyntax;
use bobak_core::{Collation, ColumnSchema, TextOrder, Type};

/// Whose SQL a text is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// SQLite, from 3.35 on.
    Sqlite,
    /// PostgreSQL, from 12 on, and what speaks its protocol.
    Postgres,
    /// MariaDB, from 10.5 on.
    MariaDb,
    /// MySQL, from 8.0 on, and what speaks as it does.
    MySql,
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

/// The text that Bobak reads, which a cast to text does not always give: network addresses get a mask there.
pub(crate) const CONVERTED: (&str, &str) = (
    "(SELECT CASE WHEN v IS NOT NULL THEN format('%s', v) END FROM (SELECT ",
    " AS v) AS s) COLLATE \"C\"",
);

impl Dialect {
    /// The lexical rules of its SQL text. On MariaDB and MySQL, Bobak's connections set
    /// `NO_BACKSLASH_ESCAPES`.
    #[must_use]
    pub const fn syntax(self) -> SqlSyntax {
        match self {
            Self::Sqlite => SqlSyntax::Sqlite,
            Self::Postgres => SqlSyntax::Postgres,
            Self::MariaDb | Self::MySql => SqlSyntax::MySql { backslash_escapes: false },
        }
    }

    /// How many parameters a statement may have.
    #[must_use]
    pub const fn max_parameters(self) -> usize {
        match self {
            Self::Sqlite => 32_766,
            Self::Postgres | Self::MariaDb | Self::MySql => 65_535,
        }
    }

    /// The collation's clause, with a space before; nothing for the dialect's own order.
    pub(crate) const fn collate(self, collation: Collation) -> &'static str {
        match (self, collation) {
            (Self::Sqlite, Collation::Binary) => "",
            (Self::Sqlite, Collation::NoCase) => " COLLATE NOCASE",
            (Self::Sqlite, Collation::UnicodeNoCase) => " COLLATE BOBAK_UNICODE_NOCASE",
            // Bytes; what else a collation says is said where values are compared.
            (Self::Postgres, _) => " COLLATE \"C\"",
            (Self::MariaDb, _) => " COLLATE utf8mb4_nopad_bin",
            (Self::MySql, _) => " COLLATE utf8mb4_0900_bin",
        }
    }

    /// The text before and after a column, or a value compared with it, that makes it compare, sort and group as Bobak's own
    /// values do.
    ///
    /// PostgreSQL: letters are folded explicitly, because its own case-insensitive collations have other rules. Two of ICU's
    /// lower-case mappings differ from those of single characters: they depend on their neighbours, or take two characters.
    pub(crate) fn compared(self, column: &ColumnSchema) -> (&'static str, &'static str) {
        match (self, column.ty, column.collation) {
            // MySQL: another column compares, see `mysql`.
            (Self::Sqlite | Self::MariaDb | Self::MySql, _, _) => ("", ""),
            (Self::Postgres, Type::F32, _) => ("(", ")::float8"),
            (Self::Postgres, Type::Json, Collation::Binary) => ("(", ")::text COLLATE \"C\""),
            (Self::Postgres, Type::Json, Collation::NoCase) => {
                ("lower((", ")::text COLLATE \"C\")")
            }
            (Self::Postgres, ..) if column.text_order == TextOrder::Converted => CONVERTED,
            (Self::Postgres, _, Collation::Binary) => ("", ""),
            (Self::Postgres, _, Collation::NoCase) => ("lower((", ") COLLATE \"C\")"),
            (Self::Postgres, _, Collation::UnicodeNoCase) => (
                "lower(replace(replace((",
                ")::text, 'Σ', 'σ'), 'İ', 'i\u{307}') COLLATE \"und-x-icu\") COLLATE \"C\"",
            ),
        }
    }

    /// The cast of a parameter that is used with a column, if the server would otherwise give it the column's type, which may
    /// be too narrow for the value.
    pub(crate) fn cast(self, column: &ColumnSchema) -> &'static str {
        match (self, column.ty) {
            (Self::Sqlite | Self::MariaDb | Self::MySql, _) => "",
            (Self::Postgres, Type::I8 | Type::I16 | Type::I32 | Type::U8 | Type::U16) => "::int8",
            (Self::Postgres, Type::F32) => "::float8",
            // A number, kept as the text of its digits.
            (Self::Postgres, Type::Text) if column.declared.is_some() => "::numeric",
            // So that the value gets the column's own rules.
            (Self::Postgres, Type::Text) if column.text_order == TextOrder::Engine => "",
            (Self::Postgres, Type::Text | Type::Json) => "::text",
            (Self::Postgres, _) => "",
        }
    }

    /// The clause that makes a comparison one of bytes, whatever the column's collation.
    pub(crate) const fn collate_bytes(self) -> &'static str {
        match self {
            Self::Sqlite => " COLLATE BINARY",
            Self::Postgres => " COLLATE \"C\"",
            Self::MariaDb | Self::MySql => "",
        }
    }

    /// A condition that is NULL for every row.
    pub(crate) const fn unknown(self) -> &'static str {
        if matches!(self, Self::Postgres) { "NULL::boolean" } else { "NULL" }
    }

    /// A condition that is true, or false, for every row.
    pub(crate) const fn truth(self, kept: bool) -> &'static str {
        match (self, kept) {
            (Self::Sqlite, true) => "1",
            (Self::Sqlite, false) => "0",
            (Self::Postgres | Self::MariaDb | Self::MySql, true) => "TRUE",
            (Self::Postgres | Self::MariaDb | Self::MySql, false) => "FALSE",
        }
    }

    /// An expression that fails when it is evaluated, with the error of an overflowing sum.
    pub(crate) const fn overflow(self) -> &'static str {
        match self {
            // The one built-in function that is documented to fail, and with "integer overflow", as
            // SUM does.
            Self::Sqlite => "abs(-9223372036854775808)",
            // Nothing constant, which would fail before the statement runs.
            Self::MariaDb | Self::MySql => "EXP(710 + 0 * RAND())",
            Self::Postgres => "('1e' || (999 + floor(random()))::int4)::float8",
        }
    }
}

impl Dialect {
    /// Whether it is MySQL's language, in one form or the other.
    pub(crate) const fn is_mysql(self) -> bool {
        matches!(self, Self::MariaDb | Self::MySql)
    }
}

pub(crate) fn push_quoted(dialect: Dialect, text: &mut String, name: &str) {
    let quote = match dialect {
        Dialect::Sqlite | Dialect::Postgres => '"',
        Dialect::MariaDb | Dialect::MySql => '`',
    };
    text.push(quote);
    for (at, part) in name.split(quote).enumerate() {
        if at > 0 {
            text.extend([quote, quote]);
        }
        text.push_str(part);
    }
    text.push(quote);
}
