//! The typed form of a join.

use super::filter::JoinFilter;
use super::nested::{JoinLists, JoinParts, JoinSubquery};
use super::selection::{JoinOrderPart, JoinPart, JoinSelection};
use super::tables::{
    InnerJoined, JoinedRecords, JoinedTables, JoinsTable, LeftJoined, Outer, read_part,
};
use super::{Join, JoinColumn, JoinCondition, JoinExpr, JoinLink, JoinOrder, JoinTable};
use crate::{
    Condition, Error, ErrorKind, Filter, Order, Query, Record, RecordRelation, Result, Row,
    TableSchema,
};
use std::marker::PhantomData;
use std::sync::Arc;

/// A query over joined records: plain data, checked by the compiler. `Db::list` of the facade runs it on any engine.
///
/// [`Query::join`] begins one. `L` is the list of joined records, and `R` the type of a result row: without
/// [`select`](JoinQuery::select) a tuple of the records.
///
/// Without an order, and among rows that are equal in the order, rows are sorted by the keys of the joined records. A column
/// of a record that is not joined does not compile:
///
/// ```compile_fail
/// # use bobak_core::{Column, Query, Record, ToOne};
/// # fn example<Order: Record, Customer: Record, City: Record>(customer: ToOne<Order, Customer>, name: Column<City, String>) {
/// let query = Query::<Order>::all().join(customer).order_by(name.asc());
/// # }
/// ```
pub struct JoinQuery<L, R> {
    parts: JoinParts,
    columns: Vec<JoinExpr>,
    read: fn(&dyn Row) -> Result<R>,
    tables: PhantomData<fn() -> L>,
}

impl<L, R> Clone for JoinQuery<L, R> {
    fn clone(&self) -> Self {
        Self {
            parts: self.parts.clone(),
            columns: self.columns.clone(),
            read: self.read,
            tables: PhantomData,
        }
    }
}

/// A join of the list `L` with one more table, whose rows are tuples of records.
type JoinedQuery<J, L> = JoinQuery<(J, L), <(J, L) as JoinedRecords>::Row>;

/// A query of the records of one type by [expressions](super::ExpressionMethods): the beginning of filters, orders, groups and
/// selections that a [`Query`] has not. `Db::list` of the facade runs it.
///
/// ```
/// # use bobak_core::{Column, Query, Record, join::{from, ExpressionMethods}};
/// # fn example<Line: Record>(price: Column<Line, i64>, quantity: Column<Line, i64>) {
/// let large = from::<Line>().and((price * quantity).gt(1_000)).order_by((price * quantity).desc());
/// # }
/// ```
#[must_use]
pub fn from<T: Record>() -> JoinQuery<OneTable<T>, T> {
    JoinQuery::of_query(Query::all(), None)
}

/// The list of tables of a query of one record.
type OneTable<T> = (InnerJoined<T>, ());

impl<T: Record> From<Query<T>> for JoinQuery<OneTable<T>, T> {
    fn from(query: Query<T>) -> Self {
        Self::of_query(query, None)
    }
}

impl<T: Record> Query<T> {
    /// Selects columns, aggregates and other [expressions](super::ExpressionMethods): one, or a tuple of up to eight.
    /// `Db::list` of the facade runs the query.
    ///
    /// ```
    /// # use bobak_core::{Column, Query, Record, join::ExpressionMethods};
    /// # fn example<Line: Record>(price: Column<Line, i64>, quantity: Column<Line, i64>) {
    /// let query = Query::<Line>::filter(quantity.gt(0)).select((price * quantity).sum());
    /// # }
    /// ```
    #[must_use]
    pub fn select<S: JoinSelection<OneTable<T>, P>, P>(
        self,
        selection: S,
    ) -> JoinQuery<OneTable<T>, S::Row> {
        JoinQuery::of_query(self, None).select(selection)
    }

    /// Begins a query inside of another one, for [`exists`](super::exists),
    /// [`is_in_query`](super::ExpressionMethods::is_in_query) and [`JoinQuery::value`], that can use the columns of the records
    /// of the query around it. If both have a record, one of them has it as an [`Alias`](super::Alias). A query that uses no
    /// such columns need not begin here.
    ///
    /// ```
    /// # use bobak_core::{Column, Query, Record, join::{exists, from, not, ExpressionMethods}};
    /// # fn example<Buyer: Record, Sale: Record>(id: Column<Buyer, i64>, buyer: Column<Sale, i64>, total: Column<Sale, i64>) {
    /// let sales = Query::<Sale>::all().subquery().and(buyer.into_expr().eq(id));
    /// let idle = from::<Buyer>().and(not(exists(sales)));
    /// let average = from::<Sale>().select(total.avg());
    /// let large = from::<Sale>().and(total.to_float().gt(average.value()));
    /// # }
    /// ```
    #[must_use]
    pub fn subquery<L: JoinedTables>(self) -> JoinQuery<(InnerJoined<T>, Outer<L>), T> {
        JoinQuery::of_query(self, Some(L::LEN))
    }

