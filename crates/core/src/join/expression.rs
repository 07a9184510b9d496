//! Numbers calculated from columns of joined records, and aggregates of them.

use super::function::{FunctionOf, PairOf};
use super::over::WindowExpr;
use super::scalar::{Number, ScalarField};
use super::selection::JoinPart;
use super::subquery::QueryValue;
use super::tables::{NeverNull, Nullness, OrNull};
use super::tree::{CalculationOperator, JoinAggregate};
use super::{CaseOf, JoinExpr, JsonPart};
use crate::{Column, Currency, Expression, Field};
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Rem, Sub};

/// The operator `+` of a [`Calculation`].
#[derive(Clone, Copy, Debug)]
pub struct Plus;

/// The operator `-` of a [`Calculation`].
#[derive(Clone, Copy, Debug)]
pub struct Minus;

/// The operator `*` of a [`Calculation`].
#[derive(Clone, Copy, Debug)]
pub struct Times;

/// The operator `/` of a [`Calculation`].
#[derive(Clone, Copy, Debug)]
pub struct Divide;

/// The operator `%` of a [`Calculation`].
#[derive(Clone, Copy, Debug)]
pub struct Remainder;

/// Two numbers calculated: `Line::PRICE * Line::QUANTITY`.
///
/// Integers are 64 bits wide: a result beyond them is an error. Money times an integer is money; a float with any number but
/// money is a float. `/` of integers rounds towards zero, as in Rust, and `/` of money by an integer to four decimals, ties
/// away from zero; money by money is a float. What is divided by 0 is NULL, so quotients are `Option`s.
#[derive(Clone, Copy, Debug)]
pub struct Calculation<A, B, O> {
    left: A,
    right: B,
    operator: PhantomData<O>,
}

/// An aggregate of a [`Calculation`]: `(Line::PRICE * Line::QUANTITY).sum()`.
#[derive(Clone, Copy, Debug)]
pub struct AggregateOf<E, V> {
    function: JoinAggregate,
    expr: E,
    value: PhantomData<fn() -> V>,
}

/// An operator for two [bases](ScalarField::Base) of numbers.
#[diagnostic::on_unimplemented(
    message = "`{A}` and `{B}` cannot be calculated by `{Self}`",
    note = "money times an integer is money; money can be added to money"
)]
pub trait Calculates<A, B> {
    /// The base of the result.
    type Result: Field;
    /// Whether the result may be NULL, though no part is.
    type Nullness: Nullness;
    /// The operator.
    const OPERATOR: CalculationOperator;
}

macro_rules! calculates {
    ($operator:ident $nullness:ident: $($a:ty, $b:ty => $result:ty);+) => {$(
        impl Calculates<$a, $b> for $operator {
            type Result = $result;
            type Nullness = $nullness;
            const OPERATOR: CalculationOperator = CalculationOperator::$operator;
        }
    )+};
}
calculates!(Plus NeverNull: i64, i64 => i64; f64, f64 => f64; f64, i64 => f64; i64, f64 => f64);
calculates!(Plus NeverNull: Currency, Currency => Currency);
calculates!(Minus NeverNull: i64, i64 => i64; f64, f64 => f64; f64, i64 => f64; i64, f64 => f64);
calculates!(Minus NeverNull: Currency, Currency => Currency);
calculates!(Times NeverNull: i64, i64 => i64; f64, f64 => f64; f64, i64 => f64; i64, f64 => f64);
calculates!(Times NeverNull: Currency, i64 => Currency; i64, Currency => Currency);
calculates!(Divide OrNull: i64, i64 => i64; f64, f64 => f64; f64, i64 => f64; i64, f64 => f64);
calculates!(Divide OrNull: Currency, i64 => Currency; Currency, Currency => f64);
calculates!(Remainder OrNull: i64, i64 => i64);

/// The type of the result of an operator for values of two types.
type ResultOf<O, A, B> = <NullnessOf<O, A, B> as Nullness>::Of<
    <O as Calculates<<A as ScalarField>::Base, <B as ScalarField>::Base>>::Result,
>;

/// The nullness of the result of an operator for values of two types.
type NullnessOf<O, A, B> = <<<A as ScalarField>::Nullness as Nullness>::With<
    <B as ScalarField>::Nullness,
