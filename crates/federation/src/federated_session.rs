//! A session of a main engine whose SQL runs in the federation.

use crate::federated_engine::{FederatedEngine, MAIN};
use bobak_core::engine::fallback;
use bobak_core::plan::{ExplainedQuery, PlanStep};
use bobak_core::{
    Cursor, CursorId, Parameter, Result, Row, RowBuffer, SchemaChange, Session, SessionLayer,
    Source, SqlAction, SqlAuthorizer, TransactionControl, ValueAddress, ValueRange, ValueState,
};
use bobak_sql::only_reads;
use std::cell::{Cell, OnceCell, RefCell};
use std::io::Read;
use std::sync::Arc;

/// A session of a [`FederatedEngine`].
pub(crate) struct FederatedSession<'e> {
    engine: &'e FederatedEngine,
    inner: Box<dyn Session + 'e>,
    /// For SQL outside a transaction.
    sql: OnceCell<Box<dyn Session + 'e>>,
    authorizer: RefCell<Option<Arc<dyn SqlAuthorizer>>>,
    /// Whether the main engine rejects writes of this session.
    forbids_writes: Cell<bool>,
}

/// The engine or session that an SQL text runs on.
enum SqlRunner<'s> {
    /// The main engine, in its own dialect.
    Main,
    /// The federation, as part of the main engine's transaction.
    Transaction,
    /// A session of the federation.
    Federation(&'s dyn Session),
}

/// Set in the numbers of cursors that the federation's session keeps.
const OF_FEDERATION: u64 = 1 << 63;

impl<'e> FederatedSession<'e> {
    pub(crate) fn new(engine: &'e FederatedEngine, inner: Box<dyn Session + 'e>) -> Self {
        let (sql, authorizer) = (OnceCell::new(), RefCell::default());
        Self { engine, inner, sql, authorizer, forbids_writes: Cell::new(false) }
    }

