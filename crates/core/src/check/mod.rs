//! CHECK constraints, and expressions of generated columns: parses their text into an expression tree.
//!
//! A constraint comes from a record, a client or an existing table. Its text never becomes part of a
//! statement: each engine evaluates the tree, or renders it as SQL of its own dialect. SQL injection
//! through a CHECK is therefore impossible, and a constraint means the same on every engine.
//!
//! # Grammar
//!
//! * columns, in `"quotes"` if the name is not a plain word; numbers, `'text'`, `x'00ff'`, `NULL`,
//!   `TRUE`, `FALSE`;
//! * `AND`, `OR`, `NOT`, `= == <> != < <= > >=`, `IS [NOT]`, `[NOT] BETWEEN`, `[NOT] IN (…)`,
//!   `[NOT] LIKE`, `ISNULL`, `NOTNULL`;
//! * `+ - * / %` and `||`;
//! * `length`, `abs`, `lower`, `upper`, `trim`, `coalesce`, `ifnull`, `nullif`, `iif`;
//! * `json_text(column, '$.path')`, `json_integer`, `json_float`, `json_truth`, `json_length`: see [`JsonPath`](crate::JsonPath).
//!
//! Each means what it means in SQLite, except that numbers and text can't be mixed: SQLite would
//! convert one to the other by the rules of column affinity. Everything else is rejected with
//! `Unsupported` when the table is created.
//!
//! # Values
//!
//! Literals are the record's own values: `price >= 1.50` is an amount of money, `day >= '2026-01-31'`
//! is a date. The parser converts them to stored values, with which all engines compute. Money can be
//! added, subtracted, and multiplied by a number; dates and times can be compared.

mod adapt;
mod json;
mod lower;
mod print;
#[cfg(test)]
mod tests;
mod typing;

use crate::{ColumnSchema, Comparison, Error, Result, TableSchema, Type, Value};
pub use json::sqlite_json_part;
use lower::Form;
pub use typing::ExpressionType;

pub use crate::sql_expression::Arithmetic;

/// A CHECK constraint, parsed for one table.
///
/// ```
/// use bobak_core::check::CheckExpression;
/// use bobak_core::{ColumnSchema, Currency, TableSchema};
/// let table = TableSchema::builder("product")
///     .column(ColumnSchema::of::<i64>("id"))
///     .column(ColumnSchema::of::<Currency>("price"))
///     .key(["id"])
///     .build()?;
/// let check = CheckExpression::parse("price >= 1.5 and id<100", &table)?;
/// assert_eq!(check.to_text(&table), "price >= 1.5 AND id < 100");
/// assert!(CheckExpression::parse("1=1); drop table product; --", &table).is_err());
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CheckExpression {
    root: CheckNode,
}

/// A node of an expression tree. Columns are positions in the table; literals are in stored form.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckNode {
    /// A column.
    Column(usize),
    /// A stored value, and the type that it is a value of, if it is more than a plain number, text or
    /// bytes.
    Literal(Value<'static>, Option<Type>),
    /// Both are true.
    And(Box<Self>, Box<Self>),
    /// One is true.
    Or(Box<Self>, Box<Self>),
    /// It is false.
    Not(Box<Self>),
    /// It is NULL.
    IsNull(Box<Self>),
    /// `IS`: they are equal, or both are NULL.
    Is(Box<Self>, Box<Self>),
    /// A comparison; NULL if a side is NULL.
    Compare(Comparison, Box<Self>, Box<Self>),
    /// It equals one of the values.
    In(Box<Self>, Vec<Self>),
    /// The text matches the pattern, with ASCII letters in either case and without an escape.
    Like(Box<Self>, Box<Self>),
    /// An arithmetic operation.
    Arithmetic(Arithmetic, Box<Self>, Box<Self>),
    /// Two texts joined.
    Concat(Box<Self>, Box<Self>),
    /// A function call.
    Call(CheckFunction, Vec<Self>),
}

/// A function that constraints can call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckFunction {
    /// The characters of a text before the first NUL, or the number of bytes.
    Length,
    /// The absolute value of a number.
    Abs,
    /// A text with ASCII letters in lower case.
    Lower,
    /// A text with ASCII letters in upper case.
    Upper,
    /// A text without the spaces at both ends.
    Trim,
    /// The first argument that is not NULL.
    Coalesce,
    /// NULL if both arguments are equal, else the first.
    NullIf,
    /// The second argument if the first is true, else the third.
    Iif,
    /// The text at a path into a JSON document.
    JsonText,
    /// The integer at a path into a JSON document.
    JsonInteger,
    /// The number at a path into a JSON document, as a float.
    JsonFloat,
    /// The truth value at a path into a JSON document.
    JsonTruth,
    /// The number of elements of the array at a path into a JSON document.
    JsonLength,
}

