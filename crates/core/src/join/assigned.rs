//! What columns are set to: values, and expressions of the row that is updated.

use super::function::{FunctionOf, PairOf};
use super::scalar::ScalarField;
use super::selection::JoinPart;
use super::subquery::QueryValue;
use super::tables::{InnerJoined, NeverNull, OrNull};
use super::{Calculation, CaseOf, JsonPart};
use crate::{Assign, AssignedValue, Assignment, Column, Field, Json, Operand, Record, Summable};
use std::marker::PhantomData;

/// What [`Column::set`] sets a column of the record `T` and the type `V` to: a value, or an
/// [expression](super::ExpressionMethods) of the record's columns. `P` is which of them, which the compiler finds.
#[diagnostic::on_unimplemented(
    message = "a column of the type `{V}` of `{T}` cannot be set to `{Self}`",
    label = "this is neither a `{V}` nor an expression of `{T}` with such a value",
    note = "an expression that may be NULL, such as a quotient, needs `.coalesce(…)` for a column that may not",
    note = "a value for an `Option` is given without `Some`; `None` is written with its type, as in `None::<String>`"
)]
pub trait AssignedTo<T, V, P> {
    /// The untyped assignment to the column at an index.
    fn assigned(self, column: usize) -> AssignedValue;
}

/// The assignment of a value.
pub struct ByValue;

/// The assignment of an expression with the place `P`.
pub struct ByExpr<P>(PhantomData<fn() -> P>);

/// A type of values that a column of the type `V` can have: numbers may be of another width, since each is checked when it is
/// written.
#[diagnostic::on_unimplemented(
    message = "a column of the type `{V}` cannot have a value of the type `{Self}`",
    note = "what may be NULL needs `.coalesce(…)` for a column that may not be"
)]
pub trait FitsColumn<V>: Field {}

/// Which values a column of this nullness can have.
pub trait FitsNullness<N> {}

impl<N> FitsNullness<N> for NeverNull {}
impl FitsNullness<OrNull> for OrNull {}

impl<E, V> FitsColumn<V> for E
where
    E: ScalarField<Nullness: FitsNullness<V::Nullness>>,
    V: ScalarField<Base = E::Base>,
{
}

impl FitsColumn<Vec<u8>> for Vec<u8> {}
impl FitsColumn<Option<Vec<u8>>> for Vec<u8> {}
impl FitsColumn<Option<Vec<u8>>> for Option<Vec<u8>> {}
impl<J> FitsColumn<Json<J>> for Json<J> where Json<J>: Field {}
impl<J> FitsColumn<Option<Json<J>>> for Json<J> where Json<J>: Field {}
impl<J> FitsColumn<Option<Json<J>>> for Option<Json<J>> where Json<J>: Field {}

impl<T, V> Column<T, V> {
    /// Sets the column, in an update, to a value or to an [expression](crate::join::ExpressionMethods) of the columns of the
    /// same record, which have the values from before the update: `Line::TOTAL.set(Line::PRICE * Line::QUANTITY)`.
    #[must_use]
    pub fn set<P>(self, value: impl AssignedTo<T, V, P>) -> Assignment<T> {
        Assignment::new(value.assigned(self.index()))
    }
}

impl<T, V: Summable> Column<T, V> {
    /// Adds to the column atomically, in an update. NULL stays NULL.
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "an assignment, not a sum")]
    pub fn add(self, value: impl Operand<V>) -> Assignment<T> {
        let (column, value) = (self.index(), value.into_value());
        Assignment::new(AssignedValue::Value(Assign::Add { column, value }))
    }
}

impl<T, V, O: Operand<V>> AssignedTo<T, V, ByValue> for O {
    fn assigned(self, column: usize) -> AssignedValue {
        AssignedValue::Value(Assign::Set { column, value: self.into_value() })
    }
}

macro_rules! assigned_exprs {
    ($(($($generic:ident),+) $type:ty;)+) => {$(
        impl<T: Record, V, P, $($generic),+> AssignedTo<T, V, ByExpr<P>> for $type
        where
            Self: JoinPart<(InnerJoined<T>, ()), P, Value: FitsColumn<V>>,
        {
            fn assigned(self, column: usize) -> AssignedValue {
                AssignedValue::Expr { column, expr: self.expr() }
            }
        }
    )+};
}
assigned_exprs! {
    (U, W) Column<U, W>;
    (A, B, O) Calculation<A, B, O>;
    (E, K) FunctionOf<E, K>;
    (A, B, K) PairOf<A, B, K>;
    (C, E) CaseOf<C, E>;
    (E, K) JsonPart<E, K>;
    (I, Q) QueryValue<I, Q>;
}

/// Columns of the record `T` that take the values of a row of the type `R`: one, or a tuple of up to eight, each for the value
/// at its place.
#[diagnostic::on_unimplemented(
    message = "the columns `{Self}` of `{T}` cannot take rows of the type `{R}`",
    note = "a query selects one value for each of the columns, of the same type"
)]
pub trait FilledColumns<T, R> {
    /// The indexes of the columns.
    fn columns(&self) -> Vec<usize>;
}

impl<T, V, A: FitsColumn<V>> FilledColumns<T, A> for Column<T, V> {
    fn columns(&self) -> Vec<usize> {
        vec![self.index()]
    }
}

macro_rules! filled_columns {
    ($($row:ident $value:ident $index:tt),+) => {
        impl<T, $($row: FitsColumn<$value>, $value),+> FilledColumns<T, ($($row,)+)>
            for ($(Column<T, $value>,)+)
        {
            fn columns(&self) -> Vec<usize> {
                vec![$(self.$index.index()),+]
            }
        }
    };
}
filled_columns!(A VA 0);
filled_columns!(A VA 0, B VB 1);
filled_columns!(A VA 0, B VB 1, C VC 2);
filled_columns!(A VA 0, B VB 1, C VC 2, D VD 3);
filled_columns!(A VA 0, B VB 1, C VC 2, D VD 3, E VE 4);
filled_columns!(A VA 0, B VB 1, C VC 2, D VD 3, E VE 4, F VF 5);
filled_columns!(A VA 0, B VB 1, C VC 2, D VD 3, E VE 4, F VF 5, G VG 6);
filled_columns!(A VA 0, B VB 1, C VC 2, D VD 3, E VE 4, F VF 5, G VG 6, H VH 7);
