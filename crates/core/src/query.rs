//! Queries: plain values, typed by the record, and the untyped form that engines run.

use crate::{
    Comparison, Condition, Error, ErrorKind, Expr, Filter, Key, Record, Result, TableSchema, Value,
};
use std::marker::PhantomData;
use std::sync::Arc;

/// Which records, in which order, how many. A plain value: make it once, use it anywhere.
///
/// Without an order, and among rows that an order leaves equal, records come by key: the same rows
/// in the same order on every engine.
#[derive(Debug)]
pub struct Query<T> {
    condition: Option<Condition>,
    order: Vec<Order>,
    group: Vec<usize>,
    limit: Option<u64>,
    offset: u64,
    after: Option<Vec<Value<'static>>>,
    record: PhantomData<fn() -> T>,
}

/// One step of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// The column's index.
    pub column: usize,
    /// Whether the largest come first.
    pub descending: bool,
}

/// A query as engines run it: over one table, untyped, every value in its column's stored form.
#[derive(Clone, Debug)]
pub struct Select {
    /// The table.
    pub table: Arc<TableSchema>,
    /// The result's columns.
    pub columns: Vec<Expr>,
    /// Which rows; all where there is none.
    pub condition: Option<Condition>,
    /// The columns that rows are grouped by. Where there is none and `columns` has an aggregate,
    /// all rows are one group, even where there is no row.
    pub group: Vec<usize>,
    /// The order, complete: it ends with the key's columns. Of groups: with the group's columns.
    /// Where it is empty the rows may come in any order.
    pub order: Vec<Order>,
    /// The most rows.
    pub limit: Option<u64>,
    /// How many rows are passed over.
    pub offset: u64,
}

impl<T> Clone for Query<T> {
    fn clone(&self) -> Self {
        Self {
            condition: self.condition.clone(),
            order: self.order.clone(),
            group: self.group.clone(),
            limit: self.limit,
            offset: self.offset,
            after: self.after.clone(),
            record: PhantomData,
        }
    }
}

impl<T> Default for Query<T> {
    fn default() -> Self {
        Self::all()
    }
}

impl<T> Query<T> {
    /// All records, by key.
    #[must_use]
    pub const fn all() -> Self {
        Self {
            condition: None,
            order: Vec::new(),
            group: Vec::new(),
            limit: None,
            offset: 0,
            after: None,
            record: PhantomData,
        }
    }

    /// The records that the filter keeps.
    #[must_use]
    pub fn filter(filter: Filter<T>) -> Self {
        Self { condition: Some(filter.into_condition()), ..Self::all() }
    }

    /// Keeps only those that this filter keeps too.
    #[must_use]
    pub fn and(mut self, filter: Filter<T>) -> Self {
        let filter = filter.into_condition();
        self.condition = Some(match self.condition {
            Some(condition) => Condition::And(vec![condition, filter]),
            None => filter,
        });
        self
    }

    /// Sorts by a column, after the orders given before.
    #[must_use]
    pub fn order_by(mut self, order: Order) -> Self {
        self.order.push(order);
        self
    }

    /// Groups rows that agree in a column, and in those given before: for
    /// selections with aggregates.
    #[must_use]
    pub fn group_by<V>(mut self, column: crate::Column<T, V>) -> Self {
        self.group.push(column.index());
        self
    }

    /// Forgets the order given before: for counts and sums, where it has no say.
    #[must_use]
    pub fn unordered(mut self) -> Self {
        self.order.clear();
        self
    }

    /// At most so many.
    #[must_use]
    pub const fn limit(mut self, rows: u64) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Passes over the first so many. Engines must step over them: to page through a large table
    /// use [`after`](Query::after).
    #[must_use]
    pub const fn offset(mut self, rows: u64) -> Self {
        self.offset = rows;
        self
    }

