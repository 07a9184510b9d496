//! Conditions as SQL: `Condition::evaluate`, to the letter, NULLs included.

use crate::Dialect;
use crate::writer::Writer;
use bobak_core::{Comparison, Condition, Storage, TableSchema, Value, ValueRef};

/// How many parts of an `And` or `Or` are written side by side. Parsers make a tree of them that
/// leans to one side; SQLite refuses one that is 1,000 deep. Longer lists are halved in parentheses.
const SIDE_BY_SIDE: usize = 64;

/// ` WHERE …`, where there is a condition.
pub(crate) fn push_where<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    condition: Option<&'a Condition>,
) {
    if let Some(condition) = condition {
        writer.raw(" WHERE ");
        push_condition(writer, table, condition);
    }
}

pub(crate) fn push_condition<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    condition: &'a Condition,
) {
    match condition {
        Condition::Compare { column, comparison, value } => {
            writer.column(table, *column).raw(operator(*comparison)).value(value.as_ref());
        }
        Condition::CompareColumns { left, comparison, right } => {
            push_columns(writer, table, *left, *comparison, *right);
        }
        Condition::In { column, values } => push_in(writer, table, *column, values),
        Condition::Like { column, pattern } => {
            of_text(writer, table, *column, |writer| {
                let like = writer.dialect.like();
                writer.column(table, *column).raw(like).value(ValueRef::Text(pattern));
            });
        }
        Condition::StartsWith { column, prefix } => {
            of_text(writer, table, *column, |writer| {
                push_starts_with(writer, table, *column, prefix);
            });
        }
        Condition::IsNull { column } => {
            writer.column(table, *column).raw(" IS NULL");
        }
        Condition::And(_) => push_joined(writer, table, condition, true),
        Condition::Or(_) => push_joined(writer, table, condition, false),
        Condition::Not(part) => {
            writer.raw("NOT (");
            push_condition(writer, table, part);
            writer.raw(")");
        }
        // A condition that this crate does not know yet: an error of the engine, not wrong rows.
        _ => {
            writer.raw("unsupported_condition()");
        }
    }
}

const fn operator(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => " = ",
        Comparison::NotEqual => " <> ",
        Comparison::Less => " < ",
        Comparison::LessOrEqual => " <= ",
        Comparison::Greater => " > ",
        Comparison::GreaterOrEqual => " >= ",
    }
}

fn push_columns(
    writer: &mut Writer<'_>,
    table: &TableSchema,
    left: usize,
    comparison: Comparison,
    right: usize,
) {
    // Between columns of different classes SQLite would turn one side's texts into numbers, or
    // numbers into texts, first; a `+` hides the declared type, but not the collation.
    let plus = match writer.dialect {
        Dialect::Sqlite if storage(table, left) != storage(table, right) => "+",
        Dialect::Sqlite => "",
    };
    writer.raw(plus).column(table, left).raw(operator(comparison));
    writer.raw(plus).column(table, right);
}

fn push_in<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    column: usize,
    values: &'a [Value<'static>],
) {
    let mut values = values.iter().map(Value::as_ref).filter(|value| !value.is_null()).peekable();
    if values.peek().is_none() {
        writer.raw(writer.dialect.truth(false));
        return;
    }
    writer.column(table, column).raw(" IN (");
    writer.list(", ", values, |writer, value| {
        writer.value(value);
    });
    writer.raw(")");
}

/// A condition over texts: NULL where the column holds something else.
fn of_text<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    column: usize,
    condition: impl FnOnce(&mut Writer<'a>),
) {
    if storage(table, column) == Some(Storage::Text) {
        condition(writer);
        return;
    }
    match writer.dialect {
        Dialect::Sqlite => {
            writer.raw("CASE WHEN typeof(").column(table, column).raw(") = 'text' THEN ");
        }
    }
    condition(writer);
    writer.raw(" END");
}

/// As a range of bytes, so that an index can find them.
fn push_starts_with<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    column: usize,
    prefix: &'a str,
) {
    let bytes = writer.dialect.collate_bytes();
    writer.raw("(").column(table, column).raw(" >= ").value(ValueRef::Text(prefix)).raw(bytes);
    // Where no text follows all those with the prefix, the lower bound says it all: also for the
    // empty prefix, with which every text begins.
    if let Some(next) = after_prefix(prefix) {
        writer.raw(" AND ").column(table, column).raw(" < ");
        writer.owned_value(Value::from(next)).raw(bytes);
    }
    writer.raw(")");
}

/// The first text after all those that begin with `prefix`.
fn after_prefix(prefix: &str) -> Option<String> {
    let mut next = prefix.to_owned();
    while let Some(last) = next.pop() {
        // The range of characters leaves the surrogates out by itself; bytes of UTF-8 sort as
        // characters do.
        if let Some(following) = (last..=char::MAX).nth(1) {
            next.push(following);
            return Some(next);
        }
    }
    None
}

/// `a AND b AND c`, or with OR.
fn push_joined<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    condition: &'a Condition,
    and: bool,
) {
    let parts = flatten(condition, and);
    if parts.is_empty() {
        writer.raw(writer.dialect.truth(and));
        return;
    }
    push_parts(writer, table, &parts, if and { " AND " } else { " OR " });
}

fn push_parts<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    parts: &[&'a Condition],
    between: &str,
) {
    if parts.len() > SIDE_BY_SIDE {
        let (first, second) = parts.split_at(parts.len() / 2);
        writer.list(between, [first, second], |writer, half| {
            writer.raw("(");
            push_parts(writer, table, half, between);
            writer.raw(")");
        });
        return;
    }
    let alone = parts.len() == 1;
    writer.list(between, parts, |writer, &part| {
        let simple = alone || !matches!(part, Condition::And(_) | Condition::Or(_));
        writer.raw(if simple { "" } else { "(" });
        push_condition(writer, table, part);
        writer.raw(if simple { "" } else { ")" });
    });
}

/// The parts of an `And` (or `Or`), with those of an `And` (`Or`) right inside it in its place: a
/// filter put together step by step would nest as deep as it has steps.
fn flatten(condition: &Condition, and: bool) -> Vec<&Condition> {
    let mut parts = Vec::new();
    let mut waiting = vec![condition];
    while let Some(next) = waiting.pop() {
        match (next, and) {
            (Condition::And(inner), true) | (Condition::Or(inner), false) => {
                waiting.extend(inner.iter().rev());
            }
            _ => parts.push(next),
        }
    }
    parts
}

fn storage(table: &TableSchema, column: usize) -> Option<Storage> {
    table.columns().get(column).map(|column| column.storage)
}
