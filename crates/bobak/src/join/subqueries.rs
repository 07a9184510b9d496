//! Subqueries in the conditions of a join.

use crate::handle::SessionSource;
use crate::join_conditions::map_conditions;
use bobak_core::{Condition, Join, Result};

/// The join with the values of each subquery that the engine at an index cannot run itself.
pub(super) fn replace(source: &SessionSource<'_>, engine: usize, join: &Join) -> Result<Join> {
    map_conditions(join, &mut |condition| {
        let replaced = source.replace_for(engine, Some(condition))?;
        Ok(replaced.unwrap_or(Condition::And(Vec::new())))
    })
}
