//! Queries: plain values, typed by the record; and the untyped form that engines run.

use crate::{
    AnyColumn, Condition, Error, ErrorKind, Expr, FieldSet, Filter, Key, Record, Result, RowLock,
    SubQuery, TableSchema, Value,
    nearest::{Distance, Nearest},
    search::{Search, SearchQuery},
};
use std::marker::PhantomData;
use std::sync::Arc;

/// Which records, in which order, and how many. A plain value that can be reused.
///
/// Without an order, and among rows that are equal in the order, records are sorted by key: every engine
/// returns the same rows in the same order.
#[derive(Debug)]
pub struct Query<T> {
    search: Option<String>,
    nearest: Option<Nearest>,
    condition: Option<Condition>,
    order: Vec<Order>,
    group: Vec<usize>,
    limit: Option<u64>,
    offset: u64,
    after: Option<Vec<Value<'static>>>,
    lock: Option<RowLock>,
    with: FieldSet,
    record: PhantomData<fn() -> T>,
}

/// The untyped parts of a query.
pub(crate) struct QueryParts {
    pub condition: Option<Condition>,
    pub order: Vec<Order>,
    pub group: Vec<usize>,
    pub limit: Option<u64>,
    pub offset: u64,
    pub is_after: bool,
    pub is_locking: bool,
    pub is_searching: bool,
    pub is_nearest: bool,
    pub is_requesting: bool,
}

/// A column to sort by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// The column's index.
    pub column: usize,
    /// Whether the largest value comes first.
    pub descending: bool,
}

/// An order by a column of the record `T`. [`Column::asc`](crate::Column::asc) and
/// [`Column::desc`](crate::Column::desc) return it. A column of another record does not compile:
///
/// ```compile_fail
/// # use bobak_core::{Column, Query};
/// # struct Person;
/// # struct City;
/// # impl City { const NAME: Column<City, String> = Column::new(1); }
/// let query = Query::<Person>::all().order_by(City::NAME.asc());
/// ```
#[derive(Debug)]
pub struct OrderBy<T> {
    order: Order,
    record: PhantomData<fn() -> T>,
}

impl<T> OrderBy<T> {
    /// An order by a column that is given by its index.
    #[must_use]
    pub const fn new(order: Order) -> Self {
        Self { order, record: PhantomData }
    }

    pub(crate) const fn untyped(self) -> Order {
        self.order
    }
}

impl<T> Clone for OrderBy<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for OrderBy<T> {}

/// A query as engines run it: over one table, untyped, with every value in its column's stored form.
#[derive(Clone, Debug)]
pub struct Select {
    /// The table.
    pub table: Arc<TableSchema>,
    /// The columns of the result.
    pub columns: Vec<Expr>,
    /// What the rows' texts must have, if the query searches. Only engines with
    /// [`Capabilities::search`](crate::Capabilities::search) take it.
    pub search: Option<Search>,
    /// From which vector the distance of the rows is measured, in whose order they come: see
    /// [`nearest_rows`](crate::engine::nearest_rows).
    pub nearest: Option<Box<Nearest>>,
    /// Which rows; all if `None`.
    pub condition: Option<Condition>,
    /// The columns to group by. If there are none and `columns` has an aggregate, all rows form one group,
    /// even if there are no rows.
    pub group: Vec<usize>,
    /// The complete order: it ends with the key's columns, or the group's columns. If empty, the order of
    /// the rows is unspecified.
    pub order: Vec<Order>,
    /// The maximum number of rows.
    pub limit: Option<u64>,
    /// How many rows to skip.
    pub offset: u64,
    /// How to lock the rows, if it locks them: see [`check_lock`](Self::check_lock).
    pub lock: Option<RowLock>,
}

impl<T> Clone for Query<T> {
    fn clone(&self) -> Self {
        Self {
            search: self.search.clone(),
            nearest: self.nearest.clone(),
            condition: self.condition.clone(),
            order: self.order.clone(),
            group: self.group.clone(),
            limit: self.limit,
            offset: self.offset,
            after: self.after.clone(),
            lock: self.lock,
            with: self.with,
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
            search: None,
            nearest: None,
            condition: None,
            order: Vec::new(),
            group: Vec::new(),
            limit: None,
            offset: 0,
            after: None,
            lock: None,
            with: FieldSet::EMPTY,
            record: PhantomData,
        }
    }

    /// The records that match the filter.
    #[must_use]
    pub fn filter(filter: Filter<T>) -> Self {
        Self { condition: Some(filter.into_condition()), ..Self::all() }
    }

    /// The records whose texts have what is [searched](crate::search) for, the best first unless the query has an order.
    /// A record with `#[record(search(…))]` has this as its own function: `Article::search("quick fox")`. The text's
    /// language is that of [`SearchQuery::parse`](crate::search::SearchQuery::parse).
    #[must_use]
    pub fn search(text: impl Into<String>) -> Self {
        Self { search: Some(text.into()), ..Self::all() }
    }

