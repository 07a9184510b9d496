//! Expressions over the columns of one table, parsed from text: for clients of servers.

mod calls;

use super::base::{Base, base, can_calculate, is_number};
use super::literal::to_stored;
use super::{ConditionConverter, syntax};
use crate::join::{
    CalculationOperator, JoinAggregate, JoinColumn, JoinCondition, JoinExpr, JoinFunction,
    JoinTable, TextTest,
};
use crate::sql_expression::{Arithmetic, SqlExpression, SqlLiteral, SqlOperator};
use crate::{
    Assign, AssignedValue, ColumnSchema, Comparison, Error, ErrorKind, Join, Result, TableSchema,
    Type, Value,
};
use std::sync::Arc;

/// Converts what was parsed to expressions and conditions over the table 0.
pub(super) struct ExpressionConverter<'a> {
    table: &'a Arc<TableSchema>,
    /// The table alone, for the types of expressions.
    join: Join,
    /// Names of selected expressions, which other parts may use.
    pub names: Vec<(String, JoinExpr)>,
    /// Whether conditions are of groups, and not of rows.
    pub of_groups: bool,
}

/// An expression and the type of its values.
type TypedExpr = (JoinExpr, Type);

impl<'a> ExpressionConverter<'a> {
    pub fn new(table: &'a Arc<TableSchema>) -> Self {
        let tables = vec![JoinTable { table: Arc::clone(table), link: None, rows: None }];
        let join = Join { tables, ..Join::default() };
        Self { table, join, names: Vec::new(), of_groups: false }
    }

    fn typed(&self, expr: JoinExpr) -> TypedExpr {
        let ty = expr.ty(&self.join);
        (expr, ty)
    }

    /// An expression. A literal has the wanted type, or the one that it is written as.
    pub fn expr(&self, expression: &SqlExpression<'_>, wanted: Option<Type>) -> Result<TypedExpr> {
        if let Some(literal) = literal(expression) {
            return self.literal(expression, &literal, wanted);
        }
        match expression {
            SqlExpression::Name { qualifier: None, name } => self.name(name),
            SqlExpression::Name { .. } => {
                Err(syntax("expressions are of the columns of one table"))
            }
            SqlExpression::Signed(is_negative, inner) => self.signed(*is_negative, inner, wanted),
            SqlExpression::Binary(SqlOperator::Arithmetic(operator), left, right) => {
                self.calculation(*operator, left, right)
            }
            SqlExpression::Binary(SqlOperator::Concat, left, right) => {
                let parts = vec![self.text(left)?, self.text(right)?];
                Ok((JoinExpr::Function(JoinFunction::Concat, parts), Type::Text))
            }
            SqlExpression::Cast(inner, ty) => self.cast(inner, ty),
            SqlExpression::Call(name, arguments) => {
                self.call(&name.to_ascii_lowercase(), arguments)
            }
            SqlExpression::CallAll(name) if name.eq_ignore_ascii_case("count") => {
                let row = JoinExpr::Value(Value::Int(1), Type::I64);
                Ok((JoinExpr::Aggregate(JoinAggregate::Count, Box::new(row)), Type::I64))
            }
            _ => Err(syntax("expected a column, a value, a calculation or a function")),
        }
    }

    fn signed(
        &self,
        is_negative: bool,
        inner: &SqlExpression<'_>,
        wanted: Option<Type>,
    ) -> Result<TypedExpr> {
        let (expr, ty) = self.expr(inner, wanted)?;
        require(is_number(ty), "a number after the sign")?;
        let zero = match base(ty) {
            Base::Float => Value::Float(0.0),
            _ => Value::Int(0),
        };
        let parts = Box::new((JoinExpr::Value(zero, ty), expr.clone()));
        let negative = JoinExpr::Calculation(CalculationOperator::Minus, parts);
        Ok(self.typed(if is_negative { negative } else { expr }))
    }

    fn name(&self, name: &str) -> Result<TypedExpr> {
        if let Some((_, expr)) = self.names.iter().find(|(known, _)| known == name) {
            return Ok(self.typed(expr.clone()));
        }
        let column = self.table.column(name)?;
        Ok(self.typed(JoinExpr::Column(JoinColumn { table: 0, column })))
    }

    fn literal(
        &self,
        expression: &SqlExpression<'_>,
        literal: &SqlLiteral<'_>,
        wanted: Option<Type>,
    ) -> Result<TypedExpr> {
        let number = expression.as_number();
        let literal = number.as_ref().map_or(literal.clone(), |text| SqlLiteral::Number(text));
        let natural = match &literal {
            SqlLiteral::Number(text) if text.parse::<i64>().is_ok() => Type::I64,
            SqlLiteral::Number(_) => Type::F64,
            SqlLiteral::Bool(_) => Type::Bool,
            SqlLiteral::Bytes(_) => Type::Bytes,
            SqlLiteral::Text(_) | SqlLiteral::Null => Type::Text,
        };
        let ty = match wanted.map(base) {
            // A calculated value may be beyond the range of the column's type.
            Some(Base::Integer) if natural == Type::F64 => Type::F64,
            Some(Base::Integer) => Type::I64,
            Some(Base::Float) => Type::F64,
            Some(_) => wanted.unwrap_or(natural),
            None => natural,
        };
        let column = ColumnSchema::new("value", ty);
        let value = to_stored(&column, &literal)?;
        Ok((JoinExpr::Value(value, ty), ty))
    }

