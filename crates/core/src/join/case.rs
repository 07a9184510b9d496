//! Values by condition: SQL's CASE.

use super::JoinExpr;
use super::filter::JoinFilter;
use super::scalar::ScalarField;
use super::selection::JoinPart;
use super::tables::Nullness;
use super::tree::JoinCondition;
use crate::Field;

/// Branches of a CASE: see [`when`].
#[derive(Clone, Copy, Debug)]
pub struct WhenBranch<B, F, V> {
    before: B,
    filter: F,
    value: V,
}

/// The value of the first branch whose filter matches, or another one: see [`when`].
#[derive(Clone, Copy, Debug)]
pub struct CaseOf<C, E> {
    branches: C,
    otherwise: E,
}

/// A value for the rows that match a filter: the beginning of a CASE.
///
/// ```
/// # use bobak_core::{Column, Query, Record, join::when};
/// # fn example<Order: Record>(total: Column<Order, i64>) {
/// let size = when(total.ge(1_000), "large").when(total.ge(100), "medium").otherwise("small");
/// let sizes = Query::<Order>::all().select((total, size));
/// # }
/// ```
///
/// The values are all numbers of integers, all floats, all money, all texts and so on.
#[must_use]
pub const fn when<F, V>(filter: F, value: V) -> WhenBranch<(), F, V> {
    WhenBranch { before: (), filter, value }
}

impl<B, F, V> WhenBranch<B, F, V> {
    /// A value for rows that match another filter, and none before.
    #[must_use]
    pub const fn when<G, W>(self, filter: G, value: W) -> WhenBranch<Self, G, W> {
        WhenBranch { before: self, filter, value }
    }

    /// The value for all other rows. `None::<i64>` and the like are NULL.
    #[must_use]
    pub const fn otherwise<E>(self, value: E) -> CaseOf<Self, E> {
        CaseOf { branches: self, otherwise: value }
    }
}

/// The branches of a CASE, whose values have a common type.
pub trait CaseBranches<L, P> {
    /// The type of the values, without `Option`.
    type Base: Field;
    /// Whether a value may be NULL.
    type Nullness: Nullness;

    /// Appends the untyped branches.
    fn branches(&self, branches: &mut Vec<(JoinCondition, JoinExpr)>);
}

impl<L, PF, PV, F, V> CaseBranches<L, (PF, PV)> for WhenBranch<(), F, V>
where
    F: JoinFilter<L, PF> + Clone,
    V: JoinPart<L, PV, Value: ScalarField>,
{
    type Base = <V::Value as ScalarField>::Base;
    type Nullness = <V::Value as ScalarField>::Nullness;

    fn branches(&self, branches: &mut Vec<(JoinCondition, JoinExpr)>) {
        branches.push((self.filter.clone().into_condition(), self.value.expr()));
    }
}

impl<L, PB, PF, PV, B, G, W, F, V> CaseBranches<L, (PB, PF, PV)>
    for WhenBranch<WhenBranch<B, G, W>, F, V>
where
    WhenBranch<B, G, W>: CaseBranches<L, PB>,
    F: JoinFilter<L, PF> + Clone,
    V: JoinPart<
            L,
            PV,
            Value: ScalarField<Base = <WhenBranch<B, G, W> as CaseBranches<L, PB>>::Base>,
        >,
{
    type Base = <WhenBranch<B, G, W> as CaseBranches<L, PB>>::Base;
    type Nullness = <<WhenBranch<B, G, W> as CaseBranches<L, PB>>::Nullness as Nullness>::With<
        <V::Value as ScalarField>::Nullness,
    >;

    fn branches(&self, branches: &mut Vec<(JoinCondition, JoinExpr)>) {
        self.before.branches(branches);
        branches.push((self.filter.clone().into_condition(), self.value.expr()));
    }
}

impl<L, PC, PE, C, E> JoinPart<L, (PC, PE)> for CaseOf<C, E>
where
    C: CaseBranches<L, PC>,
    E: JoinPart<L, PE, Value: ScalarField<Base = C::Base>>,
{
    type Value =
        <<C::Nullness as Nullness>::With<<E::Value as ScalarField>::Nullness> as Nullness>::Of<
            C::Base,
        >;

    fn expr(&self) -> JoinExpr {
        let mut branches = Vec::new();
        self.branches.branches(&mut branches);
        JoinExpr::Case(branches, Box::new(self.otherwise.expr()))
    }
}
