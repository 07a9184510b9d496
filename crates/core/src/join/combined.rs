//! Queries of the rows of other queries.

use super::nested::{JoinLists, JoinParts};
use super::query::JoinQuery;
use super::selection::JoinPart;
use super::tables::JoinedTables;
use super::{Join, JoinColumn, JoinExpr, JoinRows, JoinSubquery, JoinTable, SetOperator};
use crate::{Field, FieldSet, Result, Row};
use std::marker::PhantomData;
use std::sync::Arc;

/// The rows of type `R` of other queries, in a query's list of tables.
pub struct CombinedRows<R>(PhantomData<fn() -> R>);

/// The list of tables of a query of the rows of other queries.
type CombinedList<R> = (CombinedRows<R>, ());

/// A column of the rows of other queries, by its place: see [`nth`].
#[derive(Clone, Copy, Debug)]
pub struct NthColumn<const N: usize>;

/// A column of what a [combined query](JoinQuery::union) selects, by its place; the first one is `nth::<0>()`.
#[must_use]
pub const fn nth<const N: usize>() -> NthColumn<N> {
    NthColumn
}

/// Rows with a column at a place: tuples of values.
#[diagnostic::on_unimplemented(
    message = "rows of the type `{Self}` have no column {N}",
    note = "select a tuple of columns or other expressions; the first one has the place 0"
)]
pub trait RowColumn<const N: usize> {
    /// The type of the column.
    type Value: Field;
}

macro_rules! row_column {
    ($all:tt: $($value:ident $place:literal),+) => {$(
        row_column!($all $value $place);
    )+};
    (($($all:ident),+) $value:ident $place:literal) => {
        impl<$($all: Field),+> RowColumn<$place> for ($($all,)+) {
            type Value = $value;
        }
    };
}
row_column!((A): A 0);
row_column!((A, B): A 0, B 1);
row_column!((A, B, C): A 0, B 1, C 2);
row_column!((A, B, C, D): A 0, B 1, C 2, D 3);
row_column!((A, B, C, D, E): A 0, B 1, C 2, D 3, E 4);
row_column!((A, B, C, D, E, F): A 0, B 1, C 2, D 3, E 4, F 5);
row_column!((A, B, C, D, E, F, G): A 0, B 1, C 2, D 3, E 4, F 5, G 6);
row_column!((A, B, C, D, E, F, G, H): A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

impl<R: RowColumn<N>, L: JoinedTables, const N: usize> JoinPart<(CombinedRows<R>, L), ()>
    for NthColumn<N>
{
    type Value = R::Value;

    fn expr(&self) -> JoinExpr {
        JoinExpr::Column(JoinColumn { table: L::LEN, column: N })
    }
}

impl<L, R> JoinQuery<L, R> {
    /// The different rows of this query and another one, as a query of its own: filters, orders, groups and limits come after
    /// it, and take columns by their [places](nth).
    ///
    /// ```
    /// # use bobak_core::{Column, Query, Record, join::{from, nth, ExpressionMethods}};
    /// # fn example<Buyer: Record, Seller: Record>(buyer: Column<Buyer, String>, seller: Column<Seller, String>) {
    /// let buyers = from::<Buyer>().select((buyer, "buyer"));
    /// let sellers = from::<Seller>().select((seller, "seller"));
    /// let all = buyers.union_all(sellers).order_by(nth::<0>().asc()).limit(10);
    /// # }
    /// ```
    #[must_use]
    pub fn union<M>(self, other: JoinQuery<M, R>) -> JoinQuery<CombinedList<R>, R> {
        self.combine(SetOperator::Union, Some(other.to_subquery()))
    }

    /// All rows of this query and of another one: see [`union`](JoinQuery::union).
    #[must_use]
    pub fn union_all<M>(self, other: JoinQuery<M, R>) -> JoinQuery<CombinedList<R>, R> {
        self.combine(SetOperator::UnionAll, Some(other.to_subquery()))
    }

    /// The different rows that both this query and another one have: see [`union`](JoinQuery::union). NULL equals NULL here.
    #[must_use]
    pub fn intersect<M>(self, other: JoinQuery<M, R>) -> JoinQuery<CombinedList<R>, R> {
        self.combine(SetOperator::Intersect, Some(other.to_subquery()))
    }

    /// The different rows of this query that another one has not: see [`union`](JoinQuery::union). NULL equals NULL here.
    #[must_use]
    pub fn except<M>(self, other: JoinQuery<M, R>) -> JoinQuery<CombinedList<R>, R> {
        self.combine(SetOperator::Except, Some(other.to_subquery()))
    }

    /// A query of the rows of this query, which takes columns by their [places](nth): for groups of groups, and filters after a
    /// limit.
    ///
    /// ```
    /// # use bobak_core::{Column, Query, Record, join::{from, nth, ExpressionMethods}};
    /// # fn example<Sale: Record>(buyer: Column<Sale, i64>, total: Column<Sale, i64>) {
    /// let by_buyer = from::<Sale>().group_by(buyer).select((buyer, total.sum()));
    /// let average = by_buyer.into_rows().select(nth::<1>().avg());
    /// # }
    /// ```
    #[must_use]
    pub fn into_rows(self) -> JoinQuery<CombinedList<R>, R> {
        self.combine(SetOperator::UnionAll, None)
    }

    fn combine(
        self,
        operator: SetOperator,
        other: Option<JoinSubquery>,
    ) -> JoinQuery<CombinedList<R>, R> {
        let first = self.to_subquery();
        let read: fn(&dyn Row) -> Result<R> = self.reader();
        // Until the types of the columns are known, a table that the engine keeps stands for the rows.
        let table = first.join.tables.first().map(|first| Arc::clone(&first.table));
        let columns = (0..first.join.columns.len())
            .map(|column| JoinExpr::Column(JoinColumn { table: 0, column }))
            .collect();
        let rows = JoinRows { operator, queries: [first].into_iter().chain(other).collect() };
        let tables = table.map(|table| JoinTable { table, link: None, rows: Some(Box::new(rows)) });
        let join = Join { tables: tables.into_iter().collect(), ..Join::default() };
        let lists = JoinLists { listed: vec![(0, FieldSet::EMPTY)], ..JoinLists::default() };
        JoinQuery::of_parts(JoinParts { join, lists }, columns, read)
    }
}
