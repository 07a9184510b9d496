//! Parses conditions: what SQL writes after WHERE, over the columns of one table.
//!
//! The text becomes a [`Condition`], a plain value that never reaches an engine as text. SQL injection
//! is therefore impossible.

mod base;
mod expressions;
mod literal;
mod named;
mod text_query;

pub use self::text_query::TextQuery;

use self::literal::to_stored;
use crate::sql_expression::{SqlExpression, SqlLiteral, SqlOperator, SqlParser};
use crate::{
    Comparison, Condition, Error, ErrorKind, Result, SubQuery, TableSchema, Type, Value,
    check_pattern,
};
use std::sync::Arc;

impl Condition {
    /// Parses a condition. Its values are converted to their columns' stored form.
    ///
    /// * Comparisons `=` `<>` `!=` `<` `<=` `>` `>=` of a column with a literal or a column;
    ///   `between … and …`, `in (…)`, `is null`, `like '%x_'`, `like '50!%' escape '!'`,
    ///   `contains 'x'`, `starts with 'x'`, `ends with 'x'`. Each of the words can follow `not`,
    ///   and `is not null` works, too.
    /// * Columns of truth values by themselves: `active and not hidden`.
    /// * `and`, `or`, `not`, parentheses.
    /// * Literals: numbers; `'text'` with `''` for a quote; `x'00ff'`; `true`, `false`; dates, times
    ///   and UUIDs as text, money as a number, infinite floats as `'inf'` and `'-inf'`.
    /// * Columns by name, in `"double quotes"` if the name is not a plain word.
    ///
    /// ```
    /// use bobak_core::{ColumnSchema, Condition, TableSchema};
    /// let table = TableSchema::builder("person")
    ///     .column(ColumnSchema::of::<i64>("id"))
    ///     .column(ColumnSchema::of::<String>("name"))
    ///     .key(["id"])
    ///     .build()?;
    /// let condition = Condition::parse("id > 7 and not name like 'a%'", &table)?;
    /// assert!(Condition::parse("name > 7", &table).is_err());
    /// # Ok::<(), bobak_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Syntax`, with what was expected; `Schema` for an unknown column; as
    /// [`ColumnSchema::accept`](crate::ColumnSchema::accept) for a value that does not have its column's type.
    pub fn parse(text: &str, table: &TableSchema) -> Result<Self> {
        Self::parse_with(text, table, &|_| None)
    }

    /// As [`parse`](Self::parse), with `named` to look up the value of each parameter `:name`. A
    /// parameter that is NULL equals nothing.
    ///
    /// # Errors
    /// As [`parse`](Self::parse); `Syntax` for an unknown parameter.
    pub fn parse_with(
        text: &str,
        table: &TableSchema,
        named: &dyn Fn(&str) -> Option<Value<'static>>,
    ) -> Result<Self> {
        let relations = &|_: &str| None;
        ConditionConverter { table, named, relations, path: None }.parse(text)
    }

    /// As [`parse`](Self::parse), also of columns of related tables: `customer.city = 'Bern'` is true if a related row
    /// exists for which the comparison is true. `relations` returns the steps of a relation by its path, here `customer`;
    /// a path of several relations has points between them.
    ///
    /// # Errors
    /// As [`parse`](Self::parse); `Schema` for an unknown relation.
    pub fn parse_related(
        text: &str,
        table: &TableSchema,
        relations: &dyn Fn(&str) -> Option<Vec<RelatedStep>>,
    ) -> Result<Self> {
        ConditionConverter { table, named: &|_| None, relations, path: None }.parse(text)
    }

    /// The condition that a row is related by these steps to one for which this condition is true.
    #[must_use]
    pub fn of_related(self, steps: &[RelatedStep]) -> Self {
        steps.iter().rev().fold(self, |condition, step| {
            let (table, column) = (Arc::clone(&step.table), step.to);
            let query = SubQuery { table, column, more: Vec::new(), condition: Some(condition) };
            Self::InQuery { column: step.from, query: Box::new(query) }
        })
    }
}

