//! Unions, intersections and differences of rows.

use bobak_core::join::SetOperator;
use bobak_core::{Collation, FoldedValue, Value};
use std::collections::HashSet;

type ValueRow = Vec<Value<'static>>;

/// The rows of queries, combined.
pub(super) fn combine(operator: SetOperator, queries: Vec<Vec<ValueRow>>) -> Vec<ValueRow> {
    if operator == SetOperator::UnionAll {
        return queries.into_iter().flatten().collect();
    }
    let mut queries = queries.into_iter();
    let mut rows = queries.next().unwrap_or_default();
    for other in queries {
        let found: HashSet<_> = other.iter().map(folded).collect();
        match operator {
            SetOperator::Intersect => rows.retain(|row| found.contains(&folded(row))),
            SetOperator::Except => rows.retain(|row| !found.contains(&folded(row))),
            SetOperator::Union | SetOperator::UnionAll => rows.extend(other),
        }
    }
    let mut found = HashSet::new();
    rows.retain(|row| found.insert(folded(row)));
    rows
}

/// The values of a row as they compare; NULL equals NULL.
fn folded(row: &ValueRow) -> Vec<Option<FoldedValue>> {
    row.iter().map(|value| FoldedValue::new(value.as_ref(), Collation::Binary)).collect()
}
