//! Queries.

use crate::Dialect;
use crate::condition::{push_condition, push_where};
use crate::search::{push_from, push_match, push_rank};
use crate::writer::{Statement, Writer};
use bobak_core::{
    Collation, Currency, Expr, RowLock, Select, Storage, TableSchema, TextOrder, Type, ValueRef,
};

/// A query: its rows have the values of `select.columns`, in their order.
///
/// If equal values look different (texts under a collation, 1 and 1.0 in a column of any type), a group, a minimum and a
/// maximum show the value of the first row by key. Sums are the engine's own: SQLite compensates float sums (Kahan-Babuška),
/// and reports an integer overflow even if later values would have reduced the sum again.
#[must_use]
pub fn select<'a>(dialect: Dialect, select: &'a Select) -> Statement<'a> {
    select_as_text(dialect, select, &|_| false)
}

/// As [`select`]; the results that `is_text` names are cast to text, for a driver that loses a part of them otherwise.
/// Not for MySQL, which has no such cast.
#[must_use]
pub fn select_as_text<'a>(
    dialect: Dialect,
    select: &'a Select,
    is_text: &dyn Fn(Expr) -> bool,
) -> Statement<'a> {
    let mut writer = Writer::new(dialect);
    let shown = |expr: &Expr| match *expr {
        Expr::Column(place) => looks_differ(&select.table, place),
        _ => is_extreme_of_many(&select.table, *expr),
    };
    if !select.group.is_empty() && select.columns.iter().any(shown) {
        push_by_windows(&mut writer, select, is_text);
    } else {
        push_plain(&mut writer, select, is_text);
    }
    push_limit(&mut writer, select.limit, select.offset);
    push_lock(&mut writer, select);
    writer.finish()
}

/// Whether a result is cast to text.
type IsText<'t> = &'t dyn Fn(Expr) -> bool;

/// Whether equal values of the column may look different.
pub(crate) fn looks_differ(table: &TableSchema, place: usize) -> bool {
    table.columns().get(place).is_some_and(|column| {
        column.collation != Collation::Binary || column.storage == Storage::Any
    })
}

pub(crate) fn is_extreme_of_many(table: &TableSchema, expr: Expr) -> bool {
    matches!(expr, Expr::Min(place) | Expr::Max(place) if looks_differ(table, place))
}

fn push_plain<'a>(writer: &mut Writer<'a>, select: &'a Select, is_text: IsText<'_>) {
    let table: &TableSchema = &select.table;
    let name = |writer: &mut Writer<'a>, place: usize| {
        writer.column(table, place);
    };
    let one_row = select.is_grouped() && select.group.is_empty();
    let alone = |expr: Expr| one_row && is_extreme_of_many(table, expr);
    push_exprs(writer, select, is_text, |writer, expr| match expr {
        Expr::Min(place) if alone(expr) => push_extreme(writer, select, place, false),
        Expr::Max(place) if alone(expr) => push_extreme(writer, select, place, true),
        // What is grouped by is shown as it is grouped.
        Expr::Column(place) if select.is_grouped() && !writer.dialect.is_mysql() => {
            writer.compared(table, place);
        }
        Expr::Rank => push_rank(writer, select),
        _ => push_expr(writer, table, expr, &name),
    });
    if !select.columns.is_empty() && select.columns.iter().all(|&expr| alone(expr)) {
        // With the table in FROM, a statement of subqueries would return one row for each of its rows.
        return;
    }
    push_rows(writer, select);
    let sorted = |writer: &mut Writer<'a>, place: usize| {
        writer.compared(table, place);
    };
    if writer.dialect.is_mysql() {
        return push_group_and_order(writer, select, &sorted);
    }
    // Without the table's name a sort would be by a result of that name, such as `count`.
    let of_table = |writer: &mut Writer<'a>, place: usize| {
        if writer.dialect == Dialect::Postgres {
            writer.name(table.name()).raw(".");
        }
        writer.column(table, place);
    };
    push_group_and_order(writer, select, &of_table);
}

