//! Engines for servers: SQL over the main engine and attached ones.

use bobak_core::{
    ColumnSchema, Engine, ErrorKind, FieldSet, Result, RowBuffer, SchemaChange, Source, SqlAction,
    SqlAuthorizer, TableSchema, TransactionControl, Value, Verb, Write,
};
use bobak_federation::FederatedEngine;
use bobak_memory::Memory;
use bobak_sqlite::Sqlite;
use std::sync::{Arc, Mutex};

type Rows = Vec<Vec<Value<'static>>>;

fn table(name: &'static str) -> Arc<TableSchema> {
    let table = TableSchema::builder(name)
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("text"))
        .key(["id"]);
    Arc::new(table.build().unwrap())
}

fn filled(engine: Arc<dyn Engine>, name: &'static str, count: i64) -> Arc<dyn Engine> {
    let table = table(name);
    engine.alter(&[SchemaChange::CreateTable(Arc::clone(&table))]).unwrap();
    let session = engine.session().unwrap();
    session.control(TransactionControl::Begin).unwrap();
    for id in 1..=count {
        let values = [Value::Int(id), Value::from(format!("{name} {id}"))];
        let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
        session.write(&Write { table: &table, verb, fields, values: &values }).unwrap();
    }
    session.control(TransactionControl::Commit).unwrap();
    drop(session);
    engine
}

fn each_pair(test: impl Fn(&str, Arc<dyn Engine>)) {
    let engines: [fn() -> Arc<dyn Engine>; 2] =
        [|| Arc::new(Memory::new()), || Arc::new(Sqlite::open_memory().unwrap())];
    for main in engines {
        for other in engines {
            let (main, other) = (filled(main(), "item", 2), filled(other(), "stock", 1_000));
            let name = format!("{} and {}", main.name(), other.name());
            let attached = vec![("depot".to_owned(), other)];
            test(&name, FederatedEngine::attach(main, attached, 1 << 20).unwrap());
        }
    }
}

fn rows(session: &dyn bobak_core::Session, text: &str) -> Result<Rows> {
    let mut rows = Vec::new();
    session.query(&Source::Sql { text, parameters: &[] }, &mut |row| {
        rows.push((0..row.len()).map(|at| row.get(at).to_owned()).collect());
        Ok(true)
    })?;
    Ok(rows)
}

const JOIN: &str =
    "SELECT item.text, depot.stock.text FROM item JOIN depot.stock USING (id) ORDER BY item.id";

#[test]
fn sql_joins_and_changes_tables_of_both_engines() {
    each_pair(|name, engine| {
        assert!(engine.capabilities().sql, "{name}");
        let session = engine.session().unwrap();
        let found = rows(&*session, JOIN).unwrap();
        assert_eq!(found.len(), 2, "{name}");
        assert_eq!(found[1], ["item 2", "stock 2"].map(Value::from), "{name}");
        assert_eq!(session.execute("UPDATE item SET text = 'x' WHERE id = 1", &[]).unwrap(), 1);
        assert_eq!(session.execute("DELETE FROM depot.stock WHERE id = 2", &[]).unwrap(), 1);
        assert_eq!(rows(&*session, JOIN).unwrap(), [["x", "stock 1"].map(Value::from)]);
        let error = rows(&*session, "SELECT * FROM absent").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema, "{name}: {error}");
        // A table that is made later is found.
        let later = table("later");
        session.alter(&[SchemaChange::CreateTable(later)]).unwrap();
        assert_eq!(rows(&*session, "SELECT count(*) FROM later").unwrap(), [[Value::Int(0)]]);
    });
}

#[test]
fn sql_in_a_transaction_is_part_of_it() {
    each_pair(|name, engine| {
        let session = engine.session().unwrap();
        session.control(TransactionControl::Begin).unwrap();
        let (table, verb, fields) = (table("item"), Verb::Delete, FieldSet::EMPTY);
        let write = Write { table: &table, verb, fields, values: &[Value::Int(1)] };
        session.write(&write).unwrap();
        session.execute("INSERT INTO item VALUES (3, 'new')", &[]).unwrap();
        let found = rows(&*session, JOIN).unwrap();
        assert_eq!(found[1], ["new", "stock 3"].map(Value::from), "{name}");
        let both = session.execute("DELETE FROM depot.stock", &[]).unwrap_err();
        assert_eq!(both.kind(), ErrorKind::Unsupported, "{name}: {both}");
        session.control(TransactionControl::Rollback).unwrap();
        assert_eq!(rows(&*session, JOIN).unwrap()[0][0], Value::from("item 1"), "{name}");
    });
}

