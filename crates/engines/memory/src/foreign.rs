//! Foreign keys: checks that parents exist, and cascades deletes.
//!
//! The parent row is found by hash. Child rows of a deleted row are found by an index that begins with their column, or
//! else by a scan of all rows, as in SQLite.

use crate::order::{compare_rows, prefix};
use crate::rows::RowBytes;
use crate::state::{ChildReference, DatabaseState};
use crate::statement::AtomicStatement;
use bobak_core::codec::EncodedRow;
use bobak_core::compare_in_column;
use bobak_core::{Error, OnDelete, Result, ValueRef};
use std::sync::Arc;

/// Checks that the parents of a row exist.
///
/// # Errors
/// `Constraint`, naming table and column.
pub(super) fn check_out(state: &DatabaseState, position: usize, row: EncodedRow<'_>) -> Result<()> {
    for link in &state.links(position).out {
        let value = row.value(link.column);
        if value.is_null() {
            continue;
        }
        let parent = state.table(link.parent);
        let index = parent.indexes().get(link.index);
        if index.and_then(|index| parent.find(index, |_| value)).is_none() {
            let table = &state.table(position).schema;
            let column = table.columns().get(link.column).map_or("", |column| &column.name);
            return Err(Error::missing_parent(table.name(), column, parent.schema.name()));
        }
    }
    Ok(())
}

/// Checks that no row refers to a value that an update removed.
///
/// # Errors
/// `Constraint`, naming the table and column that refer.
pub(super) fn check_into(
    state: &DatabaseState,
    position: usize,
    old: EncodedRow<'_>,
    new: EncodedRow<'_>,
) -> Result<()> {
    let table = state.table(position);
    for link in &state.links(position).into {
        let value = old.value(link.column);
        if value.is_null() || compare_rows(&table.schema, &[link.column], old, new).is_eq() {
            continue;
        }
        // Another row may have the value now.
        let index = table.indexes().get(link.index);
        if index.and_then(|index| table.find(index, |_| value)).is_some() {
            continue;
        }
        if !children(state, position, link, value, true).is_empty() {
            return Err(still_referenced(state, position, link));
        }
    }
    Ok(())
}

/// Deletes a row, and the rows that its foreign keys cascade to; returns whether it existed.
///
/// # Errors
/// `Constraint` if a row refers to it and the foreign key does not allow the delete, or its column cannot be NULL.
pub(super) fn delete(
    statement: &mut AtomicStatement<'_>,
    position: usize,
    slot: u32,
) -> Result<bool> {
    let links = Arc::clone(&statement.state().links);
    let mut there = None;
    let mut waiting = vec![(position, slot)];
    while let Some((position, slot)) = waiting.pop() {
        let old = statement.remove(position, slot);
        there.get_or_insert(old.is_some());
        let Some(old) = old else { continue };
        for link in links.get(position).map_or(&[][..], |links| &links.into) {
            let value = EncodedRow::new(&old).value(link.column);
            if value.is_null() {
                continue;
            }
            let restricts = !link.on_delete.changes_rows();
            let children = children(statement.state(), position, link, value, restricts);
            match link.on_delete {
                _ if children.is_empty() => {}
                OnDelete::Restrict | OnDelete::NoAction => {
                    return Err(still_referenced(statement.state(), position, link));
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

fn set_null(statement: &mut AtomicStatement<'_>, link: &ChildReference, slot: u32) -> Result<()> {
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

/// The rows that refer to a value of the table at `position`, or with `only_one` just the first.
fn children(
    state: &DatabaseState,
    position: usize,
    link: &ChildReference,
    value: ValueRef<'_>,
    only_one: bool,
) -> Vec<u32> {
    let parent = &state.table(position).schema;
    let table = state.table(link.child);
    let compare = |slot: u32| {
        let found = table.row(slot).map_or(ValueRef::Null, |row| row.value(link.child_column));
        compare_in_column(parent, link.column, found, value)
    };
    let collation = |schema: &bobak_core::TableSchema, column: usize| {
        schema.columns().get(column).map(|c| c.collation)
    };
    // The index is usable only if it sorts as the parent's column compares.
    let alike = collation(parent, link.column) == collation(&table.schema, link.child_column);
    let usable = |index: &&crate::table::TableIndex| {
        alike && index.columns.first() == Some(&link.child_column)
    };
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
fn still_referenced(state: &DatabaseState, parent: usize, link: &ChildReference) -> Error {
    let child = &state.table(link.child).schema;
    let column = child.columns().get(link.child_column).map_or("", |column| &column.name);
    Error::still_referenced(child.name(), column, state.table(parent).schema.name())
}
