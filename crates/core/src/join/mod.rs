//! Joins: queries over the rows of several records.
//!
//! [`JoinQuery`] is the typed form, which the compiler checks; [`Join`] is the untyped form, which the facade runs.

mod alias;
mod expression;
mod filter;
mod query;
mod selection;
mod tables;

pub use alias::Alias;
pub use expression::{
    AggregateOf, AggregateValue, AsFloat, Calculates, Calculation, CalculationOperator,
    JoinAggregate, Minus, Number, Plus, SameBase, Times,
};
pub use filter::{AnyOf, ComparedValue, ComparesWith, JoinFilter};
pub use query::JoinQuery;
pub use selection::{
    JoinOrderPart, JoinPart, JoinSelection, OrderedPart, PartPlace, RecordPlace, WholeRecord, whole,
};
pub use tables::{
    FirstTable, InnerJoined, JoinedRecords, JoinedTable, JoinedTables, JoinsTable, LaterTable,
    LeftJoined, NeverNull, Nullness, OrNull,
};

use crate::{Comparison, Condition, Error, ErrorKind, Result, TableSchema, Type, Value};
use std::sync::Arc;

/// A query over the rows of several tables, untyped, with every value in its column's stored form.
///
/// Columns and tables are given by their indexes. The rows are those of the first table, each with its linked rows of the
/// other tables; they have a complete order, which ends with the keys of all tables, or the groups' columns.
#[derive(Clone, Debug)]
pub struct Join {
    /// The tables, at least one.
    pub tables: Vec<JoinTable>,
    /// What rows must match, all of it.
    pub filters: Vec<JoinCondition>,
    /// The columns of the result.
    pub columns: Vec<JoinExpr>,
    /// The columns to group by. If there are none and another part has an aggregate, all rows form one group.
    pub group: Vec<JoinColumn>,
    /// What groups must match, all of it.
    pub having: Vec<JoinCondition>,
    /// The order.
    pub order: Vec<JoinOrder>,
    /// The maximum number of rows.
    pub limit: Option<u64>,
    /// How many rows to skip.
    pub offset: u64,
}

/// A table of a join.
#[derive(Clone, Debug)]
pub struct JoinTable {
    /// The table.
    pub table: Arc<TableSchema>,
    /// How its rows are linked to those of a table before it; `None` for the first table.
    pub link: Option<JoinLink>,
}

/// How the rows of a joined table are found: a column equals a column of a table before it.
#[derive(Clone, Debug)]
pub struct JoinLink {
    /// The column of a table before.
    pub from: JoinColumn,
    /// The index of the table's own column.
    pub to: usize,
    /// Whether a row without linked rows stays, with NULLs.
    pub is_left: bool,
    /// What linked rows must match.
    pub condition: Option<Condition>,
}

/// A column of one of a join's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JoinColumn {
    /// The index of the table.
    pub table: usize,
    /// The index of the column.
    pub column: usize,
}

/// An expression over the rows of a join.
#[derive(Clone, Debug, PartialEq)]
pub enum JoinExpr {
    /// A column's value.
    Column(JoinColumn),
    /// A value of a type, in its stored form.
    Value(Value<'static>, Type),
    /// Two numbers calculated; NULL if one of them is NULL.
    Calculation(CalculationOperator, Box<(JoinExpr, JoinExpr)>),
    /// An aggregate over the values of an expression that are not NULL.
    Aggregate(JoinAggregate, Box<JoinExpr>),
}

/// A condition over the rows or groups of a join, with three-valued logic.
#[derive(Clone, Debug, PartialEq)]
pub enum JoinCondition {
    /// A condition over the rows of the table at an index.
    Row(usize, Condition),
    /// Compares two expressions.
    Compare(JoinExpr, Comparison, JoinExpr),
    /// Whether an expression is NULL, or with `false` is not NULL.
    IsNull(JoinExpr, bool),
    /// At least one is true.
    AnyOf(Vec<JoinCondition>),
    /// All are true.
    AllOf(Vec<JoinCondition>),
}

/// An expression to sort by.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinOrder {
    /// The expression.
    pub expr: JoinExpr,
    /// Whether the largest value comes first.
    pub descending: bool,
}

impl JoinExpr {
    /// Whether it has an aggregate.
    #[must_use]
    pub fn is_aggregate(&self) -> bool {
        match self {
            Self::Column(_) | Self::Value(..) => false,
            Self::Calculation(_, parts) => parts.0.is_aggregate() || parts.1.is_aggregate(),
            Self::Aggregate(..) => true,
        }
    }

