//! Conditions as SQL: `Condition::evaluate`, to the letter, NULLs included.

use crate::Dialect;
use crate::in_query::push_in_query;
use crate::list::push_in;
use crate::mysql::folded;
use crate::writer::Writer;
use bobak_core::{
    Collation, Comparison, Condition, Storage, TableSchema, Type, Value, ValueRef, replace_escape,
};

/// How many parts of an `And` or `Or` are written side by side. Parsers make a tree of them that
/// leans to one side; SQLite rejects one that is 1,000 deep. Longer lists are halved in parentheses.
const SIDE_BY_SIDE: usize = 64;

/// ` WHERE …`, if there is a condition.
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
        Condition::Compare { column, comparison, value } if writer.dialect.is_mysql() => {
            writer.compared_with(table, *column, operator(*comparison), value.as_ref());
        }
        Condition::Compare { column, comparison, value } => {
            if let Some(ordering) = beyond(writer.dialect, table, *column, value) {
                let truth = writer.dialect.truth(comparison.holds(ordering));
                writer.raw("CASE WHEN ").column(table, *column).raw(" IS NOT NULL THEN ");
                writer.raw(truth).raw(" END");
                return;
            }
            writer.compared(table, *column).raw(operator(*comparison));
            writer.compared_value(table, *column, value.as_ref());
        }
        Condition::CompareColumns { left, comparison, right } => {
            push_columns(writer, table, *left, *comparison, *right);
        }
        Condition::In { column, values } => push_in(writer, table, *column, values),
        Condition::InQuery { column, query } => push_in_query(writer, table, *column, query),
        Condition::Like { column, pattern } => {
            of_text(writer, table, *column, |writer| {
                push_like(writer, table, *column, pattern, None);
            });
        }
        Condition::LikeEscape { column, pattern, escape } => {
            of_text(writer, table, *column, |writer| {
                push_like(writer, table, *column, pattern, Some(*escape));
            });
        }
        Condition::Contains { column, part } => {
            of_text(writer, table, *column, |writer| push_contains(writer, table, *column, part));
        }
        Condition::EndsWith { column, suffix } => {
            of_text(writer, table, *column, |writer| {
                push_ends_with(writer, table, *column, suffix);
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
            writer.negated(|writer| push_condition(writer, table, part));
        }
        // A condition that this crate does not know yet: an error of the engine, not wrong rows.
        _ => {
            writer.raw("unsupported_condition()");
        }
    }
}

pub(crate) const fn operator(comparison: Comparison) -> &'static str {
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
    if writer.dialect == Dialect::Postgres && !comparable(table, left, right) {
        push_unlike_columns(writer, table, left, comparison, right);
        return;
    }
    if writer.dialect.is_mysql() {
        return crate::columns::push_mysql(writer, table, left, operator(comparison), right);
    }
    // Between columns of different classes SQLite would turn one side's texts into numbers, or
    // numbers into texts, first; a `+` hides the declared type, but not the collation.
    let plus = match writer.dialect {
        Dialect::Sqlite if storage(table, left) != storage(table, right) => "+",
        _ => "",
    };
    writer.raw(plus).compared(table, left).raw(operator(comparison));
    // The left column's collation counts.
    writer.raw(plus).around(table, left, |writer| {
        writer.column(table, right);
    });
}

/// Whether a server compares columns of these types as Bobak does.
fn comparable(table: &TableSchema, left: usize, right: usize) -> bool {
    let class = |place: usize| {
        table.columns().get(place).map(|column| match (column.storage, column.ty) {
            (Storage::Int, Type::Bool) => 1,
            (Storage::Int, Type::Currency) => 2,
            (Storage::Int, Type::Date) => 3,
            (Storage::Int, Type::Time) => 4,
            (Storage::Int, Type::DateTime) => 5,
            (Storage::Int, Type::Timestamp) => 6,
            (Storage::Int, _) | (Storage::Float, _) => 0,
            (Storage::Text | Storage::Any, _) => 7,
            (Storage::Bytes, Type::Uuid) => 8,
            (Storage::Bytes, _) => 9,
        })
    };
    class(left) == class(right)
}

