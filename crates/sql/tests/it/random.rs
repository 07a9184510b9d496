//! A table of random rows, and random conditions over it: the same on every run.

use crate::engine::Sqlite;
use bobak_core::{
    Collation, ColumnSchema, Comparison, Condition, FieldSet, TableSchema, Type, Value, Verb,
};
use bobak_sql::{Dialect, create_table, insert};
use std::sync::Arc;

/// Numbers from a seed: the same on every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }

    pub fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

pub const TEXTS: &[&str] = &[
    "",
    "a",
    "A",
    "ab",
    "aB",
    "b",
    "é",
    "É",
    "ß",
    "z",
    "a%",
    "a_",
    "a\u{d7ff}",
    "a\u{e000}",
    "a'b",
    "\u{10ffff}",
    "\u{10ffff}a",
    "\u{10ffff}\u{10ffff}",
    "a\u{10ffff}",
    "a\u{10ffff}b",
    "12",
    "1.0",
];

pub fn table() -> Arc<TableSchema> {
    let text = |name: &'static str, collation| {
        ColumnSchema::new(name, Type::Text).nullable(true).collation(collation)
    };
    let table = TableSchema::builder("t")
        .column(ColumnSchema::of::<i64>("id"))
        .column(text("plain", Collation::Binary))
        .column(text("ascii", Collation::NoCase))
        .column(text("unicode", Collation::UnicodeNoCase))
        .column(ColumnSchema::of::<Option<i32>>("int"))
        .column(ColumnSchema::of::<Option<f64>>("float"))
        .column(ColumnSchema::of::<Option<Vec<u8>>>("bytes"))
        .column(ColumnSchema::new("any", Type::Any).nullable(true))
        .column(ColumnSchema::new("uuid", Type::Uuid).nullable(true))
        .key(["id"])
        .index("t_plain", ["plain"])
        .index("t_ascii", ["ascii", "int"]);
    Arc::new(table.build().unwrap())
}

pub fn value(random: &mut Random, place: usize) -> Value<'static> {
    match place {
        0 => Value::Int(random.below(80) as i64),
        1..=3 => random.of(TEXTS).into(),
        4 => Value::Int(random.of(&[-1, 0, 1, 2, 12])),
        5 => Value::Float(random.of(&[-0.5, 0.0, 1.0, 2.5, 12.0, 1e300, f64::INFINITY])),
        6 => random.of(&[&b""[..], b"a", b"ab", b"\xff", b"12"]).into(),
        7 => {
            let class = random.of(&[1, 4, 5, 6]);
            value(random, class)
        }
        _ => vec![random.below(3) as u8; 16].into(),
    }
}

pub fn condition(random: &mut Random, depth: usize) -> Condition {
    let column = random.below(9);
    let comparison = random.of(&[
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ]);
    let parts =
        |random: &mut Random| (0..random.below(4)).map(|_| condition(random, depth - 1)).collect();
    match random.below(if depth == 0 { 8 } else { 12 }) {
        7 => text_condition(random, column),
        0 | 1 => Condition::Compare { column, comparison, value: value(random, column) },
        2 => Condition::CompareColumns { left: column, comparison, right: random.below(9) },
        3 => {
            let one = |random: &mut Random| match random.below(8) {
                0 => Value::Null,
                _ => value(random, column),
            };
            Condition::In { column, values: (0..random.below(5)).map(|_| one(random)).collect() }
        }
        4 => {
            let pattern =
                random.of(&["%", "a%", "%B", "_", "É%", "", "a_", "1%", "%'%"]).to_owned();
            Condition::Like { column, pattern }
        }
        5 => Condition::StartsWith { column, prefix: random.of(TEXTS).to_owned() },
        6 => Condition::IsNull { column },
        8 | 9 => Condition::And(parts(random)),
        10 => Condition::Or(parts(random)),
        _ => Condition::Not(Box::new(condition(random, depth - 1))),
    }
}

fn text_condition(random: &mut Random, column: usize) -> Condition {
    let text = random.of(TEXTS).to_owned();
    match random.below(3) {
        0 => Condition::Contains { column, part: text },
        1 => Condition::EndsWith { column, suffix: text },
        _ => {
            let pattern = random.of(&["a!%", "%!_%", "!!", "a%", "%'%", ""]).to_owned();
            Condition::LikeEscape { column, pattern, escape: random.of(&['!', '\'', 'é']) }
        }
    }
}

pub fn filled(random: &mut Random) -> (Sqlite, Arc<TableSchema>, Vec<Vec<Value<'static>>>) {
    let (sqlite, table) = (Sqlite::new(), table());
    for text in create_table(Dialect::Sqlite, &table).unwrap() {
        sqlite.execute(&text).unwrap();
    }
    let text = insert(Dialect::Sqlite, &table, Verb::Insert, FieldSet::EMPTY, 1, false);
    let mut rows = Vec::new();
    for id in 0..80 {
        let mut row = vec![Value::Int(id)];
        for place in 1..9 {
            let null = random.below(5) == 0;
            row.push(if null { Value::Null } else { value(random, place) });
        }
        sqlite.run(&text, &row).unwrap();
        rows.push(row);
    }
    (sqlite, table, rows)
}
