//! What reads of records leave out: the fields that are read [on request](crate::types::OnRequest).

use bobak_core::{Expr, FieldSet, PartialRow, Query, Record, Row};

/// The columns of a record that a query leaves out.
pub(crate) fn left_out<T: Record>(query: &Query<T>) -> FieldSet {
    T::ON_REQUEST.without(query.requested())
}

/// The columns of a record without those that are left out.
pub(crate) fn read_columns<T: Record>(left_out: FieldSet) -> Vec<Expr> {
    let columns = 0..T::schema().columns().len();
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
