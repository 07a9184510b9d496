//! Functions that give texts, and tests of texts.

use super::JoinWriter;
use crate::Dialect;
use crate::condition::server_pattern;
use crate::mysql::folded;
use bobak_core::join::{JoinExpr, JoinFunction, TextTest};
use bobak_core::{Collation, Storage, Type, ValueRef};

impl<'a> JoinWriter<'a> {
    /// A text as an argument of a function, in which its collation does not matter.
    pub(super) fn push_text_argument(&mut self, expr: &'a JoinExpr) {
        match (self.storage(expr), expr) {
            (None, _) => {
                self.raw(if self.dialect() == Dialect::Postgres { "NULL::text" } else { "NULL" });
            }
            (Some(Storage::Text), JoinExpr::Column(column)) => {
                let schema = self.comparable(*column);
                self.require(schema.is_some_and(|column| column.ty == Type::Text));
                self.push_column(*column);
                self.raw(schema.map_or("", |column| self.as_text(column)));
                let is_postgres = self.dialect() == Dialect::Postgres;
                self.raw(if is_postgres { " COLLATE \"C\"" } else { "" });
            }
            (Some(Storage::Text), _) => self.push_text(expr),
            _ => self.require(false),
        }
    }

    pub(super) fn push_text_function(&mut self, function: JoinFunction, arguments: &'a [JoinExpr]) {
        let Some(first) = arguments.first() else { return self.require(false) };
        let dialect = self.dialect();
        match function {
            JoinFunction::Lower => self.push_folded(first, false),
            JoinFunction::Upper => self.push_folded(first, true),
            JoinFunction::Trim => {
                self.raw(match dialect {
                    Dialect::Sqlite => "trim(",
                    Dialect::Postgres => "btrim(",
                    Dialect::MariaDb | Dialect::MySql => "TRIM(BOTH ' ' FROM ",
                });
                self.push_text_argument(first);
                self.raw(if dialect == Dialect::Postgres { ", ' ')" } else { ")" });
            }
            JoinFunction::Substring(start, length) => {
                self.raw(match dialect {
                    // SQLite's own stops at a zero.
                    Dialect::Sqlite => "bobak_substring(",
                    Dialect::Postgres => "substr(",
                    Dialect::MariaDb | Dialect::MySql => "SUBSTRING(",
                });
                self.push_text_argument(first);
                self.raw(&format!(", {start}, {length})"));
            }
            JoinFunction::Concat => {
                self.raw(if dialect.is_mysql() { "CONCAT(" } else { "(" });
                let between = if dialect.is_mysql() { ", " } else { " || " };
                self.list(between, arguments, Self::push_text_argument);
                self.raw(")");
            }
            JoinFunction::Coalesce => self.push_coalesce(arguments),
            JoinFunction::ToText => {
                self.require(self.storage(first) == Some(Storage::Int));
                self.raw(if dialect == Dialect::Postgres { "(" } else { "CAST(" });
                self.push_checked(first);
                self.raw(match dialect {
                    Dialect::Sqlite => " AS TEXT)",
                    Dialect::Postgres => ")::text",
                    Dialect::MariaDb | Dialect::MySql => " AS CHAR)",
                });
            }
            json => self.push_json(json, arguments),
        }
    }

    /// A text with all of A–Z in one case.
    fn push_folded(&mut self, expr: &'a JoinExpr, upper: bool) {
        if !self.dialect().is_mysql() {
            self.raw(if upper { "upper(" } else { "lower(" });
            self.push_text_argument(expr);
            return self.raw(")");
        }
        let place = "\u{0}";
        let words = match upper {
            false => folded(self.dialect(), Collation::NoCase, place),
            true => ('a'..='z').fold(place.to_owned(), |inner, letter| {
                format!("REPLACE({inner}, '{letter}', '{}')", letter.to_ascii_uppercase())
            }),
        };
        let (before, after) = words.split_once(place).unwrap_or_default();
        self.raw(before);
        self.push_text_argument(expr);
        self.raw(after);
    }

