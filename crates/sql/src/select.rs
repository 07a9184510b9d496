//! Queries.

use crate::Dialect;
use crate::condition::push_where;
use crate::writer::{Statement, Writer};
use bobak_core::{Collation, Currency, Expr, Select, Storage, TableSchema, Type, ValueRef};

/// A query: its rows have the values of `select.columns`, in their order.
///
/// Sums, averages and the order of rows are the engine's own: SQLite adds floats with a correction
/// (Kahan and Babuška), so that a sum may differ from a plain loop's in its last digits; it reports
/// a sum of integers as too large also where later values would have brought it back.
#[must_use]
pub fn select<'a>(dialect: Dialect, select: &'a Select) -> Statement<'a> {
    let mut writer = Writer::new(dialect);
    if shows_one_of_several(select) {
        push_first_of_group(&mut writer, select);
    } else {
        push_plain(&mut writer, select);
    }
    push_limit(&mut writer, select);
    writer.finish()
}

fn push_plain<'a>(writer: &mut Writer<'a>, select: &'a Select) {
    let table = &select.table;
    let name = |writer: &mut Writer<'a>, place: usize| {
        writer.column(table, place);
    };
    push_exprs(writer, select, &name, &name);
    writer.raw(" FROM ").name(table.name());
    push_where(writer, table, select.condition.as_ref());
    push_group_and_order(writer, select, &name);
}

/// Whether the rows of a group may differ in a column that the group shows: texts that are the same
/// under a collation only, or 1 and 1.0.
fn shows_one_of_several(select: &Select) -> bool {
    let differs = |place: usize| {
        select.table.columns().get(place).is_some_and(|column| {
            column.collation != Collation::Binary || column.storage == Storage::Any
        })
    };
    select.is_grouped()
        && select.columns.iter().any(|expr| matches!(*expr, Expr::Column(place) if differs(place)))
}

/// A query that shows of each group the value that its first row by key has. SQL promises no
/// particular one, so a window function finds it before the rows are grouped.
fn push_first_of_group<'a>(writer: &mut Writer<'a>, select: &'a Select) {
    let table = &select.table;
    let inner = |writer: &mut Writer<'a>, place: usize| {
        writer.name(&format!("c{place}"));
    };
    let first = |writer: &mut Writer<'a>, place: usize| {
        writer.name(&format!("first{place}"));
    };
    push_exprs(writer, select, &inner, &first);
    writer.raw(" FROM (SELECT ");
    let mut read: Vec<usize> = select.columns.iter().filter_map(|expr| expr.column()).collect();
    read.extend(&select.group);
    read.sort_unstable();
    read.dedup();
    writer.list(", ", &read, |writer, &place| {
        writer.column(table, place).raw(" AS ");
        inner(writer, place);
    });
    for &place in &select.group {
        writer.raw(", first_value(").column(table, place).raw(") OVER by_key AS ");
        first(writer, place);
    }
    writer.raw(" FROM ").name(table.name());
    push_where(writer, table, select.condition.as_ref());
    writer.raw(" WINDOW by_key AS (PARTITION BY ");
    writer.columns(table, select.group.iter().copied());
    writer.raw(" ORDER BY ");
    writer.columns(table, table.key().iter().copied());
    writer.raw("))");
    push_group_and_order(writer, select, &inner);
}

/// A column's name at its place in the statement.
type Name<'n, 'a> = &'n dyn Fn(&mut Writer<'a>, usize);

/// `SELECT` and what is selected: `inside` names the columns that aggregates read, `shown` the
/// others.
fn push_exprs<'a>(
    writer: &mut Writer<'a>,
    select: &Select,
    inside: Name<'_, 'a>,
    shown: Name<'_, 'a>,
) {
    writer.raw("SELECT ");
    if select.columns.is_empty() {
        // Rows without columns are counted at least.
        writer.raw("NULL");
    }
    writer.list(", ", &select.columns, |writer, &expr| match expr {
        Expr::Column(place) => shown(writer, place),
        Expr::Count => {
            writer.raw("COUNT(*)");
        }
        Expr::CountOf(place) => push_call(writer, "COUNT(", place, inside),
        Expr::Sum(place) => push_call(writer, "SUM(", place, inside),
        Expr::Min(place) => push_call(writer, "MIN(", place, inside),
        Expr::Max(place) => push_call(writer, "MAX(", place, inside),
        Expr::Avg(place) => {
            push_call(writer, "AVG(", place, inside);
            if is_money(&select.table, place) {
                writer.raw(" / ").literal(ValueRef::Float(Currency::SCALE as f64));
            }
        }
        // An aggregate that this crate does not know yet: the engine's error, not a wrong value.
        _ => {
            writer.raw("unsupported_expression()");
        }
    });
}

fn push_call<'a>(writer: &mut Writer<'a>, function: &str, place: usize, name: Name<'_, 'a>) {
    writer.raw(function);
    name(writer, place);
    writer.raw(")");
}

fn is_money(table: &TableSchema, place: usize) -> bool {
    table.columns().get(place).is_some_and(|column| column.ty == Type::Currency)
}

fn push_group_and_order<'a>(writer: &mut Writer<'a>, select: &Select, name: Name<'_, 'a>) {
    if !select.group.is_empty() {
        writer.raw(" GROUP BY ");
        writer.list(", ", &select.group, |writer, &place| name(writer, place));
    }
    if select.order.is_empty() {
        return;
    }
    writer.raw(" ORDER BY ");
    writer.list(", ", &select.order, |writer, step| {
        name(writer, step.column);
        match writer.dialect {
            // NULL is the smallest value by itself.
            Dialect::Sqlite if step.descending => writer.raw(" DESC"),
            Dialect::Sqlite => writer,
        };
    });
}

fn push_limit(writer: &mut Writer<'_>, select: &Select) {
    let rows = |rows: u64| ValueRef::Int(i64::try_from(rows).unwrap_or(i64::MAX));
    match (writer.dialect, select.limit) {
        (_, Some(limit)) => {
            writer.raw(" LIMIT ").value(rows(limit));
        }
        // An offset can't stand alone.
        (Dialect::Sqlite, None) if select.offset > 0 => {
            writer.raw(" LIMIT -1");
        }
        (Dialect::Sqlite, None) => {}
    }
    if select.offset > 0 {
        writer.raw(" OFFSET ").value(rows(select.offset));
    }
}
