//! CHECK rules as Firebird's SQL, from their tree.
//!
//! A text is compared by its bytes, as in `columns`. Amounts and dates are computed with as such, times as the integers that
//! they are kept as. A truth is 0, 1 or NULL wherever a number can be.

use crate::columns::{is_octets, text_bytes, value_literal};
use crate::names::{Names, check_name, literal};
use bobak_core::check::{Arithmetic, CheckExpression, CheckFunction, CheckNode, ExpressionType};
use bobak_core::{Collation, ColumnSchema, Comparison, Error, Result, TableSchema, Type, Value};
use bobak_engine_common::reject_generated;

/// The bytes of the texts that checks compare.
const BYTES: usize = 8_000;

/// The constraint of a column's check; `None` if it has none.
///
/// # Errors
/// As [`CheckExpression::parse`].
pub(crate) fn constraint(
    names: Names,
    table: &TableSchema,
    column: &ColumnSchema,
) -> Result<Option<String>> {
    let condition = condition(names, table, column)?;
    let name = check_name(table, &column.name);
    Ok(condition.map(|condition| format!("CONSTRAINT {name} CHECK ({condition})")))
}

/// The condition of a column's check; `None` if it has none.
///
/// # Errors
/// As [`constraint`].
pub(crate) fn condition(
    names: Names,
    table: &TableSchema,
    column: &ColumnSchema,
) -> Result<Option<String>> {
    reject_generated("firebird", table)?;
    let Some(text) = &column.check else { return Ok(None) };
    let check = CheckExpression::parse(text, table);
    let check = check.map_err(|error| error.in_column(column.name.to_string()))?;
    Renderer { names, table }.truth(check.root()).map(Some)
}

struct Renderer<'t> {
    names: Names,
    table: &'t TableSchema,
}

