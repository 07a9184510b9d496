//! Two columns of a row against each other, in MariaDB's and MySQL's language.

use crate::mysql::folded;
use crate::writer::Writer;
use bobak_core::{Collation, ColumnSchema, Storage, TableSchema};

/// `left … right` as the values that Bobak stores compare: numbers before texts before bytes, an
/// integer with a float exactly.
pub(crate) fn push_mysql(
    writer: &mut Writer<'_>,
    table: &TableSchema,
    left: usize,
    operator: &str,
    right: usize,
) {
    let (Some(a), Some(b)) = (table.columns().get(left), table.columns().get(right)) else {
        // The engine rejects the name.
        writer.column(table, left).raw(operator).column(table, right);
        return;
    };
    match (a.storage, b.storage) {
        (Storage::Int, Storage::Int) if a.ty != b.ty => {
            writer.stored(table, left);
            writer.raw(operator);
            writer.stored(table, right);
        }
        (Storage::Text, Storage::Text) if a.collation != b.collation => {
            // The left one's collation counts.
            writer.sorted(table, left).raw(operator);
            fold(writer, b, a.collation);
        }
        (Storage::Int, Storage::Float) => push_mixed(writer, table, left, right, operator),
        (Storage::Float, Storage::Int) => {
            push_mixed(writer, table, right, left, turned(operator));
        }
        (a, b) if class(a) != class(b) => {
            // The same for all values, but for NULLs.
            writer.raw("CASE WHEN ").column(table, left).raw(" IS NOT NULL AND ");
            writer.column(table, right).raw(" IS NOT NULL THEN ");
            writer.raw(&class(a).to_string()).raw(operator).raw(&class(b).to_string()).raw(" END");
        }
        _ => {
            writer.sorted(table, left).raw(operator).sorted(table, right);
        }
    }
}

fn fold(writer: &mut Writer<'_>, column: &ColumnSchema, collation: Collation) {
    let name = writer.quoted_column(&column.name);
    writer.raw(&folded(writer.dialect, collation, &name));
}

/// `integer … float` without rounding the integer: the server would make a float of it.
fn push_mixed(
    writer: &mut Writer<'_>,
    table: &TableSchema,
    integer: usize,
    float: usize,
    operator: &str,
) {
    let whole = |writer: &mut Writer<'_>| {
        writer.raw("CAST(TRUNCATE(").column(table, float).raw(", 0) AS SIGNED)");
    };
    writer.raw("CASE WHEN ").column(table, integer).raw(" IS NOT NULL THEN CASE WHEN ");
    writer.column(table, float).raw(" >= 9223372036854775808e0 THEN -1 WHEN ");
    writer.column(table, float).raw(" < -9223372036854775808e0 THEN 1 WHEN ");
    writer.stored(table, integer);
    writer.raw(" < ");
    whole(writer);
    writer.raw(" THEN -1 WHEN ");
    writer.stored(table, integer);
    writer.raw(" > ");
    whole(writer);
    writer.raw(" THEN 1 ELSE SIGN(TRUNCATE(").column(table, float).raw(", 0) - ");
    writer.column(table, float).raw(") END END").raw(operator).raw("0");
}

/// The operator for the two sides in the other order.
fn turned(operator: &str) -> &str {
    match operator {
        " < " => " > ",
        " <= " => " >= ",
        " > " => " < ",
        " >= " => " <= ",
        other => other,
    }
}

const fn class(storage: Storage) -> u8 {
    match storage {
        Storage::Int | Storage::Float | Storage::Any => 1,
        Storage::Text => 2,
        Storage::Bytes => 3,
    }
}
