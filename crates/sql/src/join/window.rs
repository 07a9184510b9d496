//! Window functions, and what depends on them.

use super::JoinWriter;
use crate::Dialect;
use crate::select::push_limit;
use bobak_core::join::{JoinAggregate, JoinExpr, JoinWindow, WindowFunction};
use bobak_core::{Currency, Storage, Type, ValueRef};

impl<'a> JoinWriter<'a> {
    /// The rows that match conditions with window functions: of a query that selects the conditions, too.
    pub(super) fn push_qualified(&mut self) {
        let join = self.join;
        self.raw("SELECT ");
        self.list(", ", 0..join.columns.len(), |writer, at| writer.raw(&format!("c{at}")));
        self.raw(" FROM (SELECT ");
        for (at, expr) in join.columns.iter().enumerate() {
            self.push_selected(expr);
            self.raw(&format!(" AS c{at}, "));
        }
        for (at, step) in join.order.iter().enumerate() {
            self.push_ordered(&step.expr);
            self.raw(&format!(" AS o{at}, "));
        }
        self.push_parts(&join.qualify, true);
        self.raw(" AS kept");
        self.push_rows(None);
        self.raw(") AS found WHERE kept");
        if !join.order.is_empty() {
            self.raw(" ORDER BY ");
            self.list(", ", join.order.iter().enumerate(), |writer, (at, step)| {
                let place = format!("o{at}");
                writer.push_step(step, true, &mut |writer| writer.raw(&place));
            });
        }
        push_limit(&mut self.writer, join.limit, join.offset);
    }

    /// MariaDB 10.11 sorts some of three windows wrongly that begin with the same expression.
    pub(super) fn check_windows(&mut self) {
        fn first(window: &JoinWindow) -> Option<&JoinExpr> {
            let order = window.order.first().map(|step| &step.expr);
            window.partition.first().or(order)
        }
        let mut windows: Vec<&JoinWindow> = Vec::new();
        self.join.for_each_window(&mut |window| {
            let is_same = |other: &&JoinWindow| {
                other.partition == window.partition && other.order == window.order
            };
            if first(window).is_some() && !windows.iter().any(is_same) {
                windows.push(window);
            }
        });
        let alike = |window: &&JoinWindow| {
            windows.iter().filter(|other| first(other) == first(window)).count() > 2
        };
        self.require(!self.dialect().is_mysql() || !windows.iter().any(alike));
    }

    /// A window function, in the form in which it is compared.
    pub(super) fn push_window(&mut self, window: &'a JoinWindow) {
        self.require(window.argument.as_ref().is_none_or(|part| self.storage(part).is_some()));
        match window.function {
            WindowFunction::RowNumber => self.push_over("row_number(", None, window),
            WindowFunction::Rank => self.push_over("rank(", None, window),
            WindowFunction::DenseRank => self.push_over("dense_rank(", None, window),
            WindowFunction::Lag(rows) => self.push_over("lag(", Some(rows), window),
            WindowFunction::Lead(rows) => self.push_over("lead(", Some(rows), window),
            WindowFunction::First => self.push_over("first_value(", None, window),
            WindowFunction::Last => self.push_over("last_value(", None, window),
            WindowFunction::Aggregate(function, _) => self.push_aggregate_over(function, window),
        }
    }

    fn push_over(&mut self, function: &str, rows: Option<u32>, window: &'a JoinWindow) {
        self.raw(function);
        match (&window.argument, window.function) {
            // Of any type.
            (
                Some(JoinExpr::Column(column)),
                WindowFunction::Aggregate(JoinAggregate::Count, _),
            ) => {
                self.push_column(*column);
            }
            (Some(argument), _) => self.push_compared(argument),
            (None, _) => {}
        }
        if let Some(rows) = rows {
            self.raw(&format!(", {rows}"));
        }
        self.raw(") OVER (");
        if !window.partition.is_empty() {
            self.raw("PARTITION BY ");
            self.list(", ", &window.partition, Self::push_partition);
        }
        if !window.order.is_empty() {
            self.raw(if window.partition.is_empty() { "ORDER BY " } else { " ORDER BY " });
            self.list(", ", &window.order, Self::push_order);
        }
        self.push_frame(window);
        self.raw(")");
    }

    fn push_partition(&mut self, expr: &'a JoinExpr) {
        let dialect = self.dialect();
        match expr {
            JoinExpr::Column(column) => {
                let schema = self.comparable(*column);
                let has_order =
                    |ty| dialect == Dialect::Sqlite || !matches!(ty, Type::Json | Type::F32);
                self.require(schema.is_some_and(|column| has_order(column.ty)));
                self.push_ordered(expr);
            }
            JoinExpr::Value(..) => self.require(false),
            _ => self.push_compared(expr),
        }
    }

    fn push_frame(&mut self, window: &JoinWindow) {
        match window.function {
            WindowFunction::First | WindowFunction::Last => {
                self.raw(" ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING");
            }
            WindowFunction::Aggregate(_, last) if !window.order.is_empty() => match last {
                None => self.raw(" ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
                Some(rows) => {
                    let before = rows.saturating_sub(1);
                    self.raw(&format!(" ROWS BETWEEN {before} PRECEDING AND CURRENT ROW"));
                }
            },
            _ => {}
        }
    }

    fn push_aggregate_over(&mut self, function: JoinAggregate, window: &'a JoinWindow) {
        let Some(argument) = &window.argument else { return self.require(false) };
        let is_postgres = self.dialect() == Dialect::Postgres;
        match (function, self.storage(argument)) {
            (JoinAggregate::Count, Some(_)) => self.push_over("COUNT(", None, window),
            (JoinAggregate::Min, Some(_)) => self.push_over("MIN(", None, window),
            (JoinAggregate::Max, Some(_)) => self.push_over("MAX(", None, window),
            (JoinAggregate::Sum, Some(Storage::Int)) => {
                self.raw(if is_postgres { "(" } else { "" });
                self.push_over("SUM(", None, window);
                self.raw(if is_postgres { ")::int8" } else { "" });
            }
            (JoinAggregate::Avg, Some(Storage::Int)) => {
                match self.dialect() {
                    Dialect::Sqlite => {
                        self.raw("(");
                        self.push_over("AVG(", None, window);
                    }
                    Dialect::Postgres => {
                        self.raw("((");
                        self.push_over("SUM(", None, window);
                        self.raw(")::float8 / ");
                        self.push_over("COUNT(", None, window);
                    }
                    Dialect::MariaDb | Dialect::MySql => {
                        self.raw("((");
                        self.push_over("SUM(", None, window);
                        self.raw(" + 0e0) / ");
                        self.push_over("COUNT(", None, window);
                    }
                }
                if argument.ty(self.join) == Type::Currency {
                    self.writer.raw(" / ").literal(ValueRef::Float(Currency::SCALE as f64));
                }
                self.raw(")");
            }
            // A sum of floats depends on their order, and no engine counts different values.
            _ => self.require(false),
        }
    }
}