impl Renderer<'_> {
    fn ty(&self, node: &CheckNode) -> ExpressionType {
        node.ty(self.table)
    }

    fn is_text(&self, node: &CheckNode) -> bool {
        self.ty(node) == ExpressionType::Text
    }

    /// An expression as a condition.
    fn truth(&self, node: &CheckNode) -> Result<String> {
        match self.ty(node) {
            ExpressionType::Truth => self.condition(node),
            ExpressionType::Null => Ok("(1 = NULL)".to_owned()),
            _ => Ok(format!("({} <> 0)", self.value(node)?)),
        }
    }

    fn condition(&self, node: &CheckNode) -> Result<String> {
        Ok(match node {
            CheckNode::And(left, right) => {
                format!("({} AND {})", self.truth(left)?, self.truth(right)?)
            }
            CheckNode::Or(left, right) => {
                format!("({} OR {})", self.truth(left)?, self.truth(right)?)
            }
            CheckNode::Not(inner) => format!("(NOT {})", self.truth(inner)?),
            CheckNode::IsNull(inner) => format!("({} IS NULL)", self.value(inner)?),
            CheckNode::Is(left, right) => self.comparison(left, "IS NOT DISTINCT FROM", right)?,
            CheckNode::Compare(comparison, left, right) => {
                let operator = match comparison {
                    Comparison::Equal => "=",
                    Comparison::NotEqual => "<>",
                    Comparison::Less => "<",
                    Comparison::LessOrEqual => "<=",
                    Comparison::Greater => ">",
                    Comparison::GreaterOrEqual => ">=",
                };
                self.comparison(left, operator, right)?
            }
            CheckNode::In(_, values) if values.is_empty() => "(1 = 0)".to_owned(),
            CheckNode::In(inner, values) => {
                let collation = self.collation(inner);
                let values = values.iter().map(|value| self.compared(value, collation));
                let values = values.collect::<Result<Vec<_>>>()?;
                format!("({} IN ({}))", self.compared(inner, collation)?, values.join(", "))
            }
            CheckNode::Like(text, pattern) => {
                let fold = |node| Ok::<_, Error>(letters(&self.value(node)?, false));
                format!("({} LIKE {})", fold(text)?, fold(pattern)?)
            }
            _ => self.value(node)?,
        })
    }

    fn comparison(&self, left: &CheckNode, operator: &str, right: &CheckNode) -> Result<String> {
        let collation = self.collation(left).or_else(|| self.collation(right));
        Ok(format!(
            "({} {operator} {})",
            self.compared(left, collation)?,
            self.compared(right, collation)?
        ))
    }

    fn collation(&self, node: &CheckNode) -> Option<Collation> {
        let CheckNode::Column(place) = node else { return None };
        self.table.columns().get(*place).map(|column| column.collation)
    }

    /// A side of a comparison.
    fn compared(&self, node: &CheckNode, collation: Option<Collation>) -> Result<String> {
        let value = self.value(node)?;
        if !self.is_text(node) {
            return Ok(value);
        }
        let folded = match collation.unwrap_or_default() {
            Collation::Binary => value,
            Collation::NoCase => {
                format!("LOWER(CAST({value} AS VARCHAR({BYTES}) CHARACTER SET NONE))")
            }
            Collation::UnicodeNoCase => format!("LOWER(REPLACE({value}, 'İ', 'i\u{307}'))"),
        };
        Ok(format!("CAST({folded} AS VARCHAR({BYTES}) CHARACTER SET OCTETS)"))
    }

    fn value(&self, node: &CheckNode) -> Result<String> {
        Ok(match node {
            CheckNode::Column(place) => self.column(*place),
            CheckNode::Literal(Value::Null, _) => "CAST(NULL AS INTEGER)".to_owned(),
            CheckNode::Literal(value, ty) => {
                let value =
                    value_literal(&ColumnSchema::new("", ty.unwrap_or(Type::Any)), value.as_ref())?;
                match ty {
                    Some(Type::Bool) => if value == "TRUE" { "1" } else { "0" }.to_owned(),
                    _ => value,
                }
            }
            CheckNode::Arithmetic(operation, left, right) => {
                self.arithmetic(*operation, left, right)?
            }
            CheckNode::Concat(left, right) => {
                format!("({} || {})", self.value(left)?, self.value(right)?)
            }
            CheckNode::Call(function, arguments) => self.call(*function, arguments)?,
            _ => {
                let condition = self.condition(node)?;
                format!("(CASE WHEN {condition} THEN 1 WHEN NOT {condition} THEN 0 END)")
            }
        })
    }

    fn column(&self, place: usize) -> String {
        let name = self.names.column(self.table, place);
        match self.table.columns().get(place).map(|column| column.ty) {
            Some(Type::Bool) => format!("(CASE WHEN {name} THEN 1 WHEN NOT {name} THEN 0 END)"),
            _ if is_octets(self.table, place) => {
                let bytes = text_bytes(self.table, place).unwrap_or(BYTES);
                format!("CAST({name} AS VARCHAR({bytes}) CHARACTER SET UTF8)")
            }
            _ => name,
        }
    }

    /// Nothing is divided by zero: that gives NULL.
    fn arithmetic(
        &self,
        operation: Arithmetic,
        left: &CheckNode,
        right: &CheckNode,
    ) -> Result<String> {
        let is_float = [left, right].iter().any(|node| self.ty(node) == ExpressionType::Float);
        let (mut first, mut second) = (self.value(left)?, self.value(right)?);
        if is_float {
            let whole = operation == Arithmetic::Remainder;
            let cast = |text: String| match whole {
                true => format!("CAST(TRUNC({text}) AS BIGINT)"),
                false => format!("CAST({text} AS DOUBLE PRECISION)"),
            };
            (first, second) = (cast(first), cast(second));
        }
        Ok(match operation {
            Arithmetic::Divide => format!("({first} / NULLIF({second}, 0))"),
            Arithmetic::Remainder => format!("MOD({first}, NULLIF({second}, 0))"),
            operation => format!("({first} {} {second})", operation.operator()),
        })
    }

    /// `iif`, whose arguments are these.
    fn choice(&self, condition: &CheckNode, values: &[String]) -> Result<String> {
        let value = |at: usize| values.get(at).map_or("NULL", String::as_str);
        let condition = self.truth(condition)?;
        Ok(format!("(CASE WHEN {condition} THEN {} ELSE {} END)", value(1), value(2)))
    }

    fn call(&self, function: CheckFunction, arguments: &[CheckNode]) -> Result<String> {
        let values = arguments.iter().map(|node| self.value(node)).collect::<Result<Vec<_>>>()?;
        let first = values.first().map_or("NULL", String::as_str);
        Ok(match (function, arguments) {
            (CheckFunction::NullIf, [one, other]) => {
                format!(
                    "(CASE WHEN {} THEN NULL ELSE {first} END)",
                    self.comparison(one, "=", other)?
                )
            }
            (CheckFunction::Iif, [condition, ..]) => self.choice(condition, &values)?,
            (CheckFunction::Lower, _) => letters(first, false),
            (CheckFunction::Upper, _) => letters(first, true),
            (CheckFunction::Length, [node]) if self.ty(node) == ExpressionType::Bytes => {
                format!("OCTET_LENGTH({first})")
            }
            (CheckFunction::Length, _) => format!("CHAR_LENGTH({first})"),
            (CheckFunction::Coalesce, [_]) => first.to_owned(),
            (function, _) => format!("{}({})", function.name(), values.join(", ")),
        })
    }
}

/// A text with its letters of ASCII in one case, and no others.
fn letters(text: &str, upper: bool) -> String {
    ('a'..='z').fold(text.to_owned(), |text, small| {
        let (from, to) = match upper {
            true => (small, small.to_ascii_uppercase()),
            false => (small.to_ascii_uppercase(), small),
        };
        format!("REPLACE({text}, {}, {})", literal(&from.to_string()), literal(&to.to_string()))
    })
}
