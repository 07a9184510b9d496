//! Long lists of values in conditions, beyond the number of parameters that a server takes.

use crate::{Check, Harness, NULL, Probe, Table, Values, row, same};
use bobak_core::{Collation, ColumnSchema, Condition, Currency, Date, TableSchema, Uuid, Value};
use std::sync::Arc;

/// The number of values of the longest lists.
const MANY: i64 = 100_000;
/// The number of rows.
const ROWS: i64 = 40;

/// `thing(id, number, small, name, nocase, uuid, price, day, rate)`, with an index over the numbers.
fn thing() -> Check<Table> {
    let table = TableSchema::builder("thing")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Option<i64>>("number"))
        .column(ColumnSchema::of::<Option<i16>>("small"))
        .column(ColumnSchema::of::<Option<String>>("name"))
        .column(ColumnSchema::of::<Option<String>>("nocase").collation(Collation::NoCase))
        .column(ColumnSchema::of::<Option<Uuid>>("uuid"))
        .column(ColumnSchema::of::<Option<Currency>>("price"))
        .column(ColumnSchema::of::<Option<Date>>("day"))
        .column(ColumnSchema::of::<Option<f64>>("rate"))
        .key(["id"])
        .index("thing_number", ["number"]);
    Ok(Arc::new(table.build()?))
}

/// Texts that need quotes, escapes or nothing in the syntax of an array.
fn text(n: i64) -> String {
    let special =
        ["", "NULL", "a,b", "{x}", "\"q\"", "\\", "it's", "[1]", "ü🦫", "\n\t", "Abc", "%_"];
    match usize::try_from(n).ok().and_then(|n| special.get(n)) {
        Some(text) => (*text).to_owned(),
        None => format!("text {n}"),
    }
}

fn uuid(n: i64) -> Value<'static> {
    Value::from(u128::from(n.unsigned_abs()).wrapping_mul(7919).to_be_bytes().to_vec())
}

/// The values of row `n`, without the key.
fn values(n: i64) -> Values {
    row![n * 5, n - 20, text(n), text(n), uuid(n), n * 100, n * 30, n as f64 / 4.0]
}

fn filled(probe: &Probe<'_>, thing: &Table) -> Check {
    let rows = (0..ROWS).map(|n| {
        let mut row = row![n + 1];
        row.extend(values(n));
        row
    });
    probe.insert_all(thing, rows)?;
    probe.insert(thing, row![ROWS + 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL])?;
    Ok(())
}

/// A list of 100,000 integers, and of 100,000 texts: alone, negated, next to another condition, and in changes.
pub fn lists_of_many_values(harness: &dyn Harness) -> Check {
    let thing = thing()?;
    super::with(harness, &[&thing], |probe| {
        filled(probe, &thing)?;
        let thirds =
            || Condition::In { column: 1, values: (0..MANY).map(|n| (n * 3).into()).collect() };
        let third = |id: &i64| (id - 1) % 3 == 0;
        let ids =
            |condition| -> Check<Vec<i64>> { Ok(super::ids(&probe.filter(&thing, condition)?)) };
        let wanted = |keep: &dyn Fn(&i64) -> bool| (1..=ROWS).filter(keep).collect::<Vec<_>>();
        same("in", ids(thirds())?, wanted(&third))?;
        let not = Condition::Not(Box::new(thirds()));
        same("not in", ids(not)?, wanted(&|id| !third(id)))?;
        let both =
            Condition::And(vec![super::compare(0, bobak_core::Comparison::Less, 9), thirds()]);
        same("with another", ids(both)?, vec![1, 4, 7])?;
        let texts = (0..MANY).map(|n| text(n * 2).into()).collect();
        let texts = Condition::In { column: 3, values: texts };
        same("texts", ids(texts)?, wanted(&|id| id % 2 == 1))?;
        let set = bobak_core::Assign::Set { column: 2, value: 99.into() };
        same("changed", probe.change(&thing, Some(thirds()), &[set])?, 14)?;
        same("deleted", probe.delete_where(&thing, Some(thirds()))?, 14)
    })
}

/// Lists of every length from 1 to 20 find the same rows as one comparison for each value, whatever the column.
pub fn lists_of_every_length(harness: &dyn Harness) -> Check {
    let thing = thing()?;
    super::with(harness, &[&thing], |probe| {
        filled(probe, &thing)?;
        for column in 1..thing.columns().len() {
            for length in 1..=20 {
                // Every second row, and values that no row has.
                let list = (0..length).map(|n| values(n * 2 + 30 * (n % 2)));
                let list: Vec<Value<'static>> =
                    list.filter_map(|row| row.get(column - 1).cloned()).collect();
                let each = list.iter().map(|value| super::equal(column, value.clone())).collect();
                let found = probe.filter(&thing, Condition::In { column, values: list })?;
                let wanted = probe.filter(&thing, Condition::Or(each))?;
                same(&format!("column {column}, {length} values"), found, wanted)?;
            }
        }
        Ok(())
    })
}
