//! Subqueries of conditions, replaced by their values where the engine cannot run them.

use crate::handle::SessionSource;
use bobak_core::{Condition, Error, Expr, Result, Row, Select, Session, Source, SubQuery};

impl SessionSource<'_> {
    /// The query with conditions that its engine takes.
    pub(crate) fn with_values_of_subqueries(&self, select: Select) -> Result<Select> {
        let condition = self.replace_subqueries(select.condition)?;
        Ok(Select { condition, ..select })
    }

    /// The condition with the values of each subquery that the engine cannot run itself: because it has no subqueries, or
    /// because another engine keeps the table.
    pub(crate) fn replace_subqueries(
        &self,
        condition: Option<Condition>,
    ) -> Result<Option<Condition>> {
        match condition {
            Some(condition) if condition.has_subquery() => condition
                .replace_subqueries(&mut |column, query| self.replace(column, query))
                .map(Some),
            condition => Ok(condition),
        }
    }

    fn replace(&self, column: usize, query: SubQuery) -> Result<Condition> {
        let (engines, own) = (self.engines(), self.engine_index());
        let keeping = engines.engine_with(&query.table, own);
        if keeping == own && engines.engine(own)?.capabilities().subqueries {
            return Ok(Condition::InQuery { column, query: Box::new(query) });
        }
        let select = Select {
            table: query.table,
            columns: vec![Expr::Column(query.column)],
            condition: query.condition,
            group: vec![query.column],
            order: Vec::new(),
            limit: None,
            offset: 0,
        };
        let mut values = Vec::new();
        self.run_on(keeping, &select, &mut |row| {
            let value = row.get(0);
            if !value.is_null() {
                values.push(value.to_owned());
            }
            Ok(true)
        })?;
        Ok(Condition::In { column, values })
    }

    /// Runs a query on an engine of the database: in the session of this source if it is the same engine.
    pub(crate) fn run_on(
        &self,
        engine: usize,
        select: &Select,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let mut run = |session: &dyn Session| session.query(&Source::Select(select), row);
        let done = if engine == self.engine_index() {
            self.with(run)
        } else {
            run(&*self.engines().engine(engine)?.session()?)
        };
        done.map_err(|error: Error| error.in_table(select.table.name()))
    }
}