/// The number of rows of a cursor.
fn rest_of(session: &dyn bobak_core::Session, cursor: &mut bobak_core::Cursor) -> usize {
    let (mut part, mut count) = (RowBuffer::default(), 0);
    loop {
        session.fetch(cursor, &mut part).unwrap();
        let before = count;
        while part.next_row().unwrap().is_some() {
            count += 1;
        }
        if count == before {
            return count;
        }
    }
}

#[test]
fn cursors_over_both_engines_are_read_in_parts() {
    each_pair(|name, engine| {
        let session = engine.session().unwrap();
        for in_transaction in [false, true] {
            if in_transaction {
                session.control(TransactionControl::Begin).unwrap();
            }
            let text = "SELECT id, text FROM depot.stock ORDER BY id";
            let mut sql = session.open(&Source::Sql { text, parameters: &[] }).unwrap();
            let select = bobak_core::Select::all(&table("item"));
            let mut own = session.open(&Source::Select(&select)).unwrap();
            let mut part = RowBuffer::default();
            session.fetch(&mut own, &mut part).unwrap();
            assert_eq!(part.rows(), 2, "{name}");
            let count = rest_of(&*session, &mut sql);
            assert_eq!(count, 1_000, "{name}");
            session.close(&mut sql);
            session.close(&mut own);
            if in_transaction {
                session.control(TransactionControl::Commit).unwrap();
            }
        }
    });
}

/// What statements do, as an authorizer sees it.
#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl SqlAuthorizer for Seen {
    fn check(&self, action: SqlAction<'_>) -> Result<()> {
        if !matches!(action, SqlAction::Call(_)) {
            self.0.lock().unwrap().push(format!("{action:?}"));
        }
        Ok(())
    }
}

#[test]
fn authorizers_see_the_tables_of_attached_engines() {
    each_pair(|name, engine| {
        let session = engine.session().unwrap();
        let seen = Arc::new(Seen::default());
        session.set_authorizer(Arc::clone(&seen) as _).unwrap();
        let reported = || std::mem::take(&mut *seen.0.lock().unwrap());
        let foreign = |verb: &str| {
            format!("Foreign {{ database: \"depot\", table: \"stock\", verb: {verb} }}")
        };
        for in_transaction in [false, true] {
            if in_transaction {
                session.control(TransactionControl::Begin).unwrap();
            }
            rows(&*session, JOIN).unwrap();
            let seen = reported();
            assert!(seen.contains(&foreign("None")), "{name}: {seen:?}");
            assert!(seen.contains(&"Read(\"item\")".to_owned()), "{name}: {seen:?}");
            // No column of it is read, and it is not qualified.
            rows(&*session, "SELECT count(*) FROM stock").unwrap();
            let seen = reported();
            assert!(seen.contains(&foreign("None")), "{name}: {seen:?}");
            assert!(!seen.contains(&"Read(\"stock\")".to_owned()), "{name}: {seen:?}");
            if !in_transaction {
                session.execute("UPDATE stock SET text = 'x' WHERE id = 1", &[]).unwrap();
                assert!(reported().contains(&foreign("Some(Update)")), "{name}");
            }
        }
        session.control(TransactionControl::Rollback).unwrap();
    });
}

#[test]
fn names_of_attached_engines_are_checked() {
    let attach = |names: &[&str]| {
        let other = |name: &&str| ((*name).to_owned(), Arc::new(Memory::new()) as Arc<dyn Engine>);
        FederatedEngine::attach(Arc::new(Memory::new()), names.iter().map(other).collect(), 1 << 20)
    };
    for wrong in [&["main"][..], &["a", "A"], &["temp"], &[""]] {
        assert_eq!(attach(wrong).err().unwrap().kind(), ErrorKind::Config, "{wrong:?}");
    }
    assert!(attach(&["a", "b"]).is_ok());
}
