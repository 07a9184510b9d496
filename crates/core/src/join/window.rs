//! Window functions: values calculated from other rows of the result.

use super::{Join, JoinAggregate, JoinExpr, JoinOrder, JoinRewriter};
use crate::{Error, ErrorKind, Result, Type};

/// A window function, untyped: it is calculated for each row of the result from the rows of the same partition.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinWindow {
    /// The function.
    pub function: WindowFunction,
    /// Its argument; `None` if it has none.
    pub argument: Option<JoinExpr>,
    /// The rows with the same values of these are a partition.
    pub partition: Vec<JoinExpr>,
    /// The order in a partition; complete, but for [`Rank`](WindowFunction::Rank) and
    /// [`DenseRank`](WindowFunction::DenseRank), for which rows can be equal.
    pub order: Vec<JoinOrder>,
}

/// What a window function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowFunction {
    /// The number of the row, from 1.
    RowNumber,
    /// The number of the first row that is equal in the order.
    Rank,
    /// The number of different rows in the order so far.
    DenseRank,
    /// The argument's value so many rows before; NULL if there is no such row.
    Lag(u32),
    /// The argument's value so many rows later; NULL if there is no such row.
    Lead(u32),
    /// The argument's value in the first row of the partition.
    First,
    /// The argument's value in the last row of the partition.
    Last,
    /// An aggregate of the argument: with an order up to the row, and of at most so many rows; else of the partition.
    Aggregate(JoinAggregate, Option<u32>),
}

impl JoinWindow {
    /// The type of its values.
    #[must_use]
    pub fn ty(&self, join: &Join) -> Type {
        match (self.function, &self.argument) {
            (WindowFunction::Aggregate(function, _), Some(argument)) => {
                function.ty(argument.ty(join))
            }
            (
                WindowFunction::Lag(_)
                | WindowFunction::Lead(_)
                | WindowFunction::First
                | WindowFunction::Last,
                Some(argument),
            ) => argument.ty(join),
            _ => Type::I64,
        }
    }

    /// Calls `each` with its parts.
    pub fn for_each_part<'e>(&'e self, each: &mut dyn FnMut(&'e JoinExpr)) {
        self.argument.iter().chain(&self.partition).for_each(&mut *each);
        self.order.iter().for_each(|step| each(&step.expr));
    }

    pub(super) fn rewrite(self, rewriter: &mut dyn JoinRewriter) -> Result<Self> {
        let mut has_window = false;
        self.for_each_part(&mut |part| has_window |= part.is_window());
        if has_window {
            let message = "a window function has no other window function inside";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let argument = self.argument.map(|argument| argument.rewrite(rewriter)).transpose()?;
        let partition = self.partition.into_iter().map(|part| part.rewrite(rewriter));
        let partition = partition.collect::<Result<_>>()?;
        let order = self.order.into_iter().map(|step| {
            let expr = step.expr.rewrite(rewriter)?;
            Ok(JoinOrder { expr, ..step })
        });
        let order = order.collect::<Result<_>>()?;
        Ok(rewriter.window(Self { function: self.function, argument, partition, order }))
    }

    /// The window function with a complete order, which ends with `rest`.
    pub(super) fn complete(mut self, rest: &[JoinExpr]) -> Self {
        let has_peers = matches!(self.function, WindowFunction::Rank | WindowFunction::DenseRank);
        let is_whole =
            matches!(self.function, WindowFunction::Aggregate(..)) && self.order.is_empty();
        if !has_peers && !is_whole {
            for expr in rest {
                if self.order.iter().all(|step| step.expr != *expr) {
                    let expr = expr.clone();
                    self.order.push(JoinOrder { expr, descending: false, nulls_first: true });
                }
            }
        }
        self
    }
}
