//! Updates and deletes of many rows by a condition.

use crate::Dialect;
use crate::condition::push_where;
use crate::write::raise_version;
use crate::writer::{Statement, Writer};
use bobak_core::{Assign, Change, Storage, TableSchema, Value, ValueRef};

/// The rows that a condition keeps, updated or deleted.
#[must_use]
pub fn change<'a>(dialect: Dialect, change: &'a Change<'a>) -> Statement<'a> {
    let mut writer = Writer::new(dialect);
    let table: &TableSchema = change.table;
    match change.assign {
        None => {
            writer.raw("DELETE FROM ").name(table.name());
        }
        Some(assigns) => {
            writer.raw("UPDATE ").name(table.name()).raw(" SET ");
            let counting = assigns.iter().enumerate().filter(|&(at, _)| counts(table, assigns, at));
            let counting: Vec<_> = counting.map(|(_, assign)| assign).collect();
            writer.list(", ", &counting, |writer, assign| push_assign(writer, table, assign));
            raise_version(&mut writer, table, counting.is_empty());
        }
    }
    push_where(&mut writer, table, change.condition);
    writer.finish()
}

/// Whether the assignment at this place counts: the last one of its column does, and none of the
/// version, which is raised.
fn counts(table: &TableSchema, assigns: &[Assign], at: usize) -> bool {
    let column = assigns.get(at).map(Assign::column);
    let mut later = assigns.iter().skip(at + 1);
    column != table.version() && later.all(|assign| Some(assign.column()) != column)
}

fn push_assign<'a>(writer: &mut Writer<'a>, table: &TableSchema, assign: &'a Assign) {
    writer.column(table, assign.column()).raw(" = ");
    match assign {
        Assign::Set { value, .. } => {
            writer.value(value.as_ref());
        }
        Assign::Add { column, value } => push_sum(writer, table, *column, value),
    }
}

/// `"a" + ?`; an error where that is no value of the column.
fn push_sum<'a>(writer: &mut Writer<'a>, table: &TableSchema, column: usize, value: &'a Value<'a>) {
    if value.is_null() {
        writer.literal(ValueRef::Null);
        return;
    }
    writer.raw("CASE WHEN ");
    push_test(writer, table, column, value);
    writer.raw(" THEN ").column(table, column).raw(" + ").value(value.as_ref());
    writer.raw(" WHEN ").column(table, column).raw(" IS NOT NULL THEN ");
    writer.raw(writer.dialect.overflow()).raw(" END");
}

/// Whether the sum is a value of the column.
///
/// Left alone, SQLite makes a float of a sum of integers that overflows, NULL of one that is no
/// number, and a number of any text: all would be stored.
fn push_test<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    column: usize,
    value: &'a Value<'a>,
) {
    let Dialect::Sqlite = writer.dialect;
    let Some(schema) = table.columns().get(column) else {
        // The engine says so, at the sum.
        writer.raw(writer.dialect.truth(true));
        return;
    };
    let sum = |writer: &mut Writer<'a>| {
        writer.column(table, column).raw(" + ").value(value.as_ref());
    };
    let range = schema.ty.integer_range().filter(|range| *range != (i64::MIN, i64::MAX));
    match (schema.storage, value, range) {
        (Storage::Int, Value::Int(_), Some((low, high))) => {
            sum(writer);
            writer.raw(" BETWEEN ").literal(ValueRef::Int(low));
            writer.raw(" AND ").literal(ValueRef::Int(high));
        }
        // Where any class may be, the sum is of the class that the value has.
        (Storage::Int | Storage::Any, Value::Int(_), _) => {
            writer.raw("typeof(");
            sum(writer);
            writer.raw(") = typeof(").column(table, column).raw(")");
        }
        (Storage::Float, Value::Float(_) | Value::Int(_), _) => {
            sum(writer);
            writer.raw(" IS NOT NULL");
        }
        (Storage::Any, Value::Float(_), _) => {
            writer.raw("typeof(").column(table, column).raw(") IN ('integer', 'real') AND ");
            sum(writer);
            writer.raw(" IS NOT NULL");
        }
        _ => {
            writer.raw(writer.dialect.truth(false));
        }
    }
}
