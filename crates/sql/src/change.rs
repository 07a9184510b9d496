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
            writer.list(", ", assigns, |writer, assign| {
                writer.column(table, assign.column()).raw(" = ");
                match assign {
                    Assign::Set { value, .. } => {
                        writer.value(value.as_ref());
                    }
                    Assign::Add { column, value } => push_sum(writer, table, *column, value),
                }
            });
            raise_version(&mut writer, table, assigns.is_empty());
        }
    }
    push_where(&mut writer, table, change.condition);
    writer.finish()
}

/// `"a" + ?`; an error where that is no value of the column.
fn push_sum<'a>(writer: &mut Writer<'a>, table: &TableSchema, column: usize, value: &'a Value<'a>) {
    let sum = |writer: &mut Writer<'a>| {
        writer.column(table, column).raw(" + ").value(value.as_ref());
    };
    let Some(schema) = table.columns().get(column).filter(|_| !value.is_null()) else {
        return sum(writer);
    };
    // SQLite's sum of integers that overflows is a float, and one of infinities that is no number is
    // NULL: both would be stored.
    match (writer.dialect, schema.storage, schema.ty.integer_range()) {
        (Dialect::Sqlite, Storage::Int, Some((i64::MIN, i64::MAX)) | None) => {
            writer.raw("CASE WHEN typeof(");
            sum(writer);
            writer.raw(") = 'integer'");
        }
        (Dialect::Sqlite, Storage::Int, Some((low, high))) => {
            writer.raw("CASE WHEN ");
            sum(writer);
            writer
                .raw(" BETWEEN ")
                .literal(ValueRef::Int(low))
                .raw(" AND ")
                .literal(ValueRef::Int(high));
        }
        (Dialect::Sqlite, Storage::Float, _) => {
            writer.raw("CASE WHEN ");
            sum(writer);
            writer.raw(" IS NOT NULL");
        }
        (Dialect::Sqlite, Storage::Text | Storage::Bytes | Storage::Any, _) => return sum(writer),
    }
    writer.raw(" THEN ");
    sum(writer);
    writer.raw(" WHEN ").column(table, column).raw(" IS NOT NULL THEN ");
    writer.raw(writer.dialect.overflow()).raw(" END");
}
