//! Placeholders for the values of prepared queries.

use crate::mark::{PlaceholderScope, PlaceholderState};
use crate::{Field, Operand, Result, Value};
use std::marker::PhantomData;

/// A value that a prepared query gets when it runs: a `V`, or what a column of the type `Option<V>` has if it is not NULL.
///
/// Only the function that writes a prepared query gets placeholders. Anywhere else they have no value, and a query with one
/// fails with `OutOfRange`.
#[derive(Debug)]
pub struct Placeholder<V> {
    index: usize,
    value: PhantomData<fn() -> V>,
}

impl<V> Clone for Placeholder<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Placeholder<V> {}

impl<V: Field> Operand<V> for Placeholder<V> {
    fn into_value(self) -> Value<'static> {
        PlaceholderScope::value(self.index)
    }
}

impl<V: Field> Operand<Option<V>> for Placeholder<V> {
    fn into_value(self) -> Value<'static> {
        PlaceholderScope::value(self.index)
    }
}

/// The placeholders of a prepared query: one [`Placeholder`], or a tuple of up to six.
pub trait Placeholders {
    /// The values: one, or a tuple.
    type Values;

    /// The placeholders, in order.
    fn new() -> Self;

    /// Calls `run` with the values, in order.
    ///
    /// # Errors
    /// As [`Field::to_value`]; those of `run`.
    fn with_values<R>(
        values: &Self::Values,
        run: impl FnOnce(&[Value<'_>]) -> Result<R>,
    ) -> Result<R>;
}

impl<V: Field> Placeholders for Placeholder<V> {
    type Values = V;

    fn new() -> Self {
        Self { index: 0, value: PhantomData }
    }

    fn with_values<R>(value: &V, run: impl FnOnce(&[Value<'_>]) -> Result<R>) -> Result<R> {
        run(&[value.to_value()?])
    }
}

macro_rules! tuple_placeholders {
    ($($v:ident $i:tt),+) => {
        impl<$($v: Field),+> Placeholders for ($(Placeholder<$v>,)+) {
            type Values = ($($v,)+);

            fn new() -> Self {
                ($(Placeholder { index: $i, value: PhantomData },)+)
            }

            fn with_values<R>(
                values: &Self::Values,
                run: impl FnOnce(&[Value<'_>]) -> Result<R>,
            ) -> Result<R> {
                run(&[$(values.$i.to_value()?),+])
            }
        }
    };
}
tuple_placeholders!(A 0);
tuple_placeholders!(A 0, B 1);
tuple_placeholders!(A 0, B 1, C 2);
tuple_placeholders!(A 0, B 1, C 2, D 3);
tuple_placeholders!(A 0, B 1, C 2, D 3, E 4);
tuple_placeholders!(A 0, B 1, C 2, D 3, E 4, F 5);

/// Runs `write`, in which the placeholders have these values.
pub fn with_placeholder_values<R>(values: &[Value<'_>], write: impl FnOnce() -> R) -> R {
    let values = values.iter().map(|value| value.as_ref().to_owned()).collect();
    let _scope = PlaceholderScope::enter(PlaceholderState::Running(values));
    write()
}