/// ` FROM table WHERE …`.
fn push_rows<'a>(writer: &mut Writer<'a>, select: &'a Select) {
    push_from(writer, select);
    if !push_match(writer, select, " WHERE ") {
        return push_where(writer, &select.table, select.condition.as_ref());
    }
    if let Some(condition) = &select.condition {
        writer.raw(" AND (");
        push_condition(writer, &select.table, condition);
        writer.raw(")");
    }
}

/// The smallest or largest value, by a subquery that an index can answer: MIN and MAX may show any
/// of the equal ones.
fn push_extreme<'a>(writer: &mut Writer<'a>, select: &'a Select, place: usize, largest: bool) {
    let table: &TableSchema = &select.table;
    writer.raw("(SELECT ").column(table, place);
    push_from(writer, select);
    writer.raw(" WHERE ").column(table, place).raw(" IS NOT NULL");
    push_match(writer, select, " AND ");
    if let Some(condition) = &select.condition {
        writer.raw(" AND (");
        push_condition(writer, table, condition);
        writer.raw(")");
    }
    writer.raw(" ORDER BY ").compared(table, place).raw(if largest { " DESC, " } else { ", " });
    writer.all_compared(table, table.key().iter().copied());
    writer.raw(" LIMIT 1)");
}

/// Groups that show values of their first rows by key: window functions find them before the rows
/// are grouped, since of a group SQL promises no particular one. Inside, columns go by their
/// places, so that no name meets another.
fn push_by_windows<'a>(writer: &mut Writer<'a>, select: &'a Select, is_text: IsText<'_>) {
    let table: &TableSchema = &select.table;
    let name = |writer: &mut Writer<'a>, place: usize| {
        writer.name(&format!("c{place}"));
    };
    // Groups by the column that compares, which may be another one.
    let sorted = |writer: &mut Writer<'a>, place: usize| {
        let own = writer.dialect.is_mysql() && looks_differ(table, place);
        if writer.dialect == Dialect::Postgres {
            // A result that is cast has the column's name, too.
            writer.raw("\"rows\".");
        }
        writer.name(&format!("{}{place}", if own { "k" } else { "c" }));
    };
    push_exprs(writer, select, is_text, |writer, expr| match expr {
        // All the same in a group: any aggregate will do. PostgreSQL wants one.
        Expr::Column(place) if looks_differ(table, place) => {
            let (before, after) = match writer.dialect {
                Dialect::Postgres => ("MIN(", ")"),
                _ => ("", ""),
            };
            writer.raw(before).name(&format!("first{place}")).raw(after);
        }
        Expr::Min(place) if looks_differ(table, place) => {
            writer.raw("MIN(").name(&format!("min{place}")).raw(")");
        }
        Expr::Max(place) if looks_differ(table, place) => {
            writer.raw("MIN(").name(&format!("max{place}")).raw(")");
        }
        _ => push_expr(writer, table, expr, &name),
    });
    writer.raw(" FROM (SELECT ");
    let mut read: Vec<usize> = select.columns.iter().filter_map(|expr| expr.column()).collect();
    read.extend(&select.group);
    read.sort_unstable();
    read.dedup();
    writer.list(", ", &read, |writer, &place| {
        writer.column(table, place).raw(" AS ");
        name(writer, place);
        if writer.dialect.is_mysql() && looks_differ(table, place) {
            writer.raw(", ").compared(table, place).raw(" AS ");
            sorted(writer, place);
        }
    });
    push_windows(writer, select);
    push_rows(writer, select);
    writer.raw(match writer.dialect {
        Dialect::Sqlite => ")",
        Dialect::Postgres => ") AS \"rows\"",
        Dialect::MariaDb | Dialect::MySql => ") AS shown",
    });
    push_group_and_order(writer, select, &sorted);
}

