//! Conditions that columns have the values of a row of a subquery.

use crate::Dialect;
use crate::condition::push_condition;
use crate::writer::Writer;
use bobak_core::{Collation, ColumnPair, SubQuery, TableSchema};

/// `"a" IN (SELECT "b" FROM …)`, or `("a", "c") IN (SELECT "b", "d" FROM …)`. Names inside belong to the inner table, which
/// is searched first, so a table may be compared with itself.
pub(crate) fn push_in_query<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    column: usize,
    query: &'a SubQuery,
) {
    let pairs: Vec<_> = query.pairs(column).collect();
    let (before, after) = if query.more.is_empty() { ("", "") } else { ("(", ")") };
    // For a row of several columns that it does not find, SQLite looks for NULL in all rows of the subquery, unless NULL is as
    // good as false.
    let is_case = !query.more.is_empty() && writer.is_negated && writer.dialect == Dialect::Sqlite;
    writer.raw(if is_case { "CASE WHEN " } else { "" }).raw(before);
    if !query.more.is_empty() {
        push_own_not_null(writer, table, &pairs);
    }
    let push = |writer: &mut Writer<'a>, (pair, is_outer): (&ColumnPair, bool)| {
        // Two columns of the same type compare as they are, by their indexes.
        let plain = is_binary(table, pair.from) && is_binary(&query.table, pair.to);
        let (table, place) = if is_outer { (table, pair.from) } else { (&*query.table, pair.to) };
        match plain {
            true => writer.column(table, place),
            false => writer.compared(table, place),
        };
    };
    writer.raw(before);
    writer.list(", ", pairs.iter().map(|pair| (pair, true)), push);
    writer.raw(after);
    let outer = (writer.table.take(), std::mem::replace(&mut writer.is_negated, false));
    // MariaDB does not delete from a table that a subquery reads, unless the result is kept first.
    let derived = writer.is_change && writer.dialect.is_mysql();
    writer.raw(if derived { " IN (SELECT * FROM (SELECT " } else { " IN (SELECT " });
    writer.list(", ", pairs.iter().map(|pair| (pair, false)), push);
    writer.raw(" FROM ").name(query.table.name());
    push_found_rows(writer, query, &pairs);
    writer.raw(if derived { ") AS found)" } else { ")" }).raw(after);
    writer.raw(if is_case { " THEN 1 ELSE 0 END" } else { "" });
    (writer.table, writer.is_negated) = outer;
}

/// With several columns, a row with NULL in one of them is not found, instead of unknown.
fn push_own_not_null(writer: &mut Writer<'_>, table: &TableSchema, pairs: &[ColumnPair]) {
    let own = pairs.iter().map(|pair| pair.from);
    let own: Vec<_> = own.filter(|&place| is_nullable(table, place)).collect();
    if !own.is_empty() {
        push_not_null(writer, table, &own);
        writer.raw(" AND ");
    }
}

/// The rows of a subquery: those without NULL in what is compared that match its condition.
fn push_found_rows<'a>(writer: &mut Writer<'a>, query: &'a SubQuery, pairs: &[ColumnPair]) {
    let nullable = pairs.iter().map(|pair| pair.to);
    let nullable: Vec<_> = nullable.filter(|&place| is_nullable(&query.table, place)).collect();
    if !nullable.is_empty() {
        writer.raw(" WHERE ");
        push_not_null(writer, &query.table, &nullable);
    }
    if let Some(condition) = &query.condition {
        writer.raw(if nullable.is_empty() { " WHERE (" } else { " AND (" });
        push_condition(writer, &query.table, condition);
        writer.raw(")");
    }
}

fn push_not_null(writer: &mut Writer<'_>, table: &TableSchema, places: &[usize]) {
    writer.list(" AND ", places, |writer, &place| {
        writer.column(table, place).raw(" IS NOT NULL");
    });
}

fn is_nullable(table: &TableSchema, place: usize) -> bool {
    table.columns().get(place).is_none_or(|column| column.nullable)
}

fn is_binary(table: &TableSchema, place: usize) -> bool {
    table.columns().get(place).is_some_and(|column| column.collation == Collation::Binary)
}
