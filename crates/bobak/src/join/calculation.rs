//! Values, comparisons and conditions over the rows of a join.

use super::function;
use super::tuples::TupleRow;
use bobak_core::join::{
    CalculationOperator, JoinAggregate, JoinColumn, JoinCondition, JoinExpr, JoinFunction,
    JoinOrder, JoinWindow,
};
use bobak_core::{
    Error, ErrorKind, Join, Result, Row, Type, Value, ValueRef, compare_in_column, compare_values,
};
use std::cmp::Ordering;

/// A row of the result, before its expressions are calculated.
pub(super) trait Evaluate {
    /// The row of which columns are. That of a group without rows has NULLs.
    fn row(&self) -> TupleRow<'_>;

    /// The value of an aggregate.
    ///
    /// # Errors
    /// As [`value`](Self::value).
    fn aggregate(&self, function: JoinAggregate, expr: &JoinExpr) -> Result<Value<'_>>;

    /// The value of a window function.
    ///
    /// # Errors
    /// `Unsupported` before all rows of the result are known.
    fn window(&self, _: &JoinWindow) -> Result<Value<'_>> {
        let message = "a window function is of the rows of the result, and not of those before";
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// Whether rows of one table are known, and not only what the rows of a group have in common.
    fn has_rows(&self) -> bool;

    /// An expression's value.
    ///
    /// # Errors
    /// `OutOfRange` if a number is too large; `Mismatch` for what is no number.
    fn value(&self, expr: &JoinExpr) -> Result<Value<'_>> {
        let row = self.row();
        let join = row.tuples.join;
        if !self.has_rows() && join.group.contains(expr) {
            return row.value(expr).map(Value::into_owned);
        }
        match expr {
            JoinExpr::Column(column) => Ok(row.column(*column).into()),
            JoinExpr::Value(value, _) => Ok(value.as_ref().to_owned()),
            JoinExpr::Calculation(operator, parts) => {
                let is_money = |part: &JoinExpr| part.ty(join) == Type::Currency;
                let money = (is_money(&parts.0), is_money(&parts.1));
                calculate(*operator, &self.value(&parts.0)?, &self.value(&parts.1)?, money)
            }
            JoinExpr::Aggregate(function, expr) => self.aggregate(*function, expr),
            JoinExpr::Function(JoinFunction::Coalesce, arguments) => {
                // The arguments after the first value are not calculated: it may be out of range.
                let mut values = arguments.iter().map(|argument| self.value(argument));
                let found = values.find(|value| !matches!(value, Ok(value) if value.is_null()));
                found.unwrap_or(Ok(Value::Null))
            }
            JoinExpr::Function(function, arguments) => {
                let values = arguments.iter().map(|argument| self.value(argument));
                let ty = arguments.first().map_or(Type::Any, |first| first.ty(join));
                function::call(*function, &values.collect::<Result<Vec<_>>>()?, ty)
            }
            JoinExpr::Case(branches, otherwise) => {
                for (condition, value) in branches {
                    if self.holds(condition)? == Some(true) {
                        return self.value(value);
                    }
                }
                self.value(otherwise)
            }
            JoinExpr::Window(window) => self.window(window),
            JoinExpr::Query(query) => row.tuples.subquery(query)?.value(&row),
        }
    }

    /// Whether a condition holds; `None` if it is NULL.
    ///
    /// # Errors
    /// As [`value`](Self::value); `Unsupported` for a condition of a record's row in a group.
    fn holds(&self, condition: &JoinCondition) -> Result<Option<bool>> {
        let row = self.row();
        match condition {
            JoinCondition::Row(table, condition) => {
                let join = row.tuples.join;
                if *table >= join.outer && !self.has_rows() {
                    let message = "a filter of a record cannot be part of a condition over groups";
                    return Err(Error::new(ErrorKind::Unsupported, message));
                }
                let schema = join.tables.get(*table).map(|table| &table.table);
                Ok(schema.and_then(|schema| {
                    condition.evaluate(schema, &TableRow { tuple: &row, table: *table })
                }))
            }
            JoinCondition::Compare(left, comparison, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                if left.is_null() || right.is_null() {
                    return Ok(None);
                }
                Ok(Some(comparison.holds(compare_values(left.as_ref(), right.as_ref()))))
            }
            JoinCondition::IsNull(expr, wanted) => Ok(Some(self.value(expr)?.is_null() == *wanted)),
            JoinCondition::Text(expr, test) => match self.value(expr)?.as_ref() {
                ValueRef::Text(text) => Ok(Some(test.holds(text))),
                _ => Ok(None),
            },
            JoinCondition::Exists(query) => row.tuples.subquery(query)?.has_rows(&row).map(Some),
            JoinCondition::InQuery(expr, query) => {
                let value = self.value(expr)?;
                row.tuples.subquery(query)?.has_value(value.as_ref(), &row)
            }
            JoinCondition::AnyOf(parts) => self.combined(parts, true),
            JoinCondition::AllOf(parts) => self.combined(parts, false),
            JoinCondition::Not(part) => Ok(self.holds(part)?.map(|holds| !holds)),
        }
    }

    /// Conditions of which one decides if it has this value, with three-valued logic.
    ///
    /// # Errors
    /// As [`holds`](Self::holds).
    fn combined(&self, parts: &[JoinCondition], decisive: bool) -> Result<Option<bool>> {
        let mut result = Some(!decisive);
        for part in parts {
            match self.holds(part)? {
                Some(value) if value == decisive => return Ok(Some(value)),
                Some(_) => {}
                None => result = None,
            }
        }
        Ok(result)
    }

    /// Whether all conditions hold.
    ///
    /// # Errors
    /// As [`holds`](Self::holds).
    fn all_hold<'c>(
        &self,
        conditions: impl IntoIterator<Item = &'c JoinCondition>,
    ) -> Result<bool> {
        for condition in conditions {
            if self.holds(condition)? != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Evaluate for TupleRow<'_> {
    fn row(&self) -> TupleRow<'_> {
        *self
    }

    fn aggregate(&self, _: JoinAggregate, _: &JoinExpr) -> Result<Value<'_>> {
        Ok(Value::Null)
    }

    fn has_rows(&self) -> bool {
        true
    }
}

