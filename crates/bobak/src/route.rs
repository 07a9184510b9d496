//! Which way an SQL statement goes: straight to the engine whose tables it is about, or through the
//! host, where all engines' tables meet.

use crate::access::Lend;
use crate::db::Inner;
use crate::sql::RunText;
use bobak_core::{Engine, Result, Row, Session, Source, Value};
use std::sync::Arc;

#[cfg(feature = "sqlite")]
pub(crate) use with_host::Routes;
#[cfg(not(feature = "sqlite"))]
pub(crate) use without_host::Routes;

/// Where a statement goes.
#[derive(Clone, Debug)]
pub(crate) enum Route {
    /// To an engine, as it is.
    Text(usize),
    /// To an engine, as a query; its rows' columns have these names.
    #[cfg(feature = "sqlite")]
    Select(usize, Box<bobak_core::Select>, Arc<Vec<String>>),
    /// Through the host.
    #[cfg(feature = "sqlite")]
    Host,
}

/// What caches have forgotten, and keep nothing of until this is dropped.
#[derive(Default)]
pub(crate) struct Forgotten {
    #[cfg(feature = "cache")]
    caches: crate::cache::Forgotten,
}

impl RunText for Inner {
    fn query_text(
        &self,
        text: &str,
        parameters: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let route = self.routes.find(self, text, parameters)?;
        let engine = self.engine_of(&route)?;
        let mut forgotten = Forgotten::default();
        self.forget(text, &mut forgotten);
        route.query(&*engine.session()?, text, parameters, row)
    }
}

impl Inner {
    /// Runs a statement that gives no rows.
    pub(crate) fn execute_text(&self, text: &str, parameters: &[Value<'_>]) -> Result<u64> {
        let route = self.routes.find(self, text, parameters)?;
        let mut forgotten = Forgotten::default();
        self.forget(text, &mut forgotten);
        self.engine_of(&route)?.session()?.execute(text, parameters)
    }

    /// As [`RunText::query_text`], inside a transaction of an engine.
    pub(crate) fn query_in(
        &self,
        engine: usize,
        session: &dyn Lend,
        text: &str,
        parameters: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        match self.routes.find_in(self, engine, text, parameters)? {
            #[cfg(feature = "sqlite")]
            Route::Host => session.with(|session| {
                let host = self.routes.host(self)?;
                host.run_in(self.engine_name(engine), session, (text, parameters), row).map(|_| ())
            }),
            route => session.with(|session| route.query(session, text, parameters, row)),
        }
    }

    /// As [`execute_text`](Self::execute_text), inside a transaction of an engine.
    pub(crate) fn execute_in(
        &self,
        engine: usize,
        session: &dyn Lend,
        text: &str,
        parameters: &[Value<'_>],
    ) -> Result<u64> {
        match self.routes.find_in(self, engine, text, parameters)? {
            #[cfg(feature = "sqlite")]
            Route::Host => session.with(|session| {
                let host = self.routes.host(self)?;
                let statement = (text, parameters);
                host.run_in(self.engine_name(engine), session, statement, &mut |_| Ok(true))
            }),
            _ => session.with(|session| session.execute(text, parameters)),
        }
    }

    /// The words of [`Db::explain`](crate::Db::explain).
    pub(crate) fn explain_text(&self, text: &str, parameters: &[Value<'_>]) -> Result<Vec<String>> {
        match self.routes.find(self, text, parameters)? {
            Route::Text(place) => {
                Ok(vec![format!("{}: the whole statement", self.engine_name(place))])
            }
            #[cfg(feature = "sqlite")]
            Route::Select(place, select, _) => {
                let (engine, table) = (self.engine_name(place), select.table.name());
                Ok(vec![format!("{engine}.{table}: the whole statement, as a query")])
            }
            #[cfg(feature = "sqlite")]
            Route::Host => self.routes.host(self)?.explain(text, parameters),
        }
    }

    /// Makes caches forget what a statement may write, and keep nothing of it until the answer is dropped: when the
    /// statement is done, or the transaction that it is in.
    pub(crate) fn forget(&self, text: &str, forgotten: &mut Forgotten) {
        #[cfg(feature = "cache")]
        self.caches.before_sql(text, &mut forgotten.caches);
        #[cfg(not(feature = "cache"))]
        let _ = (text, forgotten);
    }

    fn engine_of(&self, route: &Route) -> Result<Arc<dyn Engine>> {
        match route {
            Route::Text(place) => self.engine(*place).map(Arc::clone),
            #[cfg(feature = "sqlite")]
            Route::Select(place, ..) => self.engine(*place).map(Arc::clone),
            #[cfg(feature = "sqlite")]
            Route::Host => Ok(Arc::new(self.routes.host(self)?.engine().clone())),
        }
    }
}

impl Route {
    fn query(
        &self,
        session: &dyn Session,
        text: &str,
        parameters: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Select(_, select, names) => session
                .query(&Source::Select(select), &mut |found| row(&Named { row: found, names }))
                .map_err(|error| error.in_table(select.table.name())),
            _ => session.query(&Source::Sql { text, parameters }, row),
        }
    }
}

/// A row with the names that the statement gives its columns.
#[cfg(feature = "sqlite")]
struct Named<'a> {
    row: &'a dyn Row,
    names: &'a [String],
}

#[cfg(feature = "sqlite")]
impl Row for Named<'_> {
    fn len(&self) -> usize {
        self.row.len()
    }