    /// Two expressions, of which a literal takes the type of the other one.
    fn both(
        &self,
        left: &SqlExpression<'_>,
        right: &SqlExpression<'_>,
    ) -> Result<(TypedExpr, TypedExpr)> {
        if literal(left).is_some() {
            let right = self.expr(right, None)?;
            return Ok((self.expr(left, Some(right.1))?, right));
        }
        let left = self.expr(left, None)?;
        let right = self.expr(right, Some(left.1))?;
        Ok((left, right))
    }

    fn calculation(
        &self,
        operator: Arithmetic,
        left: &SqlExpression<'_>,
        right: &SqlExpression<'_>,
    ) -> Result<TypedExpr> {
        let (operator, scales) = match operator {
            Arithmetic::Add => (CalculationOperator::Plus, false),
            Arithmetic::Subtract => (CalculationOperator::Minus, false),
            Arithmetic::Multiply => (CalculationOperator::Times, true),
            Arithmetic::Divide => (CalculationOperator::Divide, true),
            Arithmetic::Remainder => (CalculationOperator::Remainder, false),
        };
        let ((a, a_type), (b, b_type)) = if scales {
            // An amount is multiplied by a number, and not by an amount.
            (self.expr(left, None)?, self.expr(right, None)?)
        } else {
            self.both(left, right)?
        };
        let is_known = can_calculate(operator, base(a_type), base(b_type));
        if !is_known {
            return Err(mismatch(&format!(
                "{} and {} cannot be calculated with each other in this way",
                a_type.name(),
                b_type.name()
            )));
        }
        Ok(self.typed(JoinExpr::Calculation(operator, Box::new((a, b)))))
    }

    fn text(&self, expression: &SqlExpression<'_>) -> Result<JoinExpr> {
        let (expr, ty) = self.expr(expression, Some(Type::Text))?;
        require(ty == Type::Text, "a text")?;
        Ok(expr)
    }

    fn cast(&self, inner: &SqlExpression<'_>, to: &str) -> Result<TypedExpr> {
        let (expr, ty) = self.expr(inner, None)?;
        let (function, result) = match to.to_ascii_lowercase().as_str() {
            "integer" if is_number(ty) || ty == Type::Bool => (JoinFunction::ToInteger, Type::I64),
            "real" if is_number(ty) => (JoinFunction::ToFloat, Type::F64),
            "text" if base(ty) == Base::Integer => (JoinFunction::ToText, Type::Text),
            _ => {
                let message = "only numbers are cast to integer and real, and integers to text";
                return Err(mismatch(message));
            }
        };
        Ok((JoinExpr::Function(function, vec![expr]), result))
    }

    /// A value for a column: a literal as it is stored, or an expression.
    pub fn assigned(&self, column: usize, value: &SqlExpression<'_>) -> Result<AssignedValue> {
        let schema = self.table.column_at(column)?;
        let named = |error: Error| error.in_column(schema.name.clone());
        if let Some(literal) = literal(value) {
            let number = value.as_number();
            let literal = number.as_ref().map_or(literal, |text| SqlLiteral::Number(text));
            let value = match literal {
                SqlLiteral::Null => Value::Null,
                literal => to_stored(schema, &literal)?,
            };
            return Ok(AssignedValue::Value(Assign::Set { column, value }));
        }
        let (expr, ty) = self.expr(value, Some(schema.ty)).map_err(named)?;
        if base(ty) != base(schema.ty) {
            let message = format!("{} is assigned to a column of {}", ty.name(), schema.ty.name());
            return Err(named(mismatch(&message)));
        }
        Ok(AssignedValue::Expr { column, expr })
    }