/// For each value to show, the window function that finds it.
fn push_windows(writer: &mut Writer<'_>, select: &Select) {
    let table: &TableSchema = &select.table;
    let mut done: Vec<Expr> = Vec::new();
    for &expr in &select.columns {
        let (place, order, alias) = match expr {
            Expr::Column(place) => (place, None, "first"),
            Expr::Min(place) => (place, Some(""), "min"),
            Expr::Max(place) => (place, Some(" DESC"), "max"),
            _ => continue,
        };
        if !looks_differ(table, place) || done.contains(&expr) {
            continue;
        }
        done.push(expr);
        writer.raw(", first_value(").column(table, place).raw(") OVER (PARTITION BY ");
        writer.all_compared(table, select.group.iter().copied());
        writer.raw(" ORDER BY ");
        match (order, writer.dialect) {
            (None, _) => {}
            (Some(order), Dialect::Sqlite | Dialect::Postgres) => {
                writer.compared(table, place).raw(order).raw(" NULLS LAST, ");
            }
            (Some(order), Dialect::MariaDb | Dialect::MySql) => {
                writer.column(table, place).raw(" IS NULL, ").compared(table, place);
                writer.raw(order).raw(", ");
            }
        }
        writer.all_compared(table, table.key().iter().copied());
        writer.raw(") AS ").name(&format!("{alias}{place}"));
    }
}

/// How columns are named at this place of the statement.
type Name<'n, 'a> = &'n dyn Fn(&mut Writer<'a>, usize);

fn push_exprs<'a>(
    writer: &mut Writer<'a>,
    select: &Select,
    is_text: IsText<'_>,
    mut push: impl FnMut(&mut Writer<'a>, Expr),
) {
    writer.raw("SELECT ");
    if select.columns.is_empty() {
        // Rows without columns are counted at least.
        writer.raw("NULL");
    }
    writer.list(", ", &select.columns, |writer, &expr| {
        if !is_text(expr) {
            return push(writer, expr);
        }
        writer.raw("CAST(");
        push(writer, expr);
        writer.raw(" AS text)");
    });
}

fn push_expr<'a>(writer: &mut Writer<'a>, table: &TableSchema, expr: Expr, name: Name<'_, 'a>) {
    if writer.dialect == Dialect::Postgres {
        return push_postgres_expr(writer, table, expr, name);
    }
    if writer.dialect.is_mysql()
        && let Expr::Sum(place) | Expr::Avg(place) = expr
    {
        return push_mysql_total(writer, table, expr, place, name);
    }
    let (function, place) = match expr {
        Expr::Column(place) => return name(writer, place),
        Expr::Count => ("COUNT(*", None),
        Expr::CountOf(place) => ("COUNT(", Some(place)),
        Expr::Sum(place) => ("SUM(", Some(place)),
        Expr::Min(place) => ("MIN(", Some(place)),
        Expr::Max(place) => ("MAX(", Some(place)),
        Expr::Avg(place) => ("AVG(", Some(place)),
        // An aggregate that this crate does not know yet: the engine's error, not a wrong value.
        _ => ("unsupported_expression(", None),
    };
    writer.raw(function);
    if let Some(place) = place {
        name(writer, place);
    }
    writer.raw(")");
    if matches!(expr, Expr::Avg(place) if is_money(table, place)) {
        writer.raw(" / ").literal(ValueRef::Float(Currency::SCALE as f64));
    }
}

