//! Updates and deletes of many rows by a condition.

use crate::Dialect;
use crate::condition::{push_stored, push_where};
use crate::write::raise_version;
use crate::writer::{Statement, Writer};
use bobak_core::{Assign, BulkChange, Storage, TableSchema, Type, Value, ValueRef};

/// The rows that a condition keeps, updated or deleted.
#[must_use]
pub fn change<'a>(dialect: Dialect, change: &'a BulkChange<'a>) -> Statement<'a> {
    let mut writer = Writer::new(dialect);
    writer.is_change = true;
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
        Assign::Set { column, value } => writer.assigned(table, *column, value),
        Assign::Add { column, value } => push_sum(writer, table, *column, value),
    }
}

/// `"a" + ?`; an error if the result is no value of the column.
fn push_sum<'a>(writer: &mut Writer<'a>, table: &TableSchema, column: usize, value: &'a Value<'a>) {
    if value.is_null() {
        writer.literal(ValueRef::Null);
        return;
    }
    if writer.dialect == Dialect::Postgres {
        push_postgres_sum(writer, table, column, value);
        return;
    }
    if writer.dialect.is_mysql() {
        return crate::sums::push_mysql(writer, table, column, value);
    }
    writer.raw("CASE WHEN ");
    push_test(writer, table, column, value);
    writer.raw(" THEN ").column(table, column).raw(" + ").value(value.as_ref());
    writer.raw(" WHEN ").column(table, column).raw(" IS NOT NULL THEN ");
    writer.raw(writer.dialect.overflow()).raw(" END");
}

/// The same, of types that have a range of their own: a sum outside fails by itself. Where Bobak's
/// range is narrower, or the type is no number, it is looked at first.
fn push_postgres_sum<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    column: usize,
    value: &'a Value<'a>,
) {
    let Some(schema) = table.columns().get(column) else {
        // The engine says so, at the column.
        writer.column(table, column);
        return;
    };
    let fits = matches!(
        (schema.storage, value),
        (Storage::Int, Value::Int(_)) | (Storage::Float, Value::Float(_) | Value::Int(_))
    );
    if !fits {
        push_rejection(writer, table, column, "");
        return;
    }
    if schema.storage == Storage::Float {
        push_postgres_float_sum(writer, table, column, value);
        return;
    }
    let range = schema.ty.integer_range().unwrap_or((i64::MIN, i64::MAX));
    if matches!(schema.ty, Type::I16 | Type::I32 | Type::I64) {
        writer.column(table, column).raw("::int8 + ").value(value.as_ref()).raw("::int8");
        return;
    }
    let sum = |writer: &mut Writer<'a>| {
        push_stored(writer, table, column);
        writer.raw("::numeric + ").value(value.as_ref()).raw("::int8");
    };
    writer.raw("CASE WHEN ");
    sum(writer);
    writer.raw(&format!(" BETWEEN {} AND {} THEN ", range.0, range.1));
    let (before, after) = match schema.ty {
        Type::Bool => ("(", ") <> 0"),
        Type::Currency => ("(", ") / 10000"),
        Type::Date => ("date '1970-01-01' + (", ")::int4"),
        Type::Time => ("time '00:00' + ((", ")::text || ' microseconds')::interval"),
        Type::DateTime => ("timestamp '1970-01-01' + ((", ")::text || ' microseconds')::interval"),
        Type::Timestamp => {
            ("timestamptz '1970-01-01 00:00:00+00' + ((", ")::text || ' microseconds')::interval")
        }
        _ => ("(", ")::int8"),
    };
    writer.raw(before);
    sum(writer);
    writer.raw(after);
    push_rejection(writer, table, column, " ");
    writer.raw(" END");
}

/// Beyond the largest float comes infinity, as elsewhere; infinities that cancel out are rejected.
fn push_postgres_float_sum<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    column: usize,
    value: &'a Value<'a>,
) {
    let added = |writer: &mut Writer<'a>| {
        writer.value(value.as_ref()).raw("::float8");
    };
    // By the halves, whose sum is finite. PostgreSQL has none of the smallest floats.
    let most = 2f64.powi(1023);
    let beyond = |writer: &mut Writer<'a>, is: &str, sign: &str| {
        writer.column(table, column).raw(&format!(" {is} {sign}1 AND "));
        added(writer);
        writer.raw(&format!(" {is} {sign}1 AND ")).column(table, column).raw("::float8 / 2 + ");
        added(writer);
        writer.raw(&format!(" / 2 {is}= {sign}{most:e}"));
    };
    writer.raw("CASE WHEN ");
    beyond(writer, ">", "");
    writer.raw(" THEN 'Infinity'::float8 WHEN ");
    beyond(writer, "<", "-");
    writer.raw(" THEN '-Infinity'::float8 WHEN ").column(table, column).raw("::float8 + ");
    added(writer);
    let rejection = writer.dialect.overflow();
    writer.raw(" = 'NaN'::float8 THEN ").raw(rejection);
    writer.raw(" ELSE ").column(table, column).raw("::float8 + ");
    added(writer);
    writer.raw(" END");
}

/// What fails where the column holds a value, and is NULL where it is; with `" "` as the rest of a
/// CASE that has begun.
fn push_rejection(writer: &mut Writer<'_>, table: &TableSchema, column: usize, begun: &str) {
    writer.raw(if begun.is_empty() { "CASE WHEN " } else { " WHEN " });
    writer.column(table, column).raw(" IS NOT NULL THEN CASE WHEN ");
    writer.raw(writer.dialect.overflow()).raw(" > 0 THEN ").column(table, column).raw(" END");
    writer.raw(if begun.is_empty() { " END" } else { "" });
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