    fn get(&self, column: usize) -> bobak_core::ValueRef<'_> {
        self.row.get(column)
    }

    fn name(&self, column: usize) -> Option<&str> {
        self.names.get(column).map(String::as_str)
    }
}

#[cfg(feature = "sqlite")]
mod with_host {
    use super::Route;
    use crate::builder::Functions;
    use crate::db::Inner;
    use bobak_core::{Engine, Result, Value};
    use bobak_federation::{Federation, SimpleQuery};
    use std::collections::HashMap;
    use std::sync::{Arc, Mutex, OnceLock, PoisonError};

    /// How many statements' ways are remembered.
    const MOST: usize = 512;

    /// The ways of statements, and the host.
    pub(crate) struct Routes {
        host: OnceLock<Federation>,
        /// Whether the main engine is the host.
        beside: bool,
        direct: bool,
        functions: Functions,
        /// The ways that depend on the text alone.
        known: Mutex<HashMap<String, Known>>,
    }

    /// What is known of a statement.
    #[derive(Clone, Debug)]
    enum Known {
        Text(usize),
        Host,
        /// It touches no table: to the host, or the engine of the transaction.
        NoTable,
        /// Over the host where the parameters are such that only SQLite knows what they mean.
        Simple(usize, Arc<SimpleQuery>, Arc<Vec<String>>),
    }

    impl Routes {
        pub(crate) fn new(
            engines: &[(String, Arc<dyn Engine>)],
            direct: bool,
            functions: Functions,
        ) -> Result<Self> {
            let host = OnceLock::new();
            let main = engines.first().and_then(|(_, engine)| engine.sql_host());
            if let Some(main) = main
                && (engines.len() > 1 || !functions.is_empty())
            {
                let others = engines.iter().skip(1).cloned().collect();
                // It was made just now, so nobody has set it.
                let _ = host.set(Federation::embedded(main, others, functions.clone())?);
            }
            let beside = main.is_some();
            Ok(Self { host, beside, direct, functions, known: Mutex::default() })
        }

        /// The ways of the same database with other engines.
        pub(crate) fn with_engines(&self, engines: &[(String, Arc<dyn Engine>)]) -> Result<Self> {
            Self::new(engines, self.direct, self.functions.clone())
        }

        /// The host; made at the first need where the main engine is another than SQLite.
        pub(crate) fn host(&self, inner: &Inner) -> Result<&Federation> {
            if let Some(host) = self.host.get() {
                return Ok(host);
            }
            let host =
                Federation::standalone(inner.named_engines().to_vec(), self.functions.clone())?;
            Ok(self.host.get_or_init(|| host))
        }

        /// Has tables asked for anew.
        pub(crate) fn forget(&self) {
            if let Some(host) = self.host.get() {
                host.invalidate_tables();
            }
            self.lock().clear();
        }

