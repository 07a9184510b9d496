//! What reads of records leave out: the fields that are read [on request](crate::types::OnRequest).

use bobak_core::{Expr, FieldSet, PartialRow, Query, Record, Row, TableSchema};

/// The columns of a record that a query leaves out.
pub(crate) fn left_out<T: Record>(query: &Query<T>) -> FieldSet {
    T::ON_REQUEST.without(query.requested())
}

/// The columns of a table without those that are left out.
pub(crate) fn columns_without(table: &TableSchema, left_out: FieldSet) -> Vec<Expr> {
    let columns = 0..table.columns().len();
    columns.filter(|column| !left_out.contains(*column)).map(Expr::Column).collect()
}

/// Calls `read` with a row in which the columns that are left out have their places.
#[inline]
pub(crate) fn with_places<R>(
    row: &dyn Row,
    left_out: FieldSet,
    read: impl FnOnce(&dyn Row) -> R,
) -> R {
    if left_out.is_empty() { read(row) } else { read(&PartialRow::new(row, left_out)) }
}
