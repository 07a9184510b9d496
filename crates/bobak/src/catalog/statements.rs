//! Running SQL text on the engine or the federation that the router chooses.

use super::Catalog;
use crate::handle::LendSession;
use crate::router::StatementRoute;
#[cfg(feature = "sqlite")]
use crate::router::with_columns;
use crate::sql::RunText;
#[cfg(feature = "sqlite")]
use bobak_core::MonitoredEngine;
use bobak_core::plan::{ExplainedQuery, PlanStep, QueryPlan};
use bobak_core::{Engine, Error, ErrorKind, Parameter, Result, ResultColumn, Row, Source};
use std::sync::Arc;

/// Keeps caches from storing what a statement may write, until this is dropped.
#[derive(Default)]
pub(crate) struct CacheInvalidation {
    #[cfg(feature = "cache")]
    caches: crate::cache::Invalidation,
}

impl RunText for Catalog {
    fn query_text(
        &self,
        text: &str,
        parameters: &[Parameter<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
        columns: Option<&mut Vec<ResultColumn>>,
    ) -> Result<()> {
        self.check_text()?;
        let route = self.router.find(self.base_engines(), text, parameters)?;
        let engine = self.engine_for(&route)?;
        let mut invalidation = CacheInvalidation::default();
        self.invalidate_caches(text, &mut invalidation);
        route.query(&*engine.session()?, (text, parameters), row, columns)
    }
}

impl Catalog {
    /// Runs a statement that returns no rows.
    pub(crate) fn execute_text(&self, text: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        self.check_text()?;
        let route = self.router.find(self.base_engines(), text, parameters)?;
        let mut invalidation = CacheInvalidation::default();
        self.invalidate_caches(text, &mut invalidation);
        self.engine_for(&route)?.session()?.execute(text, parameters)
    }

    /// As [`RunText::query_text`], inside a transaction of the engine at an index.
    pub(crate) fn query_in(
        &self,
        engine: usize,
        session: &dyn LendSession,
        (text, parameters): (&str, &[Parameter<'_>]),
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
        columns: Option<&mut Vec<ResultColumn>>,
    ) -> Result<()> {
        self.check_text()?;
        match self.router.find_in(self.base_engines(), engine, text, parameters)? {
            #[cfg(feature = "sqlite")]
            route @ StatementRoute::Federation => {
                let run = |row: &mut dyn FnMut(&dyn Row) -> Result<bool>| {
                    session.with(|session| {
                        let federation = self.router.federation(self.base_engines())?;
                        let statement = (text, parameters);
                        federation.run_in(self.engine_name(engine), session, statement, row)
                    })?;
                    Ok(())
                };
                with_columns(row, columns, run, || {
                    route.columns(&*self.engine_for(&route)?.session()?, text, parameters)
                })
            }
            route => session.with(|session| route.query(session, (text, parameters), row, columns)),
        }
    }

    /// As [`execute_text`](Self::execute_text), inside a transaction of the engine at an index.
    pub(crate) fn execute_in(
        &self,
        engine: usize,
        session: &dyn LendSession,
        text: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<u64> {
        self.check_text()?;
        match self.router.find_in(self.base_engines(), engine, text, parameters)? {
            #[cfg(feature = "sqlite")]
            StatementRoute::Federation => session.with(|session| {
                let federation = self.router.federation(self.base_engines())?;
                let statement = (text, parameters);
                federation.run_in(self.engine_name(engine), session, statement, &mut |_| Ok(true))
            }),
            _ => session.with(|session| session.execute(text, parameters)),
        }
    }

    /// The plan of [`Db::explain`](crate::Db::explain).
    pub(crate) fn explain_text(
        &self,
        text: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<QueryPlan> {
        self.check_text()?;
        let source = Source::Sql { text, parameters };
        match self.router.find(self.base_engines(), text, parameters)? {
            StatementRoute::Text(engine) if self.base_engines().len() == 1 => {
                self.plan_on(engine, &source).map(Option::unwrap_or_default)
            }
            StatementRoute::Text(engine) => {
                let whole = format!("{}: the whole statement", self.engine_name(engine));
                self.explain_at(engine, &source, whole)
            }
            #[cfg(feature = "sqlite")]
            StatementRoute::Select(engine, select, _) => {
                let (name, table) = (self.engine_name(engine), select.table.name());
                let whole = format!("{name}.{table}: the whole statement, as a query");
                self.explain_at(engine, &Source::Select(&select), whole)
            }
            #[cfg(feature = "sqlite")]
            StatementRoute::Federation => {
                let lines =
                    self.router.federation(self.base_engines())?.explain(text, parameters)?;
                Ok(QueryPlan::of_steps(lines.into_iter().map(PlanStep::new).collect()))
            }
        }
    }

    /// The plan of a statement that one engine runs: a step with the engine's steps below it.
    fn explain_at(&self, engine: usize, source: &Source<'_>, whole: String) -> Result<QueryPlan> {
        let mut step = PlanStep::new(whole);
        match self.plan_on(engine, source) {
            Ok(Some(mut plan)) => {
                step.steps = std::mem::take(&mut plan.steps);
                plan.steps.push(step);
                Ok(plan)
            }
            Err(error) if error.kind() != ErrorKind::Unsupported => Err(error),
            _ => Ok(QueryPlan::of_steps(vec![step])),
        }
    }

    fn plan_on(&self, engine: usize, source: &Source<'_>) -> Result<Option<QueryPlan>> {
        QueryPlan::ask(&*self.engine(engine)?.session()?, &ExplainedQuery::Source(*source))
    }

    /// Removes from the caches what a statement may write, and adds it to `invalidation`. Keep that until the statement,
    /// or its transaction, has ended.
    pub(crate) fn invalidate_caches(&self, text: &str, invalidation: &mut CacheInvalidation) {
        #[cfg(feature = "cache")]
        self.caches.before_sql(text, &mut invalidation.caches);
        #[cfg(not(feature = "cache"))]
        let _ = (text, invalidation);
    }

    /// Rejects SQL text in a database that is confined to some rows.
    fn check_text(&self) -> Result<()> {
        self.reject_scope("runs no SQL text: use tables and queries")
    }

    /// Rejects what a database that is confined to some rows does not do.
    pub(crate) fn reject_scope(&self, what: &str) -> Result<()> {
        match self.scoped {
            true => Err(Error::new(ErrorKind::Denied, format!("a scoped database {what}"))),
            false => Ok(()),
        }
    }

    fn engine_for(&self, route: &StatementRoute) -> Result<Arc<dyn Engine>> {
        match route {
            StatementRoute::Text(engine) => self.engine(*engine).map(Arc::clone),
            #[cfg(feature = "sqlite")]
            StatementRoute::Select(engine, ..) => {
                // The route has the tables of the base engines.
                let engines = self.base_engines();
                let engine = engines.get(*engine).map(|(_, engine)| Arc::clone(engine));
                engine.map_or_else(|| self.engine(0).map(Arc::clone), Ok)
            }
            #[cfg(feature = "sqlite")]
            StatementRoute::Federation => {
                let engine: Arc<dyn Engine> =
                    Arc::new(self.router.federation(self.base_engines())?.engine().clone());
                Ok(match &self.monitor {
                    Some(monitor) => Arc::new(MonitoredEngine::new(engine, Arc::clone(monitor))),
                    None => engine,
                })
            }
        }
    }
}
