//! Defaults that SQLite computes, such as `datetime('now')`.
//!
//! A table of another program has their text. It is parsed into a tree, and what a statement contains is
//! written from the tree: literals, operators and calls of functions, and nothing else. Only SQLite
//! evaluates them: Bobak creates no table with one, and reads none from a server.

use crate::Dialect;
use crate::condition::operator;
use crate::writer::Writer;
use bobak_core::ValueRef;
use bobak_core::sql_expression::{Arithmetic, SqlExpression, SqlLiteral, SqlOperator, SqlParser};

/// A default in SQLite's SQL.
///
/// ```
/// let default = bobak_sql::DefaultExpression::parse("(datetime('now'))").unwrap();
/// assert_eq!(default.sql(), "\"datetime\"('now')");
/// assert_eq!(default.functions(), ["datetime"]);
/// assert!(bobak_sql::DefaultExpression::parse("1); DROP TABLE t; --").is_none());
/// ```
#[derive(Clone, Debug)]
pub struct DefaultExpression {
    sql: String,
    functions: Vec<String>,
    is_constant: bool,
}

impl DefaultExpression {
    /// Parses the text of a default; `None` for what is no expression over literals and functions.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let expression = SqlParser::without_comments(text).whole().ok()?;
        let mut renderer = Renderer {
            writer: Writer::new(Dialect::Sqlite),
            functions: Vec::new(),
            is_constant: true,
        };
        match &expression {
            // SQLite takes a name for a text.
            SqlExpression::Name { qualifier: None, name } if !is_clock(name) => {
                renderer.writer.literal(ValueRef::Text(name));
            }
            expression => renderer.push(expression)?,
        }
        let Renderer { writer, functions, is_constant } = renderer;
        Some(Self { sql: writer.into_text(), functions, is_constant })
    }

    /// The expression in SQLite's SQL.
    #[must_use]
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// The names of the functions that it calls.
    #[must_use]
    pub fn functions(&self) -> &[String] {
        &self.functions
    }

    /// Whether its value never changes: it calls no function.
    #[must_use]
    pub const fn is_constant(&self) -> bool {
        self.is_constant
    }
}

/// Whether a name is a function without parentheses.
fn is_clock(name: &str) -> bool {
    ["CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME"]
        .iter()
        .any(|clock| name.eq_ignore_ascii_case(clock))
}

/// Writes expressions, with each operand in parentheses unless it is one word or a call.
struct Renderer {
    writer: Writer<'static>,
    functions: Vec<String>,
    is_constant: bool,
}

impl Renderer {
    /// Writes an expression; `None` if it is not supported.
    fn push(&mut self, expression: &SqlExpression<'_>) -> Option<()> {
        match expression {
            SqlExpression::Name { qualifier: None, name } if is_clock(name) => {
                self.is_constant = false;
                self.writer.raw(&name.to_ascii_uppercase());
            }
            SqlExpression::Literal(literal) => self.literal(literal),
            SqlExpression::Not(inner) => self.after("NOT ", inner)?,
            SqlExpression::Signed(true, inner) => self.after("-", inner)?,
            SqlExpression::Signed(false, inner) => self.after("+", inner)?,
            SqlExpression::And(parts) => self.joined(parts, " AND ")?,
            SqlExpression::Or(parts) => self.joined(parts, " OR ")?,
            SqlExpression::Binary(operator, left, right) => {
                let symbol = symbol(*operator)?;
                self.operand(left)?;
                self.writer.raw(symbol);
                self.operand(right)?;
            }
            SqlExpression::Call(name, arguments) => {
                self.is_constant = false;
                self.functions.push((*name).to_owned());
                self.writer.name(name).raw("(");
                for (index, argument) in arguments.iter().enumerate() {
                    self.writer.raw(if index > 0 { ", " } else { "" });
                    self.push(argument)?;
                }
                self.writer.raw(")");
            }
            SqlExpression::Cast(value, ty) => {
                self.writer.raw("CAST(");
                self.push(value)?;
                self.writer.raw(" AS ").raw(ty).raw(")");
            }
            _ => return None,
        }
        Some(())
    }

