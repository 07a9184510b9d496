//! Expressions of SQL as they are written: the one parser of filters, row rules, CHECKs, computed
//! defaults and simple queries.
//!
//! The parser knows precedence and nothing else: names are not resolved, literals are not converted,
//! and types are not checked. Each user converts the tree to its own form, and rejects what it does
//! not support: [`Condition::parse`](crate::Condition::parse),
//! [`CheckExpression::parse`](crate::check::CheckExpression::parse), and the federation's simple
//! queries. The precedence is SQLite's.

mod parser;
#[cfg(test)]
mod tests;

pub use parser::SqlParser;

use crate::Comparison;
use std::borrow::Cow;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlExpression<'a> {
    /// A name, such as `a`, and `t` for `t.a`.
    Name {
        /// The name before the dot.
        qualifier: Option<Cow<'a, str>>,
        /// The name.
        name: Cow<'a, str>,
    },
    /// A literal.
    Literal(SqlLiteral<'a>),
    /// A parameter as written, and the number of parameters before it.
    Parameter(&'a str, usize),
    /// Two or more operands of AND.
    And(Vec<Self>),
    /// Two or more operands of OR.
    Or(Vec<Self>),
    /// NOT.
    Not(Box<Self>),
    /// An operand after `-` (`true`) or `+`.
    Signed(bool, Box<Self>),
    /// An operator between two operands.
    Binary(SqlOperator, Box<Self>, Box<Self>),
    /// `value BETWEEN low AND high`, in this order.
    Between(Box<[Self; 3]>),
    /// `IN (…)`.
    In(Box<Self>, Vec<Self>),
    /// A function call.
    Call(&'a str, Vec<Self>),
    /// A function call with `*` for the arguments.
    CallAll(&'a str),
    /// `CAST(value AS type)`, with a type of one word.
    Cast(Box<Self>, &'a str),
}

/// A literal as written.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlLiteral<'a> {
    /// `NULL`
    Null,
    /// `TRUE` or `FALSE`.
    Bool(bool),
    /// A number without a sign, which may be malformed.
    Number(&'a str),
    /// A string.
    Text(Cow<'a, str>),
    /// `x'00ff'`
    Bytes(Vec<u8>),
}

/// An operator with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlOperator {
    /// A comparison.
    Compare(Comparison),
    /// `IS`
    Is,
    /// `LIKE`
    Like,
    /// `LIKE … ESCAPE …`, which only conditions have.
    LikeEscape(char),
    /// `CONTAINS`, which only conditions have.
    Contains,
    /// `ENDS WITH`, which only conditions have.
    EndsWith,
    /// `STARTS WITH`, which only conditions have.
    StartsWith,
    /// `||`
    Concat,
    /// An arithmetic operation.
    Arithmetic(Arithmetic),
}

/// An arithmetic operation. Integers are divided as in SQLite: towards zero, and by zero gives NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`, of whole numbers.
    Remainder,
}

impl Arithmetic {
    /// The operator, as all dialects write it.
    #[must_use]
    pub const fn operator(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

impl SqlExpression<'_> {
    /// The number literal that the expression is, with its sign.
    #[must_use]
    pub fn as_number(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Literal(SqlLiteral::Number(text)) => Some(Cow::Borrowed(text)),
            Self::Signed(is_negative, inner) => match &**inner {
                Self::Literal(SqlLiteral::Number(text)) if *is_negative => {
                    Some(format!("-{text}").into())
                }
                Self::Literal(SqlLiteral::Number(text)) => Some(Cow::Borrowed(text)),
                _ => None,
            },
            _ => None,
        }
    }
}
