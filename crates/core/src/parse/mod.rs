//! Parses conditions: what SQL writes after WHERE, over the columns of one table.
//!
//! The text becomes a [`Condition`], a plain value that never reaches an engine as text. SQL injection
//! is therefore impossible.

mod literal;

use self::literal::to_stored;
use crate::sql_expression::{SqlExpression, SqlLiteral, SqlOperator, SqlParser};
use crate::{Comparison, Condition, Error, ErrorKind, Result, TableSchema, Value};

impl Condition {
    /// Parses a condition. Its values are converted to their columns' stored form.
    ///
    /// * Comparisons `=` `<>` `!=` `<` `<=` `>` `>=` of a column with a literal or a column;
    ///   `between … and …`, `in (…)`, `is null`, `like '%x_'`, `like '50!%' escape '!'`,
    ///   `contains 'x'`, `starts with 'x'`, `ends with 'x'`. Each of the words can follow `not`,
    ///   and `is not null` works, too.
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
        let lowering = ConditionConverter { table, named };
        let parsed = SqlParser::new(text).whole().map_err(|message| syntax(&message));
        parsed
            .and_then(|expression| lowering.condition(&expression))
            .map_err(|error| error.in_table(table.name()))
    }
}

#[cold]
fn syntax(message: &str) -> Error {
    Error::new(ErrorKind::Syntax, format!("syntax error in the condition: {message}"))
}

/// Converts expressions to conditions.
struct ConditionConverter<'a> {
    table: &'a TableSchema,
    named: &'a dyn Fn(&str) -> Option<Value<'static>>,
}

impl ConditionConverter<'_> {
    fn condition(&self, expression: &SqlExpression<'_>) -> Result<Condition> {
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
                    right: self.column(right)?,
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
                Ok(Condition::Like { column, pattern: text.to_string() })
            }
            (SqlOperator::StartsWith, SqlExpression::Literal(SqlLiteral::Text(text))) => {
                Ok(Condition::StartsWith { column, prefix: text.to_string() })
            }
            (SqlOperator::LikeEscape(escape), SqlExpression::Literal(SqlLiteral::Text(text))) => {
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
            SqlExpression::Name { qualifier: None, name } => self.table.column(name),
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

fn compare(column: usize, comparison: Comparison, value: Value<'static>) -> Condition {
    match value {
        // True for no row.
        Value::Null => Condition::Or(Vec::new()),
        value => Condition::Compare { column, comparison, value },
    }
}

#[cfg(test)]
mod tests;
