//! Runs a query over rows: for engines that have no query language.

use crate::aggregate::Groups;
use crate::prepared_condition::PreparedCondition;
use bobak_core::codec::EncodedRow;
use bobak_core::{Interrupt, Result, Row, Select, TableSchema, ValueRef, compare_in_column};
use std::cmp::Ordering;

/// The callback of a scan. It takes a row, and returns whether the scan goes on.
pub type EachRow<'a> = dyn FnMut(EncodedRow<'_>) -> Result<bool> + 'a;

/// The number of rows between two checks for an interrupt.
const INTERRUPT_INTERVAL: u32 = 256;

/// Some columns of a row.
struct ProjectedRow<'a> {
    row: EncodedRow<'a>,
    columns: &'a [usize],
}

/// Runs a query over the rows that `scan` passes on, and passes its result to `row`: condition,
/// groups and aggregates, order, offset, limit and columns.
///
/// `scan` MUST pass rows in the order of their keys, and no row twice. It MAY leave out rows that the
/// condition excludes, such as those outside of a range of keys. `schema` is the stored table's, whose
/// collations count. A query by key returns rows while they are scanned; other orders, and groups, are
/// collected in memory.
///
/// # Errors
/// Those of `scan` and `row`; `OutOfRange` if a sum overflows; `Interrupted`.
pub fn run_select(
    schema: &TableSchema,
    select: &Select,
    scan: impl FnOnce(&mut EachRow<'_>) -> Result<()>,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let mut passed = 0_u32;
    let condition = select.condition.as_ref().map(|c| PreparedCondition::new(c, schema));
    let mut keeps = |found: EncodedRow<'_>| {
        passed = passed.wrapping_add(1);
        if passed.is_multiple_of(INTERRUPT_INTERVAL) {
            Interrupt::check()?;
        }
        Ok(condition.as_ref().is_none_or(|condition| condition.matches(schema, found)))
    };
    if select.limit == Some(0) {
        return Ok(());
    }
    if select.is_grouped() {
        let mut groups = Groups::new(schema, select);
        scan(&mut |found| {
            if keeps(found)? {
                groups.add(found)?;
            }
            Ok(true)
        })?;
        let mut page = Page::new(select);
        for group in groups.finish()? {
            if !page.pass(|| row(&group.as_slice()))? {
                break;
            }
        }
        return Ok(());
    }
    let columns: Vec<usize> = select.columns.iter().filter_map(|expr| expr.column()).collect();
    let whole = columns.iter().copied().eq(0..schema.columns().len());
    let mut hand_out = |found: EncodedRow<'_>| match whole {
        true => row(&found),
        false => row(&ProjectedRow { row: found, columns: &columns }),
    };
    let mut page = Page::new(select);
    if is_by_key(schema, select) {
        return scan(&mut |found| match keeps(found)? {
            true => page.pass(|| hand_out(found)),
            false => Ok(true),
        });
    }
    let mut rows: Vec<Box<[u8]>> = Vec::new();
    scan(&mut |found| {
        if keeps(found)? {
            rows.push(found.as_bytes().into());
        }
        Ok(true)
    })?;
    rows.sort_by(|a, b| compare(schema, select, EncodedRow::new(a), EncodedRow::new(b)));
    for found in rows {
        if !page.pass(|| hand_out(EncodedRow::new(&found)))? {
            break;
        }
    }
    Ok(())
}

/// Whether the rows are in the order of their keys, not in any order.
fn is_by_key(schema: &TableSchema, select: &Select) -> bool {
    let key = schema.key();
    let mut steps = select.order.iter().zip(key);
    let starts = steps.all(|(step, column)| step.column == *column && !step.descending);
    select.order.is_empty() || (starts && select.order.len() >= key.len())
}

fn compare(
    schema: &TableSchema,
    select: &Select,
    a: EncodedRow<'_>,
    b: EncodedRow<'_>,
) -> Ordering {
    let mut steps = select.order.iter().map(|step| {
        let (a, b) = (a.value(step.column), b.value(step.column));
        let ordering = compare_in_column(schema, step.column, a, b);
        if step.descending { ordering.reverse() } else { ordering }
    });
    steps.find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
}

/// The offset and the limit of a query.
struct Page {
    skip: u64,
    left: u64,
}

impl Page {
    fn new(select: &Select) -> Self {
        Self { skip: select.offset, left: select.limit.unwrap_or(u64::MAX) }
    }

    /// Passes one row on, unless it is skipped; returns whether to read more.
    fn pass(&mut self, row: impl FnOnce() -> Result<bool>) -> Result<bool> {
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(true);
        }
        self.left -= 1;
        Ok(row()? && self.left > 0)
    }
}

impl Row for ProjectedRow<'_> {
    fn len(&self) -> usize {
        self.columns.len()
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        let position = self.columns.get(column);
        position.map_or(ValueRef::Null, |position| self.row.value(*position))
    }
}
