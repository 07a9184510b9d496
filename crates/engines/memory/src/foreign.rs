//! Foreign keys: checks that parents exist, and cascades deletes.
//!
//! The parent row is found by hash. Child rows of a deleted row are found by an index that begins with one of their columns, or
//! else by a scan of all rows, as in SQLite.

use crate::order::{compare_rows, prefix};
use crate::rows::RowBytes;
use crate::state::{ChildReference, DatabaseState};
use crate::statement::AtomicStatement;
use crate::table::TableState;
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
        if has_null(row, &link.columns) {
            continue;
        }
        let parent = state.table(link.parent);
        if find(parent, link.index, row, &link.columns).is_none() {
            let table = &state.table(position).schema;
            let columns = table.column_names(&link.columns);
            return Err(Error::missing_parent(table.name(), &columns, parent.schema.name()));
        }
    }
    Ok(())
}

/// The row whose values in a unique index are those of `row` in these columns.
fn find(table: &TableState, index: usize, row: EncodedRow<'_>, columns: &[usize]) -> Option<u32> {
    let value = |at: usize| columns.get(at).map_or(ValueRef::Null, |&column| row.value(column));
    table.find(table.indexes().get(index)?, value)
}

/// Whether one of these columns is NULL: then the row refers to nothing.
fn has_null(row: EncodedRow<'_>, columns: &[usize]) -> bool {
    columns.iter().any(|&column| row.value(column).is_null())
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
        let columns = &link.columns;
        if has_null(old, columns) || compare_rows(&table.schema, columns, old, new).is_eq() {
            continue;
        }
        // Another row may have the values now.
        if find(table, link.index, old, columns).is_some() {
            continue;
        }
        if !children(state, position, link, old, true).is_empty() {
            return Err(still_referenced(state, position, link));
        }
    }
    Ok(())
}

/// A deleted row that others referred to when it was deleted, by a foreign key that does not allow it.
pub(super) struct ReferredRow {
    position: usize,
    /// The number of the foreign key among those to the table.
    link: usize,
    row: RowBytes,
}

/// Deletes a row, and the rows that its foreign keys cascade to; returns whether it existed. Rows that must not be referred to
/// when the statement ends are added to `referred`: see [`check_deleted`].
///
/// # Errors
/// `Constraint` if a column of a row that refers to it cannot be NULL.
pub(super) fn delete(
    statement: &mut AtomicStatement<'_>,
    position: usize,
    slot: u32,
    referred: &mut Vec<ReferredRow>,
) -> Result<bool> {
    let links = Arc::clone(&statement.state().links);
    let mut there = None;
    let mut waiting = vec![(position, slot)];
    while let Some((position, slot)) = waiting.pop() {
        let old = statement.remove(position, slot);
        there.get_or_insert(old.is_some());
        let Some(old) = old else { continue };
        let into = links.get(position).map_or(&[][..], |links| &links.into);
        for (number, link) in into.iter().enumerate() {
            let row = EncodedRow::new(&old);
            if has_null(row, &link.columns) {
                continue;
            }
            let restricts = !link.on_delete.changes_rows();
            let children = children(statement.state(), position, link, row, restricts);
            match link.on_delete {
                _ if children.is_empty() => {}
                OnDelete::Restrict | OnDelete::NoAction => {
                    referred.push(ReferredRow { position, link: number, row: Arc::clone(&old) });
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

/// Checks that no row refers to a deleted one any more.
///
/// # Errors
/// `Constraint`, naming the table and column that refer.
pub(super) fn check_deleted(state: &DatabaseState, referred: &[ReferredRow]) -> Result<()> {
    for ReferredRow { position, link, row } in referred {
        if let Some(link) = state.links(*position).into.get(*link)
            && !children(state, *position, link, EncodedRow::new(row), true).is_empty()
        {
            return Err(still_referenced(state, *position, link));
        }
    }
    Ok(())
}

fn set_null(statement: &mut AtomicStatement<'_>, link: &ChildReference, slot: u32) -> Result<()> {
    let table = statement.state().table(link.child);
    let Some(old) = table.bytes(slot).map(Arc::clone) else {
        return Ok(());
    };
    let before = EncodedRow::new(&old);
    let new: RowBytes = crate::rows::encode(&mut Vec::new(), &table.schema, |column| {
        if link.child_columns.contains(&column) { ValueRef::Null } else { before.value(column) }
    })?;
    table.check(EncodedRow::new(&new))?;
    statement.replace(link.child, slot, &new);
    check_into(statement.state(), link.child, before, EncodedRow::new(&new))
}

/// The rows that refer to a row of the table at `position`, or with `only_one` just the first.
fn children(
    state: &DatabaseState,
    position: usize,
    link: &ChildReference,
    row: EncodedRow<'_>,
    only_one: bool,
) -> Vec<u32> {
    let parent = &state.table(position).schema;
    let table = state.table(link.child);
    let (columns, child_columns) = (&link.columns, &link.child_columns);
    let compare = |slot: u32, child_column: usize, column: usize| {
        let found = table.row(slot).map_or(ValueRef::Null, |row| row.value(child_column));
        compare_in_column(parent, column, found, row.value(column))
    };
    let refers = |slot: &u32| {
        let mut pairs = child_columns.iter().zip(columns);
        pairs.all(|(&child_column, &column)| compare(*slot, child_column, column).is_eq())
    };
    let collation = |schema: &bobak_core::TableSchema, column: usize| {
        schema.columns().get(column).map(|c| c.collation)
    };
    let first_column = |index: &crate::table::TableIndex| {
        let first = *index.columns.first()?;
        let pair = child_columns.iter().zip(columns).find(|(child, _)| **child == first);
        // The index is usable only if it sorts as the parent's column compares.
        pair.map(|(&child, &column)| (child, column))
            .filter(|(child, own)| collation(parent, *own) == collation(&table.schema, *child))
    };
    let limit = if only_one { 1 } else { usize::MAX };
    let usable = table.indexes().iter().find_map(|index| Some((index, first_column(index)?)));
    match usable {
        Some((index, (child_column, column))) => {
            let prefix = prefix(&table.schema, child_column, row.value(column));
            let mut at =
                index.order.bound(prefix, |slot| compare(slot, child_column, column).is_lt());
            std::iter::from_fn(|| index.order.next(&mut at))
                .take_while(|slot| compare(*slot, child_column, column).is_eq())
                .filter(refers)
                .take(limit)
                .collect()
        }
        None => {
            let mut at = table.key().order.start();
            std::iter::from_fn(|| table.key().order.next(&mut at))
                .filter(refers)
                .take(limit)
                .collect()
        }
    }
}

#[cold]
fn still_referenced(state: &DatabaseState, parent: usize, link: &ChildReference) -> Error {
    let child = &state.table(link.child).schema;
    let columns = child.column_names(&link.child_columns);
    Error::still_referenced(child.name(), &columns, state.table(parent).schema.name())
}
