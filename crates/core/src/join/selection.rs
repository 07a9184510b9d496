//! What a join selects, and in which order.

use super::tables::{JoinedTable, JoinsTable, Nullness, read_part, record_columns};
use super::{JoinAggregate, JoinColumn, JoinExpr, JoinOrder};
use crate::{Column, Expr, Expression, Field, Order, OrderBy, Record, Result, Row, Type, Value};
use std::marker::PhantomData;

/// An expression over joined records, with one value: a column, an aggregate, or numbers calculated from such. `P` is its
/// place among the tables, which the compiler finds.
pub trait JoinPart<L, P> {
    /// The type of its value; an `Option` if the join may lack the record.
    type Value: Field;

    /// The untyped expression.
    fn expr(&self) -> JoinExpr;
}

/// The nullness of a record's values in a list of tables.
type NullnessIn<L, T, P> = <<L as JoinsTable<T, P>>::Joined as JoinedTable>::Nullness;

impl<L: JoinsTable<T, P>, T, V: Field, P> JoinPart<L, P> for Column<T, V> {
    type Value = <NullnessIn<L, T, P> as Nullness>::Of<V>;

    fn expr(&self) -> JoinExpr {
        JoinExpr::Column(JoinColumn { table: L::INDEX, column: self.index() })
    }
}

impl<L: JoinsTable<T, P>, T: Record, V: Field, P> JoinPart<L, P> for Expression<T, V> {
    type Value = V;

    fn expr(&self) -> JoinExpr {
        let column = |column| JoinExpr::Column(JoinColumn { table: L::INDEX, column });
        let (function, index) = match self.untyped() {
            Expr::Column(index) => return column(index),
            // The key of a record that is joined is not NULL.
            Expr::Count => (JoinAggregate::Count, T::schema().key().first().copied().unwrap_or(0)),
            Expr::CountOf(index) => (JoinAggregate::Count, index),
            Expr::Sum(index) => (JoinAggregate::Sum, index),
            Expr::Min(index) => (JoinAggregate::Min, index),
            Expr::Max(index) => (JoinAggregate::Max, index),
            Expr::Avg(index) => (JoinAggregate::Avg, index),
            // No `Expression` is one: joins neither search nor measure distances.
            Expr::Rank | Expr::Distance => return JoinExpr::Value(Value::Null, Type::F64),
        };
        JoinExpr::Aggregate(function, Box::new(column(index)))
    }
}

/// A whole record of a join, as a part of its result: see [`whole`].
#[derive(Clone, Copy, Debug)]
pub struct WholeRecord<T>(PhantomData<fn() -> T>);

/// A whole record of a join, next to columns: `select((whole::<Order>(), Customer::NAME))`. Fields that are read
/// [on request](crate::OnRequest) are left out: select their columns next to it.
#[must_use]
pub const fn whole<T: Record>() -> WholeRecord<T> {
    WholeRecord(PhantomData)
}

/// What a join selects: a part, or a tuple of up to eight.
pub trait JoinSelection<L, P> {
    /// The type of a result row.
    type Row;

    /// Appends the untyped expressions.
    fn exprs(&self, exprs: &mut Vec<JoinExpr>);

    /// Reads a result row from its columns, from `start` on, which is moved behind them.
    ///
    /// # Errors
    /// As [`Field::from_value`].
    fn read(row: &dyn Row, start: &mut usize) -> Result<Self::Row>;
}

/// The place of a single part in a list of tables.
pub struct PartPlace<P>(PhantomData<fn() -> P>);

impl<L, P, S: JoinPart<L, P>> JoinSelection<L, PartPlace<P>> for S {
    type Row = S::Value;

    fn exprs(&self, exprs: &mut Vec<JoinExpr>) {
        exprs.push(self.expr());
    }

    fn read(row: &dyn Row, start: &mut usize) -> Result<S::Value> {
        let value = S::Value::from_value(row.get(*start));
        *start += 1;
        value
    }
}

/// The place of a whole record in a list of tables.
pub struct RecordPlace<P>(PhantomData<fn() -> P>);

