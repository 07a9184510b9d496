//! The conditions over the rows of each table of a join.

use bobak_core::join::{JoinCondition, JoinRewriter, JoinSubquery};
use bobak_core::{Condition, Join, Result};

/// The join with the result of `map` for each condition over the rows of one table, also in the queries inside of it.
pub(crate) fn map_conditions(
    join: &Join,
    map: &mut dyn FnMut(Condition) -> Result<Condition>,
) -> Result<Join> {
    let mut join = join.clone();
    for table in &mut join.tables {
        if let Some(link) = &mut table.link {
            link.condition = link.condition.take().map(&mut *map).transpose()?;
        }
    }
    rewrite(join, &mut ConditionMapper(map))
}

fn rewrite(mut join: Join, mapper: &mut dyn JoinRewriter) -> Result<Join> {
    for rows in join.tables.iter_mut().filter_map(|table| table.rows.as_mut()) {
        for query in std::mem::take(&mut rows.queries) {
            rows.queries.push(mapper.query(query)?);
        }
    }
    for conditions in [&mut join.filters, &mut join.having, &mut join.qualify] {
        for condition in std::mem::take(conditions) {
            conditions.push(condition.rewrite(mapper)?);
        }
    }
    for exprs in [&mut join.columns, &mut join.group] {
        for expr in std::mem::take(exprs) {
            exprs.push(expr.rewrite(mapper)?);
        }
    }
    for step in &mut join.order {
        step.expr = step.expr.clone().rewrite(mapper)?;
    }
    Ok(join)
}

/// Whether a condition over the rows of a table has a subquery.
#[cfg(feature = "field-encryption")]
pub(crate) fn has_subquery(join: &Join) -> bool {
    let mut found = false;
    join.for_each_subquery(&mut |_| found = true);
    found
}

struct ConditionMapper<'m>(&'m mut dyn FnMut(Condition) -> Result<Condition>);

impl JoinRewriter for ConditionMapper<'_> {
    fn row(&mut self, table: usize, condition: Condition) -> Result<JoinCondition> {
        Ok(JoinCondition::Row(table, (self.0)(condition)?))
    }

    fn query(&mut self, query: JoinSubquery) -> Result<JoinSubquery> {
        let join = map_conditions(&query.join, self.0)?;
        Ok(query.with_join(join))
    }
}

/// The join with the result of `map` for each query inside of it, but not for those inside of these.
pub(crate) fn map_queries(join: Join, map: &mut dyn FnMut(Join) -> Result<Join>) -> Result<Join> {
    let mut queries = join.tables.iter().filter(|table| table.rows.is_some()).count();
    join.for_each_query(&mut |_| queries += 1);
    if queries == 0 { Ok(join) } else { rewrite(join, &mut QueryMapper(map)) }
}

struct QueryMapper<'m>(&'m mut dyn FnMut(Join) -> Result<Join>);

impl JoinRewriter for QueryMapper<'_> {
    fn row(&mut self, table: usize, condition: Condition) -> Result<JoinCondition> {
        Ok(JoinCondition::Row(table, condition))
    }

    fn query(&mut self, query: JoinSubquery) -> Result<JoinSubquery> {
        let join = (self.0)(query.join.clone())?;
        Ok(query.with_join(join))
    }
}