/// Aggregates of PostgreSQL: some types have none, and some have a wider one than Bobak's.
fn push_postgres_expr<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    expr: Expr,
    name: Name<'_, 'a>,
) {
    let column = expr.column().and_then(|place| table.columns().get(place));
    let is_converted = column.is_some_and(|column| column.text_order == TextOrder::Converted);
    if let (true, Expr::Min(place) | Expr::Max(place)) = (is_converted, expr) {
        writer.raw(if expr == Expr::Min(place) { "min(" } else { "max(" });
        writer.around(table, place, |writer| name(writer, place)).raw(")");
        return;
    }
    let ty = column.filter(|column| !column.is_kept_as_text()).map_or(Type::Text, |c| c.ty);
    let is_float = matches!(ty, Type::F32 | Type::F64);
    let (before, after) = match (expr, ty) {
        (Expr::Column(_), _) => ("", ""),
        (Expr::Count, _) => ("count(*", ")"),
        (Expr::CountOf(_), _) => ("count(", ")"),
        (Expr::Sum(_), Type::Currency) => ("sum(", ")::numeric(19,4)"),
        (Expr::Sum(_), _) if is_float => ("sum((", ")::float8)"),
        (Expr::Avg(_), _) if is_float => ("avg((", ")::float8)"),
        (Expr::Sum(_), Type::Bool) => ("sum((", ")::int4)"),
        (Expr::Avg(_), Type::Bool) => ("avg((", ")::int4)::float8"),
        (Expr::Sum(_), Type::Date) => ("sum(", " - date '1970-01-01')"),
        (Expr::Avg(_), Type::Date) => ("avg(", " - date '1970-01-01')::float8"),
        (Expr::Sum(_), Type::Time | Type::DateTime | Type::Timestamp) => {
            ("sum((extract(epoch FROM ", ") * 1000000)::int8)::int8")
        }
        (Expr::Avg(_), Type::Time | Type::DateTime | Type::Timestamp) => {
            ("avg((extract(epoch FROM ", ") * 1000000)::int8)::float8")
        }
        (Expr::Sum(_), _) => ("sum(", ")::int8"),
        (Expr::Avg(_), _) => ("avg(", ")::float8"),
        // Else the number of decimals would be lost.
        (Expr::Min(_), Type::Currency) => ("min(", ")::numeric(19,4)"),
        (Expr::Max(_), Type::Currency) => ("max(", ")::numeric(19,4)"),
        (Expr::Min(_), Type::Bool) => ("min((", ")::int4)"),
        (Expr::Max(_), Type::Bool) => ("max((", ")::int4)"),
        (Expr::Min(_), Type::Uuid) => ("min((", ")::text COLLATE \"C\")::uuid"),
        (Expr::Max(_), Type::Uuid) => ("max((", ")::text COLLATE \"C\")::uuid"),
        (Expr::Min(_), Type::Bytes | Type::Vector(_)) => {
            ("decode(min(encode(", ", 'hex') COLLATE \"C\"), 'hex')")
        }
        (Expr::Max(_), Type::Bytes | Type::Vector(_)) => {
            ("decode(max(encode(", ", 'hex') COLLATE \"C\"), 'hex')")
        }
        (Expr::Min(_), Type::Json) => ("min((", ")::text COLLATE \"C\")"),
        (Expr::Max(_), Type::Json) => ("max((", ")::text COLLATE \"C\")"),
        (Expr::Min(_), _) => ("min(", ")"),
        (Expr::Max(_), _) => ("max(", ")"),
        _ => ("unsupported_expression(", ")"),
    };
    writer.raw(before);
    match expr {
        Expr::Count => {}
        _ => {
            if let Some(place) = expr.column() {
                name(writer, place);
            }
        }
    }
    writer.raw(after);
}

/// MySQL's totals: sums of integers and of money are exact decimal numbers there, and averages of
/// such would be cut to a few decimals.
fn push_mysql_total<'a>(
    writer: &mut Writer<'a>,
    table: &TableSchema,
    expr: Expr,
    place: usize,
    name: Name<'_, 'a>,
) {
    let schema = table.columns().get(place);
    let exact = schema.is_some_and(|schema| schema.storage == Storage::Int);
    let is_time = schema.is_some_and(|schema| {
        exact && matches!(schema.ty, Type::Date | Type::Time | Type::DateTime | Type::Timestamp)
    });
    let sum = |writer: &mut Writer<'a>| {
        writer.raw("SUM(");
        if is_time {
            writer.stored(table, place);
        } else {
            name(writer, place);
        }
        writer.raw(")");
    };
    match expr {
        Expr::Avg(_) if exact => {
            writer.raw("(");
            sum(writer);
            writer.raw(" + 0e0) / COUNT(");
            name(writer, place);
            writer.raw(")");
        }
        Expr::Avg(_) => {
            writer.raw("AVG(");
            name(writer, place);
            writer.raw(")");
        }
        _ => sum(writer),
    }
}

