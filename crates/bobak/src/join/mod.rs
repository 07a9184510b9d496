//! Runs joins: as one statement if one engine keeps all tables and runs the join; else one query for each table, joined in
//! memory.

mod calculation;
mod combined;
mod engine_queries;
mod function;
mod groups;
mod page;
mod rows;
mod subquery;
mod tuples;
mod windows;

pub use engine_queries::EngineQueries;

use crate::db::Db;
use crate::engine_joins::{run_on_engine, with_values_of_subqueries};
use crate::handle::{EngineHandle, EngineSet, SessionSource};
use crate::query::{Page, PageRequest};
use crate::shape::in_snapshot;
use crate::subqueries::NO_ENGINE;
use crate::transaction::Transaction;
use bobak_core::join::{JoinRows, SetOperator};
use bobak_core::statements::CallSite;
use bobak_core::{Join, JoinQuery, Result, Row, Value};
use std::sync::Arc;

/// Calls `row` with the rows of a join until it returns `false`.
pub(crate) fn run(
    source: &SessionSource<'_>,
    join: &Join,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    if run_on_engine(source, join, row)? {
        return Ok(());
    }
    run_without_engine(source, join, row)
}

/// Calls `row` with the rows of a join that no engine runs as a whole.
fn run_without_engine(
    source: &SessionSource<'_>,
    join: &Join,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    in_snapshot(source, |source| {
        run_here(source, &with_values_of_subqueries(source, NO_ENGINE, join)?, row)
    })
}

/// Reads the tables, and joins, groups and sorts the rows.
fn run_here(
    source: &SessionSource<'_>,
    join: &Join,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let tuples = subquery::load(source, join, None)?;
    rows::calculate(&tuples, tuples.iter(None), None, row)
}

/// Calculates a query of one table over rows that are read already, with all of their columns.
pub(crate) fn run_over(
    source: &SessionSource<'_>,
    join: &Join,
    rows: &[Vec<Value<'static>>],
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let mut join = with_values_of_subqueries(source, NO_ENGINE, join)?;
    if let Some(first) = join.tables.first_mut() {
        let operator = SetOperator::UnionAll;
        first.rows = Some(Box::new(JoinRows { operator, queries: Vec::new() }));
    }
    let tuples = subquery::load(source, &join, Some(rows))?;
    rows::calculate(&tuples, tuples.iter(None), None, row)
}

#[track_caller]
pub(crate) fn list<L, R>(source: &SessionSource<'_>, query: &JoinQuery<L, R>) -> Result<Vec<R>> {
    let _at = CallSite::enter();
    let join = query.to_join()?;
    let mut rows = Vec::new();
    run(source, &join, &mut |row| {
        rows.push(query.read(row)?);
        Ok(true)
    })?;
    Ok(rows)
}

impl Db {
    /// The rows of a [join](JoinQuery), all at once.
    ///
    /// SQLite, PostgreSQL and MariaDB run a join of their own tables as one statement, also behind a Bobak server. On other
    /// engines, over several engines, and where an engine would calculate otherwise than Bobak, as with sums of floats, Bobak
    /// reads each table by one query, of the rows that are linked to those read before, and joins them in memory. All queries
    /// see one state of the main record's engine if it has read-only transactions, as SQLite has.
    ///
    /// ```
    /// use bobak::prelude::*;
    ///
    /// #[derive(Record)]
    /// struct Customer {
    ///     id: i64,
    ///     name: String,
    /// }
    ///
    /// #[derive(Record)]
    /// struct Order {
    ///     id: i64,
    ///     #[record(references = Customer, index)]
    ///     customer_id: i64,
    ///     total: Currency,
    /// }
    ///
    /// let db = Db::builder().record::<Customer>().record::<Order>().open("memory:")?;
    /// db.create_missing_tables()?;
    /// let anna = db.table::<Customer>()?.insert(&Customer { id: 0, name: "Anna".into() })?;
    /// for cents in [500, 750] {
    ///     let total = Currency::from_scaled(cents * 100);
    ///     db.table::<Order>()?.insert(&Order { id: 0, customer_id: anna, total })?;
    /// }
    ///
    /// let spent = Query::<Order>::all()
    ///     .join(Order::CUSTOMER)
    ///     .group_by(Customer::ID)
    ///     .order_by(Order::TOTAL.sum().desc())
    ///     .select((Customer::NAME, Order::TOTAL.sum(), count::<Order>()));
    /// let rows = db.list(&spent)?;
    /// assert_eq!(rows, [("Anna".to_owned(), Some("12.50".parse()?), 2)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`JoinQuery::to_join`]; `OutOfRange` for a number that is too large; those of the engines.
    #[track_caller]
    pub fn list<L, R>(&self, query: &JoinQuery<L, R>) -> Result<Vec<R>> {
        list(&self.source_of(query)?, query)
    }

    /// One page of a [join](JoinQuery), in any order. The next page begins behind the last row of this one, so rows that are
    /// inserted or deleted meanwhile neither repeat nor hide others.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// use bobak::query::PageRequest;
    ///
    /// # #[derive(Record)] struct Country { id: i64, name: String }
    /// # #[derive(Record)] struct City { id: i64, #[record(references = Country)] country_id: i64, people: i64 }
    /// # let db = Db::builder().record::<Country>().record::<City>().open("memory:")?;
    /// # db.create_missing_tables()?;
    /// # let country_id = db.table()?.insert(&Country { id: 0, name: "Chad".into() })?;
    /// # for n in 0..7 { db.table()?.insert(&City { id: 0, country_id, people: n % 3 })?; }
    /// let cities = Query::<City>::all().join(City::COUNTRY).order_by(City::PEOPLE.desc());
    /// let cities = cities.select((City::ID, Country::NAME));
    /// let first = db.page(&cities, PageRequest::size(5).with_total())?;
    /// assert_eq!((first.items.len(), first.total), (5, Some(7)));
    /// let second = db.page(&cities, PageRequest::size(5).after(first.next))?;
    /// assert_eq!((second.items.len(), second.next), (2, None));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`list`](Db::list); `Mismatch` for a token of a query with another order; `Unsupported` for
    /// [combined queries](JoinQuery::union) without groups.
    #[track_caller]
    pub fn page<L, R>(&self, query: &JoinQuery<L, R>, request: PageRequest) -> Result<Page<R>> {
        page::page(&self.source_of(query)?, query, &request)
    }

    pub(crate) fn source_of<L, R>(
        &self,
        query: &JoinQuery<L, R>,
    ) -> Result<SessionSource<'static>> {
        let catalog = self.catalog();
        let first = query.first_table();
        let engine = first.map_or(0, |table| catalog.engine_with(table, 0));
        let engines = Arc::clone(catalog) as Arc<dyn EngineSet>;
        Ok(SessionSource::Engine(EngineHandle::new(engines, engine)?))
    }
}

impl Transaction<'_> {
    /// As [`Db::list`], in the transaction.
    ///
    /// # Errors
    /// As [`Db::list`].
    #[track_caller]
    pub fn list<L, R>(&self, query: &JoinQuery<L, R>) -> Result<Vec<R>> {
        list(&self.source(), query)
    }

    /// As [`Db::page`], in the transaction.
    ///
    /// # Errors
    /// As [`Db::page`].
    #[track_caller]
    pub fn page<L, R>(&self, query: &JoinQuery<L, R>, request: PageRequest) -> Result<Page<R>> {
        page::page(&self.source(), query, &request)
    }
}