    /// The type of its values.
    #[must_use]
    pub fn ty(&self, join: &Join) -> Type {
        let number = |ty: Type| match ty {
            Type::F32 | Type::F64 => Type::F64,
            exact @ (Type::Currency | Type::Any) => exact,
            _ => Type::I64,
        };
        match self {
            Self::Column(column) => join.column(*column).map_or(Type::Any, |column| column.ty),
            Self::Value(_, ty) => *ty,
            Self::Calculation(_, parts) => {
                match (number(parts.0.ty(join)), number(parts.1.ty(join))) {
                    (Type::F64, _) | (_, Type::F64) => Type::F64,
                    (Type::Currency, _) | (_, Type::Currency) => Type::Currency,
                    (ty, _) => ty,
                }
            }
            Self::Aggregate(function, expr) => match function {
                JoinAggregate::Count => Type::I64,
                JoinAggregate::Avg => Type::F64,
                JoinAggregate::Sum => number(expr.ty(join)),
                JoinAggregate::Min | JoinAggregate::Max => expr.ty(join),
            },
        }
    }

    /// Calls `each` with the columns outside of aggregates.
    fn for_each_plain_column(&self, each: &mut impl FnMut(JoinColumn)) {
        match self {
            Self::Column(column) => each(*column),
            Self::Calculation(_, parts) => {
                parts.0.for_each_plain_column(each);
                parts.1.for_each_plain_column(each);
            }
            Self::Value(..) | Self::Aggregate(..) => {}
        }
    }

    /// Calls `each` with all columns that it reads.
    pub fn for_each_column(&self, each: &mut dyn FnMut(JoinColumn)) {
        match self {
            Self::Column(column) => each(*column),
            Self::Value(..) => {}
            Self::Calculation(_, parts) => {
                parts.0.for_each_column(each);
                parts.1.for_each_column(each);
            }
            Self::Aggregate(_, expr) => expr.for_each_column(each),
        }
    }
}

impl JoinCondition {
    fn is_aggregate(&self) -> bool {
        match self {
            Self::Row(..) => false,
            Self::Compare(left, _, right) => left.is_aggregate() || right.is_aggregate(),
            Self::IsNull(expr, _) => expr.is_aggregate(),
            Self::AnyOf(parts) | Self::AllOf(parts) => parts.iter().any(Self::is_aggregate),
        }
    }

    /// The condition with values in their columns' stored form.
    fn resolve(self, tables: &[JoinTable]) -> Result<Self> {
        let each = |parts: Vec<Self>| {
            parts.into_iter().map(|part| part.resolve(tables)).collect::<Result<_>>()
        };
        Ok(match self {
            Self::Row(table, condition) => match tables.get(table) {
                Some(JoinTable { table: schema, .. }) => {
                    Self::Row(table, condition.resolve(schema)?)
                }
                None => Self::Row(table, condition),
            },
            other @ (Self::Compare(..) | Self::IsNull(..)) => other,
            Self::AnyOf(parts) => Self::AnyOf(each(parts)?),
            Self::AllOf(parts) => Self::AllOf(each(parts)?),
        })
    }

    /// Calls `each` with the columns outside of aggregates.
    fn for_each_plain_column(&self, each: &mut impl FnMut(JoinColumn)) {
        match self {
            Self::Row(..) => {}
            Self::Compare(left, _, right) => {
                left.for_each_plain_column(each);
                right.for_each_plain_column(each);
            }
            Self::IsNull(expr, _) => expr.for_each_plain_column(each),
            Self::AnyOf(parts) | Self::AllOf(parts) => {
                parts.iter().for_each(|part| part.for_each_plain_column(each));
            }
        }
    }
}

impl Join {
    /// The schema of a column.
    #[must_use]
    pub fn column(&self, column: JoinColumn) -> Option<&crate::ColumnSchema> {
        self.tables.get(column.table)?.table.columns().get(column.column)
    }

    /// Whether the rows of the result are groups: because of columns to group by, or of an aggregate.
    #[must_use]
    pub fn is_grouped(&self) -> bool {
        let order = self.order.iter().map(|step| &step.expr);
        !self.group.is_empty()
            || !self.having.is_empty()
            || self.columns.iter().chain(order).any(JoinExpr::is_aggregate)
    }

