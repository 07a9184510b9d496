//! Filters over joined records.

use super::selection::JoinPart;
use super::tables::JoinsTable;
use super::{JoinCondition, JoinExpr};
use crate::{Comparison, Field, Filter, Value};

/// What the rows or groups of a join must match: a [`Filter`] of one of its records, a compared expression, or
/// [`AnyOf`] of several.
pub trait JoinFilter<L, P> {
    /// The untyped condition.
    fn into_condition(self) -> JoinCondition;
}

impl<L: JoinsTable<T, P>, T, P> JoinFilter<L, P> for Filter<T> {
    fn into_condition(self) -> JoinCondition {
        JoinCondition::Row(L::INDEX, Filter::into_condition(self))
    }
}

/// An expression compared with a value: `(Line::PRICE * Line::QUANTITY).sum().gt(limit)`.
#[derive(Clone, Debug)]
pub struct ComparedValue<E, V> {
    expr: E,
    comparison: Comparison,
    value: V,
}

impl<E, V> ComparedValue<E, V> {
    pub(super) const fn new(expr: E, comparison: Comparison, value: V) -> Self {
        Self { expr, comparison, value }
    }
}

/// A type whose values can be compared with a `V`: itself, and its `Option`.
pub trait ComparesWith<V> {}

impl<V> ComparesWith<V> for V {}

impl<V> ComparesWith<V> for Option<V> {}

impl<L, P, E, V> JoinFilter<L, P> for ComparedValue<E, V>
where
    E: JoinPart<L, P, Value: ComparesWith<V>>,
    V: Field,
{
    fn into_condition(self) -> JoinCondition {
        // A value without a stored form equals nothing, as NULL.
        let value = self.value.to_value().map(Value::into_owned).unwrap_or_default();
        let value = JoinExpr::Value(value, V::TYPE);
        JoinCondition::Compare(self.expr.expr(), self.comparison, value)
    }
}

/// Rows that match at least one filter of a tuple: `AnyOf((Customer::CITY.eq("Bern"), Product::NAME.eq("tea")))`.
#[derive(Clone, Debug)]
pub struct AnyOf<F>(pub F);

macro_rules! any_of {
    ($($filter:ident $place:ident $index:tt),+) => {
        impl<L, $($filter: JoinFilter<L, $place>, $place),+> JoinFilter<L, ($($place,)+)>
            for AnyOf<($($filter,)+)>
        {
            fn into_condition(self) -> JoinCondition {
                JoinCondition::AnyOf(vec![$(self.0.$index.into_condition()),+])
            }
        }
    };
}
any_of!(A PA 0, B PB 1);
any_of!(A PA 0, B PB 1, C PC 2);
any_of!(A PA 0, B PB 1, C PC 2, D PD 3);
