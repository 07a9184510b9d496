//! Numbers calculated from columns of joined records, and aggregates of them.

use super::selection::{JoinPart, OrderedPart};
use super::tables::{NeverNull, Nullness, OrNull};
use super::{ComparedValue, JoinExpr};
use crate::{Column, Comparison, Currency, Field};
use std::marker::PhantomData;
use std::ops::{Add, Mul, Sub};

/// How two numbers are calculated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CalculationOperator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
}

/// An aggregate of a join's rows. NULLs are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinAggregate {
    /// The number of values.
    Count,
    /// The sum; NULL if there is no value.
    Sum,
    /// The smallest value; NULL if there is none.
    Min,
    /// The largest value; NULL if there is none.
    Max,
    /// The average as a float, of money in whole units; NULL if there is no value.
    Avg,
}

/// The operator `+` of an [`Calculation`].
#[derive(Clone, Copy, Debug)]
pub struct Plus;

/// The operator `-` of an [`Calculation`].
#[derive(Clone, Copy, Debug)]
pub struct Minus;

/// The operator `*` of an [`Calculation`].
#[derive(Clone, Copy, Debug)]
pub struct Times;

/// Two numbers calculated: `Line::PRICE * Line::QUANTITY`.
///
/// Integers are 64 bits wide: a result beyond them is an error. Money times an integer is money; a float with any number but
/// money is a float.
#[derive(Clone, Copy, Debug)]
pub struct Calculation<A, B, O> {
    left: A,
    right: B,
    operator: PhantomData<O>,
}

/// An aggregate of an [`Calculation`]: `(Line::PRICE * Line::QUANTITY).sum()`.
#[derive(Clone, Copy, Debug)]
pub struct AggregateOf<E, V> {
    function: JoinAggregate,
    expr: E,
    value: PhantomData<fn() -> V>,
}

/// A type of field that can be calculated with.
pub trait Number: Field {
    /// `i64`, `f64` or `Currency`.
    type Base: Field;
    /// Whether it may be NULL.
    type Nullness: Nullness;
}

macro_rules! numbers {
    ($($t:ty => $base:ty),*) => {$(
        impl Number for $t {
            type Base = $base;
            type Nullness = NeverNull;
        }
    )*};
}
numbers!(
    i8 => i64, i16 => i64, i32 => i64, i64 => i64, u8 => i64, u16 => i64, u32 => i64, u64 => i64,
    f32 => f64, f64 => f64, Currency => Currency
);

impl<N: Number> Number for Option<N> {
    type Base = N::Base;
    type Nullness = OrNull;
}

/// An operator for two [bases](Number::Base) of numbers.
#[diagnostic::on_unimplemented(
    message = "`{A}` and `{B}` cannot be calculated by `{Self}`",
    note = "money times an integer is money; money can be added to money"
)]
pub trait Calculates<A, B> {
    /// The base of the result.
    type Result: Field;
    /// The operator.
    const OPERATOR: CalculationOperator;
}

macro_rules! calculates {
    ($operator:ident: $($a:ty, $b:ty => $result:ty);+) => {$(
        impl Calculates<$a, $b> for $operator {
            type Result = $result;
            const OPERATOR: CalculationOperator = CalculationOperator::$operator;
        }
    )+};
}
calculates!(Plus: i64, i64 => i64; f64, f64 => f64; f64, i64 => f64; i64, f64 => f64);
calculates!(Plus: Currency, Currency => Currency);
calculates!(Minus: i64, i64 => i64; f64, f64 => f64; f64, i64 => f64; i64, f64 => f64);
calculates!(Minus: Currency, Currency => Currency);
calculates!(Times: i64, i64 => i64; f64, f64 => f64; f64, i64 => f64; i64, f64 => f64);
calculates!(Times: Currency, i64 => Currency; i64, Currency => Currency);

/// The base of the result of an operator for two parts.
type ResultOf<O, A, B> = <O as Calculates<A, B>>::Result;

