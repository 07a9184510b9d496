//! Expressions that a query can select: columns and aggregates.

use crate::{Column, Currency, Field, TableSchema, Type};
use std::marker::PhantomData;

/// One column of a query's result, untyped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Expr {
    /// The column's value; next to aggregates, it must be a column that rows are grouped by.
    Column(usize),
    /// The number of rows: an integer.
    Count,
    /// The number of rows with a value in the column: an integer.
    CountOf(usize),
    /// The sum of the column's values; NULL if no row has one. The sum of integers is exact, and an overflow
    /// is `OutOfRange`; the sum of floats is a float.
    Sum(usize),
    /// The smallest value; NULL if no row has one.
    Min(usize),
    /// The largest value; NULL if no row has one.
    Max(usize),
    /// The average as a float; NULL if no row has a value. For `Currency`, in whole units.
    Avg(usize),
    /// How well a row fits what the query [searches](crate::Select::search) for: a float, the larger the better. The
    /// numbers of different engines cannot be compared.
    Rank,
    /// The distance of a row's vector in a query for the [nearest](crate::Select::nearest) rows: a float.
    Distance,
}

impl Expr {
    /// Whether it is an aggregate.
    #[must_use]
    pub const fn is_aggregate(self) -> bool {
        !matches!(self, Self::Column(_) | Self::Rank | Self::Distance)
    }

    /// The column that it reads.
    #[must_use]
    pub const fn column(self) -> Option<usize> {
        match self {
            Self::Count | Self::Rank | Self::Distance => None,
            Self::Column(c)
            | Self::CountOf(c)
            | Self::Sum(c)
            | Self::Min(c)
            | Self::Max(c)
            | Self::Avg(c) => Some(c),
        }
    }

    /// The type of its values over a table; `Any` if the table has no such column.
    #[must_use]
    pub fn ty(self, table: &TableSchema) -> Type {
        let of = |column: usize| table.columns().get(column).map_or(Type::Any, |c| c.ty);
        match self {
            Self::Column(c) | Self::Min(c) | Self::Max(c) => of(c),
            Self::Count | Self::CountOf(_) => Type::I64,
            Self::Avg(_) | Self::Rank | Self::Distance => Type::F64,
            Self::Sum(c) => match of(c) {
                Type::F32 | Type::F64 => Type::F64,
                exact @ (Type::Currency | Type::Any) => exact,
                _ => Type::I64,
            },
        }
    }
}

/// An [`Expr`] of the record `T` with a value of type `V`.
#[derive(Debug)]
pub struct Expression<T, V> {
    expr: Expr,
    types: PhantomData<fn() -> (T, V)>,
}

impl<T, V> Clone for Expression<T, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, V> Copy for Expression<T, V> {}

impl<T, V> Expression<T, V> {
    pub(crate) const fn new(expr: Expr) -> Self {
        Self { expr, types: PhantomData }
    }

    pub(crate) const fn untyped(self) -> Expr {
        self.expr
    }
}

/// The number of rows, or of rows in a group.
#[must_use]
pub const fn count<T>() -> Expression<T, i64> {
    Expression::new(Expr::Count)
}

/// A type whose columns can be summed and averaged.
pub trait Summable: Field {
    /// The type of the sum.
    type Sum: Field;
}

macro_rules! summable {
    ($($t:ty => $sum:ty),*) => {$(
        impl Summable for $t {
            type Sum = $sum;
        }
    )*};
}
summable!(
    i8 => i64, i16 => i64, i32 => i64, i64 => i64, u8 => i64, u16 => i64, u32 => i64, u64 => i64,
    f32 => f64, f64 => f64, Currency => Currency, crate::Value<'static> => crate::Value<'static>
);

impl<V: Summable> Summable for Option<V> {
    type Sum = V::Sum;
}

/// What a query selects: a column, an expression, or a tuple of up to eight of these.
///
/// A row of a single column is its value, if the column's type is [`FromRow`](crate::FromRow); a row of a tuple
/// is a tuple.
pub trait Selection<T> {
    /// The type of a result row.
    type Row: crate::FromRow;

    /// The untyped expressions, in order.
    fn exprs(&self) -> Vec<Expr>;
}

/// One part of a [`Selection`].
pub trait SelectionPart<T> {
    /// The type of its value.
    type Value: Field;

    /// The untyped expression.
    fn expr(&self) -> Expr;
}

impl<T, V: Field> SelectionPart<T> for Column<T, V> {
    type Value = V;

    fn expr(&self) -> Expr {
        Expr::Column(self.index())
    }
}

impl<T, V: Field> SelectionPart<T> for Expression<T, V> {
    type Value = V;

    fn expr(&self) -> Expr {
        self.expr
    }
}

impl<T, V: Field + crate::FromRow> Selection<T> for Column<T, V> {
    type Row = V;

    fn exprs(&self) -> Vec<Expr> {
        vec![self.expr()]
    }
}

impl<T, V: Field + crate::FromRow> Selection<T> for Expression<T, V> {
    type Row = V;

    fn exprs(&self) -> Vec<Expr> {
        vec![self.expr()]
    }
}

macro_rules! selection {
    ($($p:ident $i:tt),+) => {
        impl<T, $($p: SelectionPart<T>),+> Selection<T> for ($($p,)+) {
            type Row = ($($p::Value,)+);

            fn exprs(&self) -> Vec<Expr> {
                vec![$(self.$i.expr()),+]
            }
        }
    };
}
selection!(A 0);
selection!(A 0, B 1);
selection!(A 0, B 1, C 2);
selection!(A 0, B 1, C 2, D 3);
selection!(A 0, B 1, C 2, D 3, E 4);
selection!(A 0, B 1, C 2, D 3, E 4, F 5);
selection!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
selection!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