/// Columns of which each is a number to Bobak, but of another type to the server; and columns of
/// which one is always before the other: numbers before texts before bytes.
fn push_unlike_columns(
    writer: &mut Writer<'_>,
    table: &TableSchema,
    left: usize,
    comparison: Comparison,
    right: usize,
) {
    let class = |place: usize| match storage(table, place) {
        Some(Storage::Int | Storage::Float) => 0,
        Some(Storage::Bytes) => 2,
        _ => 1,
    };
    let ordering = class(left).cmp(&class(right));
    if ordering.is_eq() {
        push_stored(writer, table, left);
        writer.raw(operator(comparison));
        push_stored(writer, table, right);
        return;
    }
    writer.raw("CASE WHEN ").column(table, left).raw(" IS NOT NULL AND ").column(table, right);
    let truth = writer.dialect.truth(comparison.holds(ordering));
    writer.raw(" IS NOT NULL THEN ").raw(truth).raw(" END");
}

/// A column in the form that Bobak keeps it in: a number, or bytes.
pub(crate) fn push_stored(writer: &mut Writer<'_>, table: &TableSchema, place: usize) {
    let Some(column) = table.columns().get(place) else {
        writer.column(table, place);
        return;
    };
    let (before, after) = match (writer.dialect, column.ty) {
        (Dialect::Postgres, _) if column.is_kept_as_text() => ("", ""),
        (Dialect::Postgres, Type::Bool) => ("", "::int4"),
        (Dialect::Postgres, Type::Currency) => ("(", " * 10000)::int8"),
        (Dialect::Postgres, Type::Date) => ("(", " - date '1970-01-01')"),
        (Dialect::Postgres, Type::Time | Type::DateTime | Type::Timestamp) => {
            ("(extract(epoch FROM ", ") * 1000000)::int8")
        }
        (Dialect::Postgres, Type::Uuid) => ("uuid_send(", ")"),
        (Dialect::Postgres, Type::F32) => ("", "::float8"),
        (Dialect::MariaDb | Dialect::MySql, _) => return writer.stored(table, place),
        (Dialect::Postgres | Dialect::Sqlite, _) => ("", ""),
    };
    writer.raw(before).column(table, place).raw(after);
}

/// A pattern: ASCII letters in either case. Servers get an escape of their own, so that no mode of the session
/// gives the pattern another.
fn push_like<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    column: usize,
    pattern: &'a str,
    escape: Option<char>,
) {
    if writer.dialect == Dialect::Sqlite {
        writer.column(table, column).raw(" LIKE ").value(ValueRef::Text(pattern));
        if let Some(escape) = escape {
            writer.raw(" ESCAPE ").literal(ValueRef::Text(escape.encode_utf8(&mut [0; 4])));
        }
        return;
    }
    let Some(pattern) = server_pattern(pattern, escape) else {
        writer.raw("CASE WHEN ").column(table, column).raw(" IS NOT NULL THEN ");
        writer.raw(writer.dialect.truth(false)).raw(" END");
        return;
    };
    if writer.dialect == Dialect::Postgres {
        writer.raw("lower((").column(table, column).raw(")::text COLLATE \"C\") LIKE ");
        writer.owned_value(pattern).raw("::text ESCAPE '|'");
    } else {
        let column = table.columns().get(column).map_or("", |column| column.name.as_ref());
        let name = writer.quoted_column(column);
        writer.raw(&folded(writer.dialect, Collation::NoCase, &name)).raw(" LIKE ");
        writer.owned_value(pattern).raw(" ESCAPE '|'");
    }
}

/// A pattern for servers: both sides are written with A–Z as a–z, and compared by their bytes. `None` matches nothing.
pub(crate) fn server_pattern(pattern: &str, escape: Option<char>) -> Option<Value<'static>> {
    replace_escape(pattern, escape, '|').map(|pattern| pattern.to_ascii_lowercase().into())
}

