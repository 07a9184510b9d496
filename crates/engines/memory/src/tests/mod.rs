//! Tests of the engine as a whole, through the contract.

mod basics;
mod concurrency;
mod foreign;
mod model;
mod queries;
mod rate;
mod snapshots;

use super::Memory;
use bobak_core::{
    ColumnSchema, Condition, Engine, FieldSet, OnError, Outcome, Query, Result, SchemaChange,
    Select, Session, Source, TableSchema, Type, Value, Verb, Write, WriteBatch,
};
use std::sync::Arc;

/// A person as in the other tests: generated `id`, unique `email`, indexed `age`.
fn person() -> Arc<TableSchema> {
    TableSchema::builder("person")
        .column(ColumnSchema::new("id", Type::I64))
        .column(ColumnSchema::new("name", Type::Text).max_chars(40))
        .column(ColumnSchema::new("email", Type::Text).nullable(true).unique())
        .column(ColumnSchema::new("age", Type::I32).nullable(true).check("age >= 0"))
        .column(ColumnSchema::new("version", Type::I64).role(bobak_core::ColumnRole::Version))
        .key(["id"])
        .index("person_age_name", ["age", "name"])
        .build()
        .unwrap()
        .into()
}

fn engine(tables: &[&Arc<TableSchema>]) -> Memory {
    let memory =
        Memory::builder().busy_timeout(std::time::Duration::from_millis(50)).open().unwrap();
    create(&memory, tables).unwrap();
    memory
}

fn create(engine: &dyn Engine, tables: &[&Arc<TableSchema>]) -> Result<()> {
    let create = |table: &&Arc<TableSchema>| SchemaChange::CreateTable(Arc::clone(table));
    engine.alter(&tables.iter().map(create).collect::<Vec<_>>())
}

type Values = Vec<Value<'static>>;

fn a_person(id: Option<i64>, name: &str, email: Option<&str>, age: Option<i32>) -> Values {
    let text = |text: &str| Value::from(text.to_owned());
    vec![id.into(), text(name), email.map(text).unwrap_or_default(), age.into(), 1.into()]
}

fn write(
    session: &dyn Session,
    table: &Arc<TableSchema>,
    verb: Verb,
    values: &[Value<'_>],
) -> Result<Outcome> {
    let fields = table.updated_fields();
    session.write(&Write { table, verb, fields, values })
}

fn batch(table: &Arc<TableSchema>, verb: Verb, rows: &[Values]) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for values in rows {
        let fields = FieldSet::EMPTY;
        batch.push(&Write { table, verb, fields, values }).unwrap();
    }
    batch
}

fn run(
    session: &dyn Session,
    batch: &WriteBatch,
    on_error: OnError,
) -> (Vec<Result<Outcome>>, Result<()>) {
    let mut outcomes = Vec::new();
    let result = session.batch(batch, on_error, &mut |outcome| outcomes.push(outcome));
    (outcomes, result)
}

fn rows(session: &dyn Session, select: &Select) -> Vec<Values> {
    let mut rows = Vec::new();
    let source = Source::Select(select);
    session
        .query(&source, &mut |row| {
            rows.push((0..row.len()).map(|c| row.get(c).to_owned()).collect());
            Ok(true)
        })
        .unwrap();
    rows
}

fn all(session: &dyn Session, table: &Arc<TableSchema>) -> Vec<Values> {
    rows(session, &Select::all(table))
}

/// A temporary folder of one test.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bobak-memory-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
