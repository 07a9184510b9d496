//! Conditions: of filters, of rules, and in simple SQL.

use crate::{Target, sample, seeds};
use bobak_core::{
    ColumnSchema, Condition, Engine, SchemaChange, Select, Source, TableSchema, Type, Value,
};
use bobak_federation::SimpleQuery;
use bobak_memory::Memory;
use bobak_sql::Dialect;
use std::sync::{Arc, OnceLock};

/// Filters as text, the rules of columns, and SQL that needs no SQLite.
pub(crate) const CONDITIONS: Target = Target {
    name: "conditions",
    about: "filter expressions, rules of columns, simple SQL",
    longest: 16 << 10,
    factor: 2_000,
    run: |input| {
        let Ok(text) = std::str::from_utf8(input) else { return };
        filter(text);
        rule(text);
        simple(text);
    },
    seeds: || {
        seeds::of(&[
            "id > 7 and not name like 'a%_'",
            "id between 1 and 5 or name in ('a', 'it''s') and bytes = x'00ff'",
            "\"day as text\" >= '2024-02-29' and currency = 12.34 and bool = true",
            "uuid is not null and not (f64 < -1.5e3 or text starts with 'x')",
            "((((id = 1))))",
            "i32 = i64 or date <> '1969-12-31' and time != '23:59:59'",
            "stock >= 0 AND length(name) > 2 OR coalesce(i32, 1) + 2 * 3 - -4 IN (1, 2)",
            "CASE WHEN id = 1 THEN 'a' ELSE upper(name) END = trim(' A ') || 'x'",
            "SELECT id, name FROM sample WHERE id = ? AND name LIKE 'a%' ORDER BY id DESC LIMIT 5 OFFSET 2",
            "SELECT count(*), sum(i64) FROM sample WHERE id IN (1,2,?3) GROUP BY i32",
        ])
    },
};

fn filter(text: &str) {
    let table = sample::table();
    let Ok(condition) = Condition::parse(text, &table) else { return };
    let select = Select {
        table: Arc::clone(&table),
        columns: Vec::new(),
        condition: Some(condition),
        group: Vec::new(),
        order: Vec::new(),
        limit: None,
        offset: 0,
        search: None,
        nearest: None,
        lock: None,
    };
    // Whatever was read can be said in SQL, and be asked of an engine.
    let _ = bobak_sql::select(Dialect::Sqlite, &select);
    let session = engine().session().expect("memory gives sessions");
    let _ = session.query(&Source::Select(&select), &mut |_| Ok(true));
}

fn engine() -> &'static Memory {
    static ENGINE: OnceLock<Memory> = OnceLock::new();
    ENGINE.get_or_init(|| {
        let engine = Memory::new();
        engine.alter(&[SchemaChange::CreateTable(sample::table())]).expect("the table can be");
        engine
    })
}

/// The rules of the memory engine.
fn rule(text: &str) {
    let column = ColumnSchema::new("name", Type::Text).check(text.to_owned());
    let number = ColumnSchema::new("stock", Type::I32).nullable(true);
    let table = TableSchema::builder("ruled")
        .column(ColumnSchema::new("id", Type::I64))
        .column(column)
        .column(number)
        .key(["id"])
        .build();
    let Ok(table) = table.map(Arc::new) else { return };
    let engine = Memory::new();
    if engine.alter(&[SchemaChange::CreateTable(Arc::clone(&table))]).is_err() {
        return;
    }
    for values in
        [[Value::Int(1), "Aa".into(), Value::Null], [Value::Int(2), "".into(), Value::Int(7)]]
    {
        let write = bobak_core::Write {
            table: &table,
            verb: bobak_core::Verb::Insert,
            fields: bobak_core::FieldSet::EMPTY,
            values: &values,
        };
        let _ = engine.write(&write);
    }
}

fn simple(text: &str) {
    let table = sample::table();
    let Some(simple) = SimpleQuery::parse(text, &table) else { return };
    for parameters in [&[][..], &[1.into()], &[1.into(), "a".into()]] {
        let _ = simple.select(parameters);
    }
}
