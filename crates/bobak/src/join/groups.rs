//! Groups of a join's rows, and their aggregates.

use super::calculation::{Evaluate, compare};
use super::tuples::{JoinedTuples, TupleRow};
use bobak_core::FoldedValue;
use bobak_core::join::{JoinAggregate, JoinExpr};
use bobak_core::{Collation, Currency, Error, Join, Result, Sum, Type, Value, ValueRef};
use std::collections::{HashMap, HashSet};

/// A group: its rows.
pub(super) struct GroupRow<'g, 't> {
    pub tuples: &'t JoinedTuples<'t>,
    pub group: &'g [TupleRow<'t>],
    /// The row of the query around.
    pub outer: Option<&'t TupleRow<'t>>,
}

/// The groups, in the order of their first rows. Without columns to group by all rows are one group, even if there are none.
pub(super) fn of<'t>(join: &Join, rows: Vec<TupleRow<'t>>) -> Result<Vec<Vec<TupleRow<'t>>>> {
    if join.group.is_empty() {
        return Ok(vec![rows]);
    }
    let mut groups: Vec<Vec<TupleRow<'t>>> = Vec::new();
    let mut numbers: HashMap<Vec<Option<FoldedValue>>, usize> = HashMap::new();
    for tuple in rows {
        let values = join
            .group
            .iter()
            .map(|expr| Ok(FoldedValue::new(tuple.value(expr)?.as_ref(), collation(join, expr))));
        let number = *numbers.entry(values.collect::<Result<_>>()?).or_insert(groups.len());
        if number == groups.len() {
            groups.push(Vec::new());
        }
        if let Some(group) = groups.get_mut(number) {
            group.push(tuple);
        }
    }
    Ok(groups)
}

/// The collation of an expression's values: columns have one.
fn collation(join: &Join, expr: &JoinExpr) -> Collation {
    let column = if let JoinExpr::Column(column) = expr { join.column(*column) } else { None };
    column.map(|column| column.collation).unwrap_or_default()
}

impl Evaluate for GroupRow<'_, '_> {
    fn row(&self) -> TupleRow<'_> {
        self.group.first().copied().unwrap_or(self.tuples.missing(self.outer))
    }

    fn has_rows(&self) -> bool {
        false
    }

    fn aggregate(&self, function: JoinAggregate, expr: &JoinExpr) -> Result<Value<'_>> {
        if function == JoinAggregate::CountDistinct {
            return self.count_distinct(expr);
        }
        let (mut sum, mut count, mut extreme) = (Sum::default(), 0, Value::Null);
        for tuple in self.group {
            let value = tuple.value(expr)?;
            if value.is_null() {
                continue;
            }
            count += 1;
            match function {
                JoinAggregate::Count | JoinAggregate::CountDistinct => {}
                JoinAggregate::Sum | JoinAggregate::Avg => match value.as_ref() {
                    ValueRef::Int(integer) => sum.add_integer(integer),
                    ValueRef::Float(float) => sum.add_float(float),
                    other => return Err(Error::mismatch("a number to sum", other)),
                },
                JoinAggregate::Min | JoinAggregate::Max => {
                    let (value, best) = (value.as_ref(), Value::as_ref(&extreme));
                    let ordering = compare(self.tuples.join, expr, value, best);
                    let is_max = function == JoinAggregate::Max;
                    if best.is_null() || (if is_max { ordering.is_gt() } else { ordering.is_lt() })
                    {
                        extreme = value.to_owned();
                    }
                }
            }
        }
        match function {
            JoinAggregate::Count | JoinAggregate::CountDistinct => Ok(Value::Int(count)),
            JoinAggregate::Sum => sum.total(),
            JoinAggregate::Avg if count == 0 => Ok(Value::Null),
            JoinAggregate::Avg => {
                let money = expr.ty(self.tuples.join) == Type::Currency;
                let unit = if money { Currency::SCALE as f64 } else { 1.0 };
                let average = sum.as_float() / count as f64 / unit;
                Ok(if average.is_nan() { Value::Null } else { Value::Float(average) })
            }
            JoinAggregate::Min | JoinAggregate::Max => Ok(extreme),
        }
    }
}

impl GroupRow<'_, '_> {
    fn count_distinct(&self, expr: &JoinExpr) -> Result<Value<'static>> {
        let collation = collation(self.tuples.join, expr);
        let mut found = HashSet::new();
        for tuple in self.group {
            found.extend(FoldedValue::new(tuple.value(expr)?.as_ref(), collation));
        }
        Ok(Value::Int(i64::try_from(found.len()).unwrap_or(i64::MAX)))
    }
}
