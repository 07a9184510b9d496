//! Queries.

use crate::Dialect;
use crate::condition::push_where;
use crate::writer::{Statement, Writer};
use bobak_core::{Currency, Expr, Select, TableSchema, Type, ValueRef};

/// A query: its rows have the values of `select.columns`, in their order.
#[must_use]
pub fn select<'a>(dialect: Dialect, select: &'a Select) -> Statement<'a> {
    let mut writer = Writer::new(dialect);
    let table = &select.table;
    writer.raw("SELECT ");
    if select.columns.is_empty() {
        writer.raw("NULL");
    }
    writer.list(", ", &select.columns, |writer, &expr| {
        push_expr(writer, table, expr)
    });
    writer.raw(" FROM ").name(table.name());
    push_where(&mut writer, table, select.condition.as_ref());
    if !select.group.is_empty() {
        writer.raw(" GROUP BY ");
        writer.columns(table, select.group.iter().copied());
    }
    push_order(&mut writer, select);
    push_limit(&mut writer, select);
    writer.finish()
}

fn push_expr(writer: &mut Writer<'_>, table: &TableSchema, expr: Expr) {
    let (function, column) = match expr {
        Expr::Column(column) => {
            writer.column(table, column);
            return;
        }
        Expr::Count => {
            writer.raw("COUNT(*)");
            return;
        }
        Expr::CountOf(column) => ("COUNT(", column),
        Expr::Sum(column) => ("SUM(", column),
        Expr::Min(column) => ("MIN(", column),
        Expr::Max(column) => ("MAX(", column),
        Expr::Avg(column) => ("AVG(", column),
        // An aggregate that this crate does not know yet: an error of the engine, not a wrong value.
        _ => {
            writer.raw("unsupported_expression()");
            return;
        }
    };
    writer.raw(function).column(table, column).raw(")");
    let is_money = table
        .columns()
        .get(column)
        .is_some_and(|c| c.ty == Type::Currency);
    if is_money && matches!(expr, Expr::Avg(_)) {
        writer
            .raw(" / ")
            .literal(ValueRef::Float(Currency::SCALE as f64));
    }
}

fn push_order(writer: &mut Writer<'_>, select: &Select) {
    if select.order.is_empty() {
        return;
    }
    writer.raw(" ORDER BY ");
    writer.list(", ", &select.order, |writer, step| {
        writer.column(&select.table, step.column);
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
        // An offset cannot stand alone.
        (Dialect::Sqlite, None) if select.offset > 0 => {
            writer.raw(" LIMIT -1");
        }
        (Dialect::Sqlite, None) => {}
    }
    if select.offset > 0 {
        writer.raw(" OFFSET ").value(rows(select.offset));
    }
}
