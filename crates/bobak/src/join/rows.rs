//! The rows of a join in this process.

use super::calculation::{Evaluate, compare_keys};
use super::groups::{self, GroupRow};
use super::tuples::{JoinedTuples, TupleRow};
use super::windows::{WindowRow, WindowValues};
use bobak_core::{Interrupt, Join, Result, Row};

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
    let mut found = Vec::new();
    for evaluated in rows {
        if join.having.is_empty() || evaluated.all_hold(&join.having)? {
            found.push(evaluated);
        }
    }
    let windows = &WindowValues::new(join, &found)?;
    let mut sorted = Vec::new();
    for (number, inner) in found.iter().enumerate() {
        let evaluated = WindowRow { inner, windows, number };
        if join.qualify.is_empty() || evaluated.all_hold(&join.qualify)? {
            let keys = join.order.iter().map(|step| Ok(evaluated.value(&step.expr)?.into_owned()));
            sorted.push((keys.collect::<Result<Vec<_>>>()?, evaluated));
        }
    }
    Interrupt::check()?;
    sorted.sort_by(|(a, _), (b, _)| compare_keys(join, &join.order, a, b));
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
