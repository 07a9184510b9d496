//! The conditions of a join: their subqueries, and what is added to them.

use crate::handle::SessionSource;
use bobak_core::join::JoinCondition;
use bobak_core::{Condition, Join, Result};

/// The join with the values of each subquery that the engine at an index cannot run itself.
pub(super) fn replace(source: &SessionSource<'_>, engine: usize, join: &Join) -> Result<Join> {
    map_conditions(join, &mut |condition| {
        let replaced = source.replace_for(engine, Some(condition))?;
        Ok(replaced.unwrap_or(Condition::And(Vec::new())))
    })
}

/// The join with each condition over the rows of one table changed.
pub(crate) fn map_conditions(
    join: &Join,
    change: &mut dyn FnMut(Condition) -> Result<Condition>,
) -> Result<Join> {
    let mut join = join.clone();
    for filter in &mut join.filters {
        map_filter(filter, change)?;
    }
    for link in join.tables.iter_mut().filter_map(|table| table.link.as_mut()) {
        link.condition = link.condition.take().map(&mut *change).transpose()?;
    }
    Ok(join)
}

fn map_filter(
    filter: &mut JoinCondition,
    change: &mut dyn FnMut(Condition) -> Result<Condition>,
) -> Result<()> {
    match filter {
        JoinCondition::Row(_, condition) => {
            *condition = change(std::mem::replace(condition, Condition::And(Vec::new())))?;
            Ok(())
        }
        JoinCondition::Compare(..) | JoinCondition::IsNull(..) => Ok(()),
        JoinCondition::AnyOf(parts) | JoinCondition::AllOf(parts) => {
            parts.iter_mut().try_for_each(|part| map_filter(part, change))
        }
    }
}