    /// A condition. Comparisons of a column with a value are those of filters; others compare texts by their bytes.
    pub fn condition(&self, expression: &SqlExpression<'_>) -> Result<JoinCondition> {
        let all = |parts: &[SqlExpression<'_>]| -> Result<Vec<_>> {
            parts.iter().map(|part| self.condition(part)).collect()
        };
        match expression {
            SqlExpression::And(parts) => all(parts).map(JoinCondition::AllOf),
            SqlExpression::Or(parts) => all(parts).map(JoinCondition::AnyOf),
            SqlExpression::Not(inner) => Ok(JoinCondition::Not(Box::new(self.condition(inner)?))),
            SqlExpression::Literal(SqlLiteral::Bool(true)) => Ok(JoinCondition::AllOf(Vec::new())),
            SqlExpression::Literal(SqlLiteral::Bool(false)) => Ok(JoinCondition::AnyOf(Vec::new())),
            _ if !self.of_groups && self.is_of_row(expression) => {
                let condition = ConditionConverter {
                    table: self.table,
                    named: &|_| None,
                    relations: &|_| None,
                    path: None,
                };
                Ok(JoinCondition::Row(0, condition.condition(expression)?))
            }
            SqlExpression::Binary(operator, left, right) => self.test(*operator, left, right),
            SqlExpression::Between(operands) => {
                let [value, low, high] = &**operands;
                let low = self.comparison(value, Comparison::GreaterOrEqual, low)?;
                let high = self.comparison(value, Comparison::LessOrEqual, high)?;
                Ok(JoinCondition::AllOf(vec![low, high]))
            }
            SqlExpression::In(value, members) => {
                let equals = |member| self.comparison(value, Comparison::Equal, member);
                members.iter().map(equals).collect::<Result<_>>().map(JoinCondition::AnyOf)
            }
            truth => {
                let (expr, ty) = self.expr(truth, None)?;
                require(ty == Type::Bool, "a comparison or a truth value")?;
                let truth = JoinExpr::Value(Value::Int(1), Type::Bool);
                Ok(JoinCondition::Compare(expr, Comparison::Equal, truth))
            }
        }
    }

    /// Whether it is a comparison of a column of the table with a value or another column.
    fn is_of_row(&self, expression: &SqlExpression<'_>) -> bool {
        let is_column = |expression: &SqlExpression<'_>| match expression {
            SqlExpression::Name { qualifier: None, name } => {
                self.names.iter().all(|(known, _)| known != name)
            }
            _ => false,
        };
        let is_value = |expression: &SqlExpression<'_>| literal(expression).is_some();
        match expression {
            SqlExpression::Binary(SqlOperator::Concat | SqlOperator::Arithmetic(_), ..) => false,
            SqlExpression::Binary(_, left, right) => {
                is_column(left) && (is_value(right) || is_column(right))
            }
            SqlExpression::Between(operands) => {
                let [value, low, high] = &**operands;
                is_column(value) && is_value(low) && is_value(high)
            }
            SqlExpression::In(value, members) => is_column(value) && members.iter().all(is_value),
            _ => false,
        }
    }

    fn test(
        &self,
        operator: SqlOperator,
        left: &SqlExpression<'_>,
        right: &SqlExpression<'_>,
    ) -> Result<JoinCondition> {
        let part = || match right {
            SqlExpression::Literal(SqlLiteral::Text(text)) => Ok(text.clone().into_owned()),
            _ => Err(syntax("expected a string in single quotes")),
        };
        let test = match operator {
            SqlOperator::Compare(comparison) => return self.comparison(left, comparison, right),
            SqlOperator::Is if *right == SqlExpression::Literal(SqlLiteral::Null) => {
                return Ok(JoinCondition::IsNull(self.expr(left, None)?.0, true));
            }
            SqlOperator::Is => return Err(syntax("expected null after is")),
            SqlOperator::Like => TextTest::Like(part()?, None),
            SqlOperator::LikeEscape(escape) => TextTest::Like(part()?, Some(escape)),
            SqlOperator::Contains => TextTest::Contains(part()?),
            SqlOperator::StartsWith => TextTest::StartsWith(part()?),
            SqlOperator::EndsWith => TextTest::EndsWith(part()?),
            SqlOperator::Concat | SqlOperator::Arithmetic(_) => {
                return Err(syntax("expected a comparison, and not a value"));
            }
        };
        Ok(JoinCondition::Text(self.text(left)?, test))
    }

    fn comparison(
        &self,
        left: &SqlExpression<'_>,
        comparison: Comparison,
        right: &SqlExpression<'_>,
    ) -> Result<JoinCondition> {
        let ((a, a_type), (b, b_type)) = self.both(left, right)?;
        if base(a_type) != base(b_type) {
            let message = format!("{} is compared with {}", a_type.name(), b_type.name());
            return Err(mismatch(&message));
        }
        Ok(JoinCondition::Compare(a, comparison, b))
    }
}

fn literal<'e>(expression: &'e SqlExpression<'_>) -> Option<SqlLiteral<'e>> {
    match expression {
        SqlExpression::Literal(literal) => Some(literal.clone()),
        // A number with its sign.
        SqlExpression::Signed(_, inner) => match &**inner {
            SqlExpression::Literal(number @ SqlLiteral::Number(_)) => Some(number.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn require(holds: bool, what: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(mismatch(&format!("expected {what}"))) }
}

#[cold]
fn mismatch(message: &str) -> Error {
    Error::new(ErrorKind::Mismatch, message)
}
