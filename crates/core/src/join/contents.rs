//! The tables and conditions of a join and of the queries inside of it.

use super::Join;
use crate::{Condition, SubQuery, TableSchema};
use std::sync::Arc;

impl Join {
    /// Calls `each` with the tables that engines keep, also those of the queries inside of it, and not those of the
    /// subqueries of conditions.
    pub fn for_each_table<'e>(&'e self, each: &mut dyn FnMut(&'e Arc<TableSchema>)) {
        self.for_each_join(&mut |join| {
            let own = join.tables.iter().skip(join.outer);
            own.filter(|joined| joined.rows.is_none()).for_each(|joined| each(&joined.table));
        });
    }

    /// Calls `each` with the subqueries of its conditions over the rows of one table, and of those of the queries inside of it.
    pub fn for_each_subquery<'e>(&'e self, each: &mut dyn FnMut(&'e SubQuery)) {
        let mut of_condition = |condition: &'e Condition| condition.for_each_subquery(each);
        self.for_each_join(&mut |join| {
            let links = join.tables.iter().skip(join.outer).filter_map(|table| table.link.as_ref());
            links.filter_map(|link| link.condition.as_ref()).for_each(&mut of_condition);
            join.for_each_expr(&mut |expr| expr.for_each_row_condition(&mut of_condition));
            join.for_each_condition(&mut |one| one.for_each_row_condition(&mut of_condition));
        });
    }

    /// Calls `each` with itself and with all queries inside of it.
    fn for_each_join<'e>(&'e self, each: &mut dyn FnMut(&'e Self)) {
        each(self);
        let rows = self.tables.iter().skip(self.outer).filter_map(|table| table.rows.as_ref());
        rows.flat_map(|rows| &rows.queries).for_each(|query| query.join.for_each_join(each));
        self.for_each_query(&mut |query| query.join.for_each_join(each));
    }
}
