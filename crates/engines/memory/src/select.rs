//! Runs a [`Select`]: whole rows, selected columns, or groups.

use crate::aggregate;
use crate::scan::Scan;
use crate::search;
use crate::table::TableState;
use bobak_core::codec::EncodedRow;
use bobak_core::{Interrupt, Result, Row, Select, Value, ValueRef};
use std::sync::Arc;

/// The rows of a query, one by one.
pub(super) struct Results {
    rows: ResultRows,
    /// How many more rows may be returned.
    left: u64,
}

enum ResultRows {
    /// Rows of the table, whole or in part.
    Stored { scan: Scan, chosen: Option<Vec<usize>> },
    /// Computed rows.
    Made(std::vec::IntoIter<Vec<Value<'static>>>),
}

/// Some columns of a stored row.
struct Chosen<'a> {
    row: EncodedRow<'a>,
    columns: &'a [usize],
}

/// A row of a query's result.
pub(super) enum ResultRow<'a> {
    /// As stored.
    Whole(EncodedRow<'a>),
    /// Any other.
    Other(&'a dyn Row),
}

impl Results {
    /// Runs the query over the table.
    ///
    /// # Errors
    /// `OutOfRange` if a sum overflows, `Mismatch` if a summed value is no number, `Interrupted`.
    pub fn new(table: Arc<TableState>, select: &Select) -> Result<Self> {
        let left = select.limit.unwrap_or(u64::MAX);
        if select.is_grouped() {
            let mut rows = aggregate::run(table, select)?.into_iter();
            pass_over(select.offset, || rows.next().is_some());
            let rows = ResultRows::Made(rows);
            Interrupt::check()?;
            return Ok(Self { rows, left });
        }
        if let Some(search) = &select.search {
            let rows = ResultRows::Made(search::matching_rows(&table, select, search)?.into_iter());
            return Ok(Self { rows, left });
        }
        let most = select.limit.map(|limit| limit.saturating_add(select.offset));
        let columns = table.schema.columns().len();
        let condition = select.condition.as_ref();
        let mut scan = Scan::new(table, condition, &select.order, most);
        if left > 0 {
            pass_over(select.offset, || scan.next_slot().is_some());
        }
        Interrupt::check()?;
        let chosen: Vec<usize> = select.columns.iter().filter_map(|e| e.column()).collect();
        let whole = chosen.iter().copied().eq(0..columns);
        let chosen = (!whole).then_some(chosen);
        let rows = ResultRows::Stored { scan, chosen };
        Ok(Self { rows, left })
    }

    /// Passes the next row to `row`; `None` if there is none.
    ///
    /// # Errors
    /// Those of `row`; `Interrupted`.
    #[inline]
    pub fn next<R>(&mut self, row: impl FnOnce(ResultRow<'_>) -> Result<R>) -> Result<Option<R>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        match &mut self.rows {
            ResultRows::Stored { scan, chosen } => {
                let Some(stored) = scan.next_row() else {
                    return Interrupt::check().map(|()| None);
                };
                match chosen {
                    None => row(ResultRow::Whole(stored)),
                    Some(columns) => row(ResultRow::Other(&Chosen { row: stored, columns })),
                }
            }
            ResultRows::Made(rows) => match rows.next() {
                Some(values) => row(ResultRow::Other(&values.as_slice())),
                None => return Ok(None),
            },
        }
        .map(Some)
    }
}

impl ResultRow<'_> {
    /// The row as a trait object.
    #[inline]
    pub fn as_row(&self) -> &dyn Row {
        match self {
            Self::Whole(row) => row,
            Self::Other(row) => *row,
        }
    }
}

impl Row for Chosen<'_> {
    fn len(&self) -> usize {
        self.columns.len()
    }

    #[inline]
    fn get(&self, column: usize) -> ValueRef<'_> {
        let position = self.columns.get(column);
        position.map_or(ValueRef::Null, |position| self.row.value(*position))
    }
}

fn pass_over(rows: u64, mut next: impl FnMut() -> bool) {
    let mut passed = 0;
    while passed < rows && next() {
        passed += 1;
    }
}
