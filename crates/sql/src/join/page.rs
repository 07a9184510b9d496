//! Pages of rows for each of which other rows are counted.

use super::JoinWriter;
use crate::Dialect;
use crate::select::push_limit;
use bobak_core::join::JoinExpr;

impl<'a> JoinWriter<'a> {
    /// Whether rows are skipped by a query inside: PostgreSQL calculates the columns of skipped rows, too, and a column asks a
    /// query.
    pub(super) fn skips_inside(&self) -> bool {
        let join = self.join;
        let mut queries = 0;
        join.columns.iter().for_each(|expr| expr.for_each_query(&mut |_| queries += 1));
        // Window functions see the skipped rows.
        join.for_each_window(&mut |_| queries = 0);
        let is_of_columns = join.order.iter().all(|step| matches!(step.expr, JoinExpr::Column(_)));
        self.dialect() == Dialect::Postgres
            && (self.of_rows && join.offset > 0 && queries > 0 && is_of_columns)
            && matches!(&*join.tables, [table] if table.rows.is_none())
    }

    /// The rows of a page of one table.
    pub(super) fn push_page(&mut self) {
        self.writer.raw(" FROM (SELECT ").alias(0).raw(".*");
        self.push_rows(None);
        self.push_whole_order();
        push_limit(&mut self.writer, self.join.limit, self.join.offset);
        self.writer.raw(") AS ").alias(0);
        self.push_whole_order();
    }
}
