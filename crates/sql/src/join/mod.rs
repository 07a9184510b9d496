//! Joins as one statement.

mod function;
mod group;
mod json;
mod list;
mod number;
mod order;
mod page;
mod rows;
mod storage;
mod subquery;
mod text;
mod window;

use self::storage::are_linkable;
use crate::Dialect;
use crate::condition::{operator, push_condition};
use crate::select::push_limit;
use crate::writer::{Statement, Writer};
use bobak_core::join::{JoinAggregate, JoinColumn, JoinCondition, JoinExpr};
use bobak_core::{
    Collation, ColumnSchema, Comparison, Currency, Join, Storage, TableSchema, Type, Value,
    ValueRef,
};

/// A join: its rows have the values of `join.columns`, in their order. All tables belong to the engine.
///
/// `None` if an expression would have another value in this dialect than in Bobak: sums and averages of floats, floats
/// that a server calculates, groups of texts that are equal but look different, links between columns of different types,
/// money divided by a number on servers.
/// The caller then joins the rows itself.
#[must_use]
pub fn join<'a>(dialect: Dialect, join: &'a Join) -> Option<Statement<'a>> {
    // Servers find an expression of the group in other parts only if it looks the same there, without parameters.
    let mut writer = Writer::new(dialect);
    writer.inline = groups_by_expressions(join);
    let of_rows = !join.is_grouped();
    let mut writer = JoinWriter {
        writer,
        join,
        of_rows,
        in_having: false,
        is_supported: true,
        row_by_row: false,
    };
    writer.push();
    writer.is_supported.then(|| writer.writer.finish())
}

fn groups_by_expressions(join: &Join) -> bool {
    let mut found = !join.group.iter().all(|expr| matches!(expr, JoinExpr::Column(_)));
    join.for_each_query(&mut |query| found |= groups_by_expressions(&query.join));
    let rows = join.tables.iter().filter_map(|table| table.rows.as_ref());
    let mut queries = rows.flat_map(|rows| &rows.queries);
    found || queries.any(|query| groups_by_expressions(&query.join))
}

struct JoinWriter<'a> {
    writer: Writer<'a>,
    join: &'a Join,
    /// Whether what is written is calculated from a row, and not from a group.
    of_rows: bool,
    /// Whether this is a condition over groups, outside of its aggregates.
    in_having: bool,
    is_supported: bool,
    /// Whether PostgreSQL should look for the rows of an EXISTS once for each row of the result: see
    /// [`push_selected_columns`](Self::push_selected_columns).
    row_by_row: bool,
}

/// The most rows of a result for each of which an EXISTS is cheaper than reading the whole table once.
pub(crate) const FEW_ROWS: u64 = 1_000;

impl<'a> JoinWriter<'a> {
    fn push(&mut self) {
        let join = self.join;
        self.check_windows();
        if !join.qualify.is_empty() {
            return self.push_qualified();
        }
        self.raw("SELECT ");
        self.push_selected_columns();
        if self.skips_inside() {
            return self.push_page();
        }
        self.push_rows(None);
        self.push_whole_order();
        push_limit(&mut self.writer, join.limit, join.offset);
    }

    /// PostgreSQL ignores the limit when it chooses how to run an EXISTS among the selected: it reads the whole table and
    /// makes a hash table of it, also for one row. An offset keeps it from that.
    fn push_selected_columns(&mut self) {
        let join = self.join;
        let rows = join.limit.map_or(u64::MAX, |limit| limit.saturating_add(join.offset));
        self.row_by_row = self.dialect() == Dialect::Postgres && self.of_rows && rows <= FEW_ROWS;
        self.push_all_selected();
        self.row_by_row = false;
    }

    /// The tables, conditions and groups. With `not_null` the rows and groups in which this is not NULL.
    fn push_rows(&mut self, not_null: Option<&'a JoinExpr>) {
        let join = self.join;
        let is_grouped = join.is_grouped();
        self.push_tables();
        self.of_rows(true, |writer| {
            writer.push_conditions(" WHERE ", &join.filters, not_null.filter(|_| !is_grouped));
            if !join.group.is_empty() {
                writer.raw(" GROUP BY ");
                writer.list(", ", &join.group, Self::push_group);
            }
        });
        self.in_having = true;
        self.push_conditions(" HAVING ", &join.having, not_null.filter(|_| is_grouped));
        self.in_having = false;
    }

    fn dialect(&self) -> Dialect {
        self.writer.dialect
    }

    fn raw(&mut self, text: &str) {
        self.writer.raw(text);
    }

