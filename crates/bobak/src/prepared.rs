//! Queries that are written once, and run with different values.

use crate::access::TableAccess;
use crate::db::Db;
use crate::engine_joins::has_no_query;
use crate::handle::{EngineSet, SessionSource};
use crate::join;
use crate::on_request::{left_out, with_places};
use crate::table::Table;
use crate::transaction::Transaction;
use bobak_core::statements::CallSite;
use bobak_core::{
    Assignment, Condition, Expr, Field, Filter, JoinQuery, Placeholders, Query, QueryTemplate,
    Record, Result, Row, Select, SlotValues, TableSchema, TemplateQuery, Value,
    with_placeholder_values,
};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A query that is written once, with [placeholders](bobak_core::Placeholder), and runs with different values: what a prepared
/// statement is in SQL.
///
/// Any query can be run directly, too, and its SQL is written once as well. A prepared query saves what Bobak itself does each
/// time: it makes the query, resolves it for its tables, and looks its statement up. That is more than a third of the time of a count or
/// of a small join by an index in SQLite; it does not matter for queries of many rows, and on servers.
///
/// The function gets the placeholders, one or a tuple of up to six, and returns a [`Query`], a [join](JoinQuery), or a filter
/// with [assignments](bobak_core::Column::set). It is called once and, where an engine has no prepared form of the query, each
/// time: it should return the same query each time. A placeholder stands where a column is compared with a value or assigned one.
///
/// ```
/// use bobak::{prelude::*, query::{Placeholder, PreparedQuery}};
///
/// #[derive(Record)]
/// struct City {
///     id: i64,
///     #[record(index)]
///     country: String,
///     people: i64,
/// }
///
/// let db = Db::builder().record::<City>().open("memory:")?;
/// db.create_missing_tables()?;
/// let cities = db.table::<City>()?;
/// for (country, people) in [("CH", 134_000), ("CH", 421_000), ("TD", 1_532_000)] {
///     cities.insert(&City { id: 0, country: country.into(), people })?;
/// }
///
/// let large = PreparedQuery::new(|(country, people): (Placeholder<String>, Placeholder<i64>)| {
///     Query::filter(City::COUNTRY.eq(country).and(City::PEOPLE.gt(people)))
/// });
/// assert_eq!(large.count(&cities, ("CH".into(), 200_000))?, 1);
/// assert_eq!(large.list(&cities, ("TD".into(), 0))?[0].people, 1_532_000);
///
/// let total = PreparedQuery::new(|country: Placeholder<String>| {
///     Query::filter(City::COUNTRY.eq(country)).select(City::PEOPLE.sum())
/// });
/// assert_eq!(total.first(&db, "CH".into())?, Some(Some(555_000)));
///
/// let grow = PreparedQuery::new(|(id, people): (Placeholder<i64>, Placeholder<i64>)| {
///     (City::ID.eq(id), [City::PEOPLE.set(people)])
/// });
/// assert_eq!(grow.set(&cities, (1, 135_000))?, 1);
/// # Ok::<(), Error>(())
/// ```
pub struct PreparedQuery<P, Q> {
    write: Box<dyn Fn(P) -> Q + Send + Sync>,
    /// Of the rows, or of the update.
    rows: OnceLock<Option<Plan<Q>>>,
    /// Of the number of rows.
    count: OnceLock<Option<Plan<Q>>>,
}

/// What an engine prepares. There is none for a query that can't be run with values either, and for one that no engine
/// prepares.
struct Plan<Q> {
    template: QueryTemplate,
    /// The query in which placeholders have no values, which knows how its rows are read.
    query: Q,
}

/// What can be prepared, and the type that it then has.
pub trait Preparable {
    /// The type: the same, but for a join without the list of its records, so that the fields of structs can have it:
    /// `PreparedQuery<Placeholder<i64>, JoinQuery<(), (String, i64)>>`.
    type Form;

    /// The same query.
    fn form(self) -> Self::Form;
}

impl<T> Preparable for Query<T> {
    type Form = Self;

    fn form(self) -> Self {
        self
    }
}

impl<L, R> Preparable for JoinQuery<L, R> {
    type Form = JoinQuery<(), R>;

    fn form(self) -> Self::Form {
        self.finish()
    }
}

impl<T, const N: usize> Preparable for (Filter<T>, [Assignment<T>; N]) {
    type Form = Self;

    fn form(self) -> Self {
        self
    }
}

/// What prepared joins and selections run on: a `&`[`Db`] or a `&`[`Transaction`].
#[derive(Clone)]
pub struct Queryable<'a>(Runner<'a>);

#[derive(Clone)]
enum Runner<'a> {
    Db(&'a Db),
    Transaction(SessionSource<'a>),
}

impl<'a> From<&'a Db> for Queryable<'a> {
    fn from(db: &'a Db) -> Self {
        Self(Runner::Db(db))
    }
}

impl<'a> From<&'a Transaction<'_>> for Queryable<'a> {
    fn from(transaction: &'a Transaction<'_>) -> Self {
        Self(Runner::Transaction(transaction.source()))
    }
}