/// The row of one table in a row of a join.
struct TableRow<'t> {
    tuple: &'t TupleRow<'t>,
    table: usize,
}

impl Row for TableRow<'_> {
    fn len(&self) -> usize {
        usize::MAX
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        self.tuple.column(JoinColumn { table: self.table, column })
    }
}

/// How two values of an expression sort, NULL first.
pub(super) fn compare(join: &Join, expr: &JoinExpr, a: ValueRef<'_>, b: ValueRef<'_>) -> Ordering {
    match (expr, a.is_null(), b.is_null()) {
        (_, true, true) => Ordering::Equal,
        (_, true, false) => Ordering::Less,
        (_, false, true) => Ordering::Greater,
        (JoinExpr::Column(column), ..) => match join.tables.get(column.table) {
            Some(table) => compare_in_column(&table.table, column.column, a, b),
            None => compare_values(a, b),
        },
        _ => compare_values(a, b),
    }
}

/// How rows with these values in the steps of an order sort.
pub(super) fn compare_keys(
    join: &Join,
    order: &[JoinOrder],
    a: &[Value<'_>],
    b: &[Value<'_>],
) -> Ordering {
    for (step, (a, b)) in order.iter().zip(a.iter().zip(b)) {
        let ordering = compare(join, &step.expr, a.as_ref(), b.as_ref());
        let reversed = match a.is_null() || b.is_null() {
            true => !step.nulls_first,
            false => step.descending,
        };
        if ordering.is_ne() {
            return if reversed { ordering.reverse() } else { ordering };
        }
    }
    Ordering::Equal
}

/// Two numbers calculated; `money` says which of them are money.
fn calculate(
    operator: CalculationOperator,
    a: &Value<'_>,
    b: &Value<'_>,
    money: (bool, bool),
) -> Result<Value<'static>> {
    let is_ratio = operator == CalculationOperator::Divide && money.1;
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::Int(a), Value::Int(b)) if !is_ratio => {
            let result = match operator {
                CalculationOperator::Plus => a.checked_add(*b),
                CalculationOperator::Minus => a.checked_sub(*b),
                CalculationOperator::Times => a.checked_mul(*b),
                // Nothing but a value that is not there.
                CalculationOperator::Divide | CalculationOperator::Remainder if *b == 0 => {
                    return Ok(Value::Null);
                }
                CalculationOperator::Divide if money.0 => divide_rounded(*a, *b),
                CalculationOperator::Divide => a.checked_div(*b),
                CalculationOperator::Remainder => Some(a.wrapping_rem(*b)),
            };
            result.map(Value::Int).ok_or_else(|| {
                let message = "the result of a calculation is too large for an integer of 64 bits";
                Error::new(ErrorKind::OutOfRange, message)
            })
        }
        (a, b) => calculate_floats(operator, number(a)?, number(b)?),
    }
}

fn calculate_floats(operator: CalculationOperator, a: f64, b: f64) -> Result<Value<'static>> {
    let result = match operator {
        CalculationOperator::Plus => a + b,
        CalculationOperator::Minus => a - b,
        CalculationOperator::Times => a * b,
        CalculationOperator::Divide if b == 0.0 => return Ok(Value::Null),
        CalculationOperator::Divide => a / b,
        CalculationOperator::Remainder => {
            return Err(Error::mismatch("an integer", ValueRef::Float(a)));
        }
    };
    // As in SQL, there is no value for what is not a number.
    Ok(if result.is_nan() { Value::Null } else { Value::Float(result) })
}

fn number(value: &Value<'_>) -> Result<f64> {
    match value {
        Value::Int(integer) => Ok(*integer as f64),
        Value::Float(float) => Ok(*float),
        other => Err(Error::mismatch("a number", other.as_ref())),
    }
}

/// A quotient rounded to a whole number, ties away from zero.
fn divide_rounded(a: i64, b: i64) -> Option<i64> {
    let (a, b) = (i128::from(a), i128::from(b));
    let (quotient, rest) = (a / b, a % b);
    let away = if rest.abs() * 2 >= b.abs() { (a * b).signum() } else { 0 };
    i64::try_from(quotient + away).ok()
}