impl<L, PA, PB, A, B, O> JoinPart<L, (PA, PB)> for Calculation<A, B, O>
where
    A: JoinPart<L, PA, Value: Number>,
    B: JoinPart<L, PB, Value: Number>,
    O: Calculates<<A::Value as Number>::Base, <B::Value as Number>::Base>,
{
    type Value = <<<A::Value as Number>::Nullness as Nullness>::With<
        <B::Value as Number>::Nullness,
    > as Nullness>::Of<ResultOf<O, <A::Value as Number>::Base, <B::Value as Number>::Base>>;

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
pub struct SameBase;

/// The aggregate is a float, or NULL.
#[derive(Clone, Copy, Debug)]
pub struct AsFloat;

impl<V: Number> AggregateValue<V> for SameBase {
    type Value = Option<V::Base>;
}

impl<V: Number> AggregateValue<V> for AsFloat {
    type Value = Option<f64>;
}

/// A number that stands for itself in an [`Calculation`].
macro_rules! constants {
    ($($t:ty),*) => {$(
        impl<L> JoinPart<L, ()> for $t {
            type Value = Self;

            fn expr(&self) -> JoinExpr {
                let value = self.to_value().map(crate::Value::into_owned).unwrap_or_default();
                JoinExpr::Value(value, <$t as Field>::TYPE)
            }
        }
    )*};
}
constants!(i64, f64, Currency);

macro_rules! operators {
    ($(($($generic:ident),+) $type:ty;)+) => {$(
        impl<$($generic,)+ R> Add<R> for $type {
            type Output = Calculation<Self, R, Plus>;

            fn add(self, right: R) -> Self::Output {
                Calculation { left: self, right, operator: PhantomData }
            }
        }
        impl<$($generic,)+ R> Sub<R> for $type {
            type Output = Calculation<Self, R, Minus>;

            fn sub(self, right: R) -> Self::Output {
                Calculation { left: self, right, operator: PhantomData }
            }
        }
        impl<$($generic,)+ R> Mul<R> for $type {
            type Output = Calculation<Self, R, Times>;

            fn mul(self, right: R) -> Self::Output {
                Calculation { left: self, right, operator: PhantomData }
            }
        }
    )+};
}
operators! {
    (T, V) Column<T, V>;
    (A, B, O) Calculation<A, B, O>;
}

impl<A, B, O> Calculation<A, B, O> {
    const fn aggregate<V>(self, function: JoinAggregate) -> AggregateOf<Self, V> {
        AggregateOf { function, expr: self, value: PhantomData }
    }

    /// The sum, exact for integers and money; `None` if there is no value.
    #[must_use]
    pub const fn sum(self) -> AggregateOf<Self, SameBase> {
        self.aggregate(JoinAggregate::Sum)
    }

    /// The smallest value; `None` if there is none.
    #[must_use]
    pub const fn min(self) -> AggregateOf<Self, SameBase> {
        self.aggregate(JoinAggregate::Min)
    }

    /// The largest value; `None` if there is none.
    #[must_use]
    pub const fn max(self) -> AggregateOf<Self, SameBase> {
        self.aggregate(JoinAggregate::Max)
    }

    /// The average as a float, of money in whole units; `None` if there is no value.
    #[must_use]
    pub const fn avg(self) -> AggregateOf<Self, AsFloat> {
        self.aggregate(JoinAggregate::Avg)
    }
}

/// Orders by an expression, and compares it with a value.
macro_rules! ordered_and_compared {
    ($(($($generic:ident),+) $type:ty;)+) => {$(
        impl<$($generic),+> $type {
            /// Ascending order, NULL first.
            #[must_use]
            pub const fn asc(self) -> OrderedPart<Self> {
                OrderedPart::new(self, false)
            }

            /// Descending order, NULL last.
            #[must_use]
            pub const fn desc(self) -> OrderedPart<Self> {
                OrderedPart::new(self, true)
            }

            /// Rows, or groups, in which it equals a value.
            #[must_use]
            pub const fn eq<W: Field>(self, value: W) -> ComparedValue<Self, W> {
                ComparedValue::new(self, Comparison::Equal, value)
            }

            /// Rows, or groups, in which it is less than a value.
            #[must_use]
            pub const fn lt<W: Field>(self, value: W) -> ComparedValue<Self, W> {
                ComparedValue::new(self, Comparison::Less, value)
            }

            /// Rows, or groups, in which it is at most a value.
            #[must_use]
            pub const fn le<W: Field>(self, value: W) -> ComparedValue<Self, W> {
                ComparedValue::new(self, Comparison::LessOrEqual, value)
            }

            /// Rows, or groups, in which it is greater than a value.
            #[must_use]
            pub const fn gt<W: Field>(self, value: W) -> ComparedValue<Self, W> {
                ComparedValue::new(self, Comparison::Greater, value)
            }

            /// Rows, or groups, in which it is at least a value.
            #[must_use]
            pub const fn ge<W: Field>(self, value: W) -> ComparedValue<Self, W> {
                ComparedValue::new(self, Comparison::GreaterOrEqual, value)
            }
        }
    )+};
}
ordered_and_compared! {
    (A, B, O) Calculation<A, B, O>;
    (E, V) AggregateOf<E, V>;
    (T, V) crate::Expression<T, V>;
}