    /// A test of a text; NULL if the text is.
    pub(super) fn push_text_test(&mut self, expr: &'a JoinExpr, test: &'a TextTest) {
        match test {
            TextTest::Like(pattern, escape) => self.push_like(expr, pattern, *escape),
            TextTest::Contains(part) => self.push_position(expr, part, " > 0"),
            TextTest::StartsWith(prefix) => self.push_position(expr, prefix, " = 1"),
            TextTest::EndsWith(suffix) if suffix.is_empty() => {
                self.push_position(expr, suffix, " = 1");
            }
            TextTest::EndsWith(suffix) => self.push_ends_with(expr, suffix),
        }
    }

    /// A comparison of the place where a text has a part.
    fn push_position(&mut self, expr: &'a JoinExpr, part: &'a str, comparison: &str) {
        let part = ValueRef::Text(part);
        match self.dialect() {
            Dialect::Sqlite => {
                self.raw("instr(");
                self.push_text_argument(expr);
                self.writer.raw(", ").value(part).raw(")");
            }
            Dialect::Postgres => {
                self.raw("strpos(");
                self.push_text_argument(expr);
                self.writer.raw(", ").value(part).raw("::text)");
            }
            Dialect::MariaDb | Dialect::MySql => {
                self.writer.raw("LOCATE(CAST(").value(part).raw(" AS BINARY), CAST(");
                self.push_text_argument(expr);
                self.raw(" AS BINARY))");
            }
        }
        self.raw(comparison);
    }

    fn push_ends_with(&mut self, expr: &'a JoinExpr, suffix: &'a str) {
        let (value, bytes) = (ValueRef::Text(suffix), suffix.len());
        match self.dialect() {
            Dialect::Sqlite => {
                // The end of an empty text is NULL to substr.
                self.raw("(length(CAST(");
                self.push_text_argument(expr);
                self.raw(&format!(" AS BLOB)) >= {bytes} AND substr(CAST("));
                self.push_text_argument(expr);
                let writer = self.writer.raw(&format!(" AS BLOB), -{bytes}) = CAST("));
                writer.value(value).raw(" AS BLOB))");
            }
            Dialect::Postgres => {
                self.raw("right(");
                self.push_text_argument(expr);
                let writer = self.writer.raw(&format!(", {}) = ", suffix.chars().count()));
                writer.value(value).raw("::text COLLATE \"C\"");
            }
            Dialect::MariaDb | Dialect::MySql => {
                self.raw("RIGHT(CAST(");
                self.push_text_argument(expr);
                let writer = self.writer.raw(&format!(" AS BINARY), {bytes}) = CAST("));
                writer.value(value).raw(" AS BINARY)");
            }
        }
    }

    /// A pattern: both sides with A–Z as a–z, compared by their bytes, with an escape of Bobak's own on servers.
    fn push_like(&mut self, expr: &'a JoinExpr, pattern: &'a str, escape: Option<char>) {
        if self.dialect() == Dialect::Sqlite {
            self.push_text_argument(expr);
            self.writer.raw(" LIKE ").value(ValueRef::Text(pattern));
            if let Some(escape) = escape {
                let mut bytes = [0; 4];
                let escape = ValueRef::Text(escape.encode_utf8(&mut bytes));
                self.writer.raw(" ESCAPE ").literal(escape);
            }
            return;
        }
        let Some(pattern) = server_pattern(pattern, escape) else {
            self.raw("CASE WHEN ");
            self.push_text_argument(expr);
            self.raw(" IS NOT NULL THEN ");
            self.raw(self.dialect().truth(false));
            return self.raw(" END");
        };
        self.push_folded(expr, false);
        self.writer.raw(" LIKE ").owned_value(pattern);
        let is_postgres = self.dialect() == Dialect::Postgres;
        self.raw(if is_postgres { "::text ESCAPE '|'" } else { " ESCAPE '|'" });
    }
}
