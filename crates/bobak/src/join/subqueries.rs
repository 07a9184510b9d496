//! Subqueries in the conditions of a join.

use crate::handle::SessionSource;
use bobak_core::join::JoinCondition;
use bobak_core::{Condition, Join, Result};

/// The join with the values of each subquery that the engine at an index cannot run itself.
pub(super) fn replace(source: &SessionSource<'_>, engine: usize, join: &Join) -> Result<Join> {
    let mut join = join.clone();
    for filter in &mut join.filters {
        replace_in(source, engine, filter)?;
    }
    for table in &mut join.tables {
        if let Some(link) = &mut table.link {
            link.condition = source.replace_for(engine, link.condition.take())?;
        }
    }
    Ok(join)
}

fn replace_in(source: &SessionSource<'_>, engine: usize, filter: &mut JoinCondition) -> Result<()> {
    match filter {
        JoinCondition::Row(_, condition) => {
            let whole = std::mem::replace(condition, Condition::And(Vec::new()));
            if let Some(replaced) = source.replace_for(engine, Some(whole))? {
                *condition = replaced;
            }
            Ok(())
        }
        JoinCondition::Compare(..) | JoinCondition::IsNull(..) => Ok(()),
        JoinCondition::AnyOf(parts) | JoinCondition::AllOf(parts) => {
            parts.iter_mut().try_for_each(|part| replace_in(source, engine, part))
        }
    }
}
