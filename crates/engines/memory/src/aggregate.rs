//! Queries with aggregates: the scan, and the groups of `bobak-engine-common`.

use crate::scan::Scan;
use crate::search;
use crate::table::TableState;
use bobak_core::{Expr, Order, Result, Select, Value};
use bobak_engine_common::Groups;
use std::sync::Arc;

/// The groups' rows, in order.
///
/// # Errors
/// `OutOfRange` if a sum overflows, `Mismatch` if what is summed is not a number.
pub(super) fn run(table: Arc<TableState>, select: &Select) -> Result<Vec<Vec<Value<'static>>>> {
    if is_count_of_all(select) {
        let count = Value::Int(table.len() as i64);
        return Ok(vec![vec![count; select.columns.len()]]);
    }
    let schema = Arc::clone(&table.schema);
    let by_key: Vec<Order> = if Groups::needs_key_order(&schema, select) {
        let ascending = |&column| Order { column, descending: false };
        schema.key().iter().map(ascending).collect()
    } else {
        Vec::new()
    };
    let condition = select.condition.as_ref();
    let mut scan = match &select.search {
        None => Scan::new(table, condition, &by_key, None),
        Some(search) => {
            let slots = search::matching_slots(&table, search)?;
            Scan::of_slots(table, slots, condition, &by_key)
        }
    };
    let mut groups = Groups::new(&schema, select);
    while let Some(row) = scan.next_row() {
        groups.add(row)?;
    }
    groups.finish()
}

/// Whether a query asks for nothing but the number of all rows.
fn is_count_of_all(select: &Select) -> bool {
    select.condition.is_none()
        && select.search.is_none()
        && select.group.is_empty()
        && select.columns.iter().all(|expr| *expr == Expr::Count)
}
