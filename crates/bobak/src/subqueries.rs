//! Subqueries of conditions, replaced by their values where the engine cannot run them.

use crate::handle::SessionSource;
use bobak_core::{Condition, Error, Result, Row, Select, Session, Source, SubQuery, SubQueryRows};

/// The index of no engine.
pub(crate) const NO_ENGINE: usize = usize::MAX;

impl SessionSource<'_> {
    /// The query with conditions that this source's engine takes.
    pub(crate) fn with_values_of_subqueries(&self, select: Select) -> Result<Select> {
        let condition = self.replace_subqueries(select.condition)?;
        Ok(Select { condition, ..select })
    }

    /// The condition as this source's engine takes it.
    pub(crate) fn replace_subqueries(
        &self,
        condition: Option<Condition>,
    ) -> Result<Option<Condition>> {
        self.replace_for(self.engine_index(), condition)
    }

    /// The condition with the values of each subquery that the engine at an index cannot run itself: because it has no
    /// subqueries, or because another engine keeps the table. With [`NO_ENGINE`], of all subqueries.
    pub(crate) fn replace_for(
        &self,
        engine: usize,
        condition: Option<Condition>,
    ) -> Result<Option<Condition>> {
        match condition {
            Some(condition) if condition.has_subquery() => {
                let mut replace = |column, query| self.replace(engine, column, query);
                condition.replace_subqueries(&mut replace).map(Some)
            }
            condition => Ok(condition),
        }
    }

    fn replace(&self, engine: usize, column: usize, query: SubQuery) -> Result<Condition> {
        let keeping = self.engines().engine_with(&query.table, self.engine_index());
        if keeping == engine && self.engines().engine(engine)?.capabilities().subqueries {
            return Ok(Condition::InQuery { column, query: Box::new(query) });
        }
        let mut rows = SubQueryRows::new(&query, column);
        self.query(query.to_select(), &mut |row| {
            rows.push(row);
            Ok(true)
        })?;
        Ok(rows.into_condition())
    }

    /// Runs a query on the engine that keeps its table: in the session of this source if it is the same engine.
    pub(crate) fn query(
        &self,
        mut select: Select,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let engine = self.engines().engine_with(&select.table, self.engine_index());
        select.condition = self.replace_for(engine, select.condition)?;
        let run = |session: &dyn Session| session.query(&Source::Select(&select), row);
        self.with_engine(engine, run).map_err(|error: Error| error.in_table(select.table.name()))
    }

    /// Runs an operation on the engine at an index: in the session of this source if it is the same engine.
    pub(crate) fn with_engine<R>(
        &self,
        engine: usize,
        run: impl FnOnce(&dyn Session) -> Result<R>,
    ) -> Result<R> {
        if engine == self.engine_index() {
            return self.with(run);
        }
        run(&*self.engines().engine(engine)?.session()?)
    }
}
