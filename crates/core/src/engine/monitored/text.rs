//! The outline of typed statements, without values: close to SQL, and the same on every engine.

use crate::{
    Assign, BulkChange, Comparison, Condition, Expr, FieldSet, Order, SchemaChange, Select,
    TableSchema, ValueAddress, Verb, Write, WriteBatch,
};
use std::fmt::{self, Result};

type TextOutput<'o> = &'o mut dyn fmt::Write;

pub(super) fn get(table: &TableSchema, out: TextOutput<'_>) -> Result {
    write!(out, "SELECT * FROM {} WHERE ", table.name())?;
    key_condition(table, out)
}

pub(super) fn read_part(value: &ValueAddress<'_>, out: TextOutput<'_>) -> Result {
    let (table, column) = (value.table, value.column);
    write!(out, "SELECT substring({}) FROM {} WHERE ", column_name(table, column), table.name())?;
    key_condition(table, out)
}

pub(super) fn write_value(value: &ValueAddress<'_>, out: TextOutput<'_>) -> Result {
    let (table, column) = (value.table, value.column);
    write!(out, "UPDATE {} SET {} = ? WHERE ", table.name(), column_name(table, column))?;
    key_condition(table, out)
}

pub(super) fn write_row(write: &Write<'_>, out: TextOutput<'_>) -> Result {
    verb_on(write.verb, write.fields, write.table, out)
}

/// A verb with its table and the columns that it sets.
fn verb_on(verb: Verb, fields: FieldSet, table: &TableSchema, out: TextOutput<'_>) -> Result {
    let name = table.name();
    match verb {
        Verb::Insert => return write!(out, "INSERT INTO {name}"),
        Verb::InsertOrIgnore => return write!(out, "INSERT OR IGNORE INTO {name}"),
        Verb::InsertOrReplace => return write!(out, "INSERT OR REPLACE INTO {name}"),
        Verb::Delete => write!(out, "DELETE FROM {name} WHERE ")?,
        Verb::Upsert | Verb::UpsertOn(_) => {
            let columns = table.column_names(verb.conflict_columns(table));
            write!(out, "UPSERT INTO {name} BY ({columns}) SET ")?;
            return set_columns(fields, table, out);
        }
        Verb::Update => {
            write!(out, "UPDATE {name} SET ")?;
            set_columns(fields, table, out)?;
            out.write_str(" WHERE ")?;
        }
    }
    key_condition(table, out)
}

fn set_columns(fields: FieldSet, table: &TableSchema, out: TextOutput<'_>) -> Result {
    let columns = (0..table.columns().len()).filter(|column| fields.contains(*column));
    list(columns, out, |column, out| write!(out, "{} = ?", column_name(table, column)))
}

fn key_condition(table: &TableSchema, out: TextOutput<'_>) -> Result {
    for (index, column) in table.key().iter().enumerate() {
        let and = if index > 0 { " AND " } else { "" };
        write!(out, "{and}{} = ?", column_name(table, *column))?;
    }
    Ok(())
}

pub(super) fn batch(batch: &WriteBatch, out: TextOutput<'_>) -> Result {
    out.write_str("BATCH")?;
    for (index, run) in batch.runs().enumerate() {
        // Batches that alternate between tables are of one shape from here on.
        if index == 8 {
            return out.write_str("; …");
        }
        out.write_str(if index > 0 { "; " } else { " " })?;
        verb_on(run.verb, run.fields, run.table, out)?;
    }
    Ok(())
}

pub(super) fn alter(changes: &[SchemaChange], out: TextOutput<'_>) -> Result {
    list(changes.iter(), out, |change, out| {
        let verb = match change {
            SchemaChange::CreateTable(_) => "CREATE TABLE",
            SchemaChange::DropTable(_) => "DROP TABLE",
            SchemaChange::Track { .. } => "TRACK",
            SchemaChange::Untrack(_) => "UNTRACK",
            _ => "ALTER TABLE",
        };
        write!(out, "{verb} {}", change.table().name())
    })
}

pub(super) fn change(change: &BulkChange<'_>, out: TextOutput<'_>) -> Result {
    let name = change.table.name();
    match change.assign {
        None => write!(out, "DELETE FROM {name}")?,
        Some(assign) => {
            write!(out, "UPDATE {name} SET ")?;
            list(assign.iter(), out, |assign, out| {
                let column = column_name(change.table, assign.column());
                match assign {
                    Assign::Set { .. } => write!(out, "{column} = ?"),
                    Assign::Add { .. } => write!(out, "{column} = {column} + ?"),
                }
            })?;
        }
    }
    filter(change.condition, change.table, out)
}

pub(super) fn select(select: &Select, out: TextOutput<'_>) -> Result {
    let table = &*select.table;
    out.write_str("SELECT ")?;
    let is_all = select.columns.len() == table.columns().len()
        && select.columns.iter().enumerate().all(|(i, expr)| *expr == Expr::Column(i));
    if is_all {
        out.write_str("*")?;
    } else {
        list(select.columns.iter(), out, |expr, out| write_expr(*expr, table, out))?;
    }
    write!(out, " FROM {}", table.name())?;
    if select.search.is_some() {
        out.write_str(" SEARCH ?")?;
    }
    filter(select.condition.as_ref(), table, out)?;
    if !select.group.is_empty() {
        write!(out, " GROUP BY {}", table.column_names(&select.group))?;
    }
    order_by(select, out)?;
    page(select.limit.is_some(), select.offset > 0, out)?;
    if select.lock.is_some() {
        out.write_str(" FOR UPDATE")?;
    }
    Ok(())
}

