//! The columns that a condition reads, how deeply it is nested, and its opposite.

use crate::{Condition, Error, ErrorKind, Filter, Result, TableSchema};
use std::ops::Not;

/// As [`Filter::not`]: `!filter`.
impl<T> Not for Filter<T> {
    type Output = Self;

    fn not(self) -> Self {
        self.not()
    }
}

impl Condition {
    /// How deeply conditions can be nested. `And` and `Or` of many conditions are one level.
    pub const MAX_DEPTH: u32 = 200;

    /// Rejects a condition that is nested deeper than so many levels.
    pub(crate) fn check_depth(&self, levels: u32) -> Result<()> {
        let Some(below) = levels.checked_sub(1) else {
            let message = format!("the condition is nested deeper than {} levels", Self::MAX_DEPTH);
            return Err(Error::new(ErrorKind::OutOfRange, message));
        };
        match self {
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().try_for_each(|part| part.check_depth(below))
            }
            Self::Not(part) => part.check_depth(below),
            _ => Ok(()),
        }
    }

    /// Adds the tables of the subqueries in the condition, and of those in them.
    pub fn collect_other_tables<'c>(&'c self, tables: &mut Vec<&'c TableSchema>) {
        match self {
            Self::InQuery { query, .. } => {
                tables.push(&query.table);
                if let Some(condition) = &query.condition {
                    condition.collect_other_tables(tables);
                }
            }
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().for_each(|part| part.collect_other_tables(tables));
            }
            Self::Not(part) => part.collect_other_tables(tables),
            _ => {}
        }
    }

    /// Calls `each` with the columns of the table that the condition reads, and not with those of subqueries' tables.
    pub fn for_each_column(&self, each: &mut dyn FnMut(usize)) {
        match self {
            Self::Compare { column, .. }
            | Self::In { column, .. }
            | Self::Like { column, .. }
            | Self::LikeEscape { column, .. }
            | Self::Contains { column, .. }
            | Self::EndsWith { column, .. }
            | Self::StartsWith { column, .. }
            | Self::IsNull { column } => each(*column),
            Self::InQuery { column, query } => {
                query.pairs(*column).for_each(|pair| each(pair.from));
            }
            Self::CompareColumns { left, right, .. } => {
                each(*left);
                each(*right);
            }
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().for_each(|part| part.for_each_column(each));
            }
            Self::Not(part) => part.for_each_column(each),
        }
    }
}
