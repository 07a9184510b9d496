//! Random tables, as a client describes them, values and conditions.

use super::model::{hidden_names, table_names};
use crate::model::Random;
use crate::probe::{Table, Values};
use bobak_core::{ColumnSchema, Comparison, Condition, TableSchema, Type, Value};
use std::sync::Arc;

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

/// Names that a client may write in place of a column's: SQLite's row number, one of a hidden table, none.
const OTHER_COLUMNS: [&str; 6] = ["rowid", "_rowid_", "oid", "TOTAL", "day", "nosuch"];

/// One of the tables; rarely with a description that is wrong.
pub(super) fn table(random: &mut Random, tables: &[Table]) -> Table {
    let place = random.below(tables.len());
    let table = tables.get(place).or_else(|| tables.first());
    let table = table.expect("there are tables");
    if random.percent(92) {
        return Arc::clone(table);
    }
    misdescribed(random, table).map_or_else(|| Arc::clone(table), Arc::new)
}

/// A description that differs from the table: in its name, its key, or a column's name or type.
fn misdescribed(random: &mut Random, table: &TableSchema) -> Option<TableSchema> {
    let at = random.below(table.columns().len());
    let name = match random.below(8) {
        0 => table.name().to_uppercase(),
        1 => format!("main.{}", table.name()),
        2 => name(random),
        _ => table.name().to_owned(),
    };
    let kind = random.below(5);
    let other = random.pick(&OTHER_COLUMNS).copied().unwrap_or("rowid");
    let mut builder = TableSchema::builder(name);
    let mut key = "id".to_owned();
    for (position, column) in table.columns().iter().enumerate() {
        let mut column = column.clone();
        match kind {
            0 if position == at => column.name = other.into(),
            1 if position == at => {
                column.ty = if column.ty == Type::Text { Type::I64 } else { Type::Text }
            }
            2 if position == at => key = column.name.to_string(),
            3 if position == at && position > 0 => continue,
            _ => {}
        }
        if position == 0 && kind == 0 && at == 0 {
            key = column.name.to_string();
        }
        builder = builder.column(column);
    }
    if kind == 4 {
        builder = builder.column(ColumnSchema::of::<Option<i64>>(other));
    }
    builder.key([key]).given_key().build().ok()
}

/// A table's name, or that of something that the client must not learn of.
pub(super) fn name(random: &mut Random) -> String {
    let names = if random.percent(40) { hidden_names() } else { table_names() };
    random.pick(names).copied().unwrap_or_default().to_owned()
}

pub(super) fn column(random: &mut Random, table: &TableSchema) -> usize {
    random.below(table.columns().len())
}

/// A value for a column: mostly of its type, and rarely one that a hidden row has.
pub(super) fn value(random: &mut Random, column: &ColumnSchema) -> Value<'static> {
    const NUMBERS: [i64; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 30, 77, 500, -1, i64::MAX - 1];
    const TEXTS: [&str; 8] = ["ada", "ada", "bob", "", "c1", "n2", "price 3", "taken"];
    if random.percent(12) {
        return Value::Null;
    }
    let is_text = (column.ty == Type::Text) != random.percent(3);
    match (is_text, &*column.name) {
        (true, _) => Value::from(random.pick(&TEXTS).copied().unwrap_or_default()),
        // A key that is taken in one database only cannot be hidden from a client that may insert it.
        (false, "id") => {
            let first = random.pick(&[0, 0, 0, 0, 0, 500, 2_000_000]).copied().unwrap_or(0);
            Value::Int(first + random.between(0, 40) as i64)
        }
        (false, _) => Value::Int(random.pick(&NUMBERS).copied().unwrap_or_default()),
    }
}

pub(super) fn values(random: &mut Random, table: &TableSchema) -> Values {
    table.columns().iter().map(|column| value(random, column)).collect()
}

/// A random condition, as deep as `depth`.
pub(super) fn condition(random: &mut Random, table: &TableSchema, depth: usize) -> Condition {
    let at = column(random, table);
    let Some(schema) = table.columns().get(at) else { return Condition::And(Vec::new()) };
    let value = match value(random, schema) {
        Value::Null => Value::Int(1),
        value => value,
    };
    let comparison = random.pick(&COMPARISONS).copied().unwrap_or(Comparison::Equal);
    match random.below(if depth == 0 { 10 } else { 13 }) {
        0..=3 => Condition::Compare { column: at, comparison, value },
        4 => Condition::IsNull { column: at },
        5 => Condition::In { column: at, values: vec![value, Value::Int(2)] },
        6 => Condition::CompareColumns { left: at, comparison, right: column(random, table) },
        7 => Condition::Like { column: at, pattern: "%b%b%b%b_%c".to_owned() },
        8 => Condition::Contains { column: at, part: "b".to_owned() },
        9 => Condition::StartsWith { column: at, prefix: "c".to_owned() },
        10 => Condition::Not(Box::new(condition(random, table, depth - 1))),
        deep => {
            let parts = vec![condition(random, table, depth - 1), condition(random, table, 0)];
            if deep == 11 { Condition::Or(parts) } else { Condition::And(parts) }
        }
    }
}
