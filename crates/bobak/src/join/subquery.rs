//! The rows of queries inside of a join's expressions and conditions.

use super::calculation::Evaluate;
use super::combined;
use super::rows::calculate;
use super::tuples::{JoinedTuples, NestedQuery, TupleRow};
use crate::handle::SessionSource;
use crate::shape::ShapeRows;
use bobak_core::join::{JoinColumn, JoinCondition, JoinExpr, JoinRows, JoinSubquery};
use bobak_core::{Collation, Comparison, FoldedValue, Join, Result, Row, Value, ValueRef};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

/// Reads the rows of a join's tables, and of those of the queries inside of it. What filters leave out whatever the row of the
/// query around is, is left out. `given` are the rows of a first table with the rows of no query.
pub(super) fn load<'j>(
    source: &SessionSource<'_>,
    join: &'j Join,
    given: Option<&[Vec<Value<'static>>]>,
) -> Result<JoinedTuples<'j>> {
    let combine = |rows: &JoinRows, columns| {
        if let Some(given) = given {
            return ShapeRows::of_values(columns, given);
        }
        let queries = rows.queries.iter().map(|query| {
            let (tuples, mut found) = (load(source, &query.join, None)?, Vec::new());
            calculate(&tuples, tuples.iter(None), None, &mut |row| {
                found.push((0..row.len()).map(|place| row.get(place).to_owned()).collect());
                Ok(true)
            })?;
            Ok(found)
        });
        let rows = combined::combine(rows.operator, queries.collect::<Result<_>>()?);
        ShapeRows::of_values(columns, &rows)
    };
    let mut joined = JoinedTuples::load(source, join, &combine)?;
    let mut queries = Vec::new();
    join.for_each_query(&mut |query| queries.push(query));
    for query in queries {
        joined.subqueries.push(Box::new(LoadedSubquery::load(source, query)?));
    }
    let depends = |filter: &&JoinCondition| {
        let mut depends = false;
        filter.for_each_column(&mut |column| depends |= column.table < join.outer);
        depends
    };
    let (later, own): (Vec<_>, Vec<_>) = join.filters.iter().partition(depends);
    joined.later_filters = later;
    joined.keep_if(|tuple| tuple.all_hold(own.iter().copied()))?;
    Ok(joined)
}

/// A query inside of a join, and the rows of its tables.
struct LoadedSubquery<'j> {
    query: &'j JoinSubquery,
    tuples: JoinedTuples<'j>,
    index: Option<TupleIndex<'j>>,
    /// What a query has that does not depend on the row around it.
    constant: Option<OnceCell<FirstColumn>>,
}

/// The numbers of rows by the value of an expression that must equal one of the row around.
struct TupleIndex<'j> {
    outer: &'j JoinExpr,
    numbers: HashMap<FoldedValue, Vec<usize>>,
}

/// The first column of a query's rows.
#[derive(Default)]
struct FirstColumn {
    has_rows: bool,
    first: Value<'static>,
    values: HashSet<FoldedValue>,
}

impl<'j> LoadedSubquery<'j> {
    fn load(source: &SessionSource<'_>, query: &'j JoinSubquery) -> Result<Self> {
        let tuples = load(source, &query.join, None)?;
        let constant = query.is_constant().then(OnceCell::new);
        let index = TupleIndex::new(&tuples)?;
        Ok(Self { query, tuples, index, constant })
    }

    fn ask<A>(&self, outer: &TupleRow<'_>, ask: impl FnOnce(&FirstColumn) -> A) -> Result<A> {
        let Some(constant) = &self.constant else {
            return self.find(outer).map(|found| ask(&found));
        };
        if let Some(known) = constant.get() {
            return Ok(ask(known));
        }
        let found = self.find(outer)?;
        Ok(ask(constant.get_or_init(|| found)))
    }

    fn find(&self, outer: &TupleRow<'_>) -> Result<FirstColumn> {
        let mut column = FirstColumn::default();
        let mut each = |row: &dyn Row| {
            let value = row.get(0);
            if !column.has_rows {
                column.first = value.to_owned();
            }
            column.has_rows = true;
            column.values.extend(FoldedValue::new(value, Collation::Binary));
            Ok(true)
        };
        let (tuples, around) = (&self.tuples, Some(outer));
        match &self.index {
            None => calculate(tuples, tuples.iter(around), around, &mut each)?,
            Some(index) => {
                let value = tuples.missing(around).value(index.outer)?.into_owned();
                let key = FoldedValue::new(value.as_ref(), Collation::Binary);
                let numbers = key.and_then(|key| index.numbers.get(&key)).map_or(&[][..], |n| n);
                let rows = numbers.iter().filter_map(|number| tuples.at(*number, around));
                calculate(tuples, rows, around, &mut each)?;
            }
        }
        Ok(column)
    }
}

impl NestedQuery for LoadedSubquery<'_> {
    fn query(&self) -> &JoinSubquery {
        self.query
    }

    fn has_rows(&self, outer: &TupleRow<'_>) -> Result<bool> {
        self.ask(outer, |found| found.has_rows)
    }

    fn value(&self, outer: &TupleRow<'_>) -> Result<Value<'static>> {
        self.ask(outer, |found| found.first.clone())
    }

    fn has_value(&self, value: ValueRef<'_>, outer: &TupleRow<'_>) -> Result<Option<bool>> {
        self.ask(outer, |found| match FoldedValue::new(value, Collation::Binary) {
            _ if found.values.is_empty() => Some(false),
            Some(value) => Some(found.values.contains(&value)),
            None => None,
        })
    }
}

impl<'j> TupleIndex<'j> {
    fn new(tuples: &JoinedTuples<'j>) -> Result<Option<Self>> {
        let links = tuples.later_filters.iter().filter_map(|filter| link(tuples.join, filter));
        let Some((own, outer)) = links.into_iter().next() else { return Ok(None) };
        let mut numbers: HashMap<_, Vec<usize>> = HashMap::new();
        for (number, tuple) in tuples.iter(None).enumerate() {
            if let Some(key) = FoldedValue::new(tuple.value(own)?.as_ref(), Collation::Binary) {
                numbers.entry(key).or_default().push(number);
            }
        }
        Ok(Some(Self { outer, numbers }))
    }
}

/// An expression of the query's own rows that equals one of the row around, by a filter.
fn link<'j>(join: &Join, filter: &'j JoinCondition) -> Option<(&'j JoinExpr, &'j JoinExpr)> {
    let JoinCondition::Compare(left, Comparison::Equal, right) = filter else { return None };
    let reads = |expr: &JoinExpr| {
        let (mut own, mut outer) = (false, false);
        expr.for_each_column(&mut |column: JoinColumn| {
            own |= column.table >= join.outer;
            outer |= column.table < join.outer;
        });
        (own, outer)
    };
    match (reads(left), reads(right)) {
        ((true, false), (false, true)) => Some((left, right)),
        ((false, true), (true, false)) => Some((right, left)),
        _ => None,
    }
}