/// A step from a table to a related one: to the rows in which a column equals one of the table before.
#[derive(Clone, Debug)]
pub struct RelatedStep {
    /// The related table.
    pub table: Arc<TableSchema>,
    /// The index of the column in the table before.
    pub from: usize,
    /// The index of the column in the related table.
    pub to: usize,
}

#[cold]
fn syntax(message: &str) -> Error {
    Error::new(ErrorKind::Syntax, format!("syntax error in the condition: {message}"))
}

/// Converts expressions to conditions.
struct ConditionConverter<'a> {
    table: &'a TableSchema,
    named: &'a dyn Fn(&str) -> Option<Value<'static>>,
    relations: &'a dyn Fn(&str) -> Option<Vec<RelatedStep>>,
    /// The path of the relation that leads to the table, if it is a related one.
    path: Option<&'a str>,
}

impl ConditionConverter<'_> {
    fn parse(&self, text: &str) -> Result<Condition> {
        let parsed = SqlParser::new(text).whole().map_err(|message| syntax(&message));
        parsed
            .and_then(|expression| self.condition(&expression))
            .map_err(|error| error.in_table(self.table.name()))
    }

    /// A predicate over a column of a related table, if it is one.
    fn related(&self, expression: &SqlExpression<'_>) -> Option<Result<Condition>> {
        // `is not null` is a predicate of the related row; other negations are of the whole.
        let predicate = match expression {
            SqlExpression::Not(inner) => match &**inner {
                is_null @ SqlExpression::Binary(SqlOperator::Is, ..) => is_null,
                _ => return None,
            },
            predicate => predicate,
        };
        let column = match predicate {
            SqlExpression::Binary(_, left, _) => left,
            SqlExpression::Between(operands) => &operands[0],
            SqlExpression::In(value, _) => value,
            truth @ SqlExpression::Name { .. } => truth,
            _ => return None,
        };
        let SqlExpression::Name { qualifier: Some(path), .. } = column else { return None };
        if self.path.is_some() {
            return None;
        }
        let Some(steps) = (self.relations)(path) else {
            let message = format!("the table has no relation '{path}'");
            return Some(Err(Error::new(ErrorKind::Schema, message)));
        };
        let table = &*steps.last()?.table;
        let converter = ConditionConverter { table, path: Some(path), ..*self };
        let condition = converter.condition(expression);
        Some(condition.map(|condition| condition.of_related(&steps)))
    }

    fn condition(&self, expression: &SqlExpression<'_>) -> Result<Condition> {
        if let Some(related) = self.related(expression) {
            return related;
        }
        let all = |parts: &[SqlExpression<'_>]| -> Result<Vec<_>> {
            parts.iter().map(|part| self.condition(part)).collect()
        };
        match expression {
            SqlExpression::And(parts) => all(parts).map(Condition::And),
            SqlExpression::Or(parts) => all(parts).map(Condition::Or),
            SqlExpression::Not(inner) => Ok(Condition::Not(Box::new(self.condition(inner)?))),
            SqlExpression::Binary(operator, left, right) => {
                self.predicate(*operator, self.column(left)?, right)
            }
            SqlExpression::Between(operands) => {
                let [value, low, high] = &**operands;
                let column = self.column(value)?;
                let low = compare(column, Comparison::GreaterOrEqual, self.value(column, low)?);
                let high = compare(column, Comparison::LessOrEqual, self.value(column, high)?);
                Ok(Condition::And(vec![low, high]))
            }
            SqlExpression::In(value, members) => {
                let column = self.column(value)?;
                let values = members.iter().map(|member| self.value(column, member));
                let mut values = values.collect::<Result<Vec<_>>>()?;
                // NULL equals nothing.
                values.retain(|value| !value.is_null());
                Ok(Condition::In { column, values })
            }
            SqlExpression::Name { .. } => {
                let column = self.column(expression)?;
                let schema = self.table.column_at(column)?;
                if schema.ty != Type::Bool {
                    let error = syntax("expected a comparison: the column is no truth value");
                    return Err(error.in_column(schema.name.clone()));
                }
                Ok(compare(column, Comparison::Equal, Value::Int(1)))
            }
            _ => Err(syntax(
                "expected a comparison, is, in, like, contains, starts with, ends with, or between",
            )),
        }
    }

    fn predicate(
        &self,
        operator: SqlOperator,
        column: usize,
        right: &SqlExpression<'_>,
    ) -> Result<Condition> {
        match (operator, right) {
            (SqlOperator::Compare(comparison), SqlExpression::Name { .. }) => {
                Ok(Condition::CompareColumns {
                    left: column,
                    comparison,
                    right: self.column(right).map_err(quoting)?,
                })
            }
            (SqlOperator::Compare(comparison), _) => {
                Ok(compare(column, comparison, self.value(column, right)?))
            }
            (SqlOperator::Is, SqlExpression::Literal(SqlLiteral::Null)) => {
                Ok(Condition::IsNull { column })
            }
            (SqlOperator::Is, _) => Err(syntax("expected null after is")),
            (SqlOperator::Like, SqlExpression::Literal(SqlLiteral::Text(text))) => {
                check_pattern(text)?;
                Ok(Condition::Like { column, pattern: text.to_string() })
            }
            (SqlOperator::StartsWith, SqlExpression::Literal(SqlLiteral::Text(text))) => {
                Ok(Condition::StartsWith { column, prefix: text.to_string() })
            }
            (SqlOperator::LikeEscape(escape), SqlExpression::Literal(SqlLiteral::Text(text))) => {
                check_pattern(text)?;
                Ok(Condition::LikeEscape { column, pattern: text.to_string(), escape })
            }
            (SqlOperator::Contains, SqlExpression::Literal(SqlLiteral::Text(text))) => {
                Ok(Condition::Contains { column, part: text.to_string() })
            }
            (SqlOperator::EndsWith, SqlExpression::Literal(SqlLiteral::Text(text))) => {
                Ok(Condition::EndsWith { column, suffix: text.to_string() })
            }
            (
                SqlOperator::Like
                | SqlOperator::LikeEscape(_)
                | SqlOperator::Contains
                | SqlOperator::EndsWith
                | SqlOperator::StartsWith,
                _,
            ) => Err(syntax("expected a string in single quotes")),
            (SqlOperator::Concat | SqlOperator::Arithmetic(_), _) => {
                Err(syntax("columns and values can only be compared"))
            }
        }
    }

    fn column(&self, expression: &SqlExpression<'_>) -> Result<usize> {
        match expression {
            SqlExpression::Name { qualifier, name } if qualifier.as_deref() == self.path => {
                self.table.column(name)
            }
            SqlExpression::Name { .. } => Err(syntax("columns of one table can be compared")),
            _ => Err(syntax("expected a column on the left side")),
        }
    }

    /// A literal or parameter as a value of the column.
    fn value(&self, column: usize, expression: &SqlExpression<'_>) -> Result<Value<'static>> {
        let schema = self.table.column_at(column)?;
        if let Some(number) = expression.as_number() {
            return to_stored(schema, &SqlLiteral::Number(&number));
        }
        match expression {
            SqlExpression::Literal(literal) => to_stored(schema, literal),
            SqlExpression::Parameter(text, _) => {
                let value = text.strip_prefix(':').and_then(|name| (self.named)(name));
                let value = value.ok_or_else(|| syntax(&format!("unknown parameter '{text}'")))?;
                if value.is_null() { Ok(value) } else { schema.accept(value) }
            }
            _ => Err(syntax("expected a column or a value on the right side")),
        }
    }
}

/// Adds to an error about an unknown name on the right side, which may be meant as a text.
fn quoting(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Schema => {
            let message = format!("{}: a text is in single quotes", error.message());
            Error::new(ErrorKind::Schema, message)
        }
        _ => error,
    }
}

fn compare(column: usize, comparison: Comparison, value: Value<'static>) -> Condition {
    match value {
        // True for no row.
        Value::Null => Condition::Or(Vec::new()),
        value => Condition::Compare { column, comparison, value },
    }
}

#[cfg(test)]
mod tests;