    /// Adds the filter that a row comes after the row that has these values in the order.
    ///
    /// # Errors
    /// `Mismatch` for another number of values, or a value of the wrong type.
    pub fn after_row(mut self, values: &[Value<'static>]) -> Result<Self> {
        if values.len() != self.order.len() {
            let kind = ErrorKind::Mismatch;
            let error = Error::wrong_number(kind, values.len(), self.order.len(), "ordered value");
            return Err(error);
        }
        let mut condition: Option<JoinCondition> = None;
        for (step, value) in self.order.iter().zip(values).rev() {
            let later = self.later_value(step, value);
            condition = Some(match condition {
                None => later,
                Some(rest) => {
                    let same = self.compared(&step.expr, Comparison::Equal, value);
                    JoinCondition::AnyOf(vec![later, JoinCondition::AllOf(vec![same, rest])])
                }
            });
        }
        if let Some(condition) = condition {
            self.filters.push(condition.resolve(&self.tables)?);
        }
        Ok(self)
    }

    /// The condition that an expression's value comes after another one: NULL is the smallest value.
    fn later_value(&self, step: &JoinOrder, value: &Value<'static>) -> JoinCondition {
        let is_null = |wanted| JoinCondition::IsNull(step.expr.clone(), wanted);
        match (value, step.descending) {
            (Value::Null, false) => is_null(false),
            (Value::Null, true) => JoinCondition::AnyOf(Vec::new()),
            (value, false) => self.compared(&step.expr, Comparison::Greater, value),
            (value, true) => {
                let less = self.compared(&step.expr, Comparison::Less, value);
                JoinCondition::AnyOf(vec![less, is_null(true)])
            }
        }
    }

    /// Compares an expression with a value, a column by its collation; NULL equals NULL.
    fn compared(
        &self,
        expr: &JoinExpr,
        comparison: Comparison,
        value: &Value<'static>,
    ) -> JoinCondition {
        match (expr, value.clone()) {
            (expr, Value::Null) => JoinCondition::IsNull(expr.clone(), true),
            (JoinExpr::Column(JoinColumn { table, column }), value) => JoinCondition::Row(
                *table,
                Condition::Compare { column: *column, comparison, value },
            ),
            (expr, value) => {
                let value = JoinExpr::Value(value, expr.ty(self));
                JoinCondition::Compare(expr.clone(), comparison, value)
            }
        }
    }

    /// The query with values in their columns' stored form, and a complete order. Columns that depend on the columns of the
    /// group, since the group has the key of their table, are added to the group.
    ///
    /// # Errors
    /// `Schema` if a column is neither grouped by nor aggregated; `Mismatch` for a value of the wrong type.
    pub(crate) fn resolve(mut self) -> Result<Self> {
        let filters = std::mem::take(&mut self.filters);
        for filter in filters {
            let filter = filter.resolve(&self.tables)?;
            if filter.is_aggregate() {
                self.having.push(filter);
            } else {
                self.filters.push(filter);
            }
        }
        for JoinTable { table, link } in &mut self.tables {
            if let Some(link) = link
                && let Some(condition) = link.condition.take()
            {
                link.condition = Some(condition.resolve(table)?);
            }
        }
        let is_grouped = self.is_grouped();
        if is_grouped {
            self.complete_group()?;
        }
        let mut order = |column: JoinColumn| {
            let expr = JoinExpr::Column(column);
            if self.order.iter().all(|step| step.expr != expr) {
                self.order.push(JoinOrder { expr, descending: false });
            }
        };
        if !is_grouped {
            for (table, JoinTable { table: schema, .. }) in self.tables.iter().enumerate() {
                schema.key().iter().for_each(|&column| order(JoinColumn { table, column }));
            }
        } else {
            self.group.iter().for_each(|&column| order(column));
        }
        Ok(self)
    }

    /// Adds to the group what depends on it.
    fn complete_group(&mut self) -> Result<()> {
        let mut used = Vec::new();
        let mut each = |column| used.push(column);
        self.columns.iter().for_each(|expr| expr.for_each_plain_column(&mut each));
        self.order.iter().for_each(|step| step.expr.for_each_plain_column(&mut each));
        self.having.iter().for_each(|part| part.for_each_plain_column(&mut each));
        for column in used {
            if self.group.contains(&column) {
                continue;
            }
            let Some(JoinTable { table, .. }) = self.tables.get(column.table) else { continue };
            let is_grouped = |&key: &usize| {
                self.group.contains(&JoinColumn { table: column.table, column: key })
            };
            if table.key().is_empty() || !table.key().iter().all(is_grouped) {
                let name = table.columns().get(column.column).map_or("", |column| &column.name);
                let message = "neither aggregated nor grouped by: add it, or the key of its table, \
                               to the group";
                let error =
                    Error::new(ErrorKind::Schema, message).in_table(table.name().to_owned());
                return Err(error.in_column(name.to_owned()));
            }
            self.group.push(column);
        }
        Ok(())
    }
}
