//! The outline of queries over several tables.

use super::text::{joined, list, operator, page, write_condition};
use crate::Join;
use crate::join::{
    CalculationOperator, JoinAggregate, JoinColumn, JoinCondition, JoinExpr, JoinOrder, JoinTable,
    JoinWindow,
};
use std::fmt::{self, Result};

type TextOutput<'o> = &'o mut dyn fmt::Write;

pub(super) fn join(join: &Join, out: TextOutput<'_>) -> Result {
    out.write_str("SELECT ")?;
    list(join.columns.iter(), out, |expr, out| write_expr(join, expr, out))?;
    for (index, table) in join.tables.iter().enumerate().skip(join.outer) {
        write_table(join, index, table, out)?;
    }
    for (word, conditions) in
        [(" WHERE ", &join.filters), (" HAVING ", &join.having), (" QUALIFY ", &join.qualify)]
    {
        if word == " HAVING " && !join.group.is_empty() {
            out.write_str(" GROUP BY ")?;
            list(join.group.iter(), out, |expr, out| write_expr(join, expr, out))?;
        }
        if !conditions.is_empty() {
            out.write_str(word)?;
            all(join, conditions, " AND ", out)?;
        }
    }
    if !join.order.is_empty() {
        out.write_str(" ORDER BY ")?;
        list(join.order.iter(), out, |step, out| write_order(join, step, out))?;
    }
    page(join.limit.is_some(), join.offset > 0, out)
}

fn write_table(join: &Join, index: usize, table: &JoinTable, out: TextOutput<'_>) -> Result {
    let word = match &table.link {
        _ if index == join.outer => " FROM ",
        Some(link) if link.is_left => " LEFT JOIN ",
        _ => " JOIN ",
    };
    out.write_str(word)?;
    match &table.rows {
        None => out.write_str(table.table.name())?,
        Some(rows) => {
            joined(&rows.queries, " UNION ", out, |query, out| self::join(&query.join, out))?;
        }
    }
    let Some(link) = &table.link else { return Ok(()) };
    for (number, [from, to]) in link.pairs(index).enumerate() {
        out.write_str(if number == 0 { " ON " } else { " AND " })?;
        write_column(join, from, out)?;
        out.write_str(" = ")?;
        write_column(join, to, out)?;
    }
    if let Some(condition) = &link.condition {
        out.write_str(" AND ")?;
        write_condition(condition, &table.table, out)?;
    }
    Ok(())
}

fn write_order(join: &Join, step: &JoinOrder, out: TextOutput<'_>) -> Result {
    write_expr(join, &step.expr, out)?;
    out.write_str(if step.descending { " DESC" } else { "" })
}

fn write_column(join: &Join, column: JoinColumn, out: TextOutput<'_>) -> Result {
    let table = join.tables.get(column.table).map_or("", |table| table.table.name());
    let name = join.column(column).map_or("", |column| &*column.name);
    write!(out, "{table}.{name}")
}

fn write_expr(join: &Join, expr: &JoinExpr, out: TextOutput<'_>) -> Result {
    match expr {
        JoinExpr::Column(column) => write_column(join, *column, out),
        JoinExpr::Value(..) => out.write_str("?"),
        JoinExpr::Calculation(operator, sides) => {
            out.write_str("(")?;
            write_expr(join, &sides.0, out)?;
            write!(out, " {} ", calculation(*operator))?;
            write_expr(join, &sides.1, out)?;
            out.write_str(")")
        }
        JoinExpr::Aggregate(aggregate, inner) => {
            write!(out, "{}(", aggregate_name(*aggregate))?;
            write_expr(join, inner, out)?;
            out.write_str(")")
        }
        JoinExpr::Function(function, arguments) => {
            out.write_str(&name_of(function))?;
            joined(arguments, ", ", out, |argument, out| write_expr(join, argument, out))
        }
        JoinExpr::Case(branches, otherwise) => {
            out.write_str("CASE")?;
            for (condition, value) in branches {
                out.write_str(" WHEN ")?;
                write_join_condition(join, condition, out)?;
                out.write_str(" THEN ")?;
                write_expr(join, value, out)?;
            }
            out.write_str(" ELSE ")?;
            write_expr(join, otherwise, out)?;
            out.write_str(" END")
        }
        JoinExpr::Query(query) => subquery(&query.join, out),
        JoinExpr::Window(window) => write_window(join, window, out),
    }
}

fn write_window(join: &Join, window: &JoinWindow, out: TextOutput<'_>) -> Result {
    write!(out, "{}(", name_of(&window.function))?;
    list(window.argument.iter(), out, |expr, out| write_expr(join, expr, out))?;
    out.write_str(") OVER (PARTITION BY ")?;
    list(window.partition.iter(), out, |expr, out| write_expr(join, expr, out))?;
    out.write_str(" ORDER BY ")?;
    list(window.order.iter(), out, |step, out| write_order(join, step, out))?;
    out.write_str(")")
}

/// The name of a function, without its own arguments, which are values.
fn name_of(function: &dyn fmt::Debug) -> String {
    let name = format!("{function:?}").to_ascii_lowercase();
    name.split('(').next().unwrap_or_default().to_owned()
}

fn subquery(query: &Join, out: TextOutput<'_>) -> Result {
    out.write_str("(")?;
    join(query, out)?;
    out.write_str(")")
}

fn all(join: &Join, parts: &[JoinCondition], word: &str, out: TextOutput<'_>) -> Result {
    joined(parts, word, out, |part, out| write_join_condition(join, part, out))
}

fn write_join_condition(join: &Join, condition: &JoinCondition, out: TextOutput<'_>) -> Result {
    match condition {
        JoinCondition::Row(table, condition) => match join.tables.get(*table) {
            Some(table) => write_condition(condition, &table.table, out),
            None => Ok(()),
        },
        JoinCondition::Compare(left, comparison, right) => {
            write_expr(join, left, out)?;
            write!(out, " {} ", operator(*comparison))?;
            write_expr(join, right, out)
        }
        JoinCondition::IsNull(expr, is_null) => {
            write_expr(join, expr, out)?;
            out.write_str(if *is_null { " IS NULL" } else { " IS NOT NULL" })
        }
        JoinCondition::Text(expr, _) => {
            write_expr(join, expr, out)?;
            out.write_str(" LIKE ?")
        }
        JoinCondition::Exists(query) => {
            out.write_str("EXISTS ")?;
            subquery(&query.join, out)
        }
        JoinCondition::InQuery(expr, query) => {
            write_expr(join, expr, out)?;
            out.write_str(" IN ")?;
            subquery(&query.join, out)
        }
        JoinCondition::AnyOf(parts) => all(join, parts, " OR ", out),
        JoinCondition::AllOf(parts) => all(join, parts, " AND ", out),
        JoinCondition::Not(part) => {
            out.write_str("NOT (")?;
            write_join_condition(join, part, out)?;
            out.write_str(")")
        }
    }
}

const fn calculation(operator: CalculationOperator) -> &'static str {
    match operator {
        CalculationOperator::Plus => "+",
        CalculationOperator::Minus => "-",
        CalculationOperator::Times => "*",
        CalculationOperator::Divide => "/",
        CalculationOperator::Remainder => "%",
    }
}

const fn aggregate_name(aggregate: JoinAggregate) -> &'static str {
    match aggregate {
        JoinAggregate::Count => "count",
        JoinAggregate::CountDistinct => "count_distinct",
        JoinAggregate::Sum => "sum",
        JoinAggregate::Min => "min",
        JoinAggregate::Max => "max",
        JoinAggregate::Avg => "avg",
    }
}