/// Texts of UTF-8 have a part if they have its bytes.
fn push_contains<'a>(writer: &mut Writer<'a>, table: &TableSchema, column: usize, part: &'a str) {
    let part = ValueRef::Text(part);
    match writer.dialect {
        Dialect::Sqlite => {
            writer.raw("instr(").column(table, column).raw(", ").value(part).raw(") > 0");
        }
        Dialect::Postgres => {
            writer.raw("strpos((").column(table, column).raw(")::text COLLATE \"C\", ");
            writer.value(part).raw("::text) > 0");
        }
        Dialect::MariaDb | Dialect::MySql => {
            writer.raw("LOCATE(CAST(").value(part).raw(" AS BINARY), CAST(");
            writer.column(table, column).raw(" AS BINARY)) > 0");
        }
    }
}

fn push_ends_with<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    column: usize,
    suffix: &'a str,
) {
    let value = ValueRef::Text(suffix);
    let bytes = suffix.len();
    match writer.dialect {
        // From the end of 0 bytes, substr would take all of them.
        Dialect::Sqlite if bytes == 0 => push_starts_with(writer, table, column, suffix),
        Dialect::Sqlite => {
            // The end of an empty text is NULL to substr.
            writer.raw("(length(CAST(").column(table, column);
            writer.raw(&format!(" AS BLOB)) >= {bytes} AND substr(CAST(")).column(table, column);
            writer.raw(&format!(" AS BLOB), -{bytes}) = CAST(")).value(value).raw(" AS BLOB))");
        }
        Dialect::Postgres => {
            writer.raw("right((").column(table, column);
            writer.raw(&format!(")::text, {}) = ", suffix.chars().count()));
            writer.value(value).raw("::text COLLATE \"C\"");
        }
        Dialect::MariaDb | Dialect::MySql => {
            writer.raw("RIGHT(CAST(").column(table, column);
            writer.raw(&format!(" AS BINARY), {bytes}) = CAST(")).value(value).raw(" AS BINARY)");
        }
    }
}

/// How every value of the column compares with a value that the server's type has not.
pub(crate) fn beyond(
    dialect: Dialect,
    table: &TableSchema,
    column: usize,
    value: &Value<'_>,
) -> Option<std::cmp::Ordering> {
    let column = table.columns().get(column)?;
    let (Dialect::Postgres, Value::Int(value), Type::Bool | Type::Time) =
        (dialect, value, column.ty)
    else {
        return None;
    };
    let (low, high) = column.ty.integer_range().filter(|_| !column.is_kept_as_text())?;
    match value {
        value if *value < low => Some(std::cmp::Ordering::Greater),
        value if *value > high => Some(std::cmp::Ordering::Less),
        _ => None,
    }
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
        // A column holds one class there.
        Dialect::Postgres => {
            writer.raw("NULL::boolean");
            return;
        }
        Dialect::MariaDb | Dialect::MySql => {
            writer.raw("NULL");
            return;
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
    let text = match writer.dialect {
        Dialect::Sqlite | Dialect::MariaDb | Dialect::MySql => "",
        Dialect::Postgres => "::text",
    };
    writer.raw("(").column(table, column).raw(text);
    writer.raw(" >= ").value(ValueRef::Text(prefix)).raw(text).raw(bytes);
    // Where no text follows all those with the prefix, the lower bound says it all: also for the
    // empty prefix, with which every text begins.
    if let Some(next) = after_prefix(prefix) {
        writer.raw(" AND ").column(table, column).raw(text).raw(" < ");
        writer.owned_value(Value::from(next)).raw(text).raw(bytes);
    }
    writer.raw(")");
}

/// The first text after all those that begin with `prefix`.
pub(crate) fn after_prefix(prefix: &str) -> Option<String> {
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

pub(crate) fn storage(table: &TableSchema, column: usize) -> Option<Storage> {
    table.columns().get(column).map(|column| column.storage)
}
