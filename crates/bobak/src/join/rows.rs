//! The rows of a join in this process.

use super::calculation::{self, Evaluate};
use super::groups::{self, GroupRow};
use super::tuples::{JoinedTuples, TupleRow};
use bobak_core::{Interrupt, Join, Result, Row, Value};
use std::cmp::Ordering;

/// Filters, groups and sorts rows of a join: of all of them those that may match, with the row of the query around it.
pub(super) fn calculate<'t>(
    tuples: &'t JoinedTuples<'t>,
    rows: impl Iterator<Item = TupleRow<'t>>,
    outer: Option<&'t TupleRow<'t>>,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let join = tuples.join;
    let mut found = Vec::new();
    for tuple in rows {
        if tuple.all_hold(tuples.later_filters.iter().copied())? {
            found.push(tuple);
        }
    }
    if join.is_grouped() {
        let groups = groups::of(join, found)?;
        let groups = groups.iter().map(|group| GroupRow { tuples, group, outer });
        return hand_out(join, groups, row);
    }
    hand_out(join, found.into_iter(), row)
}

/// Sorts rows, and hands out those between the offset and the limit.
fn hand_out<E: Evaluate>(
    join: &Join,
    rows: impl Iterator<Item = E>,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let mut sorted = Vec::new();
    for evaluated in rows {
        if join.having.is_empty() || evaluated.all_hold(&join.having)? {
            let keys = join.order.iter().map(|step| Ok(evaluated.value(&step.expr)?.into_owned()));
            sorted.push((keys.collect::<Result<Vec<_>>>()?, evaluated));
        }
    }
    Interrupt::check()?;
    sorted.sort_by(|(a, _), (b, _)| compare_keys(join, a, b));
    let offset = usize::try_from(join.offset).unwrap_or(usize::MAX);
    let limit = join.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    for (_, evaluated) in sorted.iter().skip(offset).take(limit) {
        let values = join.columns.iter().map(|expr| evaluated.value(expr));
        let values = values.collect::<Result<Vec<_>>>()?;
        if !row(&values.as_slice())? {
            break;
        }
    }
    Ok(())
}

fn compare_keys(join: &Join, a: &[Value<'_>], b: &[Value<'_>]) -> Ordering {
    for (step, (a, b)) in join.order.iter().zip(a.iter().zip(b)) {
        let ordering = calculation::compare(join, &step.expr, a.as_ref(), b.as_ref());
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
