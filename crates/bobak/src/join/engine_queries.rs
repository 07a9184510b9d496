//! Joins and updates by expressions on an engine without a database's model: for servers.

use super::run_without_engine;
use crate::access::TableAccess;
use crate::handle::{EngineHandle, EngineSet, SessionSource};
use bobak_core::statements::CallSite;
use bobak_core::{
    AssignedValue, Assignment, Condition, DynRow, Engine, EngineLayer, Error, ErrorKind, Join,
    Result, Row, Session, SessionLayer, Source, TableSchema, Value,
};
use std::cell::Cell;
use std::sync::Arc;

/// Runs untyped queries and updates of expressions on one engine, as [`Db`](crate::Db) runs typed ones.
#[derive(Clone)]
pub struct EngineQueries {
    engine: Arc<dyn Engine>,
}

impl EngineQueries {
    /// Queries of this engine's tables. If Bobak calculates the result, it reads at most so many rows.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>, max_rows: u64) -> Self {
        Self { engine: Arc::new(LimitedEngine { engine, max_rows }) }
    }

    fn source(&self) -> Result<SessionSource<'static>> {
        let engines = Arc::new(OneEngine(Arc::clone(&self.engine)));
        EngineHandle::new(engines, 0).map(SessionSource::Engine)
    }

    /// Calls `row` with the rows of a join until it returns `false`.
    ///
    /// # Errors
    /// As [`Db::list`](crate::Db::list); `OutOfRange` if more rows would be read than allowed.
    pub fn query(&self, join: &Join, row: &mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<()> {
        let _at = CallSite::of_client();
        // With permissions the engine runs it if they leave out no row of its tables.
        if self.engine.session()?.join(join, row)? {
            return Ok(());
        }
        run_without_engine(&self.source()?, join, row)
    }

    /// Sets columns of the rows that match a condition, and returns their number: see
    /// [`Table::set_where`](crate::Table::set_where).
    ///
    /// # Errors
    /// As there; `OutOfRange` if more rows would be read than allowed.
    pub fn set_where(
        &self,
        table: &Arc<TableSchema>,
        condition: Condition,
        values: Vec<AssignedValue>,
    ) -> Result<u64> {
        let _at = CallSite::of_client();
        let access = TableAccess::new(self.source()?, Arc::clone(table));
        let values = values.into_iter().map(Assignment::<DynRow>::from).collect();
        access.change(Some(condition), Some(values))
    }
}

/// The engine of [`EngineQueries`].
struct OneEngine(Arc<dyn Engine>);

impl EngineSet for OneEngine {
    fn engine(&self, _: usize) -> Result<&Arc<dyn Engine>> {
        Ok(&self.0)
    }

    fn engine_with(&self, _: &Arc<TableSchema>, _: usize) -> usize {
        0
    }

    fn check_table(
        &self,
        _: usize,
        _: &Arc<TableSchema>,
        _: &mut dyn FnMut() -> Result<Vec<TableSchema>>,
    ) -> Result<()> {
        Ok(())
    }

    fn normalize(&self, _: usize, _: &TableSchema, _: &mut [Value<'_>]) -> Result<()> {
        Ok(())
    }
}

/// An engine whose queries return a limited number of rows. Its joins are not limited: the engine has the memory for them.
struct LimitedEngine {
    engine: Arc<dyn Engine>,
    max_rows: u64,
}

impl EngineLayer for LimitedEngine {
    fn inner(&self) -> &dyn Engine {
        &*self.engine
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let left = Cell::new(self.max_rows);
        Ok(Box::new(LimitedSession { session: self.engine.session()?, left }))
    }
}

struct LimitedSession<'e> {
    session: Box<dyn Session + 'e>,
    left: Cell<u64>,
}

impl SessionLayer for LimitedSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.session
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        self.session.query(source, &mut |found| {
            let left = self.left.get().checked_sub(1).ok_or_else(too_many)?;
            self.left.set(left);
            row(found)
        })
    }
}

#[cold]
fn too_many() -> Error {
    let message = "the query reads too many rows in the server: use a filter that leaves out more";
    Error::new(ErrorKind::OutOfRange, message)
}