    /// The query as engines run it.
    ///
    /// # Errors
    /// `Schema` for a column that the table has not, or a selected column that is neither grouped
    /// by nor aggregated; `Mismatch` for a value not of its column's type; `Unsupported` for
    /// `after` together with an order or a group.
    pub fn to_select(&self, table: &Arc<TableSchema>, columns: Vec<Expr>) -> Result<Select> {
        let mut condition = match &self.condition {
            Some(condition) => Some(condition.clone().resolve(table)?),
            None => None,
        };
        if let Some(key) = &self.after {
            if !self.order.is_empty() || !self.group.is_empty() {
                let message = "paging by key goes with the order by key only";
                return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()));
            }
            let after = after_key(table, key)?.resolve(table)?;
            condition = Some(match condition {
                Some(condition) => Condition::And(vec![condition, after]),
                None => after,
            });
        }
        let grouped = !self.group.is_empty() || columns.iter().any(|expr| expr.is_aggregate());
        check_columns(table, &columns, grouped.then_some(&self.group))?;
        let mut order = self.order.clone();
        let tail = if grouped { &self.group } else { &table.key().to_vec() };
        for &column in tail {
            if order.iter().all(|step| step.column != column) {
                order.push(Order { column, descending: false });
            }
        }
        for step in &order {
            table.column_at(step.column)?;
            if grouped && !self.group.contains(&step.column) {
                let message = "groups can be ordered by the columns of the group only";
                return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()));
            }
        }
        let (group, limit, offset) = (self.group.clone(), self.limit, self.offset);
        Ok(Select { table: Arc::clone(table), columns, condition, group, order, limit, offset })
    }

    /// The condition alone, resolved: for counts, updates and deletes.
    ///
    /// # Errors
    /// As [`to_select`](Query::to_select).
    pub fn to_condition(&self, table: &TableSchema) -> Result<Option<Condition>> {
        self.condition.clone().map(|condition| condition.resolve(table)).transpose()
    }
}

impl<T: Record> Query<T> {
    /// The records whose key follows `key`: the next page of a walk by key, however large the
    /// table is.
    #[must_use]
    pub fn after(mut self, key: impl Into<T::Key>) -> Self {
        let own = |values: &[Value<'_>]| values.iter().map(|v| v.clone().into_owned()).collect();
        self.after = Some(key.into().with_values(own));
        self
    }
}

impl<T> From<Filter<T>> for Query<T> {
    fn from(filter: Filter<T>) -> Self {
        Self::filter(filter)
    }
}

impl<T> From<&Self> for Query<T> {
    fn from(query: &Self) -> Self {
        query.clone()
    }
}

impl Select {
    /// All columns of all rows by key.
    #[must_use]
    pub fn all(table: &Arc<TableSchema>) -> Self {
        Self {
            table: Arc::clone(table),
            columns: (0..table.columns().len()).map(Expr::Column).collect(),
            condition: None,
            group: Vec::new(),
            order: table.key().iter().map(|&column| Order { column, descending: false }).collect(),
            limit: None,
            offset: 0,
        }
    }

    /// Only the rows whose key follows `key`, besides the condition that is there.
    ///
    /// # Errors
    /// `Mismatch` for a value that is not of its key column's type.
    pub fn after(mut self, key: &[Value<'static>]) -> Result<Self> {
        let after = after_key(&self.table, key)?.resolve(&self.table)?;
        self.condition = Some(match self.condition {
            Some(condition) => Condition::And(vec![condition, after]),
            None => after,
        });
        Ok(self)
    }

    /// Whether rows are put together before they are handed out.
    #[must_use]
    pub fn is_grouped(&self) -> bool {
        !self.group.is_empty() || self.columns.iter().any(|expr| expr.is_aggregate())
    }
}

fn check_columns(table: &TableSchema, columns: &[Expr], group: Option<&Vec<usize>>) -> Result<()> {
    for expr in columns {
        let Some(index) = expr.column() else { continue };
        let column = table.column_at(index)?;
        if let (Expr::Column(index), Some(group)) = (expr, group)
            && !group.contains(index)
        {
            let message = "selected beside an aggregate, but not grouped by";
            return Err(Error::new(ErrorKind::Schema, message)
                .in_table(table.name())
                .in_column(column.name.clone()));
        }
    }
    Ok(())
}

/// `key > values`, column by column: `a > x or a = x and (b > y or …)`.
fn after_key(table: &TableSchema, values: &[Value<'static>]) -> Result<Condition> {
    let compare = |column: usize, comparison, value: &Value<'static>| Condition::Compare {
        column,
        comparison,
        value: value.clone(),
    };
    let mut condition: Option<Condition> = None;
    for (&column, value) in table.key().iter().zip(values).rev() {
        let greater = compare(column, Comparison::Greater, value);
        condition = Some(match condition {
            None => greater,
            Some(rest) => {
                let equal = compare(column, Comparison::Equal, value);
                Condition::Or(vec![greater, Condition::And(vec![equal, rest])])
            }
        });
    }
    condition.ok_or_else(|| {
        Error::new(ErrorKind::Schema, "a key has one column at least").in_table(table.name())
    })
}