impl CheckExpression {
    /// Parses the text of a constraint, whose literals are the record's own values.
    ///
    /// # Errors
    /// `Unsupported` for what the grammar does not have; `Schema` for an unknown column.
    pub fn parse(text: &str, table: &TableSchema) -> Result<Self> {
        Self::parse_form(text, table, Form::Record, false)
    }

    /// Parses the text of an expression that has a value of any type: that of a
    /// [generated column](ColumnSchema::generated).
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_value(text: &str, table: &TableSchema) -> Result<Self> {
        Self::parse_form(text, table, Form::Record, true)
    }

    /// As [`parse_value`](Self::parse_value), for a text in an SQLite file: see [`parse_stored`](Self::parse_stored).
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_stored_value(text: &str, table: &TableSchema) -> Result<Self> {
        Self::parse_form(text, table, Form::Stored, true)
    }

    /// Parses the text of a constraint in an SQLite file, whose literals are stored values: money is an
    /// integer of ten-thousandths there, a date a number of days.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_stored(text: &str, table: &TableSchema) -> Result<Self> {
        Self::parse_form(text, table, Form::Stored, false)
    }

    fn parse_form(text: &str, table: &TableSchema, form: Form, value: bool) -> Result<Self> {
        let parsed = lower::parse(text, table, form, value).map(|root| Self { root });
        parsed.map_err(|(kind, message)| {
            let what = if value { "expression" } else { "CHECK" };
            Error::new(kind, format!("{message} in the {what} '{text}'")).in_table(table.name())
        })
    }

    /// The tree. It is a condition: true and NULL satisfy the constraint, false does not.
    #[must_use]
    pub const fn root(&self) -> &CheckNode {
        &self.root
    }

    /// The positions of the columns that the expression names, in the order of the table.
    #[must_use]
    pub fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        walk(&self.root, &mut |node| {
            if let CheckNode::Column(position) = node {
                columns.push(*position);
            }
        });
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// The constraint's text in a canonical spelling, with the record's own values. Two constraints with
    /// the same text have the same meaning.
    #[must_use]
    pub fn to_text(&self, table: &TableSchema) -> String {
        print::to_text(&self.root, table)
    }
}

/// Rewrites CHECKs that were read from an SQLite file, which has stored values in them, with the record's
/// own values. A constraint outside the [grammar](self) stays as it is.
#[must_use]
pub fn with_record_values(mut table: TableSchema) -> TableSchema {
    let text = |column: &ColumnSchema| {
        let check = CheckExpression::parse_stored(column.check.as_deref()?, &table).ok()?;
        Some(check.to_text(&table))
    };
    let texts: Vec<Option<String>> = table.columns().iter().map(text).collect();
    for (column, text) in table.columns_mut().iter_mut().zip(texts) {
        if let Some(text) = text {
            column.check = Some(text.into());
        }
    }
    table
}

impl CheckFunction {
    /// The name, as SQLite writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Abs => "abs",
            Self::Lower => "lower",
            Self::Upper => "upper",
            Self::Trim => "trim",
            Self::Coalesce => "coalesce",
            Self::NullIf => "nullif",
            Self::Iif => "iif",
            Self::JsonText => "json_text",
            Self::JsonInteger => "json_integer",
            Self::JsonFloat => "json_float",
            Self::JsonTruth => "json_truth",
            Self::JsonLength => "json_length",
        }
    }
}

/// Calls `visit` with the node and all below it.
pub(crate) fn walk<'n>(node: &'n CheckNode, visit: &mut dyn FnMut(&'n CheckNode)) {
    visit(node);
    match node {
        CheckNode::Column(_) | CheckNode::Literal(..) => {}
        CheckNode::Not(inner) | CheckNode::IsNull(inner) => walk(inner, visit),
        CheckNode::And(a, b)
        | CheckNode::Or(a, b)
        | CheckNode::Is(a, b)
        | CheckNode::Compare(_, a, b)
        | CheckNode::Like(a, b)
        | CheckNode::Arithmetic(_, a, b)
        | CheckNode::Concat(a, b) => {
            walk(a, visit);
            walk(b, visit);
        }
        CheckNode::In(inner, values) => {
            walk(inner, visit);
            values.iter().for_each(|value| walk(value, visit));
        }
        CheckNode::Call(_, arguments) => {
            arguments.iter().for_each(|argument| walk(argument, visit));
        }
    }
}
