//! The plans of queries, and which index would help.

use crate::db::Db;
use crate::engine_joins::explain_on_engine;
use crate::handle::{EngineHandle, EngineSet, SessionSource};
use crate::join;
use crate::parameters::Parameters;
use crate::shape::Shape;
use crate::table::Table;
use bobak_core::plan::{ExplainedQuery, PlanStep, QueryPlan};
use bobak_core::statements::CallSite;
use bobak_core::{
    Engine, EngineLayer, Error, ErrorKind, Join, JoinQuery, Query, Record, Result, Row, Session,
    SessionLayer, Source, TableSchema, Value,
};
use std::sync::{Arc, Mutex, PoisonError};

impl<T: Record> Table<'_, T> {
    /// How the engine would read the records of a query, and the index that would help if it reads them all to find some.
    /// The query does not run.
    ///
    /// ```
    /// use bobak::prelude::*;
    ///
    /// #[derive(Record)]
    /// struct City { id: i64, name: String, people: i64 }
    ///
    /// let db = Db::builder().record::<City>().open("sqlite::memory:")?;
    /// db.create_missing_tables()?;
    /// let plan = db.table::<City>()?.explain(City::NAME.eq("Bern"))?;
    /// assert_eq!(plan.to_string(), "\
    /// SCAN city
    /// advice: city reads every row: an index on name may help
    /// ");
    /// assert_eq!((&*plan.advice[0].table, &*plan.advice[0].columns), ("city", &["name".to_owned()][..]));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// SQLite, the memory engine, PostgreSQL, MariaDB and MySQL have plans.
    ///
    /// # Errors
    /// `Unsupported`, before any I/O, on other engines; as [`list`](Table::list).
    #[track_caller]
    pub fn explain(&self, query: impl Into<Query<T>>) -> Result<QueryPlan> {
        let _at = CallSite::enter();
        let select = self.access.select_all(&query.into())?;
        let select = self.access.source.with_values_of_subqueries(select)?;
        let query = ExplainedQuery::Source(Source::Select(&select));
        let ask = |session: &dyn Session| QueryPlan::ask(session, &query);
        let plan = self.access.source.with(ask).map_err(|error| self.access.in_table(error))?;
        Ok(plan.unwrap_or_default())
    }

    /// The plans of the queries that [`load`](Table::load) makes: a step for each query, with its steps below it. It runs
    /// them, since each depends on the rows of those before.
    ///
    /// # Errors
    /// As [`load`](Table::load); `Unsupported` in a transaction, and as [`explain`](Table::explain).
    #[track_caller]
    pub fn explain_load<S: Shape<Record = T>>(
        &self,
        query: impl Into<Query<T>>,
        with: &S::With,
    ) -> Result<QueryPlan> {
        let _at = CallSite::enter();
        record(&self.access.source, |source| {
            let table = Table::<T>::new(source.clone());
            table.load::<S>(query.into(), with).map(drop)
        })
    }
}

impl Db {
    /// How the database would run a [join](JoinQuery), and the indexes that would help. The join does not run, unless
    /// Bobak runs it by a query for each table, as on the memory engine and over several engines: then the steps are these
    /// queries, each with its own steps.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// # #[derive(Record)] struct Country { id: i64, name: String }
    /// # #[derive(Record)] struct City { id: i64, #[record(references = Country)] country_id: i64, people: i64 }
    /// # let db = Db::builder().record::<Country>().record::<City>().open("sqlite::memory:")?;
    /// # db.create_missing_tables()?;
    /// let large = Query::<City>::filter(City::PEOPLE.gt(1_000_000)).join(City::COUNTRY);
    /// let plan = db.explain_query(&large.select((City::ID, Country::NAME)))?;
    /// assert_eq!(plan.advice[0].message, "city reads every row: an index on people may help");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`list`](Db::list), and as [`Table::explain`].
    #[track_caller]
    pub fn explain_query<L, R>(&self, query: &JoinQuery<L, R>) -> Result<QueryPlan> {
        let _at = CallSite::enter();
        let (source, join) = (self.source_of(query)?, query.to_join()?);
        if let Some(plan) = explain_on_engine(&source, &join)? {
            return Ok(plan);
        }
        record(&source, |source| join::run(source, &join, &mut |_| Ok(true)))
    }

