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
pub(super) fn collation(join: &Join, expr: &JoinExpr) -> Collation {
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
        let mut accumulator = Accumulator::new(self.tuples.join, function, expr);
        for tuple in self.group {
            accumulator.add(tuple.value(expr)?.as_ref())?;
        }
        accumulator.result()
    }
}

/// An aggregate of the values so far.
pub(super) struct Accumulator<'e> {
    join: &'e Join,
    function: JoinAggregate,
    expr: &'e JoinExpr,
    sum: Sum,
    count: i64,
    extreme: Value<'static>,
    found: HashSet<FoldedValue>,
}

impl<'e> Accumulator<'e> {
    /// An aggregate of this expression's values, without any.
    pub fn new(join: &'e Join, function: JoinAggregate, expr: &'e JoinExpr) -> Self {
        let (sum, extreme, found) = (Sum::default(), Value::Null, HashSet::new());
        Self { join, function, expr, sum, count: 0, extreme, found }
    }

    /// Adds a value.
    pub fn add(&mut self, value: ValueRef<'_>) -> Result<()> {
        if value.is_null() {
            return Ok(());
        }
        self.count += 1;
        match self.function {
            JoinAggregate::Count => {}
            JoinAggregate::CountDistinct => {
                self.found.extend(FoldedValue::new(value, collation(self.join, self.expr)));
            }
            JoinAggregate::Sum | JoinAggregate::Avg => match value {
                ValueRef::Int(integer) => self.sum.add_integer(integer),
                ValueRef::Float(float) => self.sum.add_float(float),
                other => return Err(Error::mismatch("a number to sum", other)),
            },
            JoinAggregate::Min | JoinAggregate::Max => {
                let best = Value::as_ref(&self.extreme);
                let ordering = compare(self.join, self.expr, value, best);
                let is_max = self.function == JoinAggregate::Max;
                if best.is_null() || (if is_max { ordering.is_gt() } else { ordering.is_lt() }) {
                    self.extreme = value.to_owned();
                }
            }
        }
        Ok(())
    }

    /// The aggregate.
    pub fn result(&self) -> Result<Value<'static>> {
        match self.function {
            JoinAggregate::Count => Ok(Value::Int(self.count)),
            JoinAggregate::CountDistinct => {
                Ok(Value::Int(i64::try_from(self.found.len()).unwrap_or(i64::MAX)))
            }
            JoinAggregate::Sum => self.sum.total(),
            JoinAggregate::Avg if self.count == 0 => Ok(Value::Null),
            JoinAggregate::Avg => {
                let money = self.expr.ty(self.join) == Type::Currency;
                let unit = if money { Currency::SCALE as f64 } else { 1.0 };
                let average = self.sum.as_float() / self.count as f64 / unit;
                Ok(if average.is_nan() { Value::Null } else { Value::Float(average) })
            }
            JoinAggregate::Min | JoinAggregate::Max => Ok(self.extreme.clone()),
        }
    }
}
