//! Queries inside of others.

use super::JoinWriter;
use crate::select::push_limit;
use bobak_core::Storage;
use bobak_core::join::{JoinExpr, JoinSubquery};

impl<'a> JoinWriter<'a> {
    /// Writes something of a query inside of this one.
    pub(super) fn inside(&mut self, query: &'a JoinSubquery, push: impl FnOnce(&mut Self)) {
        // Conditions with window functions need one more query around.
        self.require(query.join.qualify.is_empty());
        let outer = (self.join, self.of_rows, self.in_having);
        (self.join, self.of_rows, self.in_having) = (&query.join, !query.join.is_grouped(), false);
        self.check_windows();
        push(self);
        (self.join, self.of_rows, self.in_having) = outer;
    }

    pub(super) fn push_exists(&mut self, query: &'a JoinSubquery) {
        let row_by_row = std::mem::replace(&mut self.row_by_row, false);
        self.raw("EXISTS (SELECT ");
        self.inside(query, |writer| {
            let join = writer.join;
            if join.is_grouped() {
                writer.push_all_selected();
            } else {
                writer.raw("1");
            }
            writer.push_rows(None);
            push_limit(&mut writer.writer, join.limit, join.offset);
            if row_by_row && join.limit.is_none() && join.offset == 0 {
                writer.raw(" OFFSET 0");
            }
        });
        self.raw(")");
        self.row_by_row = row_by_row;
    }

    /// The value of the first row, in the form in which it is compared.
    pub(super) fn push_value(&mut self, query: &'a JoinSubquery) {
        self.raw("(SELECT ");
        self.inside(query, |writer| {
            let join = writer.join;
            let Some(selected) = join.columns.first() else { return writer.require(false) };
            writer.push_of_group(|writer| writer.push_compared(selected));
            writer.push_rows(None);
            if join.is_grouped() && join.group.is_empty() {
                // One row, unless the limit or the offset leaves it out.
                return push_limit(&mut writer.writer, join.limit, join.offset);
            }
            writer.push_whole_order();
            push_limit(&mut writer.writer, Some(join.limit.unwrap_or(1).min(1)), join.offset);
        });
        self.raw(")");
    }

    pub(super) fn push_in_query(&mut self, expr: &'a JoinExpr, query: &'a JoinSubquery) {
        let Some(selected) = query.join.columns.first() else { return self.require(false) };
        let nullable = self.is_nullable(query, selected);
        let is_limited = query.join.limit.is_some() || query.join.offset > 0;
        // The limit counts rows with NULL, too; MariaDB has no limit here.
        self.require(!is_limited || !nullable && !self.dialect().is_mysql());
        let storage = self.storage(expr);
        let mut plain = false;
        if let (JoinExpr::Column(left), JoinExpr::Column(right)) = (expr, selected) {
            self.inside(query, |writer| plain = writer.are_linkable(*left, *right));
        }
        if plain {
            self.push_selected(expr);
        } else {
            self.require(storage.is_some());
            self.push_compared(expr);
        }
        self.raw(" IN (SELECT ");
        self.inside(query, |writer| {
            let join = writer.join;
            if !plain {
                writer.require(writer.storage(selected) == storage);
            }
            writer.push_of_group(|writer| match plain {
                true => writer.push_selected(selected),
                false => writer.push_compared(selected),
            });
            writer.push_rows(Some(selected).filter(|_| nullable));
            if is_limited {
                writer.push_whole_order();
                push_limit(&mut writer.writer, join.limit, join.offset);
            }
        });
        self.raw(")");
    }

    /// Whether what a query selects may be NULL.
    fn is_nullable(&self, query: &JoinSubquery, selected: &JoinExpr) -> bool {
        let JoinExpr::Column(column) = selected else { return true };
        let join = &query.join;
        let is_left = |index: usize| {
            let table = join.tables.get(index);
            table.is_some_and(|t| t.link.as_ref().is_some_and(|link| link.is_left))
        };
        is_left(column.table)
            || self.storage(selected) == Some(Storage::Any)
            || join.column(*column).is_none_or(|column| column.nullable)
    }
}
