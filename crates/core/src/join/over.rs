//! Functions over the rows of windows.

use super::expression::{AggregateOf, AggregateValue};
use super::scalar::ScalarField;
use super::selection::{JoinOrderPart, JoinPart};
use super::window::{JoinWindow, WindowFunction};
use super::{JoinExpr, JoinOrder};
use crate::{Expression, Field, Record};

/// The rows that a window function is calculated from: see [`window`].
#[derive(Clone, Copy, Debug)]
pub struct Window<P, O> {
    partition: P,
    order: O,
    last: Option<u32>,
}

/// The rows that a window function is calculated from: all rows of the result, before its limit and offset.
///
/// ```
/// # use bobak_core::{Column, Query, Record, join::{from, row_number, window, ExpressionMethods, WindowMethods}};
/// # fn example<Sale: Record>(buyer: Column<Sale, i64>, total: Column<Sale, i64>) {
/// let of_buyer = window().partition_by(buyer).order_by(total.desc());
/// let best = from::<Sale>().and(row_number().over(of_buyer).le(3));
/// let shares = from::<Sale>().select((total, total.sum().over(window().partition_by(buyer))));
/// # }
/// ```
#[must_use]
pub const fn window() -> Window<(), ()> {
    Window { partition: (), order: (), last: None }
}

impl<P, O> Window<P, O> {
    /// Rows with the same value, in addition to previous ones.
    #[must_use]
    pub fn partition_by<E>(self, part: E) -> Window<(P, E), O> {
        Window { partition: (self.partition, part), order: self.order, last: self.last }
    }

    /// The order, after the previous ones. Rows that are equal in it are in the order of their keys. With an order, an aggregate
    /// is of the rows up to each row.
    #[must_use]
    pub fn order_by<S>(self, order: S) -> Window<P, (O, S)> {
        Window { partition: self.partition, order: (self.order, order), last: self.last }
    }

    /// An aggregate of so many rows of the order at most: the row itself and those before it.
    #[must_use]
    pub const fn last_rows(mut self, rows: u32) -> Self {
        self.last = Some(rows);
        self
    }
}

/// What partitions have in common.
pub trait PartitionParts<L, P> {
    /// Appends the untyped expressions.
    fn exprs(&self, exprs: &mut Vec<JoinExpr>);
}

impl<L> PartitionParts<L, ()> for () {
    fn exprs(&self, _: &mut Vec<JoinExpr>) {}
}

impl<L, PA, PB, A: PartitionParts<L, PA>, B: JoinPart<L, PB>> PartitionParts<L, (PA, PB)>
    for (A, B)
{
    fn exprs(&self, exprs: &mut Vec<JoinExpr>) {
        self.0.exprs(exprs);
        exprs.push(self.1.expr());
    }
}

/// The order of a window.
pub trait WindowOrder<L, P> {
    /// Appends the untyped order.
    fn steps(&self, steps: &mut Vec<JoinOrder>);
}

impl<L> WindowOrder<L, ()> for () {
    fn steps(&self, _: &mut Vec<JoinOrder>) {}
}

impl<L, PA, PB, A: WindowOrder<L, PA>, B: JoinOrderPart<L, PB>> WindowOrder<L, (PA, PB)>
    for (A, B)
{
    fn steps(&self, steps: &mut Vec<JoinOrder>) {
        self.0.steps(steps);
        steps.push(self.1.order());
    }
}

/// A function for [`over`](WindowMethods::over), and its argument.
pub trait WindowCall<L, P> {
    /// The type of its value.
    type Value: Field;

    /// The function and its argument.
    fn call(&self) -> (WindowFunction, Option<JoinExpr>);
}

/// A number of rows: see [`row_number`], [`rank`] and [`dense_rank`].
#[derive(Clone, Copy, Debug)]
pub struct RankFunction(WindowFunction);

/// A value of another row: see [`lag`](super::ExpressionMethods::lag).
#[derive(Clone, Copy, Debug)]
pub struct ValueOfRow<E> {
    expr: E,
    function: WindowFunction,
}

impl<E> ValueOfRow<E> {
    pub(super) const fn new(expr: E, function: WindowFunction) -> Self {
        Self { expr, function }
    }
}

/// The number of each row in the order of a window, from 1.
#[must_use]
pub const fn row_number() -> RankFunction {
    RankFunction(WindowFunction::RowNumber)
}

/// As [`row_number`], but rows that are equal in the order have the number of the first one.
#[must_use]
pub const fn rank() -> RankFunction {
    RankFunction(WindowFunction::Rank)
}

/// As [`rank`], without gaps.
#[must_use]
pub const fn dense_rank() -> RankFunction {
    RankFunction(WindowFunction::DenseRank)
}

impl<L> WindowCall<L, ()> for RankFunction {
    type Value = i64;

    fn call(&self) -> (WindowFunction, Option<JoinExpr>) {
        (self.0, None)
    }
}

impl<L, P, E: JoinPart<L, P, Value: ScalarField>> WindowCall<L, P> for ValueOfRow<E> {
    type Value = Option<<E::Value as ScalarField>::Base>;

    fn call(&self) -> (WindowFunction, Option<JoinExpr>) {
        (self.function, Some(self.expr.expr()))
    }
}

fn aggregate(expr: JoinExpr) -> (WindowFunction, Option<JoinExpr>) {
    match expr {
        JoinExpr::Aggregate(function, argument) => {
            (WindowFunction::Aggregate(function, None), Some(*argument))
        }
        // A column as an expression; there is no way to write it.
        other => (WindowFunction::First, Some(other)),
    }
}

impl<L, P, E: JoinPart<L, P>, V: AggregateValue<E::Value>> WindowCall<L, P> for AggregateOf<E, V> {
    type Value = V::Value;

    fn call(&self) -> (WindowFunction, Option<JoinExpr>) {
        aggregate(self.expr())
    }
}

impl<L, P, T: Record, V: Field> WindowCall<L, P> for Expression<T, V>
where
    Self: JoinPart<L, P, Value = V>,
{
    type Value = V;

    fn call(&self) -> (WindowFunction, Option<JoinExpr>) {
        aggregate(self.expr())
    }
}

/// What aggregates and the functions of windows have in common.
pub trait WindowMethods: Sized {
    /// The function over the rows of a [window](window()), for each row of the result.
    #[must_use]
    fn over<P, O>(self, window: Window<P, O>) -> WindowExpr<Self, P, O> {
        WindowExpr { call: self, window }
    }
}

impl WindowMethods for RankFunction {}
impl<E> WindowMethods for ValueOfRow<E> {}
impl<E, V> WindowMethods for AggregateOf<E, V> {}
impl<T, V> WindowMethods for Expression<T, V> {}

/// A function over the rows of a window: see [`WindowMethods::over`].
#[derive(Clone, Copy, Debug)]
pub struct WindowExpr<C, P, O> {
    call: C,
    window: Window<P, O>,
}

impl<L, PC, PP, PO, C, P, O> JoinPart<L, (PC, PP, PO)> for WindowExpr<C, P, O>
where
    C: WindowCall<L, PC>,
    P: PartitionParts<L, PP>,
    O: WindowOrder<L, PO>,
{
    type Value = C::Value;

    fn expr(&self) -> JoinExpr {
        let (mut function, argument) = self.call.call();
        if let WindowFunction::Aggregate(_, last) = &mut function {
            *last = self.window.last;
        }
        let (mut partition, mut order) = (Vec::new(), Vec::new());
        self.window.partition.exprs(&mut partition);
        self.window.order.steps(&mut order);
        JoinExpr::Window(Box::new(JoinWindow { function, argument, partition, order }))
    }
}
