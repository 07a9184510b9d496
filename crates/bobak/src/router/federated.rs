//! Routing with a federation, which SQLite runs.

use super::{NamedEngine, RouterOptions, StatementRoute};
use bobak_core::{Error, Parameter, Result, ResultColumn};
use bobak_federation::{Federation, SimpleQuery};
use bobak_sql::{Dialect, check_value_count};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// How many statements' routes are remembered.
const REMEMBERED: usize = 512;

/// Finds the routes of statements, and owns the federation.
pub(crate) struct Router {
    federation: OnceLock<Federation>,
    /// Whether the main engine hosts the federation.
    embedded: bool,
    options: RouterOptions,
    /// Decisions that depend on the text alone.
    decisions: Mutex<HashMap<String, RouteDecision>>,
}

/// The error of a text that is not analyzed, or of more values than SQLite takes, which is then why.
fn or_too_many(error: Error, parameters: &[Parameter<'_>]) -> Error {
    match check_value_count(parameters.len(), Dialect::Sqlite.max_parameters()) {
        Ok(()) => error,
        Err(too_many) => too_many.with_source(error),
    }
}

/// What the text of a statement says about its route.
#[derive(Clone, Debug)]
enum RouteDecision {
    Text(usize),
    Federation,
    /// It uses no table: the federation, or the engine of its transaction.
    NoTable,
    /// A query that the engine can run itself, unless only SQLite can interpret the parameters.
    Simple(usize, Arc<SimpleQuery>, Arc<Vec<ResultColumn>>),
}

impl Router {
    pub(crate) fn new(engines: &[NamedEngine], options: RouterOptions) -> Result<Self> {
        let federation = OnceLock::new();
        let main = engines.first().and_then(|(_, engine)| engine.sql_host());
        if let Some(main) = main
            && (engines.len() > 1 || !options.functions.is_empty())
        {
            let others = engines.iter().skip(1).cloned().collect();
            // The cell was created above, so it is empty.
            let functions = options.functions.clone();
            let _ = federation.set(Federation::embedded(main, others, functions)?);
        }
        let embedded = main.is_some();
        Ok(Self { federation, embedded, options, decisions: Mutex::default() })
    }

    /// The router of the same database with other engines.
    pub(crate) fn with_engines(&self, engines: &[NamedEngine]) -> Result<Self> {
        Self::new(engines, self.options.clone())
    }

    /// The federation; created on first use unless the main engine hosts it.
    pub(crate) fn federation(&self, engines: &[NamedEngine]) -> Result<&Federation> {
        if let Some(federation) = self.federation.get() {
            return Ok(federation);
        }
        let RouterOptions { functions, typed_sql, .. } = &self.options;
        let federation = Federation::standalone(engines.to_vec(), functions.clone(), *typed_sql)?;
        Ok(self.federation.get_or_init(|| federation))
    }

    /// Discards what is known of the engines' tables.
    pub(crate) fn forget(&self) {
        if let Some(federation) = self.federation.get() {
            federation.invalidate_tables();
        }
        self.lock().clear();
    }

    /// The route of a statement outside of a transaction.
    pub(crate) fn find(
        &self,
        engines: &[NamedEngine],
        text: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<StatementRoute> {
        let main_runs_sql = engines.first().is_some_and(|(_, main)| main.capabilities().sql);
        if engines.len() < 2 && main_runs_sql && (self.embedded || self.options.direct) {
            return Ok(StatementRoute::Text(0));
        }
        let decision = self.decision(engines, text, main_runs_sql);
        Ok(decision.map_err(|error| or_too_many(error, parameters))?.route(parameters))
    }

    /// The route of a statement inside a transaction of the engine at an index.
    pub(crate) fn find_in(
        &self,
        engines: &[NamedEngine],
        engine: usize,
        text: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<StatementRoute> {
        if engine == 0 && self.embedded {
            return Ok(StatementRoute::Text(0));
        }
        let runs_sql = engines.get(engine).is_some_and(|(_, engine)| engine.capabilities().sql);
        if runs_sql && engines.len() < 2 {
            return Ok(StatementRoute::Text(engine));
        }
        let decision = self.decision(engines, text, engine == 0 && runs_sql);
        let decision = decision.map_err(|error| or_too_many(error, parameters))?;
        if runs_sql && matches!(decision, RouteDecision::NoTable) {
            return Ok(StatementRoute::Text(engine));
        }
        match decision.route(parameters) {
            StatementRoute::Text(other) if other != engine => Ok(StatementRoute::Federation),
            StatementRoute::Select(other, ..) if other != engine => Ok(StatementRoute::Federation),
            route => Ok(route),
        }
    }

    fn decision(
        &self,
        engines: &[NamedEngine],
        text: &str,
        main_runs_sql: bool,
    ) -> Result<RouteDecision> {
        if let Some(decision) = self.lock().get(text) {
            return Ok(decision.clone());
        }
        let decision = self.decide(engines, text, main_runs_sql)?;
        let mut decisions = self.lock();
        if decisions.len() >= REMEMBERED {
            decisions.clear();
        }
        decisions.insert(text.to_owned(), decision.clone());
        Ok(decision)
    }

    fn decide(
        &self,
        engines: &[NamedEngine],
        text: &str,
        main_runs_sql: bool,
    ) -> Result<RouteDecision> {
        let analysis = match self.federation(engines)?.analyze(text) {
            Ok(analysis) => analysis,
            // The statement may be in the main engine's own dialect.
            Err(_) if main_runs_sql && !self.embedded => return Ok(RouteDecision::Text(0)),
            Err(error) => return Err(error),
        };
        let index = |name: &Option<String>| match name {
            Some(name) => engines.iter().position(|(other, _)| other == name),
            None => Some(0),
        };
        if analysis.tables.is_empty() {
            return Ok(RouteDecision::NoTable);
        }
        let mut indexes = analysis.tables.iter().map(|(name, _)| index(name));
        let first = indexes.next().flatten();
        let (Some(only), true) = (first, indexes.all(|index| index == first)) else {
            return Ok(RouteDecision::Federation);
        };
        let Some((name, engine)) = engines.get(only) else {
            return Ok(RouteDecision::Federation);
        };
        let is_own_function = |name: &String| {
            self.options.functions.iter().any(|own| own.name().eq_ignore_ascii_case(name))
        };
        if analysis.functions.iter().any(is_own_function) {
            return Ok(RouteDecision::Federation);
        }
        if !self.options.direct || (only == 0 && self.embedded) {
            return Ok(RouteDecision::Federation);
        }
        let speaks_sqlite = engine.sql_host().is_some() && !is_qualified(text, name);
        let is_own_dialect = only == 0 && engine.capabilities().sql;
        if speaks_sqlite || is_own_dialect {
            return Ok(RouteDecision::Text(only));
        }
        let simple = match &analysis.tables[..] {
            [(_, table)] if !analysis.writes => self
                .federation(engines)?
                .table(name, table)
                .and_then(|table| SimpleQuery::parse(text, &table)),
            _ => None,
        };
        Ok(simple.map_or(RouteDecision::Federation, |simple| {
            let columns = analysis.columns.into_iter().zip(simple.types());
            let columns = columns.map(|(name, ty)| ResultColumn::new(name, ty)).collect();
            RouteDecision::Simple(only, Arc::new(simple), Arc::new(columns))
        }))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, RouteDecision>> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RouteDecision {
    fn route(&self, parameters: &[Parameter<'_>]) -> StatementRoute {
        match self {
            Self::Text(engine) => StatementRoute::Text(*engine),
            Self::Federation | Self::NoTable => StatementRoute::Federation,
            Self::Simple(engine, simple, columns) => match simple.select(parameters) {
                Some(select) => {
                    StatementRoute::Select(*engine, Box::new(select), Arc::clone(columns))
                }
                None => StatementRoute::Federation,
            },
        }
    }
}

/// Whether the text may qualify tables with the engine's name, which the engine itself does not know.
fn is_qualified(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_ascii_lowercase(), name.to_ascii_lowercase());
    let is_before_dot = |(at, _): (usize, &str)| {
        let rest = text.get(at + name.len()..).unwrap_or_default();
        rest.trim_start_matches(['"', '`', ']', ' ', '\t', '\n', '\r']).starts_with('.')
    };
    text.match_indices(&name).any(is_before_dot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualified_engine_names_are_found() {
        assert!(is_qualified("SELECT * FROM \"Cache\" .visit", "cache"));
        assert!(!is_qualified("SELECT cache FROM visit", "cache"));
    }
}