    /// Adds a filter that records must match too.
    #[must_use]
    pub fn and(mut self, filter: Filter<T>) -> Self {
        let filter = match self.condition {
            Some(condition) => Filter::new(condition).and(filter),
            None => filter,
        };
        self.condition = Some(filter.into_condition());
        self
    }

    /// The records whose vectors are nearest, at most `rows` of them, the nearest first. Filters come before: the nearest of
    /// the records that match. Records without a vector are left out, and those at equal distances are sorted by key.
    ///
    /// ```
    /// # use bobak_core::{Column, Query, Vector};
    /// # struct Document;
    /// # impl Document { const EMBEDDING: Column<Document, Vector<3>> = Column::new(1); const STARS: Column<Document, i32> = Column::new(2); }
    /// let wanted = Vector::from([0.1, 0.7, -0.2]);
    /// let query = Query::filter(Document::STARS.gt(3)).nearest(Document::EMBEDDING.cosine(&wanted), 10);
    /// ```
    #[must_use]
    pub fn nearest(mut self, distance: Distance<T>, rows: u64) -> Self {
        self.nearest = Some(distance.untyped());
        self.limit(rows)
    }

    /// Reads a field that is read [on request](crate::OnRequest) with the records. Other fields are read anyway. Joins do not
    /// take it: they select the column.
    #[must_use]
    pub fn with(mut self, column: impl Into<AnyColumn<T>>) -> Self {
        self.with.insert(column.into().index());
        self
    }

    /// The columns that it reads [with](Self::with) the others.
    #[must_use]
    pub const fn requested(&self) -> FieldSet {
        self.with
    }

    /// Sorts by a column, after the previous ones.
    #[must_use]
    pub fn order_by(mut self, order: OrderBy<T>) -> Self {
        self.order.push(order.order);
        self
    }

    /// Groups by a column, in addition to previous ones: for selections with aggregates.
    #[must_use]
    pub fn group_by<V>(mut self, column: crate::Column<T, V>) -> Self {
        self.group.push(column.index());
        self
    }

    /// Removes the order: for counts and sums, which do not depend on it.
    #[must_use]
    pub fn unordered(mut self) -> Self {
        self.order.clear();
        self
    }

    /// Limits the number of records.
    #[must_use]
    pub const fn limit(mut self, rows: u64) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Skips records. Engines must read the skipped records: to page through a large table, use
    /// [`after`](Query::after).
    #[must_use]
    pub const fn offset(mut self, rows: u64) -> Self {
        self.offset = rows;
        self
    }

    /// Locks the records that the query reads until the transaction ends: [`lock`](Query::lock) with
    /// [`RowLock::Wait`].
    #[must_use]
    pub const fn for_update(self) -> Self {
        self.lock(RowLock::Wait)
    }

    /// Locks the records that the query reads until the transaction ends: meanwhile no other transaction can change,
    /// delete or lock them.
    ///
    /// PostgreSQL, MariaDB and MySQL lock the rows. Memory, key-value files and SQLite have one writing transaction at a
    /// time, which holds the lock of the whole database from its beginning: there the query only checks that it is in
    /// such a transaction, and no row is ever locked by another one.
    ///
    /// Outside a transaction the query fails with `Misuse`, since the lock would end at once. A query of groups, counts
    /// or sums, of a view, or of a join fails with `Unsupported`.
    #[must_use]
    pub const fn lock(mut self, lock: RowLock) -> Self {
        self.lock = Some(lock);
        self
    }

    /// The untyped parts, for a join.
    pub(crate) fn into_parts(self) -> QueryParts {
        QueryParts {
            is_after: self.after.is_some(),
            is_locking: self.lock.is_some(),
            is_searching: self.search.is_some(),
            is_nearest: self.nearest.is_some(),
            is_requesting: !self.with.is_empty(),
            condition: self.condition,
            order: self.order,
            group: self.group,
            limit: self.limit,
            offset: self.offset,
        }
    }