    /// How the database would run a statement, and the indexes that would help. It does not run.
    ///
    /// A statement of one engine has the steps of that engine. One over several engines has a step for each table, with what
    /// the table's engine does, and what is left to SQLite:
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// # #[derive(Record)] struct Visit { id: i64, page: String }
    /// # let db = Db::builder().attach("cache", "memory:").record_on::<Visit>("cache").open("sqlite::memory:")?;
    /// # db.create_missing_tables()?;
    /// let plan = db.explain("SELECT upper(page) FROM visit WHERE id > ?", (7,))?;
    /// assert_eq!(plan.to_string(), "cache.visit: where id > ?, columns *\n");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`sql`](Db::sql).
    #[track_caller]
    pub fn explain(&self, text: &str, parameters: impl Parameters) -> Result<QueryPlan> {
        let _at = CallSite::enter();
        let (text, parameters) = parameters.into_arguments()?.bind(text)?;
        self.catalog().explain_text(&text, &parameters)
    }
}

/// Runs queries, and returns their plans.
fn record(
    source: &SessionSource<'_>,
    run: impl FnOnce(&SessionSource<'static>) -> Result<()>,
) -> Result<QueryPlan> {
    let SessionSource::Engine(handle) = source else {
        let message = "queries that Bobak runs one by one are explained outside of transactions";
        return Err(Error::new(ErrorKind::Unsupported, message));
    };
    let plans = Arc::new(Mutex::new(QueryPlan::default()));
    let inner = Arc::clone(handle.engines());
    let engines = (0..).map_while(|index| inner.engine(index).ok().cloned());
    let engines: Vec<Arc<dyn Engine>> = engines
        .map(|engine| Arc::new(ExplainedEngine { engine, plans: Arc::clone(&plans) }) as Arc<_>)
        .collect();
    let set = Arc::new(ExplainedEngines { inner, engines });
    run(&SessionSource::Engine(EngineHandle::new(set, source.engine_index())?))?;
    let plan = plans.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(plan)
}

/// The engines of a database, each of which notes the plans of its queries.
struct ExplainedEngines {
    inner: Arc<dyn EngineSet>,
    engines: Vec<Arc<dyn Engine>>,
}

impl EngineSet for ExplainedEngines {
    fn engine(&self, index: usize) -> Result<&Arc<dyn Engine>> {
        self.engines.get(index).map_or_else(|| self.inner.engine(index), Ok)
    }

    fn engine_with(&self, table: &Arc<TableSchema>, otherwise: usize) -> usize {
        self.inner.engine_with(table, otherwise)
    }

    fn check_table(
        &self,
        engine: usize,
        table: &Arc<TableSchema>,
        stored: &mut dyn FnMut() -> Result<Vec<TableSchema>>,
    ) -> Result<()> {
        self.inner.check_table(engine, table, stored)
    }

    fn normalize(&self, engine: usize, table: &TableSchema, row: &mut [Value<'_>]) -> Result<()> {
        self.inner.normalize(engine, table, row)
    }
}

struct ExplainedEngine {
    engine: Arc<dyn Engine>,
    plans: Arc<Mutex<QueryPlan>>,
}

impl EngineLayer for ExplainedEngine {
    fn inner(&self) -> &dyn Engine {
        &*self.engine
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let (session, plans) = (self.engine.session()?, &*self.plans);
        Ok(Box::new(ExplainedSession { session, name: self.engine.name(), plans }))
    }
}

struct ExplainedSession<'e> {
    session: Box<dyn Session + 'e>,
    name: &'static str,
    plans: &'e Mutex<QueryPlan>,
}

impl ExplainedSession<'_> {
    fn note(&self, query: &ExplainedQuery<'_>, what: &str) -> Result<()> {
        let Some(plan) = QueryPlan::ask(&*self.session, query)? else { return Ok(()) };
        let mut step = PlanStep::new(format!("{}: {what}", self.name));
        step.steps = plan.steps;
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.steps.push(step);
        for advice in plan.advice {
            if !plans.advice.contains(&advice) {
                plans.advice.push(advice);
            }
        }
        Ok(())
    }
}

impl SessionLayer for ExplainedSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.session
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let table = source.as_select(self.name).map_or("SQL", |select| select.table.name());
        self.note(&ExplainedQuery::Source(*source), &format!("a query of {table}"))?;
        self.session.query(source, row)
    }

    fn join(&self, join: &Join, row: &mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<bool> {
        let mut tables = Vec::new();
        join.for_each_table(&mut |table| tables.push(table.name().to_owned()));
        self.note(&ExplainedQuery::Join(join), &format!("a query of {}", tables.join(", ")))?;
        self.session.join(join, row)
    }
}
