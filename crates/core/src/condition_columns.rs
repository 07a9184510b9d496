//! The columns that a condition reads.

use crate::Condition;

impl Condition {
    /// Calls `each` with the columns of the table that the condition reads, and not with those of subqueries' tables.
    pub fn for_each_column(&self, each: &mut dyn FnMut(usize)) {
        match self {
            Self::Compare { column, .. }
            | Self::In { column, .. }
            | Self::InQuery { column, .. }
            | Self::Like { column, .. }
            | Self::LikeEscape { column, .. }
            | Self::Contains { column, .. }
            | Self::EndsWith { column, .. }
            | Self::StartsWith { column, .. }
            | Self::IsNull { column } => each(*column),
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
