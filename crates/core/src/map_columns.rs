//! Queries and assignments over a table that has the same columns at other indexes.

use crate::{Assign, Condition, Expr, Order, Select, TableSchema};
use std::sync::Arc;

impl Condition {
    /// The condition with each column's index replaced by the one that `index` returns for it. Subqueries keep
    /// theirs, which are of other tables.
    ///
    /// ```
    /// use bobak_core::Condition;
    /// let unknown = Condition::Not(Box::new(Condition::IsNull { column: 1 }));
    /// let moved = unknown.map_columns(&|column| column + 2);
    /// assert_eq!(moved, Condition::Not(Box::new(Condition::IsNull { column: 3 })));
    /// ```
    #[must_use]
    pub fn map_columns(mut self, index: &dyn Fn(usize) -> usize) -> Self {
        let each = |parts: Vec<Self>| parts.into_iter().map(|part| part.map_columns(index));
        match &mut self {
            Self::Compare { column, .. }
            | Self::In { column, .. }
            | Self::Like { column, .. }
            | Self::LikeEscape { column, .. }
            | Self::Contains { column, .. }
            | Self::EndsWith { column, .. }
            | Self::StartsWith { column, .. }
            | Self::IsNull { column } => *column = index(*column),
            Self::InQuery { column, query } => {
                *column = index(*column);
                query.more.iter_mut().for_each(|pair| pair.from = index(pair.from));
            }
            Self::CompareColumns { left, right, .. } => {
                (*left, *right) = (index(*left), index(*right));
            }
            Self::And(parts) | Self::Or(parts) => *parts = each(std::mem::take(parts)).collect(),
            Self::Not(part) => **part = part.clone().map_columns(index),
        }
        self
    }

    /// Whether the condition names a column. Subqueries do not count, which are over other tables.
    #[must_use]
    pub fn names_column(&self, wanted: usize) -> bool {
        let mut found = false;
        self.for_each_column(&mut |column| found |= column == wanted);
        found
    }
}

impl Expr {
    /// The expression over the column whose index `index` returns.
    #[must_use]
    pub fn map_column(self, index: &dyn Fn(usize) -> usize) -> Self {
        match self {
            Self::Count | Self::Rank | Self::Distance => self,
            Self::Column(column) => Self::Column(index(column)),
            Self::CountOf(column) => Self::CountOf(index(column)),
            Self::Sum(column) => Self::Sum(index(column)),
            Self::Min(column) => Self::Min(index(column)),
            Self::Max(column) => Self::Max(index(column)),
            Self::Avg(column) => Self::Avg(index(column)),
        }
    }
}

impl Assign {
    /// The assignment to the column whose index `index` returns.
    #[must_use]
    pub fn map_column(mut self, index: &dyn Fn(usize) -> usize) -> Self {
        let (Self::Set { column, .. } | Self::Add { column, .. }) = &mut self;
        *column = index(*column);
        self
    }
}

impl Select {
    /// The same query over `table`, which has the columns of this query's at the indexes that `index` returns.
    #[must_use]
    pub fn map_columns(&self, table: Arc<TableSchema>, index: &dyn Fn(usize) -> usize) -> Self {
        let order = |step: &Order| Order { column: index(step.column), ..*step };
        Self {
            table,
            columns: self.columns.iter().map(|expr| expr.map_column(index)).collect(),
            search: self.search.clone(),
            nearest: self.nearest.clone().map(|mut nearest| {
                nearest.column = index(nearest.column);
                nearest
            }),
            condition: self.condition.clone().map(|condition| condition.map_columns(index)),
            group: self.group.iter().map(|&column| index(column)).collect(),
            order: self.order.iter().map(order).collect(),
            limit: self.limit,
            offset: self.offset,
            lock: self.lock,
        }
    }
}
