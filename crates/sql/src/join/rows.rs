//! The rows of queries as a table.

use super::JoinWriter;
use crate::Dialect;
use crate::select::push_limit;
use bobak_core::join::{JoinColumn, JoinRows, JoinSubquery, SetOperator};
use bobak_core::{ColumnSchema, Storage, TableSchema};

impl<'a> JoinWriter<'a> {
    /// Whether a column is one of the rows of queries, which has values in the form in which they are compared.
    pub(super) fn is_of_rows(&self, column: JoinColumn) -> bool {
        self.join.tables.get(column.table).is_some_and(|table| table.rows.is_some())
    }

    /// Queries, whose columns have the names of those of `table`.
    pub(super) fn push_combined(&mut self, rows: &'a JoinRows, table: &'a TableSchema) {
        let word = match rows.operator {
            SetOperator::UnionAll => " UNION ALL ",
            SetOperator::Union => " UNION ",
            SetOperator::Intersect => " INTERSECT ",
            SetOperator::Except => " EXCEPT ",
        };
        let is_set = rows.operator != SetOperator::UnionAll;
        let is_new = matches!(rows.operator, SetOperator::Intersect | SetOperator::Except);
        self.require(!is_new || self.dialect() != Dialect::MySql);
        self.raw("(");
        self.list(word, &rows.queries, |writer, query| {
            writer.push_part_of_rows(query, table.columns(), is_set);
        });
        self.raw(")");
    }

    fn push_part_of_rows(
        &mut self,
        query: &'a JoinSubquery,
        columns: &'a [ColumnSchema],
        is_set: bool,
    ) {
        let join = &query.join;
        let is_limited = join.limit.is_some() || join.offset > 0;
        self.inside(query, |writer| {
            writer.raw(if is_limited { "SELECT * FROM (SELECT " } else { "SELECT " });
            writer.list(", ", join.columns.iter().zip(columns), |writer, (expr, column)| {
                let storage = writer.storage(expr);
                let is_known =
                    matches!(storage, Some(Storage::Int | Storage::Float | Storage::Text));
                // Zero and minus zero are one value, and look different.
                writer.require(is_known && storage == Some(column.storage));
                writer.require(!is_set || storage != Some(Storage::Float));
                writer.push_compared(expr);
                writer.raw(" AS ");
                writer.writer.name(&column.name);
            });
            writer.push_rows(None);
            if is_limited {
                writer.push_whole_order();
                push_limit(&mut writer.writer, join.limit, join.offset);
                writer.raw(") AS part");
            }
        });
    }

    /// Writes a column of the rows of queries, which has the collation of what it was selected from.
    pub(super) fn push_if_of_rows(&mut self, column: JoinColumn) -> bool {
        let is_of_rows = self.is_of_rows(column);
        if is_of_rows {
            self.push_column(column);
        }
        is_of_rows
    }

    /// A column of the rows of queries in the result. MariaDB's sums of integers are decimal numbers, which are integers only
    /// in expressions.
    pub(super) fn push_selected_of_rows(&mut self, column: JoinColumn) {
        let schema = self.join.column(column);
        let is_sum = schema.is_some_and(|column| column.storage == Storage::Int);
        let (before, after) = match self.dialect() {
            Dialect::MariaDb | Dialect::MySql if is_sum => ("(", " + 0)"),
            _ => ("", ""),
        };
        self.raw(before);
        self.push_column(column);
        self.raw(after);
    }
}