        /// The way of a statement.
        pub(crate) fn find(
            &self,
            inner: &Inner,
            text: &str,
            parameters: &[Value<'_>],
        ) -> Result<Route> {
            let engines = inner.named_engines();
            let speaks = engines.first().is_some_and(|(_, main)| main.capabilities().sql);
            if engines.len() < 2 && speaks && (self.beside || self.direct) {
                return Ok(Route::Text(0));
            }
            Ok(self.known(inner, text, speaks)?.route(parameters))
        }

        fn known(&self, inner: &Inner, text: &str, speaks: bool) -> Result<Known> {
            if let Some(known) = self.lock().get(text) {
                return Ok(known.clone());
            }
            let known = self.decide(inner, text, speaks)?;
            let mut all = self.lock();
            if all.len() >= MOST {
                all.clear();
            }
            all.insert(text.to_owned(), known.clone());
            Ok(known)
        }

        /// The way of a statement inside a transaction of an engine.
        pub(crate) fn find_in(
            &self,
            inner: &Inner,
            engine: usize,
            text: &str,
            parameters: &[Value<'_>],
        ) -> Result<Route> {
            if engine == 0 && self.beside {
                return Ok(Route::Text(0));
            }
            let own = inner.engine(engine)?.capabilities().sql;
            if own && inner.named_engines().len() < 2 {
                return Ok(Route::Text(engine));
            }
            let known = self.known(inner, text, engine == 0 && own)?;
            if own && matches!(known, Known::NoTable) {
                return Ok(Route::Text(engine));
            }
            match known.route(parameters) {
                Route::Text(place) if place != engine => Ok(Route::Host),
                Route::Select(place, ..) if place != engine => Ok(Route::Host),
                route => Ok(route),
            }
        }

        fn decide(&self, inner: &Inner, text: &str, speaks: bool) -> Result<Known> {
            let touched = match self.host(inner)?.analyze(text) {
                Ok(touched) => touched,
                // It may be in the main engine's own dialect.
                Err(_) if speaks && !self.beside => return Ok(Known::Text(0)),
                Err(error) => return Err(error),
            };
            let engines = inner.named_engines();
            let place = |name: &Option<String>| match name {
                Some(name) => engines.iter().position(|(other, _)| other == name),
                None => Some(0),
            };
            if touched.tables.is_empty() {
                return Ok(Known::NoTable);
            }
            let mut places = touched.tables.iter().map(|(name, _)| place(name));
            let first = places.next().flatten();
            let (Some(only), true) = (first, places.all(|place| place == first)) else {
                return Ok(Known::Host);
            };
            let Some((name, engine)) = engines.get(only) else {
                return Ok(Known::Host);
            };
            let own = |name: &String| {
                self.functions.iter().any(|own| own.name().eq_ignore_ascii_case(name))
            };
            if touched.functions.iter().any(own) {
                return Ok(Known::Host);
            }
            if !self.direct || (only == 0 && self.beside) {
                return Ok(Known::Host);
            }
            let understood = engine.sql_host().is_some() && !is_qualified(text, name);
            let own = only == 0 && engine.capabilities().sql;
            if understood || own {
                return Ok(Known::Text(only));
            }
            let simple = match &touched.tables[..] {
                [(_, table)] if !touched.writes => self
                    .host(inner)?
                    .table(name, table)
                    .and_then(|table| SimpleQuery::parse(text, &table)),
                _ => None,
            };
            Ok(simple.map_or(Known::Host, |simple| {
                Known::Simple(only, Arc::new(simple), Arc::new(touched.columns))
            }))
        }

        fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Known>> {
            self.known.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    impl Known {
        fn route(&self, parameters: &[Value<'_>]) -> Route {
            match self {
                Self::Text(place) => Route::Text(*place),
                Self::Host | Self::NoTable => Route::Host,
                Self::Simple(place, simple, names) => match simple.select(parameters) {
                    Some(select) => Route::Select(*place, Box::new(select), Arc::clone(names)),
                    None => Route::Host,
                },
            }
        }
    }

    /// Whether the text may name tables together with this name: the engine itself does not know
    /// it.
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
        fn qualified_names_are_found() {
            assert!(is_qualified("SELECT * FROM \"Cache\" .visit", "cache"));
            assert!(!is_qualified("SELECT cache FROM visit", "cache"));
        }
    }
}

#[cfg(not(feature = "sqlite"))]
mod without_host {
    use super::Route;
    use crate::db::Inner;
    use bobak_core::{Engine, Result, Value};
    use std::sync::Arc;

    /// Without SQLite there is no host: a statement goes to the main engine, or a transaction's.
    pub(crate) struct Routes;

    impl Routes {
        pub(crate) fn new(
            _: &[(String, Arc<dyn Engine>)],
            _: bool,
            (): crate::builder::Functions,
        ) -> Result<Self> {
            Ok(Self)
        }

        pub(crate) fn with_engines(&self, _: &[(String, Arc<dyn Engine>)]) -> Result<Self> {
            Ok(Self)
        }

        pub(crate) fn forget(&self) {}

        pub(crate) fn find(&self, _: &Inner, _: &str, _: &[Value<'_>]) -> Result<Route> {
            Ok(Route::Text(0))
        }

        pub(crate) fn find_in(
            &self,
            _: &Inner,
            engine: usize,
            _: &str,
            _: &[Value<'_>],
        ) -> Result<Route> {
            Ok(Route::Text(engine))
        }
    }
}