> as Nullness>::With<
    <O as Calculates<<A as ScalarField>::Base, <B as ScalarField>::Base>>::Nullness,
>;

impl<L, PA, PB, A, B, O> JoinPart<L, (PA, PB)> for Calculation<A, B, O>
where
    A: JoinPart<L, PA, Value: Number>,
    B: JoinPart<L, PB, Value: Number>,
    O: Calculates<<A::Value as ScalarField>::Base, <B::Value as ScalarField>::Base>,
{
    type Value = ResultOf<O, A::Value, B::Value>;

    fn expr(&self) -> JoinExpr {
        JoinExpr::Calculation(O::OPERATOR, Box::new((self.left.expr(), self.right.expr())))
    }
}

impl<L, P, E: JoinPart<L, P>, V: AggregateValue<E::Value>> JoinPart<L, P> for AggregateOf<E, V> {
    type Value = V::Value;

    fn expr(&self) -> JoinExpr {
        JoinExpr::Aggregate(self.function, Box::new(self.expr.expr()))
    }
}

/// The type of an aggregate's value.
pub trait AggregateValue<V> {
    /// The type.
    type Value: Field;
}

/// The aggregate has the base of its number's type, or is NULL.
#[derive(Clone, Copy, Debug)]
pub struct SameNumber;

/// The aggregate has the base of its value's type, or is NULL.
#[derive(Clone, Copy, Debug)]
pub struct SameBase;

/// The aggregate is a float, or NULL.
#[derive(Clone, Copy, Debug)]
pub struct AsFloat;

/// The aggregate is a number of values.
#[derive(Clone, Copy, Debug)]
pub struct CountKind;

impl<V: ScalarField> AggregateValue<V> for SameBase {
    type Value = Option<V::Base>;
}

impl<V: Number> AggregateValue<V> for SameNumber {
    type Value = Option<V::Base>;
}

impl<V: Field> AggregateValue<V> for CountKind {
    type Value = i64;
}

impl<V: Number> AggregateValue<V> for AsFloat {
    type Value = Option<f64>;
}

impl<E, V> AggregateOf<E, V> {
    pub(super) const fn new(function: JoinAggregate, expr: E) -> Self {
        Self { function, expr, value: PhantomData }
    }
}

const fn calculation<A, B, O>(left: A, right: B) -> Calculation<A, B, O> {
    Calculation { left, right, operator: PhantomData }
}

macro_rules! operator {
    ($trait:ident $method:ident $operator:ident ($($generic:ident),+) $type:ty) => {
        impl<$($generic,)+ R> $trait<R> for $type {
            type Output = Calculation<Self, R, $operator>;

            fn $method(self, right: R) -> Self::Output {
                calculation(self, right)
            }
        }

        impl<$($generic),+> $trait<$type> for i64 {
            type Output = Calculation<Self, $type, $operator>;

            fn $method(self, right: $type) -> Self::Output {
                calculation(self, right)
            }
        }

        impl<$($generic),+> $trait<$type> for f64 {
            type Output = Calculation<Self, $type, $operator>;

            fn $method(self, right: $type) -> Self::Output {
                calculation(self, right)
            }
        }
    };
}

macro_rules! operators {
    ($(($($generic:ident),+) $type:ty;)+) => {$(
        operator!(Add add Plus ($($generic),+) $type);
        operator!(Sub sub Minus ($($generic),+) $type);
        operator!(Mul mul Times ($($generic),+) $type);
        operator!(Div div Divide ($($generic),+) $type);
        operator!(Rem rem Remainder ($($generic),+) $type);
    )+};
}
operators! {
    (T, V) Column<T, V>;
    (T, V) Expression<T, V>;
    (A, B, O) Calculation<A, B, O>;
    (E, V) AggregateOf<E, V>;
    (E, K) FunctionOf<E, K>;
    (A, B, K) PairOf<A, B, K>;
    (C, E) CaseOf<C, E>;
    (E, K) JsonPart<E, K>;
    (I, Q) QueryValue<I, Q>;
    (C, P, O) WindowExpr<C, P, O>;
}