    fn literal(&mut self, literal: &SqlLiteral<'_>) {
        match literal {
            SqlLiteral::Null => self.writer.raw("NULL"),
            SqlLiteral::Bool(true) => self.writer.raw("TRUE"),
            SqlLiteral::Bool(false) => self.writer.raw("FALSE"),
            // One token of digits, letters and points.
            SqlLiteral::Number(text) => self.writer.raw(text),
            SqlLiteral::Text(text) => self.writer.literal(ValueRef::Text(text)),
            SqlLiteral::Bytes(bytes) => self.writer.literal(ValueRef::Bytes(bytes)),
        };
    }

    fn after(&mut self, prefix: &str, inner: &SqlExpression<'_>) -> Option<()> {
        self.writer.raw(prefix);
        self.operand(inner)
    }

    fn joined(&mut self, parts: &[SqlExpression<'_>], between: &str) -> Option<()> {
        for (index, part) in parts.iter().enumerate() {
            self.writer.raw(if index > 0 { between } else { "" });
            self.operand(part)?;
        }
        Some(())
    }

    fn operand(&mut self, expression: &SqlExpression<'_>) -> Option<()> {
        let is_atom = matches!(
            expression,
            SqlExpression::Name { .. }
                | SqlExpression::Literal(_)
                | SqlExpression::Call(..)
                | SqlExpression::Cast(..)
        );
        self.writer.raw(if is_atom { "" } else { "(" });
        self.push(expression)?;
        self.writer.raw(if is_atom { "" } else { ")" });
        Some(())
    }
}

const fn symbol(symbol: SqlOperator) -> Option<&'static str> {
    Some(match symbol {
        SqlOperator::Compare(comparison) => operator(comparison),
        SqlOperator::Concat => " || ",
        SqlOperator::Arithmetic(operation) => match operation {
            Arithmetic::Add => " + ",
            Arithmetic::Subtract => " - ",
            Arithmetic::Multiply => " * ",
            Arithmetic::Divide => " / ",
            Arithmetic::Remainder => " % ",
        },
        SqlOperator::Is => " IS ",
        SqlOperator::Like => " LIKE ",
        SqlOperator::StartsWith
        | SqlOperator::EndsWith
        | SqlOperator::Contains
        | SqlOperator::LikeEscape(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_written_from_their_trees() {
        for (text, sql) in [
            ("0x1F", "0x1F"),
            ("-(1.5e3) /* a comment", "-1.5e3"),
            ("'it''s'", "'it''s'"),
            ("CAST(x'00' AS TEXT)", "CAST(x'00' AS TEXT)"),
            ("\"a name\"", "'a name'"),
            ("current_timestamp", "CURRENT_TIMESTAMP"),
            ("lower(hex(randomblob(16)))", "\"lower\"(\"hex\"(\"randomblob\"(16)))"),
            ("strftime('%s', 'now') * 1000 + 1", "(\"strftime\"('%s', 'now') * 1000) + 1"),
            ("'a' || (1 or not null)", "'a' || (1 OR (NOT NULL))"),
        ] {
            let default = DefaultExpression::parse(text).unwrap();
            assert_eq!(default.sql(), sql, "{text}");
        }
        for text in ["", "1); --", "a + 1", "(select 1)", "?", "'open", "1; 2", "f(*)", "t.a"] {
            assert!(DefaultExpression::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn constants_are_distinguished_from_other_expressions() {
        let is_constant = |text| DefaultExpression::parse(text).unwrap().is_constant();
        for text in ["1", "-1.5e+3", "'it''s'", "x'00ff'", "CAST(x'00' AS TEXT)", "(true)", "9e999"]
        {
            assert!(is_constant(text), "{text}");
        }
        for text in ["CURRENT_TIMESTAMP", "random()", "-abs(1)"] {
            assert!(!is_constant(text), "{text}");
        }
    }
}
