//! Filters over joined records.

use super::scalar::ScalarField;
use super::selection::JoinPart;
use super::tables::JoinsTable;
use super::text_test::TextTest;
use super::tree::JoinCondition;
use crate::{Comparison, Filter};

/// What the rows or groups of a join must match: a [`Filter`] of one of its records, a compared or tested expression, or
/// [`AnyOf`], [`AllOf`] and [`not`] of such.
pub trait JoinFilter<L, P> {
    /// The untyped condition.
    fn into_condition(self) -> JoinCondition;
}

impl<L: JoinsTable<T, P>, T, P> JoinFilter<L, P> for Filter<T> {
    fn into_condition(self) -> JoinCondition {
        JoinCondition::Row(L::INDEX, Filter::into_condition(self))
    }
}

/// Two expressions compared: `(Line::PRICE * Line::QUANTITY).sum().gt(limit)`.
#[derive(Clone, Copy, Debug)]
pub struct ExprComparison<A, B> {
    left: A,
    comparison: Comparison,
    right: B,
}

impl<A, B> ExprComparison<A, B> {
    pub(super) const fn new(left: A, comparison: Comparison, right: B) -> Self {
        Self { left, comparison, right }
    }
}

impl<L, PA, PB, A, B> JoinFilter<L, (PA, PB)> for ExprComparison<A, B>
where
    A: JoinPart<L, PA, Value: ScalarField>,
    B: JoinPart<L, PB, Value: ScalarField<Base = <A::Value as ScalarField>::Base>>,
{
    fn into_condition(self) -> JoinCondition {
        JoinCondition::Compare(self.left.expr(), self.comparison, self.right.expr())
    }
}

/// An expression that equals one of some values.
#[derive(Clone, Debug)]
pub struct Among<A, B> {
    expr: A,
    values: Vec<B>,
}

impl<A, B> Among<A, B> {
    pub(super) const fn new(expr: A, values: Vec<B>) -> Self {
        Self { expr, values }
    }
}

impl<L, PA, PB, A, B> JoinFilter<L, (PA, PB)> for Among<A, B>
where
    A: JoinPart<L, PA, Value: ScalarField>,
    B: JoinPart<L, PB, Value: ScalarField<Base = <A::Value as ScalarField>::Base>>,
{
    fn into_condition(self) -> JoinCondition {
        let equal =
            |value: &B| JoinCondition::Compare(self.expr.expr(), Comparison::Equal, value.expr());
        JoinCondition::AnyOf(self.values.iter().map(equal).collect())
    }
}

/// Whether an expression is NULL.
#[derive(Clone, Copy, Debug)]
pub struct NullTest<E> {
    expr: E,
    wanted: bool,
}

impl<E> NullTest<E> {
    pub(super) const fn new(expr: E, wanted: bool) -> Self {
        Self { expr, wanted }
    }
}

impl<L, P, E: JoinPart<L, P>> JoinFilter<L, P> for NullTest<E> {
    fn into_condition(self) -> JoinCondition {
        JoinCondition::IsNull(self.expr.expr(), self.wanted)
    }
}

/// A text that is tested: `Customer::NAME.lower().starts_with("a")`.
#[derive(Clone, Debug)]
pub struct TextCondition<E> {
    expr: E,
    test: TextTest,
}

impl<E> TextCondition<E> {
    pub(super) const fn new(expr: E, test: TextTest) -> Self {
        Self { expr, test }
    }
}

impl<L, P, E: JoinPart<L, P, Value: ScalarField<Base = String>>> JoinFilter<L, P>
    for TextCondition<E>
{
    fn into_condition(self) -> JoinCondition {
        JoinCondition::Text(self.expr.expr(), self.test)
    }
}

/// Rows that match at least one filter of a tuple: `AnyOf((Customer::CITY.eq("Bern"), Product::NAME.eq("tea")))`.
#[derive(Clone, Debug)]
pub struct AnyOf<F>(pub F);

/// Rows that match all filters of a tuple: for use inside of [`AnyOf`], [`not`] and [`when`](super::when).
#[derive(Clone, Debug)]
pub struct AllOf<F>(pub F);

/// A filter that is false: see [`not`].
#[derive(Clone, Debug)]
pub struct Negation<F>(F);

/// Rows for which a filter is false. Rows for which it is NULL match neither.
#[must_use]
pub const fn not<F>(filter: F) -> Negation<F> {
    Negation(filter)
}

impl<L, P, F: JoinFilter<L, P>> JoinFilter<L, P> for Negation<F> {
    fn into_condition(self) -> JoinCondition {
        JoinCondition::Not(Box::new(self.0.into_condition()))
    }
}

macro_rules! several {
    ($name:ident: $($filter:ident $place:ident $index:tt),+) => {
        impl<L, $($filter: JoinFilter<L, $place>, $place),+> JoinFilter<L, ($($place,)+)>
            for $name<($($filter,)+)>
        {
            fn into_condition(self) -> JoinCondition {
                JoinCondition::$name(vec![$(self.0.$index.into_condition()),+])
            }
        }
    };
}
several!(AnyOf: A PA 0, B PB 1);
several!(AnyOf: A PA 0, B PB 1, C PC 2);
several!(AnyOf: A PA 0, B PB 1, C PC 2, D PD 3);
several!(AllOf: A PA 0, B PB 1);
several!(AllOf: A PA 0, B PB 1, C PC 2);
several!(AllOf: A PA 0, B PB 1, C PC 2, D PD 3);