    /// Adds the records that each record is related to: a row for each of them. Records without a related one are left out.
    ///
    /// ```
    /// # use bobak_core::{Query, Record, ToOne};
    /// # fn example<Order: Record, Customer: Record>(customer: ToOne<Order, Customer>) {
    /// let orders_with_customers = Query::<Order>::all().join(customer);
    /// # }
    /// ```
    #[must_use]
    pub fn join<B: RecordRelation<From = T>>(
        self,
        relation: B,
    ) -> JoinedQuery<InnerJoined<B::To>, (InnerJoined<T>, ())> {
        JoinQuery::of_query(self, None).join(relation)
    }

    /// As [`join`](Query::join), but a record without a related one stays, with `None`.
    #[must_use]
    pub fn left_join<B: RecordRelation<From = T>>(
        self,
        relation: B,
    ) -> JoinedQuery<LeftJoined<B::To>, (InnerJoined<T>, ())> {
        JoinQuery::of_query(self, None).left_join(relation)
    }

    /// As [`left_join`](Query::left_join), of the related records that match a filter.
    #[must_use]
    pub fn left_join_where<B: RecordRelation<From = T>>(
        self,
        relation: B,
        filter: Filter<B::To>,
    ) -> JoinedQuery<LeftJoined<B::To>, (InnerJoined<T>, ())> {
        JoinQuery::of_query(self, None).left_join_where(relation, filter)
    }
}

impl<T: Record, Z> JoinQuery<(InnerJoined<T>, Z), T> {
    /// A query inside of one with so many listed tables, or of its own.
    fn of_query(query: Query<T>, outer: Option<usize>) -> Self {
        let table = outer.unwrap_or(0);
        let column = |column| JoinColumn { table, column };
        let step = |Order { column: index, descending }: Order| JoinOrder {
            expr: JoinExpr::Column(column(index)),
            descending,
            nulls_first: !descending,
        };
        let parts = query.into_parts();
        let condition = parts.condition.map(|part| JoinCondition::Row(table, part));
        let join = Join {
            tables: vec![JoinTable { table: Arc::clone(T::schema()), link: None, rows: None }],
            filters: condition.into_iter().collect(),
            group: parts.group.into_iter().map(column).map(JoinExpr::Column).collect(),
            order: parts.order.into_iter().map(step).collect(),
            limit: parts.limit,
            offset: parts.offset,
            ..Join::default()
        };
        let lists = JoinLists {
            listed: vec![(0, T::ON_REQUEST)],
            outer,
            is_after: parts.is_after,
            is_locking: parts.is_locking,
            is_searching: parts.is_searching,
            is_nearest: parts.is_nearest,
            is_requesting: parts.is_requesting,
            ..JoinLists::default()
        };
        let parts = JoinParts { join, lists };
        let read = |row: &dyn Row| read_part::<InnerJoined<T>>(row, &mut 0);
        Self { parts, columns: Vec::new(), read, tables: PhantomData }
    }
}

impl<L, R> JoinQuery<L, R> {
    /// Adds the related records of one of the joined records: a row for each of them. Rows without a related record are left
    /// out.
    #[must_use]
    pub fn join<B: RecordRelation, P>(self, relation: B) -> JoinedQuery<InnerJoined<B::To>, L>
    where
        L: JoinsTable<B::From, P>,
        (InnerJoined<B::To>, L): JoinedRecords,
    {
        self.add(relation, false, None)
    }

    /// As [`join`](JoinQuery::join), but a row without a related record stays, with `None`.
    #[must_use]
    pub fn left_join<B: RecordRelation, P>(self, relation: B) -> JoinedQuery<LeftJoined<B::To>, L>
    where
        L: JoinsTable<B::From, P>,
        (LeftJoined<B::To>, L): JoinedRecords,
    {
        self.add(relation, true, None)
    }

    /// As [`left_join`](JoinQuery::left_join), of the related records that match a filter.
    #[must_use]
    pub fn left_join_where<B: RecordRelation, P>(
        self,
        relation: B,
        filter: Filter<B::To>,
    ) -> JoinedQuery<LeftJoined<B::To>, L>
    where
        L: JoinsTable<B::From, P>,
        (LeftJoined<B::To>, L): JoinedRecords,
    {
        self.add(relation, true, Some(filter.into_condition()))
    }

