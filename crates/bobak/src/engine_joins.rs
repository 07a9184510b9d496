//! Joins that the engine runs that keeps all of their tables.

use crate::handle::SessionSource;
use crate::join_conditions::map_conditions;
use bobak_core::join::{JoinCondition, JoinTable};
use bobak_core::plan::{ExplainedQuery, QueryPlan};
use bobak_core::{Condition, Join, Result, Row};

/// Lets the engine that keeps all tables run the join; `false` if there is none, or it does not run this one.
pub(crate) fn run_on_engine(
    source: &SessionSource<'_>,
    join: &Join,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<bool> {
    let Some(engine) = keeping_all(source, join)? else { return Ok(false) };
    if runs_subqueries(source, engine, join) {
        return source.with_engine(engine, |session| session.join(join, row));
    }
    let join = with_values_of_subqueries(source, engine, join)?;
    source.with_engine(engine, |session| session.join(&join, row))
}

/// The plan of the engine that keeps all tables; `None` if there is none, or it does not run this join.
pub(crate) fn explain_on_engine(
    source: &SessionSource<'_>,
    join: &Join,
) -> Result<Option<QueryPlan>> {
    let Some(engine) = keeping_all(source, join)? else { return Ok(None) };
    let join = with_values_of_subqueries(source, engine, join)?;
    let query = ExplainedQuery::Join(&join);
    source.with_engine(engine, |session| QueryPlan::ask(session, &query))
}

/// The engine that keeps all tables of a join, if it can run joins.
fn keeping_all(source: &SessionSource<'_>, join: &Join) -> Result<Option<usize>> {
    let engines = source.engines();
    let tables = |each: &mut dyn FnMut(&_)| join.for_each_table(&mut |table| each(table));
    match engines.engine_with_all(source.engine_index(), tables) {
        Some(engine) if engines.engine(engine)?.capabilities().subqueries => Ok(Some(engine)),
        _ => Ok(None),
    }
}

/// Whether a join is of tables alone, and no part of it is another query.
pub(crate) fn has_no_query(join: &Join) -> bool {
    let is_plain = |condition: Option<&Condition>| condition.is_none_or(|c| !c.has_subquery());
    let is_plain_filter = |filter: &JoinCondition| match filter {
        JoinCondition::Row(_, condition) => is_plain(Some(condition)),
        _ => false,
    };
    let is_table = |joined: &JoinTable| {
        let condition = joined.link.as_ref().and_then(|link| link.condition.as_ref());
        joined.rows.is_none() && is_plain(condition)
    };
    let mut queries = 0;
    join.for_each_query(&mut |_| queries += 1);
    queries == 0
        && join.tables.iter().all(is_table)
        && join.filters.iter().chain(&join.having).chain(&join.qualify).all(is_plain_filter)
}

/// Whether the engine at an index, which keeps the tables of a join, keeps those of all subqueries, too.
fn runs_subqueries(source: &SessionSource<'_>, engine: usize, join: &Join) -> bool {
    let (engines, index) = (source.engines(), source.engine_index());
    let mut keeps_all = true;
    join.for_each_subquery(&mut |query| {
        keeps_all &= engines.engine_with(&query.table, index) == engine;
    });
    keeps_all
}

/// The join with the values of each subquery that the engine at an index cannot run itself.
pub(crate) fn with_values_of_subqueries(
    source: &SessionSource<'_>,
    engine: usize,
    join: &Join,
) -> Result<Join> {
    map_conditions(join, &mut |condition| {
        let replaced = source.replace_for(engine, Some(condition))?;
        Ok(replaced.unwrap_or(Condition::And(Vec::new())))
    })
}