/// The order, if there is one.
fn order_by(select: &Select, out: TextOutput<'_>) -> Result {
    let table = &*select.table;
    if let Some(nearest) = &select.nearest {
        let column = column_name(table, nearest.column);
        return write!(out, " ORDER BY {}({column}, ?)", nearest.metric.name());
    }
    let ranked = select.search.as_ref().is_some_and(|search| search.ranked);
    if ranked {
        out.write_str(" ORDER BY rank")?;
    }
    if !select.order.is_empty() {
        out.write_str(if ranked { ", " } else { " ORDER BY " })?;
        list(select.order.iter(), out, |order, out| write_order(*order, table, out))?;
    }
    Ok(())
}

/// The limit and the offset, if there are any.
pub(super) fn page(has_limit: bool, has_offset: bool, out: TextOutput<'_>) -> Result {
    out.write_str(if has_limit { " LIMIT ?" } else { "" })?;
    out.write_str(if has_offset { " OFFSET ?" } else { "" })
}

fn write_order(order: Order, table: &TableSchema, out: TextOutput<'_>) -> Result {
    let descending = if order.descending { " DESC" } else { "" };
    write!(out, "{}{descending}", column_name(table, order.column))
}

fn write_expr(expr: Expr, table: &TableSchema, out: TextOutput<'_>) -> Result {
    let function = match expr {
        Expr::Column(column) => return out.write_str(column_name(table, column)),
        Expr::Count => return out.write_str("count(*)"),
        Expr::Rank => return out.write_str("rank"),
        Expr::Distance => return out.write_str("distance"),
        Expr::CountOf(_) => "count",
        Expr::Sum(_) => "sum",
        Expr::Min(_) => "min",
        Expr::Max(_) => "max",
        Expr::Avg(_) => "avg",
    };
    let column = expr.column().map_or("", |column| column_name(table, column));
    write!(out, "{function}({column})")
}

fn filter(condition: Option<&Condition>, table: &TableSchema, out: TextOutput<'_>) -> Result {
    let Some(condition) = condition else { return Ok(()) };
    out.write_str(" WHERE ")?;
    write_condition(condition, table, out)
}

pub(super) fn write_condition(
    condition: &Condition,
    table: &TableSchema,
    out: TextOutput<'_>,
) -> Result {
    let name = |column: &usize| column_name(table, *column);
    match condition {
        Condition::Compare { column, comparison, .. } => {
            write!(out, "{} {} ?", name(column), operator(*comparison))
        }
        Condition::CompareColumns { left, comparison, right } => {
            write!(out, "{} {} {}", name(left), operator(*comparison), name(right))
        }
        Condition::In { column, .. } => write!(out, "{} IN (?, …)", name(column)),
        Condition::InQuery { column, query } => {
            let (from, to): (Vec<_>, Vec<_>) =
                query.pairs(*column).map(|pair| (pair.from, pair.to)).unzip();
            let compared = table.column_names(&from);
            match from.len() {
                1 => out.write_str(&compared)?,
                _ => write!(out, "({compared})")?,
            }
            let selected = query.table.column_names(&to);
            write!(out, " IN (SELECT {selected} FROM {}", query.table.name())?;
            filter(query.condition.as_ref(), &query.table, out)?;
            out.write_str(")")
        }
        Condition::Like { column, .. } | Condition::LikeEscape { column, .. } => {
            write!(out, "{} LIKE ?", name(column))
        }
        Condition::Contains { column, .. } => write!(out, "contains({}, ?)", name(column)),
        Condition::EndsWith { column, .. } => write!(out, "ends_with({}, ?)", name(column)),
        Condition::StartsWith { column, .. } => write!(out, "starts_with({}, ?)", name(column)),
        Condition::IsNull { column } => write!(out, "{} IS NULL", name(column)),
        Condition::And(parts) => {
            joined(parts, " AND ", out, |p, out| write_condition(p, table, out))
        }
        Condition::Or(parts) => joined(parts, " OR ", out, |p, out| write_condition(p, table, out)),
        Condition::Not(part) => {
            out.write_str("NOT (")?;
            write_condition(part, table, out)?;
            out.write_str(")")
        }
    }
}

/// Parts with a word between them, in brackets.
pub(super) fn joined<T>(
    parts: &[T],
    word: &str,
    out: TextOutput<'_>,
    each: impl Fn(&T, &mut dyn fmt::Write) -> Result,
) -> Result {
    out.write_str("(")?;
    for (index, part) in parts.iter().enumerate() {
        out.write_str(if index > 0 { word } else { "" })?;
        each(part, out)?;
    }
    out.write_str(")")
}

/// Items with commas between them.
pub(super) fn list<T>(
    items: impl Iterator<Item = T>,
    out: TextOutput<'_>,
    each: impl Fn(T, &mut dyn fmt::Write) -> Result,
) -> Result {
    for (index, item) in items.enumerate() {
        out.write_str(if index > 0 { ", " } else { "" })?;
        each(item, out)?;
    }
    Ok(())
}

pub(super) const fn operator(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}

fn column_name(table: &TableSchema, column: usize) -> &str {
    table.columns().get(column).map_or("", |column| &column.name)
}
