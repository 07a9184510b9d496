//! Foreign keys: what must be there, and what goes with a deleted row.
//!
//! The row referred to is found by hash. Those that refer to a deleted row are found by an index that
//! begins with their column, and without one by a look at all rows, as in SQLite.

use crate::order::{compare_rows, prefix};
use crate::rows::RowBytes;
use crate::state::{Incoming, State};
use crate::statement::Statement;
use bobak_core::codec::EncodedRow;
use bobak_core::compare_in_column;
use bobak_core::{Error, ErrorKind, OnDelete, Result, ValueRef};
use std::sync::Arc;

/// Checks that the rows that a row refers to are there.
///
/// # Errors
/// `Constraint`, naming table and column.
pub(super) fn check_out(state: &State, place: usize, row: EncodedRow<'_>) -> Result<()> {
    for link in &state.links(place).out {
        let value = row.value(link.column);
        if value.is_null() {
            continue;
        }
        let parent = state.table(link.parent);
        let index = parent.indexes().get(link.index);
        if index.and_then(|index| parent.find(index, |_| value)).is_none() {
            let message = format!("no row of {} has this value", parent.schema.name());
            return Err(constraint(state, place, link.column, message));
        }
    }
    Ok(())
}

/// Checks that no row refers to a value that went with an update.
///
/// # Errors
/// `Constraint`, naming the table and column that was updated.
pub(super) fn check_into(
    state: &State,
    place: usize,
    old: EncodedRow<'_>,
    new: EncodedRow<'_>,
) -> Result<()> {
    let table = state.table(place);
    for link in &state.links(place).into {
        let value = old.value(link.column);
        if value.is_null() || compare_rows(&table.schema, &[link.column], old, new).is_eq() {
            continue;
        }
        // Another row may have taken the value.
        let index = table.indexes().get(link.index);
        if index.and_then(|index| table.find(index, |_| value)).is_some() {
            continue;
        }
        if !children(state, place, link, value, true).is_empty() {
            let child = state.table(link.child).schema.name();
            let message = format!("rows of {child} refer to the value that it had");
            return Err(constraint(state, place, link.column, message));
        }
    }
    Ok(())
}

/// Deletes a row, and what must go with it; gives whether it was there.
///
/// # Errors
/// `Constraint` where a row refers to it that must not, or can't become NULL.
pub(super) fn delete(statement: &mut Statement<'_>, place: usize, slot: u32) -> Result<bool> {
    let links = Arc::clone(&statement.state().links);
    let mut there = None;
    let mut waiting = vec![(place, slot)];
    while let Some((place, slot)) = waiting.pop() {
        let old = statement.remove(place, slot);
        there.get_or_insert(old.is_some());
        let Some(old) = old else { continue };
        for link in links.get(place).map_or(&[][..], |links| &links.into) {
            let value = EncodedRow::new(&old).value(link.column);
            if value.is_null() {
                continue;
            }
            let restricts = link.on_delete == OnDelete::Restrict;
            let children = children(statement.state(), place, link, value, restricts);
            match link.on_delete {
                _ if children.is_empty() => {}
                OnDelete::Restrict => {
                    let child = statement.state().table(link.child).schema.name();
                    let message = format!("the row can't be deleted: rows of {child} refer to it");
                    return Err(constraint(statement.state(), place, link.column, message));
                }
                OnDelete::Cascade => {
                    waiting.extend(children.into_iter().map(|slot| (link.child, slot)));
                }
                OnDelete::SetNull => {
                    for slot in children {
                        set_null(statement, link, slot)?;
                    }
                }
            }
        }
    }
    Ok(there == Some(true))
}

fn set_null(statement: &mut Statement<'_>, link: &Incoming, slot: u32) -> Result<()> {
    let table = statement.state().table(link.child);
    let Some(old) = table.bytes(slot).map(Arc::clone) else {
        return Ok(());
    };
    let before = EncodedRow::new(&old);
    let new: RowBytes = crate::rows::encode(&mut Vec::new(), &table.schema, |column| {
        if column == link.child_column { ValueRef::Null } else { before.value(column) }
    })?;
    table.check(EncodedRow::new(&new))?;
    statement.replace(link.child, slot, &new);
    check_into(statement.state(), link.child, before, EncodedRow::new(&new))
}

/// The rows that refer to a value of the table at `place`; one of them is enough where
/// `only_one`.
fn children(
    state: &State,
    place: usize,
    link: &Incoming,
    value: ValueRef<'_>,
    only_one: bool,
) -> Vec<u32> {
    let parent = &state.table(place).schema;
    let table = state.table(link.child);
    let compare = |slot: u32| {
        let found = table.row(slot).map_or(ValueRef::Null, |row| row.value(link.child_column));
        compare_in_column(parent, link.column, found, value)
    };
    let collation = |schema: &bobak_core::TableSchema, column: usize| {
        schema.columns().get(column).map(|c| c.collation)
    };
    // The index must sort as the parent's column compares.
    let alike = collation(parent, link.column) == collation(&table.schema, link.child_column);
    let usable =
        |index: &&crate::table::Index| alike && index.columns.first() == Some(&link.child_column);
    let limit = if only_one { 1 } else { usize::MAX };
    match table.indexes().iter().find(usable) {
        Some(index) => {
            let prefix = prefix(&table.schema, link.child_column, value);
            let mut at = index.order.bound(prefix, |slot| compare(slot).is_lt());
            std::iter::from_fn(|| index.order.next(&mut at))
                .take_while(|slot| compare(*slot).is_eq())
                .take(limit)
                .collect()
        }
        None => {
            let mut at = table.key().order.start();
            std::iter::from_fn(|| table.key().order.next(&mut at))
                .filter(|slot| compare(*slot).is_eq())
                .take(limit)
                .collect()
        }
    }
}

#[cold]
fn constraint(state: &State, place: usize, column: usize, message: String) -> Error {
    let schema = &state.table(place).schema;
    let error = Error::new(ErrorKind::Constraint, message).in_table(schema.name());
    match schema.columns().get(column) {
        Some(column) => error.in_column(column.name.clone()),
        None => error,
    }
}
