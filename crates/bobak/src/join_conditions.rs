//! Changing the conditions of a join.

use bobak_core::join::JoinCondition;
use bobak_core::{Condition, Join, Result};

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