impl<'a> Queryable<'a> {
    fn source_of<L, R>(&self, query: &JoinQuery<L, R>) -> Result<SessionSource<'a>> {
        match &self.0 {
            Runner::Db(db) => db.source_of(query),
            Runner::Transaction(source) => Ok(source.clone()),
        }
    }

    /// As [`SessionSource::run_template`], if one engine keeps all tables.
    fn run_template(
        &self,
        template: &QueryTemplate,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<Option<u64>> {
        let tables =
            |each: &mut dyn FnMut(&Arc<TableSchema>)| template.tables().iter().for_each(each);
        match &self.0 {
            Runner::Transaction(source) => {
                let engine = source.engine_index();
                match source.engines().engine_with_all(engine, tables) {
                    Some(keeping) if keeping == engine => {
                        source.run_template(template, values, row)
                    }
                    _ => Ok(None),
                }
            }
            Runner::Db(db) => {
                let engines: &dyn EngineSet = &**db.catalog();
                let Some(engine) = engines.engine_with_all(0, tables) else { return Ok(None) };
                let engine = engines.engine(engine)?;
                let run = |values: &SlotValues<'_>| engine.run_template(template, values, row);
                template.with_slot_values(values, run).unwrap_or(Ok(None))
            }
        }
    }
}

impl fmt::Debug for Queryable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Runner::Db(_) => "Db",
            Runner::Transaction(_) => "Transaction",
        })
    }
}

impl<P, Q> fmt::Debug for PreparedQuery<P, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedQuery").finish_non_exhaustive()
    }
}

impl<P: Placeholders, Q> PreparedQuery<P, Q> {
    /// A query that `write` returns for its placeholders. Nothing is prepared before it runs.
    pub fn new<W>(write: impl Fn(P) -> W + Send + Sync + 'static) -> Self
    where
        W: Preparable<Form = Q>,
    {
        let write = Box::new(move |placeholders| write(placeholders).form());
        Self { write, rows: OnceLock::new(), count: OnceLock::new() }
    }

    fn plan(&self, resolve: impl FnOnce(&Q) -> Option<TemplateQuery>) -> Option<Plan<Q>> {
        let mut query = None;
        let template = QueryTemplate::new(|| resolve(query.insert((self.write)(P::new()))));
        Some(Plan { template: template?, query: query? })
    }

    /// The ordinary query with values.
    fn with(&self, values: &[Value<'_>]) -> Q {
        with_placeholder_values(values, || (self.write)(P::new()))
    }
}

impl<P: Placeholders, T: Record> PreparedQuery<P, Query<T>> {
    /// The records, all at once: as [`Table::list`].
    ///
    /// # Errors
    /// As there; `OutOfRange` for a value without a stored form.
    #[track_caller]
    pub fn list(&self, table: &Table<'_, T>, values: P::Values) -> Result<Vec<T>> {
        let mut records = Vec::new();
        self.for_each(table, values, |record| {
            records.push(record);
            Ok(true)
        })?;
        Ok(records)
    }

    /// The first record: as [`Table::first`], but the engine does not know that the query ends there, unless it has a
    /// [limit](Query::limit).
    ///
    /// # Errors
    /// As [`list`](Self::list).
    #[track_caller]
    pub fn first(&self, table: &Table<'_, T>, values: P::Values) -> Result<Option<T>> {
        let mut first = None;
        self.for_each(table, values, |record| {
            first = Some(record);
            Ok(false)
        })?;
        Ok(first)
    }

    /// Calls `each` with the records until it returns `false`: as [`Table::for_each`], with the same restriction of what
    /// `each` may use.
    ///
    /// # Errors
    /// As [`list`](Self::list), and those of `each`.
    #[track_caller]
    pub fn for_each(
        &self,
        table: &Table<'_, T>,
        values: P::Values,
        mut each: impl FnMut(T) -> Result<bool>,
    ) -> Result<()> {
        let _at = CallSite::enter();
        let access = &table.access;
        let resolve = |query: &Query<T>| rows_of_table(access.select_records(query).ok()?.0);
        let plan = self.rows.get_or_init(|| self.plan(resolve));
        P::with_values(&values, |values| {
            if let Some(Plan { template, query }) = plan {
                let left_out = left_out(query);
                let mut row = |row: &dyn Row| each(with_places(row, left_out, T::read)?);
                if access.source.run_template(template, values, &mut row)?.is_some() {
                    return Ok(());
                }
            }
            let (select, left_out) = access.select_records(&self.with(values))?;
            access.scan(&select, |row| each(with_places(row, left_out, T::read)?))
        })
    }

    /// The number of records: as [`Table::count`].
    ///
    /// # Errors
    /// As [`list`](Self::list).
    #[track_caller]
    pub fn count(&self, table: &Table<'_, T>, values: P::Values) -> Result<u64> {
        let _at = CallSite::enter();
        let access = &table.access;
        let resolve = |query: &Query<T>| {
            let query = query.clone().unordered();
            rows_of_table(query.to_select(&access.schema, vec![Expr::Count]).ok()?)
        };
        let plan = self.count.get_or_init(|| self.plan(resolve));
        P::with_values(&values, |values| {
            let mut count = 0_i64;
            let mut row = |row: &dyn Row| {
                count = i64::from_value(row.get(0))?;
                Ok(false)
            };
            if let Some(plan) = plan
                && access.source.run_template(&plan.template, values, &mut row)?.is_some()
            {
                return Ok(count.unsigned_abs());
            }
            access.count(self.with(values))
        })
    }
}

impl<P: Placeholders, R> PreparedQuery<P, JoinQuery<(), R>> {
    /// The rows, all at once: as [`Db::list`].
    ///
    /// # Errors
    /// As there; `OutOfRange` for a value without a stored form.
    #[track_caller]
    pub fn list<'a>(&self, db: impl Into<Queryable<'a>>, values: P::Values) -> Result<Vec<R>> {
        let mut rows = Vec::new();
        self.for_each(db, values, |row| {
            rows.push(row);
            true
        })?;
        Ok(rows)
    }

    /// The first row. The engine does not know that the query ends there, unless it has a [limit](JoinQuery::limit).
    ///
    /// # Errors
    /// As [`list`](Self::list).
    #[track_caller]
    pub fn first<'a>(&self, db: impl Into<Queryable<'a>>, values: P::Values) -> Result<Option<R>> {
        let mut first = None;
        self.for_each(db, values, |row| {
            first = Some(row);
            false
        })?;
        Ok(first)
    }

