//! Groups.

use super::JoinWriter;
use crate::Dialect;
use crate::select::looks_differ;
use bobak_core::join::{JoinColumn, JoinExpr};
use bobak_core::{ColumnSchema, Type};

impl<'a> JoinWriter<'a> {
    pub(super) fn push_group(&mut self, expr: &'a JoinExpr) {
        match expr {
            JoinExpr::Column(column) => self.push_group_column(*column),
            // To an engine, a number is the place of a column.
            JoinExpr::Value(..) => self.require(false),
            _ => self.push_compared(expr),
        }
    }

    fn push_group_column(&mut self, column: JoinColumn) {
        if self.push_if_of_rows(column) {
            return;
        }
        let (join, dialect) = (self.join, self.dialect());
        let Some(schema) = self.comparable(column) else { return };
        let Some(table) = join.tables.get(column.table).map(|table| &table.table) else { return };
        // With the table's key in the group, the column has one value in each group.
        let is_key = |&key: &usize| {
            key != column.column
                && join.group.contains(&JoinExpr::Column(JoinColumn { column: key, ..column }))
        };
        let depends = !table.key().is_empty() && table.key().iter().all(is_key);
        let differs = looks_differ(table, column.column);
        let has_order = match schema.ty {
            Type::Json => dialect == Dialect::Sqlite,
            Type::F32 => !dialect.is_mysql(),
            _ => true,
        };
        self.require(has_order && (depends || !differs));
        self.push_column(column);
        if dialect.is_mysql() && differs {
            // What the groups may be sorted by.
            self.raw(", ");
            self.in_table(column.table, |writer, table| {
                writer.compared(table, column.column);
            });
        }
    }

    /// The columns of the result.
    pub(super) fn push_all_selected(&mut self) {
        let join = self.join;
        self.list(", ", join.columns.iter().enumerate(), |writer, (at, expr)| match at {
            0 => writer.push_of_group(|writer| writer.push_selected(expr)),
            _ => writer.push_selected(expr),
        });
    }

    /// The first column of the result. To SQLite, a query without GROUP BY has a group only if it selects an aggregate.
    pub(super) fn push_of_group(&mut self, push: impl FnOnce(&mut Self)) {
        let join = self.join;
        let is_hidden = join.is_grouped()
            && join.group.is_empty()
            && self.dialect() == Dialect::Sqlite
            && !join.columns.iter().any(JoinExpr::is_aggregate);
        self.raw(if is_hidden { "iif(count(*) < 0, NULL, " } else { "" });
        push(self);
        self.raw(if is_hidden { ")" } else { "" });
    }

    /// What makes the text of a column the same expression wherever it is used: PostgreSQL's functions take a text, and so
    /// convert a `varchar`.
    pub(super) fn as_text(&self, column: &ColumnSchema) -> &'static str {
        let is_varchar = self.dialect() == Dialect::Postgres && column.max_chars.is_some();
        if is_varchar { "::text" } else { "" }
    }
}
