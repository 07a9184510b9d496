//! CHECK rules as the SQL of databases that have conditions and values, and no truth values: a truth is 0, 1 or NULL
//! wherever a value can be.

use crate::{StatementDialect, reject_generated};
use bobak_core::check::{Arithmetic, CheckExpression, CheckFunction, CheckNode, ExpressionType};
use bobak_core::{
    Collation, ColumnSchema, Comparison, Error, Result, TableSchema, Type, Value, ValueRef,
};

/// What each database writes in its own way. Expressions are given as its SQL.
pub trait CheckDialect: StatementDialect {
    /// The engine's name.
    const ENGINE: &'static str;

    /// A column in a check.
    ///
    /// # Errors
    /// `Unsupported` if the database cannot compare such.
    fn checked_column(&self, table: &TableSchema, place: usize) -> Result<String> {
        Ok(self.column(table, place))
    }

    /// A text as a literal.
    fn text_literal(&self, text: &str) -> String {
        text_literal(text)
    }

    /// A value of a type as a literal.
    ///
    /// # Errors
    /// `OutOfRange`, `Unsupported` if the database has no such.
    fn value_literal(&self, ty: Type, value: ValueRef<'_>) -> Result<String>;

    /// A value in a check, which may be NULL.
    ///
    /// # Errors
    /// As [`value_literal`](Self::value_literal).
    fn checked_literal(&self, value: &Value<'_>, ty: Option<Type>) -> Result<String> {
        match value {
            Value::Null => Ok("CAST(NULL AS INTEGER)".to_owned()),
            value => self.value_literal(ty.unwrap_or(Type::Any), value.as_ref()),
        }
    }

    /// A text with all of its letters in small.
    fn lower(&self, text: &str) -> String {
        let [large, small] = ["İ", "i\u{307}"].map(|text| self.text_literal(text));
        format!("LOWER(REPLACE({text}, {large}, {small}))")
    }

    /// A text with the letters that a collation ignores in small.
    fn folded_text(&self, text: String, collation: Collation) -> String {
        match collation {
            Collation::Binary => text,
            Collation::NoCase => self.letters(&text, false),
            Collation::UnicodeNoCase => self.lower(&text),
        }
    }

    /// A text as it is compared under a collation in a check.
    fn checked_text(&self, text: String, collation: Collation) -> String {
        self.folded_text(text, collation)
    }

    /// Whether two values are NULL, or equal as they are `compared`. For databases without `IS NOT DISTINCT FROM`.
    fn is_same(&self, [first, second]: [&str; 2], compared: [&str; 2]) -> String {
        let [left, right] = compared;
        format!(
            "((({first} IS NULL AND {second} IS NULL) OR ({left} = {right})) AND NOT ({first} IS NULL AND {second} IS NOT NULL) \
             AND NOT ({first} IS NOT NULL AND {second} IS NULL))"
        )
    }

    /// Whether a text matches a pattern.
    fn like(&self, text: &str, pattern: &str) -> String;

    /// Two texts as one.
    fn concat(&self, left: &str, right: &str) -> String;

    /// A computation. What is divided by zero is NULL; the quotient of integers is an integer.
    fn arithmetic(&self, operation: Arithmetic, operands: [(String, ExpressionType); 2]) -> String;

    /// A text with its letters of ASCII in one case, and no others.
    fn letters(&self, text: &str, upper: bool) -> String;

    /// The length of a text in characters, or of bytes.
    ///
    /// # Errors
    /// `Unsupported` if the database does not know it.
    fn length(&self, value: &str, is_bytes: bool) -> Result<String>;

    /// A call that is not `name(arguments)`.
    fn call(&self, _: CheckFunction, _: &[String]) -> Option<String> {
        None
    }
}

/// A text as a literal of standard SQL.
#[must_use]
pub fn text_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The condition of a column's check, in a dialect; `None` if it has none.
///
/// # Errors
/// As [`CheckExpression::parse`]; those of the dialect.
pub fn check_condition<D: CheckDialect + ?Sized>(
    dialect: &D,
    table: &TableSchema,
    column: &ColumnSchema,
) -> Result<Option<String>> {
    reject_generated(D::ENGINE, table)?;
    let Some(text) = &column.check else { return Ok(None) };
    let check = CheckExpression::parse(text, table);
    let check = check.map_err(|error| error.in_column(column.name.to_string()))?;
    CheckWriter { dialect, table }.truth(check.root()).map(Some)
}

struct CheckWriter<'t, D: ?Sized> {
    dialect: &'t D,
    table: &'t TableSchema,
}