    /// Notes what must hold for the dialect to run the join as Bobak does.
    fn require(&mut self, holds: bool) {
        self.is_supported &= holds;
    }

    fn list<T>(
        &mut self,
        between: &str,
        items: impl IntoIterator<Item = T>,
        mut push: impl FnMut(&mut Self, T),
    ) {
        for (at, item) in items.into_iter().enumerate() {
            if at > 0 {
                self.raw(between);
            }
            push(self, item);
        }
    }

    /// Writes something that is calculated from a row, or from what all rows of a group have in common.
    fn of_rows(&mut self, of_rows: bool, push: impl FnOnce(&mut Self)) {
        let outer = self.of_rows;
        self.of_rows |= of_rows;
        push(self);
        self.of_rows = outer;
    }

    /// Writes something about one table, with its alias before the names of its columns.
    fn in_table(&mut self, index: usize, push: impl FnOnce(&mut Writer<'a>, &'a TableSchema)) {
        match self.join.tables.get(index) {
            Some(table) => {
                self.writer.table = Some(index);
                push(&mut self.writer, &table.table);
                self.writer.table = None;
            }
            None => self.require(false),
        }
    }

    fn push_column(&mut self, column: JoinColumn) {
        self.in_table(column.table, |writer, table| {
            writer.column(table, column.column);
        });
    }

