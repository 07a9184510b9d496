//! A number added to a column, in MariaDB's and MySQL's language.

use crate::writer::Writer;
use bobak_core::{Currency, Storage, TableSchema, Type, Value, ValueRef};

/// `a + ?`; an error if the result is no value of the column. In strict mode the server rejects a sum beyond the column's
/// type; if that type has a larger range than Bobak's, the statement checks the range.
pub(crate) fn push_mysql<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    column: usize,
    value: &'a Value<'a>,
) {
    let Some(schema) = table.columns().get(column) else {
        // The engine rejects the name.
        writer.column(table, column);
        return;
    };
    let int = matches!(value, Value::Int(_));
    match (schema.ty, schema.storage) {
        (Type::Currency, _) if int => push_money(writer, table, column, value),
        (Type::Date, Storage::Int) if int => push_interval(writer, table, column, value, "DAY"),
        (Type::DateTime | Type::Timestamp, Storage::Int) if int => {
            push_interval(writer, table, column, value, "MICROSECOND");
        }
        (Type::Bool | Type::U64 | Type::Time, Storage::Int) if int => {
            push_in_range(writer, table, column, value);
        }
        (_, Storage::Int) if int => {
            writer.column(table, column).raw(" + ").value(value.as_ref());
        }
        (_, Storage::Float) if int || matches!(value, Value::Float(_)) => {
            writer.column(table, column).raw(" + ").value(value.as_ref());
        }
        // Nothing that can be added to.
        _ => {
            writer.raw("CASE WHEN ").column(table, column).raw(" IS NOT NULL THEN ");
            writer.raw(writer.dialect.overflow()).raw(" END");
        }
    }
}

fn push_money<'a>(writer: &mut Writer<'a>, table: &TableSchema, column: usize, value: &Value<'a>) {
    let scaled = if let Value::Int(scaled) = value { *scaled } else { 0 };
    let sum = |writer: &mut Writer<'a>| {
        let amount = Value::from(Currency::from_scaled(scaled).to_string());
        writer.column(table, column).raw(" + CAST(").owned_value(amount).raw(" AS DECIMAL(19,4))");
    };
    writer.raw("CASE WHEN ");
    sum(writer);
    writer.raw(" BETWEEN ").raw(&Currency::MIN.to_string());
    writer.raw(" AND ").raw(&Currency::MAX.to_string()).raw(" THEN ");
    sum(writer);
    end(writer, table, column);
}

fn push_in_range<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    column: usize,
    value: &'a Value<'a>,
) {
    let range = table.columns().get(column).and_then(|schema| schema.ty.integer_range());
    let (low, high) = range.unwrap_or((i64::MIN, i64::MAX));
    writer.raw("CASE WHEN ");
    writer.stored(table, column);
    writer.raw(" + ").value(value.as_ref());
    writer.raw(" BETWEEN ").literal(ValueRef::Int(low));
    writer.raw(" AND ").literal(ValueRef::Int(high)).raw(" THEN ");
    if table.columns().get(column).is_some_and(|schema| schema.ty == Type::Time) {
        push_interval(writer, table, column, value, "MICROSECOND");
    } else {
        writer.column(table, column).raw(" + ").value(value.as_ref());
    }
    end(writer, table, column);
}

fn push_interval<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    column: usize,
    value: &'a Value<'a>,
    unit: &str,
) {
    writer.raw("DATE_ADD(").column(table, column).raw(", INTERVAL ").value(value.as_ref());
    writer.raw(" ").raw(unit).raw(")");
}

/// The end of a CASE: a sum that is out of range is an error, that of NULL is NULL.
fn end(writer: &mut Writer<'_>, table: &TableSchema, column: usize) {
    writer.raw(" WHEN ").column(table, column).raw(" IS NOT NULL THEN ");
    writer.raw(writer.dialect.overflow()).raw(" END");
}
