//! The list of a join's tables, as a type: what the compiler checks columns and filters against.

use crate::{Field, PartialRow, Record, Result, Row, ValueRef};
use std::marker::PhantomData;

/// A record `T` in a join's list of tables, of which each row of the result has one.
pub struct InnerJoined<T>(PhantomData<fn() -> T>);

/// A record `T` in a join's list of tables, which a row of the result may lack.
pub struct LeftJoined<T>(PhantomData<fn() -> T>);

/// The place of the last table of a list.
pub struct FirstTable;

/// A place further on in a list of tables.
pub struct LaterTable<P>(PhantomData<fn() -> P>);

/// Values that are never NULL because of a join.
pub struct NeverNull;

/// Values that may be NULL.
pub struct OrNull;

/// Whether values may be NULL because of a join: [`NeverNull`] or [`OrNull`].
pub trait Nullness {
    /// A value of the type `V`: itself, or an `Option`.
    type Of<V: Field>: Field;
    /// The nullness of what is calculated from such a value and another one.
    type With<N: Nullness>: Nullness;
}

impl Nullness for NeverNull {
    type Of<V: Field> = V;
    type With<N: Nullness> = N;
}

impl Nullness for OrNull {
    type Of<V: Field> = Option<V>;
    type With<N: Nullness> = Self;
}

/// [`InnerJoined`] or [`LeftJoined`].
pub trait JoinedTable {
    /// The record.
    type Record: Record;
    /// The record, or an `Option` of it.
    type Row;
    /// Whether its values may be NULL because of the join.
    type Nullness: Nullness;

    /// Reads the record from the columns of its table.
    ///
    /// # Errors
    /// As [`Record::read`].
    fn read(row: &dyn Row) -> Result<Self::Row>;
}

impl<T: Record> JoinedTable for InnerJoined<T> {
    type Record = T;
    type Row = T;
    type Nullness = NeverNull;

    fn read(row: &dyn Row) -> Result<T> {
        T::read(row)
    }
}

impl<T: Record> JoinedTable for LeftJoined<T> {
    type Record = T;
    type Row = Option<T>;
    type Nullness = OrNull;

    fn read(row: &dyn Row) -> Result<Option<T>> {
        let is_missing = T::schema().key().iter().all(|&column| row.get(column).is_null());
        if is_missing { Ok(None) } else { T::read(row).map(Some) }
    }
}

/// A list of tables: pairs of the last table and the list of those before it.
pub trait JoinedTables {
    /// The number of tables.
    const LEN: usize;
}

impl JoinedTables for () {
    const LEN: usize = 0;
}

impl<J, L: JoinedTables> JoinedTables for (J, L) {
    const LEN: usize = L::LEN + 1;
}

/// A list of tables that has the record `T` at the place `P`, which the compiler finds.
#[diagnostic::on_unimplemented(
    message = "the query does not join `{T}`, or joins it twice",
    label = "this needs `{T}` exactly once among the joined records",
    note = "add `.join(…)` with a relation to `{T}`"
)]
pub trait JoinsTable<T, P> {
    /// How it is joined.
    type Joined: JoinedTable<Record = T>;
    /// Its index in the list, the first table being 0.
    const INDEX: usize;
}

impl<T: Record, L: JoinedTables> JoinsTable<T, FirstTable> for (InnerJoined<T>, L) {
    type Joined = InnerJoined<T>;
    const INDEX: usize = L::LEN;
}

impl<T: Record, L: JoinedTables> JoinsTable<T, FirstTable> for (LeftJoined<T>, L) {
    type Joined = LeftJoined<T>;
    const INDEX: usize = L::LEN;
}

impl<T, J, L: JoinsTable<T, P>, P> JoinsTable<T, LaterTable<P>> for (J, L) {
    type Joined = L::Joined;
    const INDEX: usize = L::INDEX;
}

/// The end of a list of tables: of the queries around it there are none, or those of [`Outer`](super::Outer).
pub trait EndOfTables: JoinedTables {}

impl EndOfTables for () {}

/// The end of the list of tables of a query inside of another one, whose list is `L`.
pub struct Outer<L>(PhantomData<fn() -> L>);

/// The place of a table in the list of the query around.
pub struct OuterPlace<P>(PhantomData<fn() -> P>);

impl<L: JoinedTables> JoinedTables for Outer<L> {
    const LEN: usize = L::LEN;
}

impl<L: JoinedTables> EndOfTables for Outer<L> {}

impl<T, L: JoinsTable<T, P>, P> JoinsTable<T, OuterPlace<P>> for Outer<L> {
    type Joined = L::Joined;
    const INDEX: usize = L::INDEX;
}

/// A list of up to six tables, whose rows are tuples of records.
pub trait JoinedRecords: JoinedTables {
    /// The records: `(Order, Customer, Option<Line>)`; of one table the record itself.
    type Row;

    /// Reads the records from the columns of all tables.
    ///
    /// # Errors
    /// As [`Record::read`].
    fn read(row: &dyn Row) -> Result<Self::Row>;
}

/// Some columns of a row, from an index on.
struct RowPart<'a> {
    row: &'a dyn Row,
    start: usize,
    len: usize,
}

impl Row for RowPart<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        if column < self.len { self.row.get(self.start + column) } else { ValueRef::Null }
    }
}

/// The columns of a whole record, without the fields that are read on request.
pub(super) fn record_columns<T: Record>() -> impl Iterator<Item = usize> {
    let columns = 0..T::schema().columns().len();
    columns.filter(|column| !T::ON_REQUEST.contains(*column))
}

/// Reads a whole record from its columns, from `start` on, which is moved behind them.
pub(super) fn read_part<J: JoinedTable>(row: &dyn Row, start: &mut usize) -> Result<J::Row> {
    let left_out = J::Record::ON_REQUEST;
    let len = J::Record::schema().columns().len() - left_out.len();
    let part = RowPart { row, start: *start, len };
    *start += len;
    if left_out.is_empty() { J::read(&part) } else { J::read(&PartialRow::new(&part, left_out)) }
}

impl<A: JoinedTable, Z: EndOfTables> JoinedRecords for (A, Z) {
    type Row = A::Row;

    fn read(row: &dyn Row) -> Result<A::Row> {
        read_part::<A>(row, &mut 0)
    }
}

macro_rules! joined_records {
    ($list:ty: $($table:ident),+) => {
        impl<$($table: JoinedTable,)+ Z: EndOfTables> JoinedRecords for $list {
            type Row = ($($table::Row,)+);

            fn read(row: &dyn Row) -> Result<Self::Row> {
                let mut start = 0;
                Ok(($(read_part::<$table>(row, &mut start)?,)+))
            }
        }
    };
}
joined_records!((B, (A, Z)): A, B);
joined_records!((C, (B, (A, Z))): A, B, C);
joined_records!((D, (C, (B, (A, Z)))): A, B, C, D);
joined_records!((E, (D, (C, (B, (A, Z))))): A, B, C, D, E);
joined_records!((F, (E, (D, (C, (B, (A, Z)))))): A, B, C, D, E, F);
