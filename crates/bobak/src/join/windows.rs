//! Window functions: values calculated from other rows of a join.

use super::calculation::{Evaluate, compare_keys};
use super::groups::{Accumulator, collation};
use super::tuples::TupleRow;
use bobak_core::join::{JoinAggregate, JoinExpr, JoinWindow, WindowFunction};
use bobak_core::{FoldedValue, Interrupt, Join, Result, Value, ValueRef};
use std::cmp::Ordering;
use std::collections::HashMap;

/// The values of a join's window functions in each row.
pub(super) struct WindowValues<'j>(Vec<(&'j JoinWindow, Vec<Value<'static>>)>);

/// A row with the values of window functions.
pub(super) struct WindowRow<'w, E> {
    pub inner: &'w E,
    pub windows: &'w WindowValues<'w>,
    /// The number of the row.
    pub number: usize,
}

impl<E: Evaluate> Evaluate for WindowRow<'_, E> {
    fn row(&self) -> TupleRow<'_> {
        self.inner.row()
    }

    fn aggregate(&self, function: JoinAggregate, expr: &JoinExpr) -> Result<Value<'_>> {
        self.inner.aggregate(function, expr)
    }

    fn has_rows(&self) -> bool {
        self.inner.has_rows()
    }

    fn window(&self, window: &JoinWindow) -> Result<Value<'_>> {
        let found = self.windows.0.iter().find(|(other, _)| *other == window);
        let value = found.and_then(|(_, values)| values.get(self.number));
        value.map_or_else(|| self.inner.window(window), |value| Ok(value.as_ref().into()))
    }
}

impl<'j> WindowValues<'j> {
    pub fn new<E: Evaluate>(join: &'j Join, rows: &[E]) -> Result<Self> {
        let mut windows: Vec<&JoinWindow> = Vec::new();
        join.for_each_window(&mut |window| {
            if !windows.contains(&window) {
                windows.push(window);
            }
        });
        let calculated = |window| Ok((window, values_of(join, window, rows)?));
        windows.into_iter().map(calculated).collect::<Result<_>>().map(Self)
    }
}

/// The value of a window function in each row.
fn values_of<E: Evaluate>(
    join: &Join,
    window: &JoinWindow,
    rows: &[E],
) -> Result<Vec<Value<'static>>> {
    let arguments = match &window.argument {
        Some(argument) => values_in(rows, argument)?,
        None => vec![Value::Null; rows.len()],
    };
    let keys = rows.iter().map(|row| {
        let keys = window.order.iter().map(|step| row.value(&step.expr).map(Value::into_owned));
        keys.collect::<Result<Vec<_>>>()
    });
    let keys = keys.collect::<Result<Vec<_>>>()?;
    let order = |a: usize, b: usize| match (keys.get(a), keys.get(b)) {
        (Some(a), Some(b)) => compare_keys(join, &window.order, a, b),
        _ => Ordering::Equal,
    };
    let mut values = vec![Value::Null; rows.len()];
    for mut partition in partitions(join, window, rows)? {
        Interrupt::check()?;
        partition.sort_by(|&a, &b| order(a, b));
        let found = match window.function {
            WindowFunction::Aggregate(function, last) => {
                aggregates(join, window, (function, last), &partition, &arguments)?
            }
            WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank => {
                numbers(window.function, &partition, &order)
            }
            function => {
                let value = |at| value_of_other(function, at, &partition, &arguments);
                (0..partition.len()).map(value).collect()
            }
        };
        for (number, value) in partition.into_iter().zip(found) {
            if let Some(slot) = values.get_mut(number) {
                *slot = value;
            }
        }
    }
    Ok(values)
}

fn values_in<E: Evaluate>(rows: &[E], expr: &JoinExpr) -> Result<Vec<Value<'static>>> {
    rows.iter().map(|row| row.value(expr).map(Value::into_owned)).collect()
}

/// The numbers of the rows of each partition.
fn partitions<E: Evaluate>(
    join: &Join,
    window: &JoinWindow,
    rows: &[E],
) -> Result<Vec<Vec<usize>>> {
    let mut numbers: HashMap<Vec<Option<FoldedValue>>, Vec<usize>> = HashMap::new();
    for (number, row) in rows.iter().enumerate() {
        let folded = |expr: &JoinExpr| {
            Ok(FoldedValue::new(row.value(expr)?.as_ref(), collation(join, expr)))
        };
        let key = window.partition.iter().map(folded).collect::<Result<_>>()?;
        numbers.entry(key).or_default().push(number);
    }
    Ok(numbers.into_values().collect())
}

/// The numbers of the rows of a sorted partition.
fn numbers(
    function: WindowFunction,
    partition: &[usize],
    order: &impl Fn(usize, usize) -> Ordering,
) -> Vec<Value<'static>> {
    let (mut before, mut rank, mut dense) = (None, 0, 0);
    let number = |(at, row): (i64, &usize)| {
        if before.is_none_or(|before| order(before, *row).is_ne()) {
            (rank, dense) = (at, dense + 1);
        }
        before = Some(*row);
        Value::Int(match function {
            WindowFunction::Rank => rank,
            WindowFunction::DenseRank => dense,
            _ => at,
        })
    };
    (1..).zip(partition).map(number).collect()
}

/// The argument's value in another row of a sorted partition.
fn value_of_other(
    function: WindowFunction,
    at: usize,
    partition: &[usize],
    arguments: &[Value<'static>],
) -> Value<'static> {
    let other = match function {
        WindowFunction::Lag(rows) => at.checked_sub(rows as usize),
        WindowFunction::Lead(rows) => at.checked_add(rows as usize),
        WindowFunction::Last => partition.len().checked_sub(1),
        _ => Some(0),
    };
    let number = other.and_then(|other| partition.get(other));
    number.and_then(|number| arguments.get(*number)).cloned().unwrap_or_default()
}

/// The values of an aggregate in the rows of a sorted partition.
fn aggregates(
    join: &Join,
    window: &JoinWindow,
    (function, last): (JoinAggregate, Option<u32>),
    partition: &[usize],
    arguments: &[Value<'static>],
) -> Result<Vec<Value<'static>>> {
    let Some(expr) = &window.argument else { return Ok(Vec::new()) };
    let of = |places: &[usize]| {
        let mut accumulator = Accumulator::new(join, function, expr);
        let values = places.iter().filter_map(|number| arguments.get(*number));
        values.map(Value::as_ref).try_for_each(|value| accumulator.add(value))?;
        accumulator.result()
    };
    if window.order.is_empty() {
        return Ok(vec![of(partition)?; partition.len()]);
    }
    if let Some(last) = last {
        let first = |at: usize| (at + 1).saturating_sub(last.max(1) as usize);
        let frame = |at: usize| partition.get(first(at)..=at).unwrap_or_default();
        return (0..partition.len()).map(|at| of(frame(at))).collect();
    }
    let mut accumulator = Accumulator::new(join, function, expr);
    let so_far = partition.iter().map(|number| {
        accumulator.add(arguments.get(*number).map_or(ValueRef::Null, Value::as_ref))?;
        accumulator.result()
    });
    so_far.collect()
}