    #[track_caller]
    fn for_each<'a>(
        &self,
        db: impl Into<Queryable<'a>>,
        values: P::Values,
        mut each: impl FnMut(R) -> bool,
    ) -> Result<()> {
        let _at = CallSite::enter();
        let db = db.into();
        let resolve = |query: &JoinQuery<(), R>| {
            let join = query.to_join().ok().filter(has_no_query);
            join.map(TemplateQuery::Join)
        };
        let plan = self.rows.get_or_init(|| self.plan(resolve));
        P::with_values(&values, |values| {
            if let Some(Plan { template, query }) = plan {
                let mut row = |row: &dyn Row| Ok(each(query.read(row)?));
                if db.run_template(template, values, &mut row)?.is_some() {
                    return Ok(());
                }
            }
            let query = self.with(values);
            let source = db.source_of(&query)?;
            join::run(&source, &query.to_join()?, &mut |row| Ok(each(query.read(row)?)))
        })
    }
}

impl<P: Placeholders, T: Record, const N: usize> PreparedQuery<P, (Filter<T>, [Assignment<T>; N])> {
    /// Assigns fields of every record that matches the filter; returns their number: as [`Table::set_where`].
    ///
    /// # Errors
    /// As there; `OutOfRange` for a value without a stored form.
    #[track_caller]
    pub fn set(&self, table: &Table<'_, T>, values: P::Values) -> Result<u64> {
        let _at = CallSite::enter();
        let plan =
            self.rows.get_or_init(|| self.plan(|_| update(&table.access, (self.write)(P::new()))));
        P::with_values(&values, |values| {
            if let Some(Plan { template, .. }) = plan
                && let Some(rows) =
                    table.access.source.run_template(template, values, &mut |_| Ok(false))?
            {
                return Ok(rows);
            }
            let (filter, assignments) = self.with(values);
            table.set_where(filter, assignments)
        })
    }
}

/// A query of one table for an engine to prepare, unless what it does depends on more than its values.
fn rows_of_table(select: Select) -> Option<TemplateQuery> {
    let is_plain = select.lock.is_none() && select.nearest.is_none() && select.search.is_none();
    let has_query = select.condition.as_ref().is_some_and(Condition::has_subquery);
    (is_plain && !has_query).then_some(TemplateQuery::Select(select))
}

/// As [`rows_of_table`], of an update.
fn update<T, const N: usize>(
    access: &TableAccess<'_>,
    (filter, assignments): (Filter<T>, [Assignment<T>; N]),
) -> Option<TemplateQuery> {
    let table = &access.schema;
    table.check_writable().ok()?;
    let (assigns, exprs) = access.resolve_assignments(assignments.into()).ok()?;
    // The modification time differs each time.
    if !exprs.is_empty() || table.modified_at().is_some() {
        return None;
    }
    let condition = filter.into_condition().resolve(table).ok()?;
    if condition.has_subquery() {
        return None;
    }
    Some(TemplateQuery::Update { table: Arc::clone(table), condition: Some(condition), assigns })
}

impl SessionSource<'_> {
    /// See [`Session::run_template`](bobak_core::Session::run_template).
    fn run_template(
        &self,
        template: &QueryTemplate,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<Option<u64>> {
        let run = |values: &SlotValues<'_>| match self {
            Self::Engine(handle) => handle.engine()?.run_template(template, values, row),
            Self::Transaction(session) => session.run_template(template, values, row),
        };
        template.with_slot_values(values, run).unwrap_or(Ok(None))
    }
}