    fn runner(&self, text: &str) -> Result<SqlRunner<'_>> {
        if self.runs_in_main(text) {
            self.authorize_in_main(text)?;
            return Ok(SqlRunner::Main);
        }
        if self.inner.in_transaction() {
            return Ok(SqlRunner::Transaction);
        }
        self.sql_session().map(SqlRunner::Federation)
    }

    /// What a statement in the main engine's own dialect does is not known. If only reads are allowed, a query runs in a
    /// transaction that is never committed, and in which the engine rejects writes: a function that it calls may write.
    fn authorize_in_main(&self, text: &str) -> Result<()> {
        let authorizer = self.authorizer.borrow();
        let Some(authorizer) = &*authorizer else { return Ok(()) };
        let Err(error) = authorizer.check(SqlAction::Other) else { return Ok(()) };
        if !only_reads(text) || self.inner.in_transaction() && !self.forbids_writes.get() {
            return Err(error);
        }
        authorizer.check(SqlAction::Query)?;
        if !self.forbids_writes.replace(true) {
            self.inner.control(TransactionControl::Begin)?;
            self.inner.forbid_writes()?;
        }
        Ok(())
    }

    /// Whether the main engine has SQL and the text names no table of an attached engine. A text that only
    /// the main engine understands is one of them.
    fn runs_in_main(&self, text: &str) -> bool {
        self.engine.main().capabilities().sql
            && self.engine.federation.analyze(text).map_or(true, |analysis| {
                let is_own = |name: Option<&str>| name.is_none_or(|name| name == MAIN);
                analysis.tables.iter().all(|(engine, _)| is_own(engine.as_deref()))
            })
    }

    fn sql_session(&self) -> Result<&dyn Session> {
        if let Some(session) = self.sql.get() {
            return Ok(&**session);
        }
        let session = bobak_core::Engine::session(self.engine.federation.engine())?;
        if let Some(authorizer) = &*self.authorizer.borrow() {
            session.set_authorizer(Arc::clone(authorizer))?;
        }
        Ok(&**self.sql.get_or_init(|| session))
    }

    fn run_in_transaction(
        &self,
        text: &str,
        parameters: &[Parameter<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<u64> {
        let authorizer = self.authorizer.borrow().clone();
        let (federation, statement) = (&self.engine.federation, (text, parameters));
        federation.run_authorized_in(MAIN, &*self.inner, statement, authorizer.as_ref(), row)
    }

    /// The same cursor, as the federation's session knows it; `None` for another one.
    fn of_federation(&self, cursor: &Cursor) -> Option<(&dyn Session, Cursor)> {
        let CursorId(id) = cursor.id().ok()?;
        let session = self.sql.get().filter(|_| id & OF_FEDERATION != 0)?;
        let own = Cursor::new(CursorId(id & !OF_FEDERATION), Arc::clone(&cursor.columns));
        Some((&**session, own))
    }
}

impl SessionLayer for FederatedSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.inner
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let Source::Sql { text, parameters } = source else { return self.inner.query(source, row) };
        match self.runner(text)? {
            SqlRunner::Main => self.inner.query(source, row),
            SqlRunner::Transaction => self.run_in_transaction(text, parameters, row).map(drop),
            SqlRunner::Federation(session) => session.query(source, row),
        }
    }

    fn explain(&self, query: &ExplainedQuery<'_>) -> Result<Option<Vec<PlanStep>>> {
        let ExplainedQuery::Source(Source::Sql { text, .. }) = query else {
            return self.inner.explain(query);
        };
        match self.runner(text)? {
            SqlRunner::Main => self.inner.explain(query),
            SqlRunner::Transaction => self.sql_session()?.explain(query),
            SqlRunner::Federation(session) => session.explain(query),
        }
    }

    fn read_part(
        &self,
        value: &ValueAddress<'_>,
        range: ValueRange,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<ValueState>> {
        self.inner.read_part(value, range, bytes)
    }

    fn write_value(
        &self,
        value: &ValueAddress<'_>,
        length: u64,
        source: &mut dyn Read,
    ) -> Result<bool> {
        self.inner.write_value(value, length, source)
    }

    fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        match self.runner(sql)? {
            SqlRunner::Main => self.inner.execute(sql, parameters),
            SqlRunner::Transaction => self.run_in_transaction(sql, parameters, &mut |_| Ok(true)),
            SqlRunner::Federation(session) => session.execute(sql, parameters),
        }
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        let Source::Sql { text, .. } = source else { return self.inner.open(source) };
        match self.runner(text)? {
            SqlRunner::Main => self.inner.open(source),
            SqlRunner::Transaction => fallback::open(self, source),
            SqlRunner::Federation(session) => {
                let cursor = session.open(source)?;
                Ok(match cursor.id() {
                    Ok(CursorId(id)) => Cursor::new(CursorId(id | OF_FEDERATION), cursor.columns),
                    Err(_) => cursor,
                })
            }
        }
    }

    fn fetch(&self, cursor: &mut Cursor, rows: &mut RowBuffer) -> Result<()> {
        if cursor.id().is_err() {
            return cursor.next_part(rows);
        }
        match self.of_federation(cursor) {
            Some((session, mut own)) => session.fetch(&mut own, rows),
            None => self.inner.fetch(cursor, rows),
        }
    }

    fn close(&self, cursor: &mut Cursor) {
        match self.of_federation(cursor) {
            Some((session, mut own)) => session.close(&mut own),
            None => self.inner.close(cursor),
        }
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        let altered = self.inner.alter(changes);
        self.engine.federation.invalidate_tables();
        altered
    }

    fn set_authorizer(&self, authorizer: Arc<dyn SqlAuthorizer>) -> Result<()> {
        if let Some(session) = self.sql.get() {
            session.set_authorizer(Arc::clone(&authorizer))?;
        }
        *self.authorizer.borrow_mut() = Some(authorizer);
        Ok(())
    }
}