    /// The query as engines run it.
    ///
    /// # Errors
    /// `Schema` if the table lacks a column, or a selected column is neither grouped by nor aggregated;
    /// `Mismatch` for a value of the wrong type; `Unsupported` for `after` together with an order or a
    /// group.
    pub fn to_select(&self, table: &Arc<TableSchema>, columns: Vec<Expr>) -> Result<Select> {
        let condition = match &self.condition {
            Some(condition) => Some(condition.clone().resolve(table)?),
            None => None,
        };
        let is_found = self.search.is_some() || self.nearest.is_some();
        let is_sorted = is_found || !self.order.is_empty() || !self.group.is_empty();
        if self.after.is_some() && is_sorted {
            let message = "paging by key requires the order by key";
            return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()));
        }
        if self.nearest.is_some() && !self.order.is_empty() {
            let message =
                "the nearest rows are sorted by their distance: sort them otherwise after reading";
            return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()));
        }
        let grouped = !self.group.is_empty() || columns.iter().any(|expr| expr.is_aggregate());
        check_columns(table, &columns, grouped.then_some(&self.group))?;
        let mut order = self.order.clone();
        let tail = if grouped { self.group.as_slice() } else { table.key() };
        for &column in tail {
            if order.iter().all(|step| step.column != column) {
                order.push(Order { column, descending: false });
            }
        }
        for step in &order {
            table.column_at(step.column)?;
            if grouped && !self.group.contains(&step.column) {
                let message = "groups can be sorted only by the columns of the group";
                return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()));
            }
        }
        let (table, group) = (Arc::clone(table), self.group.clone());
        let &Self { limit, offset, lock, .. } = self;
        let search = self.search_in(&table)?;
        let nearest = self.nearest.clone().map(Box::new);
        let select = Select {
            table,
            columns,
            search,
            nearest,
            condition,
            group,
            order,
            limit,
            offset,
            lock,
        };
        select.check_nearest()?;
        match &self.after {
            Some(key) => select.after(key),
            None => Ok(select),
        }
    }

    /// The resolved condition alone: for counts, updates and deletes.
    ///
    /// # Errors
    /// As [`to_select`](Query::to_select); `Unsupported` for a query that searches.
    pub fn to_condition(&self, table: &TableSchema) -> Result<Option<Condition>> {
        if self.search.is_some() {
            let message = "a search is of whole records: it is no condition";
            return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()));
        }
        if self.nearest.is_some() {
            let message = "the nearest rows can't be counted or changed at once: read them, and use their keys";
            return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()));
        }
        self.condition.clone().map(|condition| condition.resolve(table)).transpose()
    }
}

impl<T> Query<T> {
    /// What the query searches for.
    fn search_in(&self, table: &TableSchema) -> Result<Option<Search>> {
        let Some(text) = &self.search else { return Ok(None) };
        let query = SearchQuery::parse(text).map_err(|error| error.in_table(table.name()))?;
        Ok(Some(Search { query: Arc::new(query), ranked: self.order.is_empty() }))
    }

    /// Whether it is for the [nearest](Self::nearest) records.
    #[must_use]
    pub const fn is_nearest(&self) -> bool {
        self.nearest.is_some()
    }

    /// Whether it [searches](Self::search).
    #[must_use]
    pub const fn is_search(&self) -> bool {
        self.search.is_some()
    }
}

impl<T: Record> Query<T> {
    /// The records whose key follows `key`: the next page, at the same cost however large the table is.
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

impl SubQuery {
    /// The query for its distinct rows, which may include NULL.
    #[must_use]
    pub fn to_select(&self) -> Select {
        let columns: Vec<_> = self.pairs(self.column).map(|pair| pair.to).collect();
        Select {
            columns: columns.iter().copied().map(Expr::Column).collect(),
            condition: self.condition.clone(),
            group: columns,
            order: Vec::new(),
            ..Select::all(&self.table)
        }
    }
}

impl Select {
    /// All columns of all rows by key.
    #[must_use]
    pub fn all(table: &Arc<TableSchema>) -> Self {
        Self {
            table: Arc::clone(table),
            columns: (0..table.columns().len()).map(Expr::Column).collect(),
            search: None,
            nearest: None,
            condition: None,
            group: Vec::new(),
            order: table.key().iter().map(|&column| Order { column, descending: false }).collect(),
            limit: None,
            offset: 0,
            lock: None,
        }
    }

    /// Whether the query aggregates rows.
    #[must_use]
    pub fn is_grouped(&self) -> bool {
        !self.group.is_empty() || self.columns.iter().any(|expr| expr.is_aggregate())
    }
}

impl Select {
    /// Checks that the rows can be locked, if the query [locks](Query::lock) them. Engines call it before any I/O.
    ///
    /// # Errors
    /// `Misuse` outside a transaction; `Unsupported` for groups and aggregates, and for a view.
    #[inline]
    pub fn check_lock(&self, in_transaction: bool) -> Result<()> {
        match self.lock {
            None => Ok(()),
            Some(_) => self.check_locked(in_transaction),
        }
    }

    #[cold]
    fn check_locked(&self, in_transaction: bool) -> Result<()> {
        let fail = |kind, message: &str| Err(Error::new(kind, message).in_table(self.table.name()));
        if !in_transaction {
            let message = "a row lock needs a transaction: the lock ends with it";
            return fail(ErrorKind::Misuse, message);
        }
        if self.is_grouped() {
            let message =
                "a query of groups, counts or sums can't lock rows: lock them by a query of rows";
            return fail(ErrorKind::Unsupported, message);
        }
        self.table.check_writable()
    }
}

fn check_columns(table: &TableSchema, columns: &[Expr], group: Option<&Vec<usize>>) -> Result<()> {
    for expr in columns {
        let Some(index) = expr.column() else { continue };
        let column = table.column_at(index)?;
        if let (Expr::Column(index), Some(group)) = (expr, group)
            && !group.contains(index)
        {
            let message = "selected next to an aggregate, but not grouped by";
            return Err(Error::new(ErrorKind::Schema, message)
                .in_table(table.name())
                .in_column(column.name.clone()));
        }
    }
    Ok(())
}