impl<D: CheckDialect + ?Sized> CheckWriter<'_, D> {
    fn ty(&self, node: &CheckNode) -> ExpressionType {
        node.ty(self.table)
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
            CheckNode::Is(left, right) => {
                let (first, second) = (self.value(left)?, self.value(right)?);
                let [left, right] = self.sides(left, right)?;
                self.dialect.is_same([&first, &second], [&left, &right])
            }
            CheckNode::Compare(comparison, left, right) => {
                self.comparison(left, operator(*comparison), right)?
            }
            CheckNode::In(_, values) if values.is_empty() => "(1 = 0)".to_owned(),
            CheckNode::In(inner, values) => {
                let collation = self.collation(inner);
                let values = values.iter().map(|value| self.compared(value, collation));
                let values = values.collect::<Result<Vec<_>>>()?;
                format!("({} IN ({}))", self.compared(inner, collation)?, values.join(", "))
            }
            CheckNode::Like(text, pattern) => {
                self.dialect.like(&self.value(text)?, &self.value(pattern)?)
            }
            _ => format!("({} <> 0)", self.value(node)?),
        })
    }

    fn comparison(&self, left: &CheckNode, operator: &str, right: &CheckNode) -> Result<String> {
        let [left, right] = self.sides(left, right)?;
        Ok(format!("({left} {operator} {right})"))
    }

    /// Both sides of a comparison.
    fn sides(&self, left: &CheckNode, right: &CheckNode) -> Result<[String; 2]> {
        let collation = self.collation(left).or_else(|| self.collation(right));
        Ok([self.compared(left, collation)?, self.compared(right, collation)?])
    }

    fn collation(&self, node: &CheckNode) -> Option<Collation> {
        let CheckNode::Column(place) = node else { return None };
        self.table.columns().get(*place).map(|column| column.collation)
    }

    /// A side of a comparison.
    fn compared(&self, node: &CheckNode, collation: Option<Collation>) -> Result<String> {
        let value = self.value(node)?;
        Ok(match self.ty(node) {
            ExpressionType::Text => self.dialect.checked_text(value, collation.unwrap_or_default()),
            _ => value,
        })
    }

    fn value(&self, node: &CheckNode) -> Result<String> {
        Ok(match node {
            CheckNode::Column(place) => self.dialect.checked_column(self.table, *place)?,
            CheckNode::Literal(value, ty) => self.dialect.checked_literal(value, *ty)?,
            CheckNode::Arithmetic(operation, left, right) => {
                let operand = |node| Ok((self.value(node)?, self.ty(node)));
                self.dialect.arithmetic(*operation, [operand(left)?, operand(right)?])
            }
            CheckNode::Concat(left, right) => {
                self.dialect.concat(&self.value(left)?, &self.value(right)?)
            }
            CheckNode::Call(function, arguments) => self.call(*function, arguments)?,
            _ => {
                let condition = self.condition(node)?;
                format!("(CASE WHEN {condition} THEN 1 WHEN NOT {condition} THEN 0 END)")
            }
        })
    }

    fn call(&self, function: CheckFunction, arguments: &[CheckNode]) -> Result<String> {
        if function.json_function().is_some() {
            return Err(Error::unsupported(D::ENGINE, "a CHECK of a part of a JSON document"));
        }
        let values = arguments.iter().map(|node| self.value(node)).collect::<Result<Vec<_>>>()?;
        let value = |at: usize| values.get(at).map_or("NULL", String::as_str);
        let first = value(0);
        Ok(match (function, arguments) {
            (CheckFunction::NullIf, [one, other]) => {
                let is_equal = self.comparison(one, "=", other)?;
                format!("(CASE WHEN {is_equal} THEN NULL ELSE {first} END)")
            }
            (CheckFunction::Iif, [condition, ..]) => {
                let condition = self.truth(condition)?;
                format!("(CASE WHEN {condition} THEN {} ELSE {} END)", value(1), value(2))
            }
            (CheckFunction::Lower, _) => self.dialect.letters(first, false),
            (CheckFunction::Upper, _) => self.dialect.letters(first, true),
            (CheckFunction::Length, nodes) => {
                let is_bytes = nodes.iter().any(|node| self.ty(node) == ExpressionType::Bytes);
                self.dialect.length(first, is_bytes)?
            }
            (CheckFunction::Coalesce, [_]) => first.to_owned(),
            (function, _) => self
                .dialect
                .call(function, &values)
                .unwrap_or_else(|| format!("{}({})", function.name(), values.join(", "))),
        })
    }
}

const fn operator(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}
