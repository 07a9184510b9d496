//! The shape of SQL text: its values replaced by `?`.

use crate::sql_token::{SqlSyntax, SqlTokenKind, SqlTokenizer};
use std::fmt::{Result, Write};

/// The syntax of the SQL that an engine runs.
pub(super) fn syntax_of(engine: &str) -> SqlSyntax {
    match engine {
        "postgres" => SqlSyntax::Postgres,
        "mysql" | "mariadb" => SqlSyntax::MySql { backslash_escapes: true },
        _ => SqlSyntax::Sqlite,
    }
}

/// The first word, which says what a statement does.
pub(super) fn first_word(syntax: SqlSyntax, sql: &str) -> &str {
    let word = |token: &crate::sql_token::SqlToken<'_>| token.kind == SqlTokenKind::Word;
    SqlTokenizer::new(syntax, sql).find(word).map_or("", |token| token.text)
}

/// Writes SQL text without comments and values. A list of several values is `?, …`.
pub(super) fn write_shape(syntax: SqlSyntax, sql: &str, out: &mut dyn Write) -> Result {
    let mut list = ValueList::None;
    let mut blank = false;
    for token in SqlTokenizer::new(syntax, sql) {
        if token.is_trivia() {
            blank = true;
            continue;
        }
        let is_value = match token.kind {
            SqlTokenKind::Text
            | SqlTokenKind::Blob
            | SqlTokenKind::Number
            | SqlTokenKind::Parameter => true,
            // It reaches to the end of the text, and so has the values after it.
            SqlTokenKind::QuotedName => !is_closed(token.text),
            _ => false,
        };
        let before = list;
        list = before.after(is_value, token.is_operator(","));
        match (before, list) {
            // A further value of the list.
            (
                ValueList::Several | ValueList::SeveralComma,
                ValueList::Several | ValueList::SeveralComma,
            )
            | (ValueList::One, ValueList::Comma) => {}
            (ValueList::Comma, ValueList::Several) => out.write_str(", …")?,
            _ => {
                if matches!(before, ValueList::Comma | ValueList::SeveralComma) {
                    out.write_str(",")?;
                }
                if blank {
                    out.write_str(" ")?;
                }
                out.write_str(if is_value { "?" } else { token.text })?;
            }
        }
        blank = false;
    }
    Ok(())
}

/// Whether a quoted name ends with its quote.
fn is_closed(name: &str) -> bool {
    match name.chars().next() {
        Some('[') => name.ends_with(']'),
        // A quote within the name is doubled.
        Some(quote) => name.matches(quote).count() % 2 == 0,
        None => true,
    }
}

/// How far a list of values was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueList {
    None,
    One,
    /// One value and a comma, which is not written yet.
    Comma,
    Several,
    SeveralComma,
}

impl ValueList {
    const fn after(self, is_value: bool, is_comma: bool) -> Self {
        match (self, is_value, is_comma) {
            (Self::Comma | Self::Several | Self::SeveralComma, true, _) => Self::Several,
            (_, true, _) => Self::One,
            (Self::One, _, true) => Self::Comma,
            (Self::Several, _, true) => Self::SeveralComma,
            _ => Self::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(sql: &str) -> String {
        let mut text = String::new();
        write_shape(SqlSyntax::Sqlite, sql, &mut text).unwrap();
        text
    }

    #[test]
    fn values_and_comments_are_left_out() {
        assert_eq!(
            shape("SELECT  a, b -- of\nFROM t WHERE c = 'it''s' AND d>1.5 AND \"e\" = x'00'"),
            "SELECT a, b FROM t WHERE c = ? AND d>? AND \"e\" = ?"
        );
        assert_eq!(shape("SELECT \"x FROM t WHERE a = 'secret'"), "SELECT ?");
        assert_eq!(shape("SELECT [x FROM t WHERE a = 'secret'"), "SELECT ?");
        assert_eq!(shape("SELECT `x`` FROM t WHERE a = 'secret'"), "SELECT ?");
        assert_eq!(shape("SELECT \"a\"\"b\", [c] FROM t"), "SELECT \"a\"\"b\", [c] FROM t");
        assert_eq!(first_word(SqlSyntax::Sqlite, " /* a */ Insert INTO t"), "Insert");
    }

    #[test]
    fn lists_of_values_have_one_shape() {
        assert_eq!(shape("a IN (1, 2, 3) AND b"), "a IN (?, …) AND b");
        assert_eq!(shape("a IN (?,?) LIMIT 3"), "a IN (?, …) LIMIT ?");
        assert_eq!(shape("SELECT 1, a, 2, 3, b"), "SELECT ?, a, ?, …, b");
        assert_eq!(shape("f(1)"), "f(?)");
    }
}
