//! The tables that the tests work on, and short ways to work on them.

use bobak_core::{
    Collation, ColumnRole, ColumnSchema, Engine, Error, ErrorKind, FieldSet, OnDelete, Outcome,
    Parameter, Result, SchemaChange, Session, Source, TableSchema, Value, Verb, Write,
};
use bobak_sqlite::Sqlite;
use std::sync::Arc;

pub type Rows = Vec<Vec<Value<'static>>>;

/// `id` made by the engine, `email` unique, a check, a version.
pub fn person() -> Arc<TableSchema> {
    let table = TableSchema::builder("person")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("name"))
        .column(ColumnSchema::of::<Option<String>>("email").unique().collation(Collation::NoCase))
        .column(ColumnSchema::of::<Option<f64>>("amount").check("amount >= 0"))
        .column(ColumnSchema::of::<Option<Vec<u8>>>("photo"))
        .column(ColumnSchema::of::<i64>("version").role(ColumnRole::Version))
        .key(["id"])
        .build();
    Arc::new(table.unwrap())
}

/// A text key, and a foreign key to a person.
pub fn car() -> Arc<TableSchema> {
    let table = TableSchema::builder("car")
        .column(ColumnSchema::of::<String>("plate"))
        .column(ColumnSchema::of::<Option<i64>>("owner").references(
            "person",
            "id",
            OnDelete::Restrict,
        ))
        .key(["plate"])
        .build();
    Arc::new(table.unwrap())
}

pub fn create(engine: &Sqlite, tables: &[&Arc<TableSchema>]) {
    let changes: Vec<_> =
        tables.iter().map(|table| SchemaChange::CreateTable(Arc::clone(table))).collect();
    engine.alter(&changes).unwrap();
}

/// A database in memory with both tables.
pub fn memory() -> Sqlite {
    let engine = Sqlite::open_memory().unwrap();
    create(&engine, &[&person(), &car()]);
    engine
}

/// A person's values: `id` NULL where it is 0, version 1.
pub fn values(id: i64, name: &str, email: Option<&str>) -> Vec<Value<'static>> {
    let key = if id == 0 { Value::Null } else { Value::Int(id) };
    let email = Value::from(email).into_owned();
    vec![key, Value::from(name).into_owned(), email, Value::Null, Value::Null, Value::Int(1)]
}

pub fn write(
    session: &dyn Session,
    table: &Arc<TableSchema>,
    verb: Verb,
    values: &[Value<'_>],
) -> Result<Outcome> {
    let fields = match verb {
        Verb::Update | Verb::Upsert => table.updated_fields(),
        _ => FieldSet::EMPTY,
    };
    session.write(&Write { table, verb, fields, values })
}

pub fn insert(session: &dyn Session, table: &Arc<TableSchema>, values: &[Value<'_>]) -> Outcome {
    write(session, table, Verb::Insert, values).unwrap()
}

pub fn query(session: &dyn Session, sql: &str, parameters: &[Value<'_>]) -> Result<Rows> {
    let mut rows = Rows::new();
    let parameters: Vec<Parameter<'_>> = parameters.iter().map(Parameter::from).collect();
    let source = Source::Sql { text: sql, parameters: &parameters };
    session.query(&source, &mut |row| {
        rows.push((0..row.len()).map(|place| row.get(place).to_owned()).collect());
        Ok(true)
    })?;
    Ok(rows)
}

/// The first row's first column.
pub fn one(session: &dyn Session, sql: &str) -> Value<'static> {
    query(session, sql, &[]).unwrap().remove(0).remove(0)
}

pub fn get(
    session: &dyn Session,
    table: &Arc<TableSchema>,
    key: Value<'_>,
) -> Option<Vec<Value<'static>>> {
    let mut found = None;
    let there = session.get(table, &[key], &mut |row| {
        found = Some((0..row.len()).map(|place| row.get(place).to_owned()).collect());
        Ok(())
    });
    assert_eq!(there.unwrap(), found.is_some());
    found
}

/// Kind, table and column of an error.
pub fn place(error: &Error) -> (ErrorKind, Option<&str>, Option<&str>) {
    (error.kind(), error.table(), error.column())
}
