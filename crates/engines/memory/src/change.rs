//! Updates and deletes by a condition.

use crate::foreign;
use crate::rows::encode;
use crate::scan::Scan;
use crate::state::DatabaseState;
use crate::statement::{AtomicStatement, UndoStep};
use crate::table::TableState;
use crate::write::{check_links, check_update};
use bobak_core::codec::EncodedRow;
use bobak_core::{Assign, Condition, Order, Result, TableSchema, Value, ValueRef};
use bobak_engine_common::raised_version;
use std::sync::Arc;

/// The slots of the rows that match the condition, by key.
pub(super) fn concerned(table: Arc<TableState>, condition: Option<&Condition>) -> Vec<u32> {
    let ascending = |&column: &usize| Order { column, descending: false };
    let by_key: Vec<Order> = table.schema.key().iter().map(ascending).collect();
    let mut scan = Scan::new(table, condition, &by_key, None);
    std::iter::from_fn(|| scan.next_slot()).collect()
}

/// Deletes rows; returns how many existed.
///
/// # Errors
/// `Constraint`; nothing is changed then.
pub(super) fn delete(state: &mut DatabaseState, position: usize, slots: &[u32]) -> Result<u64> {
    AtomicStatement::run(state, |statement| {
        let (mut deleted, mut referred) = (0, Vec::new());
        for &slot in slots {
            // A cascade may have deleted the row already.
            deleted += u64::from(foreign::delete(statement, position, slot, &mut referred)?);
        }
        foreign::check_deleted(statement.state(), &referred)?;
        Ok(deleted)
    })
}

/// Updates rows one after the other; returns their number.
///
/// # Errors
/// As [`Session::change`](bobak_core::Session::change); nothing is changed then.
pub(super) fn update(
    state: &mut DatabaseState,
    position: usize,
    given: &TableSchema,
    slots: &[u32],
    assign: &[Assign],
) -> Result<u64> {
    let mut buffer = Vec::new();
    AtomicStatement::run(state, |statement| {
        for &slot in slots {
            let table = statement.state().table(position);
            let Some(old) = table.row(slot) else { continue };
            let new = assigned(table, old, given.version(), assign, &mut buffer)?;
            check_update(table, slot, &new)?;
            statement.replace(position, slot, &new);
        }
        // Foreign keys hold at the end of the statement, not after each row.
        let state = statement.state();
        let links = state.links(position);
        let has_links = !links.out.is_empty() || !links.into.is_empty();
        for done in statement.done().iter().filter(|_| has_links) {
            if let UndoStep::Replaced { position, slot, old } = done
                && let Some(new) = state.table(*position).bytes(*slot)
            {
                check_links(state, *position, Some(old), new)?;
            }
        }
        Ok(slots.len() as u64)
    })
}

/// The row after the assignments, with its version raised.
fn assigned(
    table: &TableState,
    old: EncodedRow<'_>,
    version: Option<usize>,
    assign: &[Assign],
    buffer: &mut Vec<u8>,
) -> Result<Arc<[u8]>> {
    let version = raised_version(&table.schema, old, version)?;
    let mut assigned: Vec<(usize, Value<'static>)> = Vec::with_capacity(assign.len());
    for step in assign {
        let column = step.column();
        assigned.push((column, step.apply(&table.schema, old.value(column))?));
    }
    let new = encode(buffer, &table.schema, |column| {
        if let Some((position, version)) = version
            && position == column
        {
            return ValueRef::Int(version);
        }
        // If a column is assigned several times, the last assignment counts.
        let new = assigned.iter().rev().find(|(assigned, _)| *assigned == column);
        new.map_or_else(|| old.value(column), |(_, value)| value.as_ref())
    })?;
    table.complete(new)
}
