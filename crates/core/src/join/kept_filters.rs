//! What the filters of a join are about.

use super::location::box_around;
use super::{Join, JoinCondition, JoinTable};

impl Join {
    /// Adds a filter to those of the rows, of the groups or of the result. Its parts become filters of their own, so that an
    /// engine can apply those that it knows.
    pub(super) fn keep_filter(&mut self, filter: JoinCondition, tables: &[JoinTable]) {
        match filter {
            filter if filter.is_window() => self.qualify.push(filter),
            filter if filter.is_aggregate() => self.having.push(filter),
            JoinCondition::AllOf(parts) => {
                parts.into_iter().for_each(|part| self.keep_filter(part, tables));
            }
            filter => {
                self.filters.extend(box_around(&filter, tables, self.outer));
                self.filters.push(filter);
            }
        }
    }
}