impl<L: JoinsTable<T, P>, T: Record, P> JoinSelection<L, RecordPlace<P>> for WholeRecord<T> {
    type Row = <L::Joined as JoinedTable>::Row;

    fn exprs(&self, exprs: &mut Vec<JoinExpr>) {
        let column = |column| JoinExpr::Column(JoinColumn { table: L::INDEX, column });
        exprs.extend(record_columns::<T>().map(column));
    }

    fn read(row: &dyn Row, start: &mut usize) -> Result<Self::Row> {
        read_part::<L::Joined>(row, start)
    }
}

macro_rules! join_selection {
    ($($part:ident $place:ident $index:tt),+) => {
        impl<L, $($part: JoinSelection<L, $place>, $place),+> JoinSelection<L, ($($place,)+)>
            for ($($part,)+)
        {
            type Row = ($($part::Row,)+);

            fn exprs(&self, exprs: &mut Vec<JoinExpr>) {
                $(self.$index.exprs(exprs);)+
            }

            fn read(row: &dyn Row, start: &mut usize) -> Result<Self::Row> {
                Ok(($($part::read(row, start)?,)+))
            }
        }
    };
}
join_selection!(A PA 0);
join_selection!(A PA 0, B PB 1);
join_selection!(A PA 0, B PB 1, C PC 2);
join_selection!(A PA 0, B PB 1, C PC 2, D PD 3);
join_selection!(A PA 0, B PB 1, C PC 2, D PD 3, E PE 4);
join_selection!(A PA 0, B PB 1, C PC 2, D PD 3, E PE 4, F PF 5);
join_selection!(A PA 0, B PB 1, C PC 2, D PD 3, E PE 4, F PF 5, G PG 6);
join_selection!(A PA 0, B PB 1, C PC 2, D PD 3, E PE 4, F PF 5, G PG 6, H PH 7);

/// An expression with a direction.
#[derive(Clone, Copy, Debug)]
pub struct OrderedPart<E> {
    expr: E,
    descending: bool,
}

impl<E> OrderedPart<E> {
    pub(super) const fn new(expr: E, descending: bool) -> Self {
        Self { expr, descending }
    }
}

/// What a join is sorted by: [`Column::asc`], or `asc` of an expression.
pub trait JoinOrderPart<L, P> {
    /// The untyped order.
    fn order(&self) -> JoinOrder;
}

impl<L: JoinsTable<T, P>, T, P> JoinOrderPart<L, P> for OrderBy<T> {
    fn order(&self) -> JoinOrder {
        let Order { column, descending } = self.untyped();
        let expr = JoinExpr::Column(JoinColumn { table: L::INDEX, column });
        JoinOrder { expr, descending, nulls_first: !descending }
    }
}

impl<L, P, E: JoinPart<L, P>> JoinOrderPart<L, P> for OrderedPart<E> {
    fn order(&self) -> JoinOrder {
        let descending = self.descending;
        JoinOrder { expr: self.expr.expr(), descending, nulls_first: !descending }
    }
}

/// An order in which NULL has another place: see [`OrderBy::nulls_last`].
#[derive(Clone, Copy, Debug)]
pub struct NullPlaced<O> {
    order: O,
    nulls_first: bool,
}

impl<L, P, O: JoinOrderPart<L, P>> JoinOrderPart<L, P> for NullPlaced<O> {
    fn order(&self) -> JoinOrder {
        JoinOrder { nulls_first: self.nulls_first, ..self.order.order() }
    }
}

macro_rules! place_nulls {
    ($generic:ident, $type:ty) => {
        impl<$generic> $type {
            /// The order with NULL before all values: for joins and other queries of expressions.
            #[must_use]
            pub const fn nulls_first(self) -> NullPlaced<Self> {
                NullPlaced { order: self, nulls_first: true }
            }

            /// The order with NULL after all values: for joins and other queries of expressions.
            #[must_use]
            pub const fn nulls_last(self) -> NullPlaced<Self> {
                NullPlaced { order: self, nulls_first: false }
            }
        }
    };
}
place_nulls!(T, OrderBy<T>);
place_nulls!(E, OrderedPart<E>);