fn is_money(table: &TableSchema, place: usize) -> bool {
    table.columns().get(place).is_some_and(|column| column.ty == Type::Currency)
}

fn push_group_and_order<'a>(writer: &mut Writer<'a>, select: &Select, name: Name<'_, 'a>) {
    if !select.group.is_empty() {
        writer.raw(" GROUP BY ");
        writer.list(", ", &select.group, |writer, &place| {
            writer.around(&select.table, place, |writer| name(writer, place));
        });
    }
    let ranked = select.search.as_ref().is_some_and(|search| search.ranked);
    let ranked = ranked && !select.is_grouped();
    if ranked {
        writer.raw(" ORDER BY ");
        push_rank(writer, select);
        writer.raw(" DESC");
    }
    if select.order.is_empty() {
        return;
    }
    writer.raw(if ranked { ", " } else { " ORDER BY " });
    writer.list(", ", &select.order, |writer, step| {
        writer.around(&select.table, step.column, |writer| name(writer, step.column));
        let column = select.table.columns().get(step.column);
        let nullable = column.is_none_or(|column| column.nullable);
        match writer.dialect {
            // NULL is the smallest value by itself.
            Dialect::Sqlite | Dialect::MariaDb | Dialect::MySql if step.descending => {
                writer.raw(" DESC")
            }
            Dialect::Sqlite | Dialect::MariaDb | Dialect::MySql => writer,
            Dialect::Postgres => writer.raw(match (step.descending, nullable) {
                (false, true) => " NULLS FIRST",
                (false, false) => "",
                (true, true) => " DESC NULLS LAST",
                (true, false) => " DESC",
            }),
        };
    });
}

/// The lock of the rows. SQLite has none: its writing transaction holds the lock of the whole database.
fn push_lock(writer: &mut Writer<'_>, select: &Select) {
    let Some(lock) = select.lock.filter(|_| writer.dialect != Dialect::Sqlite) else { return };
    writer.raw(match lock {
        RowLock::Wait => " FOR UPDATE",
        RowLock::NoWait => " FOR UPDATE NOWAIT",
        RowLock::SkipLocked => " FOR UPDATE SKIP LOCKED",
        // PostgreSQL's engine sets the timeout around the statement.
        RowLock::WaitAtMost(_) if writer.dialect == Dialect::Postgres => " FOR UPDATE",
        RowLock::WaitAtMost(_) => " FOR UPDATE WAIT ",
    });
    if let (Some(millis), Dialect::MariaDb | Dialect::MySql) = (lock.wait_millis(), writer.dialect)
    {
        writer.raw(&millis.div_ceil(1_000).to_string());
    }
}

/// The value of a limit or an offset.
pub(crate) fn limit_value(rows: u64) -> ValueRef<'static> {
    ValueRef::Int(i64::try_from(rows).unwrap_or(i64::MAX))
}

/// The largest limit that is part of a statement for PostgreSQL.
pub(crate) const LITERAL_LIMIT: u64 = 1_000;

/// A small limit is written out for PostgreSQL. If it were a parameter, the server would guess that a plan for any limit
/// reads a tenth of the rows, find that too expensive, and plan the statement again each time.
pub(crate) fn push_limit(writer: &mut Writer<'_>, limit: Option<u64>, offset: u64) {
    match (writer.dialect, limit) {
        (Dialect::Postgres, Some(limit)) if limit <= LITERAL_LIMIT && offset == 0 => {
            writer.raw(" LIMIT ").literal(limit_value(limit));
        }
        (_, Some(limit)) => {
            writer.raw(" LIMIT ").value(limit_value(limit));
        }
        // An offset can't stand alone.
        (Dialect::Sqlite, None) if offset > 0 => {
            writer.raw(" LIMIT -1");
        }
        (Dialect::MariaDb | Dialect::MySql, None) if offset > 0 => {
            writer.raw(" LIMIT 18446744073709551615");
        }
        (_, None) => {}
    }
    if offset > 0 {
        writer.raw(" OFFSET ").value(limit_value(offset));
    }
}
