//! The types of expressions, and values that stand for themselves in them.

use super::JoinExpr;
use super::selection::JoinPart;
use super::tables::{NeverNull, Nullness, OrNull};
use crate::{Currency, Date, DateTime, Field, Time, Timestamp, Uuid, Value};

/// A type of field that expressions are made of.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` can't be part of an expression",
    note = "numbers, money, texts, truth values, dates, times and UUIDs can, and `Option`s of these"
)]
pub trait ScalarField: Field {
    /// The type without its width and without `Option`: `i64` for `Option<u8>`.
    type Base: Field;
    /// Whether it may be NULL.
    type Nullness: Nullness;
}

/// A type of field that can be calculated with.
#[diagnostic::on_unimplemented(message = "a field of type `{Self}` is no number")]
pub trait Number: ScalarField {}

/// A type of field with values that stand for an integer.
#[diagnostic::on_unimplemented(message = "a field of type `{Self}` is no number or truth value")]
pub trait CountableField: ScalarField {}

/// A whole number.
#[diagnostic::on_unimplemented(message = "a field of type `{Self}` is no integer")]
pub trait IntegerField: ScalarField {}

/// A text.
#[diagnostic::on_unimplemented(message = "a field of type `{Self}` is no text")]
pub trait TextField: ScalarField<Base = String> {}

impl TextField for String {}
impl TextField for Option<String> {}

/// A date, a date-time or a timestamp.
#[diagnostic::on_unimplemented(message = "a field of type `{Self}` has no date")]
pub trait Moment: Field {}

macro_rules! scalars {
    ($($t:ty => $base:ty),*) => {$(
        impl ScalarField for $t {
            type Base = $base;
            type Nullness = NeverNull;
        }
    )*};
}
scalars!(
    i8 => i64, i16 => i64, i32 => i64, i64 => i64, u8 => i64, u16 => i64, u32 => i64, u64 => i64,
    f32 => f64, f64 => f64, Currency => Currency, bool => bool, String => String, Uuid => Uuid,
    Date => Date, Time => Time, DateTime => DateTime, Timestamp => Timestamp
);

impl<S: ScalarField> ScalarField for Option<S> {
    type Base = S::Base;
    type Nullness = OrNull;
}

macro_rules! marked {
    ($($name:ident: $($t:ty),*;)*) => {$($(impl $name for $t {})*)*};
}
marked! {
    Number: i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, Currency;
    Moment: Date, DateTime, Timestamp;
    CountableField: bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, Currency;
    IntegerField: i8, i16, i32, i64, u8, u16, u32, u64;
}

impl<N: CountableField> CountableField for Option<N> {}
impl<N: IntegerField> IntegerField for Option<N> {}

impl<N: Number> Number for Option<N> {}

fn constant<V: Field>(value: &V) -> JoinExpr {
    let stored = value.to_value().map_or(Value::UNSTORABLE, Value::into_owned);
    JoinExpr::Value(stored, V::TYPE)
}

/// Values that stand for themselves. Of the integers only `i64`, so that a literal has one type.
macro_rules! constants {
    ($($t:ty),*) => {$(
        impl<L> JoinPart<L, ()> for $t {
            type Value = Self;

            fn expr(&self) -> JoinExpr {
                constant(self)
            }
        }

        impl<L> JoinPart<L, ()> for Option<$t> {
            type Value = Self;

            fn expr(&self) -> JoinExpr {
                constant(self)
            }
        }
    )*};
}
constants!(i64, f64, Currency, bool, String, Uuid, Date, Time, DateTime, Timestamp);

impl<L> JoinPart<L, ()> for &str {
    type Value = String;

    fn expr(&self) -> JoinExpr {
        constant(&(*self).to_owned())
    }
}