    /// The column's schema, if the dialect compares its values as Bobak does.
    fn comparable(&mut self, column: JoinColumn) -> Option<&'a ColumnSchema> {
        let found = self.join.column(column).filter(|schema| self.is_comparable(schema));
        self.require(found.is_some());
        found
    }

    fn is_comparable(&self, column: &ColumnSchema) -> bool {
        let is_plain = column.declared.is_none() && !column.is_kept_as_text();
        column.storage != Storage::Any && (self.dialect() == Dialect::Sqlite || is_plain)
    }

    fn push_tables(&mut self) {
        for (index, joined) in self.join.tables.iter().enumerate().skip(self.join.outer) {
            let words = match &joined.link {
                None => " FROM ",
                Some(link) if link.is_left => " LEFT JOIN ",
                Some(_) => " JOIN ",
            };
            self.raw(words);
            match &joined.rows {
                None => {
                    self.writer.name(joined.table.name());
                }
                Some(rows) => self.push_combined(rows, &joined.table),
            }
            self.writer.raw(" AS ").alias(index);
            let Some(link) = &joined.link else { continue };
            for (number, [from, to]) in link.pairs(index).enumerate() {
                let (a, b) = (self.comparable(from), self.comparable(to));
                self.require(a.zip(b).is_some_and(|(a, b)| are_linkable(a, b)));
                self.raw(if number == 0 { " ON " } else { " AND " });
                self.push_column(from);
                self.raw(" = ");
                self.push_column(to);
            }
            if let Some(condition) = &link.condition {
                self.raw(" AND (");
                self.in_table(index, |writer, table| push_condition(writer, table, condition));
                self.raw(")");
            }
        }
    }

    fn push_conditions(
        &mut self,
        word: &str,
        conditions: &'a [JoinCondition],
        not_null: Option<&'a JoinExpr>,
    ) {
        if !conditions.is_empty() {
            self.raw(word);
            self.push_parts(conditions, true);
        }
        if let Some(expr) = not_null {
            self.raw(if conditions.is_empty() { word } else { " AND " });
            self.push_selected(expr);
            self.raw(" IS NOT NULL");
        }
    }

    /// A condition over rows, or over groups.
    fn push_condition(&mut self, condition: &'a JoinCondition) {
        match condition {
            JoinCondition::Row(table, condition) => {
                self.require(self.of_rows);
                self.in_table(*table, |writer, table| push_condition(writer, table, condition));
            }
            JoinCondition::Compare(left, comparison, right) => {
                self.push_comparison(left, *comparison, right);
            }
            JoinCondition::IsNull(expr, wanted) => {
                self.push_selected(expr);
                self.raw(if *wanted { " IS NULL" } else { " IS NOT NULL" });
            }
            JoinCondition::Text(expr, test) => self.push_text_test(expr, test),
            JoinCondition::Exists(query) => self.push_exists(query),
            JoinCondition::InQuery(expr, query) => self.push_in_query(expr, query),
            JoinCondition::AnyOf(parts) => self.push_parts(parts, false),
            JoinCondition::AllOf(parts) => self.push_parts(parts, true),
            JoinCondition::Not(part) => {
                let outer = std::mem::replace(&mut self.writer.is_negated, true);
                self.raw("NOT (");
                self.push_condition(part);
                self.raw(")");
                self.writer.is_negated = outer;
            }
        }
    }

    fn push_parts(&mut self, parts: &'a [JoinCondition], all: bool) {
        if parts.is_empty() {
            return self.raw(self.dialect().truth(all));
        }
        if !all && self.push_members(parts) {
            return;
        }
        self.list(if all { " AND " } else { " OR " }, parts, |writer, part| {
            writer.raw("(");
            writer.push_condition(part);
            writer.raw(")");
        });
    }

    fn push_comparison(&mut self, left: &'a JoinExpr, comparison: Comparison, right: &'a JoinExpr) {
        let (Some(_), Some(_)) = (self.storage(left), self.storage(right)) else {
            // NULL, which no row matches, and whose opposite no row matches either.
            return self.raw(self.dialect().unknown());
        };
        if self.push_linkable(left, comparison, right) {
            return;
        }
        self.require_comparable(left, right);
        self.push_compared(left);
        self.raw(operator(comparison));
        self.push_compared(right);
    }

    fn require_comparable(&mut self, left: &JoinExpr, right: &JoinExpr) {
        let (a, b) = (self.storage(left), self.storage(right));
        let are_numbers = |a| matches!(a, Some(Storage::Int | Storage::Float));
        let is_sqlite = self.dialect() == Dialect::Sqlite;
        self.require(a == b || is_sqlite && are_numbers(a) && are_numbers(b));
    }

    /// Columns of which the dialect finds the same ones equal, as they are, so that an index serves.
    fn push_linkable(
        &mut self,
        left: &'a JoinExpr,
        comparison: Comparison,
        right: &'a JoinExpr,
    ) -> bool {
        let (JoinExpr::Column(left), JoinExpr::Column(right)) = (left, right) else { return false };
        if comparison != Comparison::Equal || !self.are_linkable(*left, *right) {
            return false;
        }
        self.push_column(*left);
        self.raw(" = ");
        self.push_column(*right);
        true
    }

    fn are_linkable(&self, left: JoinColumn, right: JoinColumn) -> bool {
        if self.is_of_rows(left) || self.is_of_rows(right) {
            return false;
        }
        let column = |column| self.join.column(column).filter(|schema| self.is_comparable(schema));
        column(left).zip(column(right)).is_some_and(|(a, b)| are_linkable(a, b))
    }

    /// An expression as a column of the result.
    fn push_selected(&mut self, expr: &'a JoinExpr) {
        match expr {
            JoinExpr::Column(column) if self.is_of_rows(*column) => {
                self.push_selected_of_rows(*column)
            }
            JoinExpr::Column(column) => self.push_column(*column),
            _ if self.storage(expr).is_none() => {
                // Without it, the query may have other rows.
                self.require(!expr.is_aggregate());
                self.raw("NULL");
            }
            _ => self.push_compared(expr),
        }
    }

    /// An expression as it is compared and sorted: a number in its stored form, or a text by its bytes.
    fn push_compared(&mut self, expr: &'a JoinExpr) {
        let is_common = self.join.group.contains(expr);
        // MariaDB finds no other expression of the group there. All rows have the same value.
        let is_column = matches!(expr, JoinExpr::Column(_));
        let is_hidden = is_common && self.in_having && self.dialect().is_mysql() && !is_column;
        let in_having = self.in_having;
        self.in_having &= !is_hidden;
        self.raw(if is_hidden { "MIN(" } else { "" });
        self.of_rows(is_common, |writer| match writer.storage(expr) {
            Some(Storage::Int | Storage::Float) => writer.push_checked(expr),
            Some(Storage::Text) => writer.push_text(expr),
            _ => writer.require(false),
        });
        self.raw(if is_hidden { ")" } else { "" });
        self.in_having = in_having;
    }

    fn push_text(&mut self, expr: &'a JoinExpr) {
        let is_postgres = self.dialect() == Dialect::Postgres;
        match expr {
            JoinExpr::Column(column) => self.push_text_column(*column),
            JoinExpr::Value(value, _) => {
                self.writer.value(value.as_ref());
                self.raw(if is_postgres { "::text" } else { "" });
            }
            JoinExpr::Aggregate(function, expr) => self.push_aggregate(*function, expr),
            JoinExpr::Function(function, arguments) => {
                self.push_text_function(*function, arguments);
            }
            JoinExpr::Case(branches, otherwise) => self.push_case(branches, otherwise),
            JoinExpr::Query(query) => self.push_value(query),
            JoinExpr::Window(window) => self.push_window(window),
            JoinExpr::Calculation(..) => self.require(false),
        }
        self.raw(match expr {
            // The text of another collation, such as that of the connection.
            JoinExpr::Function(..)
            | JoinExpr::Case(..)
            | JoinExpr::Query(_)
            | JoinExpr::Window(_) => self.dialect().collate(Collation::Binary),
            _ if is_postgres => " COLLATE \"C\"",
            _ => "",
        });
    }

    fn push_text_column(&mut self, column: JoinColumn) {
        if self.is_of_rows(column) {
            return self.push_column(column);
        }
        let schema = self.comparable(column);
        self.require(schema.is_some_and(|column| {
            column.collation == Collation::Binary && column.ty == Type::Text
        }));
        self.push_column(column);
        self.raw(schema.map_or("", |column| self.as_text(column)));
    }

    fn push_aggregate(&mut self, function: JoinAggregate, expr: &'a JoinExpr) {
        // One whose columns are all of the query around belongs to that, in SQL.
        let (mut is_constant, mut is_own) = (true, false);
        expr.for_each_column(&mut |column| {
            (is_constant, is_own) = (false, is_own || column.table >= self.join.outer);
        });
        self.require(is_constant || is_own);
        let in_having = std::mem::replace(&mut self.in_having, false);
        self.of_rows(true, |writer| writer.push_aggregate_of(function, expr));
        self.in_having = in_having;
    }

    fn push_aggregate_of(&mut self, function: JoinAggregate, expr: &'a JoinExpr) {
        let storage = self.storage(expr);
        match (function, expr, storage) {
            (JoinAggregate::Count, JoinExpr::Column(column), _) => {
                self.raw("COUNT(");
                self.push_column(*column);
                self.raw(")");
            }
            (JoinAggregate::Count, JoinExpr::Value(Value::Int(_), _), _) => self.raw("COUNT(*)"),
            (JoinAggregate::Count, _, Some(_)) => {
                self.raw("COUNT(");
                self.push_compared(expr);
                self.raw(")");
            }
            (JoinAggregate::CountDistinct, _, Some(_)) => self.push_count_distinct(expr),
            (JoinAggregate::Sum, _, Some(Storage::Int)) => {
                // What is beyond 64 bits is an error, and no larger number.
                let (before, after) = match self.dialect() {
                    Dialect::Sqlite => ("SUM(", ")"),
                    Dialect::Postgres => ("SUM(", ")::int8"),
                    Dialect::MariaDb | Dialect::MySql => ("(SUM(", ") DIV 1)"),
                };
                self.raw(before);
                self.push_number(expr);
                self.raw(after);
            }
            (JoinAggregate::Avg, _, Some(Storage::Int)) => self.push_average(expr),
            (JoinAggregate::Min | JoinAggregate::Max, _, Some(storage)) => {
                self.raw(if function == JoinAggregate::Min { "MIN(" } else { "MAX(" });
                match (storage, expr) {
                    (Storage::Int | Storage::Float, _) => self.push_checked(expr),
                    (Storage::Text, JoinExpr::Column(column)) => self.push_text_column(*column),
                    (Storage::Text, _) => self.push_text(expr),
                    _ => self.require(false),
                }
                self.raw(")");
            }
            // A sum of floats depends on their order.
            _ => self.require(false),
        }
    }

    fn push_count_distinct(&mut self, expr: &'a JoinExpr) {
        self.raw("COUNT(DISTINCT ");
        match expr {
            JoinExpr::Column(column) => {
                let schema = self.comparable(*column);
                let has_order = schema.is_some_and(|column| {
                    !matches!(column.ty, Type::Json | Type::F32)
                        || self.dialect() == Dialect::Sqlite
                });
                self.require(has_order);
                self.push_ordered(expr);
            }
            _ => self.push_compared(expr),
        }
        self.raw(")");
    }

    /// The average of integers: a float, with the same rounding on each engine.
    fn push_average(&mut self, expr: &'a JoinExpr) {
        let (before, between, after) = match self.dialect() {
            Dialect::Sqlite => ("(AVG(", None, ")"),
            Dialect::Postgres => ("(SUM(", Some(")::float8 / COUNT("), ")"),
            Dialect::MariaDb | Dialect::MySql => ("((SUM(", Some(") + 0e0) / COUNT("), ")"),
        };
        self.raw(before);
        self.push_checked(expr);
        if let Some(between) = between {
            self.raw(between);
            self.push_checked(expr);
        }
        self.raw(after);
        if expr.ty(self.join) == Type::Currency {
            self.writer.raw(" / ").literal(ValueRef::Float(Currency::SCALE as f64));
        }
        self.raw(")");
    }
}
