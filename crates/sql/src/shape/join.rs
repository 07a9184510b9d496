//! The shapes of joins.

use super::{StatementShape, Tag};
use crate::Dialect;
use bobak_core::join::{
    JoinAggregate, JoinColumn, JoinCondition, JoinExpr, JoinSubquery, JoinTable,
};
use bobak_core::{Join, Type, Value};

impl<'a> StatementShape<'a> {
    /// The shape of a join: of tables by their links, with columns, aggregates of columns, and what is counted for each row.
    #[must_use]
    pub fn of_join(dialect: Dialect, join: &'a Join) -> Option<Self> {
        if join.outer > 0 {
            return None;
        }
        let mut shape = Self::new(dialect)?;
        shape.word(Tag::Join, join.tables.len(), join.columns.len())?;
        join.columns.iter().try_for_each(|expr| shape.join_expr(join, expr))?;
        shape.join_rows(join)?;
        for step in &join.order {
            shape.word(Tag::Order, step.descending.into(), step.nulls_first.into())?;
            shape.join_expr(join, &step.expr)?;
        }
        shape.limit(join.limit, join.offset)?;
        shape.finish()
    }

    /// The tables, filters and groups.
    fn join_rows(&mut self, join: &'a Join) -> Option<()> {
        if !join.having.is_empty() || !join.qualify.is_empty() {
            return None;
        }
        join.tables.iter().skip(join.outer).try_for_each(|table| self.join_table(table))?;
        for filter in &join.filters {
            self.join_condition(join, filter)?;
        }
        for expr in &join.group {
            let JoinExpr::Column(column) = expr else { return None };
            self.join_column(Tag::Group, *column)?;
        }
        Some(())
    }

    fn join_table(&mut self, joined: &'a JoinTable) -> Option<()> {
        if joined.rows.is_some() {
            return None;
        }
        self.words.push(joined.table.id());
        let Some(link) = &joined.link else { return self.word(Tag::Table, 0, 0) };
        self.word(Tag::Link, link.to, link.is_left.into())?;
        self.join_column(Tag::Column, link.from)?;
        self.pairs(&link.more)?;
        self.optional_condition(&joined.table, link.condition.as_ref())
    }

    fn join_column(&mut self, tag: Tag, column: JoinColumn) -> Option<()> {
        self.word(tag, column.column, column.table)
    }

    fn join_condition(&mut self, join: &'a Join, condition: &'a JoinCondition) -> Option<()> {
        match condition {
            JoinCondition::Row(table, condition) => {
                self.word(Tag::Filter, *table, 0)?;
                self.condition(&join.tables.get(*table)?.table, condition)
            }
            JoinCondition::Compare(JoinExpr::Column(left), comparison, JoinExpr::Column(right)) => {
                self.word(Tag::CompareColumns, *comparison as usize, 0)?;
                self.join_column(Tag::Column, *left)?;
                self.join_column(Tag::Column, *right)
            }
            // Its text has none of the columns.
            JoinCondition::Exists(query) if !query.join.is_grouped() => {
                self.query_inside(Tag::Exists, query)
            }
            _ => None,
        }
    }

    fn join_expr(&mut self, join: &'a Join, expr: &'a JoinExpr) -> Option<()> {
        match expr {
            JoinExpr::Column(column) => self.join_column(Tag::Column, *column),
            JoinExpr::Value(value @ Value::Int(_), Type::I64) => {
                self.word(Tag::Integer, 0, 0)?;
                self.value(value);
                Some(())
            }
            JoinExpr::Aggregate(function, expr) => self.aggregate(join, *function, expr),
            // One number: without groups and an order.
            JoinExpr::Query(query) => match &*query.join.columns {
                [JoinExpr::Aggregate(function, expr)] => {
                    self.aggregate(&query.join, *function, expr)?;
                    self.query_inside(Tag::Query, query)
                }
                _ => None,
            },
            JoinExpr::Case(branches, otherwise) => {
                self.word(Tag::Case, branches.len(), 0)?;
                for (condition, value) in branches {
                    self.join_condition(join, condition)?;
                    self.join_expr(join, value)?;
                }
                self.join_expr(join, otherwise)
            }
            _ => None,
        }
    }

    fn aggregate(
        &mut self,
        join: &'a Join,
        function: JoinAggregate,
        expr: &'a JoinExpr,
    ) -> Option<()> {
        self.word(Tag::Aggregate, function as usize, 0)?;
        match expr {
            JoinExpr::Value(Value::Int(_), _) if function == JoinAggregate::Count => {
                self.word(Tag::Count, 0, 0)
            }
            JoinExpr::Column(_) | JoinExpr::Value(..) => self.join_expr(join, expr),
            // The text may have it twice: it has no values.
            JoinExpr::Calculation(operator, parts) => match &**parts {
                (JoinExpr::Column(left), JoinExpr::Column(right)) => {
                    self.word(Tag::Calculation, *operator as usize, 0)?;
                    self.join_column(Tag::Column, *left)?;
                    self.join_column(Tag::Column, *right)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The rows of a query inside of a join, if it has neither groups nor a limit.
    fn query_inside(&mut self, tag: Tag, query: &'a JoinSubquery) -> Option<()> {
        let join = &query.join;
        if !join.group.is_empty() || join.limit.is_some() || join.offset > 0 {
            return None;
        }
        self.word(tag, join.tables.len(), join.outer)?;
        self.word(Tag::Filter, join.filters.len(), 0)?;
        self.join_rows(join)
    }
}