    fn add<J, B: RecordRelation, P>(
        self,
        relation: B,
        is_left: bool,
        mut condition: Option<Condition>,
    ) -> JoinedQuery<J, L>
    where
        L: JoinsTable<B::From, P>,
        (J, L): JoinedRecords,
    {
        let mut parts = self.parts;
        let mut before = parts.index(L::INDEX);
        let relation = relation.to_many();
        let count = relation.steps().count();
        for (number, step) in relation.steps().enumerate() {
            let tables = &mut parts.join.tables;
            let schema = tables.get(before).map_or(B::From::schema(), |table| &table.table);
            let (first, more) = step.split_pairs(schema);
            let from = JoinColumn { table: before, column: first.from };
            let mut condition = if number + 1 == count { condition.take() } else { None };
            if is_left {
                // A row of the table before stays, so its own columns are no reason to leave it out.
                parts.lists.is_left_any |= step.from_condition().is_some();
                let own = step.to_condition().into_iter().chain(condition.take());
                condition = own.reduce(|one, other| Condition::And(vec![one, other]));
            } else {
                let own = step.to_condition().map(|part| JoinCondition::Row(tables.len(), part));
                let from = step.from_condition().map(|part| JoinCondition::Row(before, part));
                parts.lists.own.extend(own.into_iter().chain(from));
            }
            let link = JoinLink { from, to: first.to, more, is_left, condition };
            tables.push(JoinTable {
                table: Arc::clone(step.table()),
                link: Some(link),
                rows: None,
            });
            before = tables.len() - 1;
        }
        parts.lists.listed.push((before, B::To::ON_REQUEST));
        JoinQuery { parts, columns: Vec::new(), read: <(J, L)>::read, tables: PhantomData }
    }

    /// Adds a filter that rows must match too. One with an aggregate is about groups, and one with a
    /// [window function](super::window()) about the rows of the result.
    #[must_use]
    pub fn and<F: JoinFilter<L, P>, P>(mut self, filter: F) -> Self {
        self.parts.join.filters.push(filter.into_condition());
        self
    }

    /// Sorts by a column or an expression, after the previous ones.
    #[must_use]
    pub fn order_by<O: JoinOrderPart<L, P>, P>(mut self, order: O) -> Self {
        self.parts.join.order.push(order.order());
        self
    }

    /// Groups by a column or another expression, in addition to previous ones. With the key of a record, its other columns can
    /// be selected, too.
    #[must_use]
    pub fn group_by<G: JoinPart<L, P>, P>(mut self, part: G) -> Self {
        self.parts.join.group.push(part.expr());
        self
    }

    /// Leaves out rows that are equal to others in all that is selected. Such a query can be sorted only by what it selects.
    #[must_use]
    pub const fn distinct(mut self) -> Self {
        self.parts.lists.distinct = true;
        self
    }

    /// Limits the number of rows.
    #[must_use]
    pub const fn limit(mut self, rows: u64) -> Self {
        self.parts.join.limit = Some(rows);
        self
    }

    /// Skips rows. Engines must read the skipped rows.
    #[must_use]
    pub const fn offset(mut self, rows: u64) -> Self {
        self.parts.join.offset = rows;
        self
    }

    /// Selects columns, aggregates, calculated numbers and [whole records](super::whole): one, or a tuple of up to eight.
    #[must_use]
    pub fn select<S: JoinSelection<L, P>, P>(self, selection: S) -> JoinQuery<L, S::Row> {
        let mut columns = Vec::new();
        selection.exprs(&mut columns);
        let read = |row: &dyn Row| S::read(row, &mut 0);
        JoinQuery { parts: self.parts, columns, read, tables: PhantomData }
    }

    /// The same query, to which nothing can be added: its type has no list of the joined records, for the fields of structs.
    #[must_use]
    pub fn finish(self) -> JoinQuery<(), R> {
        let Self { parts, columns, read, .. } = self;
        JoinQuery { parts, columns, read, tables: PhantomData }
    }

    /// The table of the first record.
    #[must_use]
    pub fn first_table(&self) -> Option<&Arc<TableSchema>> {
        self.parts.join.tables.first().map(|first| &first.table)
    }

    /// Reads a row of the result.
    ///
    /// # Errors
    /// As [`Field::from_value`](crate::Field::from_value).
    pub fn read(&self, row: &dyn Row) -> Result<R> {
        (self.read)(row)
    }

    /// The untyped query.
    ///
    /// # Errors
    /// `Schema` if a column is neither grouped by nor aggregated; `Mismatch` for a value of the wrong type; `Unsupported` if
    /// the query began with [`Query::after`] or [`Query::with`], or locks rows.
    pub fn to_join(&self) -> Result<Join> {
        if self.parts.lists.outer.is_some() {
            let message = "a subquery runs inside of another query, and not by itself";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        self.parts.clone().with_columns(self.columns.clone()).resolve(&[], &[])
    }

    /// A query of these parts.
    pub(super) const fn of_parts(
        parts: JoinParts,
        columns: Vec<JoinExpr>,
        read: fn(&dyn Row) -> Result<R>,
    ) -> Self {
        Self { parts, columns, read, tables: PhantomData }
    }

    /// What reads a row of the result.
    pub(super) fn reader(&self) -> fn(&dyn Row) -> Result<R> {
        self.read
    }

    /// The query as a part of another one.
    pub(super) fn to_subquery(&self) -> JoinSubquery {
        JoinSubquery::new(self.parts.clone().with_columns(self.columns.clone()))
    }
}
