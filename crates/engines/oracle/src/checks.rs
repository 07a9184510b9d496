//! CHECK rules as Oracle's SQL, from their tree.
//!
//! Oracle has conditions and values, and no truth values: a truth is 0, 1 or NULL wherever a value can be. The empty text is
//! stored as one NUL, which is left out of what is joined, and does not count in a length or for LIKE.

use crate::columns::{letters, lower, oracle_type, value_literal};
use crate::names::column as name_of;
use bobak_core::check::{Arithmetic, CheckExpression, CheckFunction, CheckNode, ExpressionType};
use bobak_core::{
    Collation, ColumnSchema, Comparison, Error, ErrorKind, Result, TableSchema, Type, Value,
};
use bobak_engine_common::{in_column, reject_generated};

/// The condition of a column's check; `None` if it has none.
///
/// # Errors
/// As [`CheckExpression::parse`].
pub(crate) fn condition(table: &TableSchema, column: &ColumnSchema) -> Result<Option<String>> {
    reject_generated("oracle", table)?;
    let Some(text) = &column.check else { return Ok(None) };
    let check = CheckExpression::parse(text, table);
    let check = check.map_err(|error| error.in_column(column.name.to_string()))?;
    Renderer { table }.truth(check.root()).map(Some)
}

struct Renderer<'t> {
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
            // Oracle has no IS NOT DISTINCT FROM.
            CheckNode::Is(left, right) => {
                let (first, second) = (self.value(left)?, self.value(right)?);
                let equal = self.comparison(left, "=", right)?;
                format!(
                    "((({first} IS NULL AND {second} IS NULL) OR {equal}) AND NOT ({first} IS NULL AND {second} IS NOT NULL) \
                     AND NOT ({first} IS NOT NULL AND {second} IS NULL))"
                )
            }
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
                let (text, pattern) = (self.value(text)?, self.value(pattern)?);
                format!("({} LIKE {})", liked(&text), liked(&pattern))
            }
            _ => format!("({} <> 0)", self.value(node)?),
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
        Ok(match collation.unwrap_or_default() {
            Collation::Binary => value,
            Collation::NoCase => letters(&value, false),
            Collation::UnicodeNoCase => lower(&value),
        })
    }

    fn value(&self, node: &CheckNode) -> Result<String> {
        Ok(match node {
            CheckNode::Column(place) => self.column(*place)?,
            CheckNode::Literal(Value::Null, _) => "CAST(NULL AS NUMBER)".to_owned(),
            CheckNode::Literal(value, ty) => {
                value_literal(&ColumnSchema::new("", ty.unwrap_or(Type::Any)), value.as_ref())?
            }
            CheckNode::Arithmetic(operation, left, right) => {
                self.arithmetic(*operation, left, right)?
            }
            CheckNode::Concat(left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                format!(
                    "(CASE WHEN {left} IS NOT NULL AND {right} IS NOT NULL \
                     THEN COALESCE(REPLACE({left} || {right}, CHR(0)), CHR(0)) END)"
                )
            }
            CheckNode::Call(function, arguments) => self.call(*function, arguments)?,
            _ => {
                let condition = self.condition(node)?;
                format!("(CASE WHEN {condition} THEN 1 WHEN NOT {condition} THEN 0 END)")
            }
        })
    }

    /// A column that can be compared: long texts and bytes cannot.
    fn column(&self, place: usize) -> Result<String> {
        if oracle_type(self.table, place)?.is_lob() {
            let message = "on Oracle, a CHECK is not of a text longer than 1,000 characters, of bytes without an index, or of JSON";
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(in_column(error, self.table, Some(place)));
        }
        Ok(name_of(self.table, place))
    }

    /// Nothing is divided by zero: that gives NULL. A quotient of integers is an integer.
    fn arithmetic(
        &self,
        operation: Arithmetic,
        left: &CheckNode,
        right: &CheckNode,
    ) -> Result<String> {
        let is_integer = [left, right].iter().all(|node| self.ty(node) == ExpressionType::Integer);
        let (first, second) = (self.value(left)?, self.value(right)?);
        Ok(match operation {
            Arithmetic::Divide if is_integer => format!("TRUNC({first} / NULLIF({second}, 0))"),
            Arithmetic::Divide => format!("({first} / NULLIF({second}, 0))"),
            Arithmetic::Remainder => format!("MOD(TRUNC({first}), NULLIF(TRUNC({second}), 0))"),
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
                let message = "a CHECK of the length of bytes, on Oracle";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            (CheckFunction::Length, _) => {
                format!("(CASE WHEN {first} = CHR(0) THEN 0 ELSE LENGTH({first}) END)")
            }
            (CheckFunction::Trim, _) => {
                format!("(CASE WHEN {first} IS NOT NULL THEN COALESCE(TRIM({first}), CHR(0)) END)")
            }
            (CheckFunction::Coalesce, [_]) => first.to_owned(),
            (function, _) => format!("{}({})", function.name(), values.join(", ")),
        })
    }
}

/// A side of LIKE: in small letters, without the NUL that stands for nothing, and with a character that is no wildcard, so
/// that it is not empty.
fn liked(text: &str) -> String {
    format!(
        "CASE WHEN {text} IS NOT NULL THEN REPLACE({}, CHR(0)) || '.' END",
        letters(text, false)
    )
}
