//! A condition that many rows are compared with.

use bobak_core::codec::EncodedRow;
use bobak_core::{Condition, TableSchema, Value, ValueRef, compare_in_column};

/// A condition with its long lists sorted: looking through a list for each row would cost the product of both.
#[derive(Debug)]
pub struct PreparedCondition {
    /// `None` if the lists are all of it.
    rest: Option<Condition>,
    lists: Vec<SortedList>,
}

/// Shorter lists are searched from the start.
const LONG_LIST: usize = 8;

/// An IN with many values that every row must match, or none may.
#[derive(Debug)]
struct SortedList {
    column: usize,
    /// In the order of the column.
    values: Vec<Value<'static>>,
    /// Whether rows match if their value is not among them.
    is_negated: bool,
}

impl PreparedCondition {
    /// Prepares a condition over a table.
    #[must_use]
    pub fn new(condition: &Condition, schema: &TableSchema) -> Self {
        let mut lists = Vec::new();
        let rest = take_lists(condition, schema, &mut lists);
        Self { rest, lists }
    }

    /// Whether the condition is true for a row.
    #[inline]
    #[must_use]
    pub fn matches(&self, schema: &TableSchema, row: EncodedRow<'_>) -> bool {
        self.lists.iter().all(|list| list.matches(schema, row.value(list.column)))
            && self.rest.as_ref().is_none_or(|rest| rest.evaluate(schema, &row) == Some(true))
    }
}

impl SortedList {
    fn new(
        schema: &TableSchema,
        column: usize,
        values: &[Value<'static>],
        is_negated: bool,
    ) -> Self {
        let mut values = values.to_vec();
        values.sort_unstable_by(|a, b| compare_in_column(schema, column, a.as_ref(), b.as_ref()));
        Self { column, values, is_negated }
    }

    /// The list has no NULL, and NULL is neither in it nor not in it.
    fn matches(&self, schema: &TableSchema, value: ValueRef<'_>) -> bool {
        let compare = |v: &Value<'_>| compare_in_column(schema, self.column, v.as_ref(), value);
        !value.is_null() && self.values.binary_search_by(compare).is_ok() != self.is_negated
    }
}

/// Moves the long lists that every row must match out of a condition, and returns the rest of it.
fn take_lists(
    condition: &Condition,
    schema: &TableSchema,
    lists: &mut Vec<SortedList>,
) -> Option<Condition> {
    let mut take = |condition: &Condition, is_negated| match condition {
        Condition::In { column, values } if values.len() > LONG_LIST => {
            lists.push(SortedList::new(schema, *column, values, is_negated));
            true
        }
        _ => false,
    };
    match condition {
        Condition::In { .. } if take(condition, false) => None,
        Condition::Not(part) if take(part, true) => None,
        Condition::And(parts) => {
            let rest = parts.iter().filter_map(|part| take_lists(part, schema, lists));
            let rest: Vec<Condition> = rest.collect();
            (!rest.is_empty()).then_some(Condition::And(rest))
        }
        other => Some(other.clone()),
    }
}
