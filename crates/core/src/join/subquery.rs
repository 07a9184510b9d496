//! Queries inside of another one's filters and expressions.

use super::filter::JoinFilter;
use super::query::JoinQuery;
use super::scalar::ScalarField;
use super::selection::JoinPart;
use super::tables::Outer;
use super::{JoinCondition, JoinExpr};

/// The list of tables of a query inside of one with the list `L`: one that begins with
/// [`Query::subquery`](crate::Query::subquery), or that does not depend on the query around it.
pub trait SubqueryTables<L> {}

impl<J, L> SubqueryTables<L> for (J, ()) {}
impl<J, L> SubqueryTables<L> for (J, Outer<L>) {}
impl<J, K, M, L> SubqueryTables<L> for (J, (K, M)) where (K, M): SubqueryTables<L> {}

/// Whether a query has a row: see [`exists`].
pub struct Existence<I, R>(JoinQuery<I, R>);

/// The value of a query: see [`JoinQuery::value`].
pub struct QueryValue<I, R>(JoinQuery<I, R>);

/// Whether a query has a value: see [`is_in_query`](super::ExpressionMethods::is_in_query).
pub struct AmongRows<E, I, R> {
    expr: E,
    query: JoinQuery<I, R>,
}

impl<I, R> Clone for Existence<I, R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<I, R> Clone for QueryValue<I, R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E: Clone, I, R> Clone for AmongRows<E, I, R> {
    fn clone(&self) -> Self {
        Self { expr: self.expr.clone(), query: self.query.clone() }
    }
}

impl<E, I, R> AmongRows<E, I, R> {
    pub(super) const fn new(expr: E, query: JoinQuery<I, R>) -> Self {
        Self { expr, query }
    }
}

/// Rows for which another query, such as a [subquery](crate::Query::subquery), has at least one row.
#[must_use]
pub const fn exists<I, R>(query: JoinQuery<I, R>) -> Existence<I, R> {
    Existence(query)
}

impl<I, R> JoinQuery<I, R> {
    /// The value that the query selects in its first row, as an expression of another query; NULL if it has no row.
    #[must_use]
    pub const fn value(self) -> QueryValue<I, R> {
        QueryValue(self)
    }
}

impl<L, I: SubqueryTables<L>, R> JoinFilter<L, ()> for Existence<I, R> {
    fn into_condition(self) -> JoinCondition {
        JoinCondition::Exists(Box::new(self.0.to_subquery()))
    }
}

impl<L, P, E, I, R> JoinFilter<L, P> for AmongRows<E, I, R>
where
    E: JoinPart<L, P, Value: ScalarField>,
    I: SubqueryTables<L>,
    R: ScalarField<Base = <E::Value as ScalarField>::Base>,
{
    fn into_condition(self) -> JoinCondition {
        JoinCondition::InQuery(self.expr.expr(), Box::new(self.query.to_subquery()))
    }
}

impl<L, I: SubqueryTables<L>, R: ScalarField> JoinPart<L, ()> for QueryValue<I, R> {
    type Value = Option<R::Base>;

    fn expr(&self) -> JoinExpr {
        JoinExpr::Query(Box::new(self.0.to_subquery()))
    }
}
