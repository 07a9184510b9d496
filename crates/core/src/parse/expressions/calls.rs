//! Calls of functions.

use super::{Base, ExpressionConverter, TypedExpr, base, is_number, require};
use crate::join::{JoinAggregate, JoinExpr, JoinFunction, Location};
use crate::parse::syntax;
use crate::sql_expression::{SqlExpression, SqlLiteral};
use crate::{DatePart, DateUnit, Result, Type, Value};

impl ExpressionConverter<'_> {
    pub(super) fn call(&self, name: &str, arguments: &[SqlExpression<'_>]) -> Result<TypedExpr> {
        match (name, arguments) {
            ("lower" | "upper" | "trim" | "length", [text]) => {
                let (function, ty) = match name {
                    "lower" => (JoinFunction::Lower, Type::Text),
                    "upper" => (JoinFunction::Upper, Type::Text),
                    "trim" => (JoinFunction::Trim, Type::Text),
                    _ => (JoinFunction::Length, Type::I64),
                };
                Ok((JoinExpr::Function(function, vec![self.text(text)?]), ty))
            }
            ("substr" | "substring", [text, start, length]) => {
                let function = JoinFunction::Substring(whole(start)?, whole(length)?);
                Ok((JoinExpr::Function(function, vec![self.text(text)?]), Type::Text))
            }
            _ => self.call_of_any(name, arguments),
        }
    }

    fn call_of_any(&self, name: &str, arguments: &[SqlExpression<'_>]) -> Result<TypedExpr> {
        match (name, arguments) {
            ("coalesce" | "ifnull", [first, others @ ..]) if !others.is_empty() => {
                let mut found = self.expr(first, None)?;
                for other in others {
                    let (expr, ty) = self.expr(other, Some(found.1))?;
                    require(base(ty) == base(found.1), "values of one type in coalesce")?;
                    let parts = vec![found.0, expr];
                    found = self.typed(JoinExpr::Function(JoinFunction::Coalesce, parts));
                }
                Ok(found)
            }
            ("iif", [condition, value, otherwise]) => {
                let condition = self.condition(condition)?;
                let ((value, a), (otherwise, b)) = self.both(value, otherwise)?;
                require(base(a) == base(b), "values of one type in iif")?;
                let branches = vec![(condition, value)];
                Ok(self.typed(JoinExpr::Case(branches, Box::new(otherwise))))
            }
            _ => self.call_of_json(name, arguments),
        }
    }

    fn call_of_json(&self, name: &str, arguments: &[SqlExpression<'_>]) -> Result<TypedExpr> {
        match (name, arguments) {
            ("json_has", [document, path, element]) => {
                let element = json_text(element)?;
                self.json(JoinFunction::JsonHas, document, path, Some(element))
            }
            (
                "json_text" | "json_integer" | "json_float" | "json_truth" | "json_length",
                [document, path],
            ) => {
                let function = match name {
                    "json_text" => JoinFunction::JsonText,
                    "json_integer" => JoinFunction::JsonInteger,
                    "json_float" => JoinFunction::JsonFloat,
                    "json_truth" => JoinFunction::JsonTruth,
                    _ => JoinFunction::JsonLength,
                };
                self.json(function, document, path, None)
            }
            _ => self.call_of_moment(name, arguments),
        }
    }

    fn call_of_moment(&self, name: &str, arguments: &[SqlExpression<'_>]) -> Result<TypedExpr> {
        match (name, arguments) {
            ("year" | "month" | "day", [moment]) => self.part(name, moment),
            ("date_part", [SqlExpression::Literal(SqlLiteral::Text(part)), moment]) => {
                self.part(part, moment)
            }
            ("date_trunc", [SqlExpression::Literal(SqlLiteral::Text(unit)), moment]) => {
                let function = JoinFunction::StartOf(DateUnit::named(unit)?);
                let (expr, _) = self.moment(moment)?;
                Ok(self.typed(JoinExpr::Function(function, vec![expr])))
            }
            ("distance", places) if places.len() == 4 => {
                let degrees = places.iter().map(|part| self.degrees(part));
                let degrees = degrees.collect::<Result<Vec<_>>>()?;
                check_location(degrees.get(2..).unwrap_or_default())?;
                Ok((JoinExpr::Function(JoinFunction::Distance, degrees), Type::F64))
            }
            _ => self.aggregate(name, arguments),
        }
    }

    fn degrees(&self, expression: &SqlExpression<'_>) -> Result<JoinExpr> {
        let (expr, ty) = self.expr(expression, Some(Type::F64))?;
        require(base(ty) == Base::Float, "floats as latitudes and longitudes")?;
        Ok(expr)
    }

    fn json(
        &self,
        function: JoinFunction,
        document: &SqlExpression<'_>,
        path: &SqlExpression<'_>,
        element: Option<String>,
    ) -> Result<TypedExpr> {
        let (expr, ty) = self.expr(document, None)?;
        require(ty == Type::Json, "a column of JSON documents")?;
        let mut arguments = vec![expr, self.expr(path, Some(Type::Text))?.0];
        arguments.extend(element.map(|text| JoinExpr::Value(text.into(), Type::Text)));
        Ok(self.typed(JoinExpr::Function(function, arguments)))
    }

    fn moment(&self, expression: &SqlExpression<'_>) -> Result<TypedExpr> {
        let (expr, ty) = self.expr(expression, None)?;
        let has_date = matches!(ty, Type::Date | Type::DateTime | Type::Timestamp);
        require(has_date, "a date, a date-time or a timestamp")?;
        Ok((expr, ty))
    }

    fn part(&self, part: &str, expression: &SqlExpression<'_>) -> Result<TypedExpr> {
        let function = JoinFunction::Part(DatePart::named(part)?);
        let (expr, _) = self.moment(expression)?;
        Ok((JoinExpr::Function(function, vec![expr]), Type::I64))
    }

    fn aggregate(&self, name: &str, arguments: &[SqlExpression<'_>]) -> Result<TypedExpr> {
        let function = match name {
            "count" => JoinAggregate::Count,
            "count_distinct" => JoinAggregate::CountDistinct,
            "sum" => JoinAggregate::Sum,
            "avg" => JoinAggregate::Avg,
            "min" => JoinAggregate::Min,
            "max" => JoinAggregate::Max,
            _ => return Err(syntax(&format!("unknown function '{name}'"))),
        };
        let [argument] = arguments else {
            return Err(syntax(&format!("{name} has one argument")));
        };
        let (expr, ty) = self.expr(argument, None)?;
        if expr.is_aggregate() {
            return Err(syntax("an aggregate is of rows, and not of another aggregate"));
        }
        if matches!(function, JoinAggregate::Sum | JoinAggregate::Avg) {
            require(is_number(ty), "a number in sum and avg")?;
        }
        Ok(self.typed(JoinExpr::Aggregate(function, Box::new(expr))))
    }
}

/// Checks a location of two literals.
fn check_location(degrees: &[JoinExpr]) -> Result<()> {
    match degrees {
        [JoinExpr::Value(Value::Float(y), _), JoinExpr::Value(Value::Float(x), _)] => {
            Location::new(*y, *x).map(|_| ())
        }
        _ => Ok(()),
    }
}

/// A literal as JSON.
fn json_text(expression: &SqlExpression<'_>) -> Result<String> {
    if let Some(number) = expression.as_number() {
        return Ok(number.into_owned());
    }
    match expression {
        SqlExpression::Literal(SqlLiteral::Text(text)) => {
            Ok(serde_json::Value::from(text.as_ref()).to_string())
        }
        SqlExpression::Literal(SqlLiteral::Bool(truth)) => Ok(truth.to_string()),
        SqlExpression::Literal(SqlLiteral::Null) => Ok("null".to_owned()),
        _ => Err(syntax("the third argument of json_has is a literal")),
    }
}

fn whole(expression: &SqlExpression<'_>) -> Result<u32> {
    let number = expression.as_number().and_then(|text| text.parse().ok());
    number.ok_or_else(|| syntax("the second and third arguments of substr are whole numbers"))
}
