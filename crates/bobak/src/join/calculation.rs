//! Values, comparisons and conditions over the rows of a join.

use super::tuples::TupleRow;
use bobak_core::join::{CalculationOperator, JoinColumn, JoinCondition, JoinExpr};
use bobak_core::{
    Error, ErrorKind, Join, Result, Row, Value, ValueRef, compare_in_column, compare_values,
};
use std::cmp::Ordering;

/// A row of the result, before its expressions are calculated.
pub(super) trait Evaluate {
    /// An expression's value.
    ///
    /// # Errors
    /// `OutOfRange` if a number is too large; `Mismatch` for what is no number.
    fn value(&self, expr: &JoinExpr) -> Result<Value<'_>>;
}

impl Evaluate for TupleRow<'_> {
    fn value(&self, expr: &JoinExpr) -> Result<Value<'_>> {
        match expr {
            JoinExpr::Column(column) => Ok(self.column(*column).into()),
            JoinExpr::Value(value, _) => Ok(value.as_ref().to_owned()),
            JoinExpr::Calculation(operator, parts) => {
                calculate(*operator, &self.value(&parts.0)?, &self.value(&parts.1)?)
            }
            JoinExpr::Aggregate(..) => Ok(Value::Null),
        }
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

/// Whether a row or a group matches all conditions. Those over a record's row need the `tuple`, which groups lack.
pub(super) fn all_hold(
    row: &impl Evaluate,
    tuple: Option<&TupleRow<'_>>,
    conditions: &[JoinCondition],
) -> Result<bool> {
    for condition in conditions {
        if holds(row, tuple, condition)? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `None` if the condition is NULL.
fn holds(
    row: &impl Evaluate,
    tuple: Option<&TupleRow<'_>>,
    condition: &JoinCondition,
) -> Result<Option<bool>> {
    match condition {
        JoinCondition::Row(table, condition) => {
            let Some(tuple) = tuple else {
                let message = "a filter of a record cannot be part of a condition over groups";
                return Err(Error::new(ErrorKind::Unsupported, message));
            };
            let schema = tuple.tuples.join.tables.get(*table).map(|table| &table.table);
            Ok(schema
                .and_then(|schema| condition.evaluate(schema, &TableRow { tuple, table: *table })))
        }
        JoinCondition::Compare(left, comparison, right) => {
            let (left, right) = (row.value(left)?, row.value(right)?);
            if left.is_null() || right.is_null() {
                return Ok(None);
            }
            Ok(Some(comparison.holds(compare_values(left.as_ref(), right.as_ref()))))
        }
        JoinCondition::IsNull(expr, wanted) => Ok(Some(row.value(expr)?.is_null() == *wanted)),
        JoinCondition::AnyOf(parts) => combined(row, tuple, parts, true),
        JoinCondition::AllOf(parts) => combined(row, tuple, parts, false),
    }
}

/// Conditions of which one decides if it has this value, with three-valued logic.
fn combined(
    row: &impl Evaluate,
    tuple: Option<&TupleRow<'_>>,
    parts: &[JoinCondition],
    decisive: bool,
) -> Result<Option<bool>> {
    let mut result = Some(!decisive);
    for part in parts {
        match holds(row, tuple, part)? {
            Some(value) if value == decisive => return Ok(Some(value)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
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

/// Two numbers calculated.
pub(super) fn calculate(
    operator: CalculationOperator,
    a: &Value<'_>,
    b: &Value<'_>,
) -> Result<Value<'static>> {
    let number = |value: &Value<'_>| match value {
        Value::Int(integer) => Ok(*integer as f64),
        Value::Float(float) => Ok(*float),
        other => Err(Error::mismatch("a number", other.as_ref())),
    };
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::Int(a), Value::Int(b)) => {
            let result = match operator {
                CalculationOperator::Plus => a.checked_add(*b),
                CalculationOperator::Minus => a.checked_sub(*b),
                CalculationOperator::Times => a.checked_mul(*b),
            };
            result.map(Value::Int).ok_or_else(|| {
                let message = "the result of a calculation is too large for an integer of 64 bits";
                Error::new(ErrorKind::OutOfRange, message)
            })
        }
        (a, b) => {
            let (a, b) = (number(a)?, number(b)?);
            let result = match operator {
                CalculationOperator::Plus => a + b,
                CalculationOperator::Minus => a - b,
                CalculationOperator::Times => a * b,
            };
            // As in SQL, there is no value for what is not a number.
            Ok(if result.is_nan() { Value::Null } else { Value::Float(result) })
        }
    }
}
