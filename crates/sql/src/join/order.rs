//! Orders.

use super::JoinWriter;
use crate::Dialect;
use bobak_core::join::{JoinExpr, JoinOrder};

impl<'a> JoinWriter<'a> {
    pub(super) fn push_whole_order(&mut self) {
        let join = self.join;
        if !join.order.is_empty() {
            self.raw(" ORDER BY ");
            self.list(", ", &join.order, Self::push_order);
        }
    }

    pub(super) fn push_order(&mut self, step: &'a JoinOrder) {
        let nullable = match step.expr {
            JoinExpr::Column(column) => {
                let schema = self.comparable(column);
                let joined = self.join.tables.get(column.table);
                let is_left = joined.is_some_and(|t| t.link.as_ref().is_some_and(|l| l.is_left));
                is_left || schema.is_none_or(|column| column.nullable)
            }
            // To a server, an order by a value may be one by the number of a column.
            JoinExpr::Value(..) => return self.require(false),
            _ => true,
        };
        self.push_step(step, nullable, &mut |writer| writer.push_ordered(&step.expr));
    }

    /// A step of an order, whose expression `push` writes.
    pub(super) fn push_step(
        &mut self,
        step: &JoinOrder,
        nullable: bool,
        push: &mut dyn FnMut(&mut Self),
    ) {
        // SQLite and MariaDB find NULL the smallest value.
        let is_usual = step.nulls_first != step.descending;
        if nullable && !is_usual && self.dialect().is_mysql() {
            push(self);
            self.raw(if step.nulls_first { " IS NOT NULL, " } else { " IS NULL, " });
        }
        push(self);
        self.raw(if step.descending { " DESC" } else { "" });
        let says_nulls = match self.dialect() {
            Dialect::Postgres => nullable,
            Dialect::Sqlite => nullable && !is_usual,
            Dialect::MariaDb | Dialect::MySql => false,
        };
        if says_nulls {
            self.raw(if step.nulls_first { " NULLS FIRST" } else { " NULLS LAST" });
        }
    }

    pub(super) fn push_ordered(&mut self, expr: &'a JoinExpr) {
        match expr {
            JoinExpr::Column(column) if self.push_if_of_rows(*column) => {}
            JoinExpr::Column(column) => self.in_table(column.table, |writer, table| {
                writer.compared(table, column.column);
            }),
            _ => self.push_compared(expr),
        }
    }
}
