//! The schema read from a file is the one that was created.

use crate::support::*;
use bobak_core::{
    Collation, ColumnSchema, Currency, Date, DateTime, Engine, ErrorKind, FieldSet, GeneratedKey,
    Json, KeyGeneration, OnDelete, OnError, Outcome, PartialInsert, SchemaChange, Source,
    TableSchema, Time, Timestamp, Type, Uuid, Value, Verb, Write, WriteBatch,
};
use bobak_sqlite::Sqlite;
use std::sync::Arc;

fn every_type(name: &'static str, as_text: bool) -> TableSchema {
    let mut builder = TableSchema::builder(name).column(ColumnSchema::of::<i64>("id"));
    for &ty in Type::ALL {
        for nullable in [false, true] {
            let name = format!("{} {nullable}", ty.name());
            let mut column = ColumnSchema::new(name, ty).nullable(nullable);
            if as_text {
                column = column.as_text();
            }
            builder = builder.column(column);
        }
    }
    builder.key(["id"]).build().unwrap()
}

fn with_rules() -> TableSchema {
    TableSchema::builder("the \"rules\"")
        .column(ColumnSchema::of::<String>("b").max_chars(40))
        .column(ColumnSchema::of::<i32>("a").default(-7))
        .column(ColumnSchema::of::<Option<String>>("c").unique().collation(Collation::NoCase))
        .column(
            ColumnSchema::of::<String>("d").collation(Collation::UnicodeNoCase).default("it's\0"),
        )
        .column(ColumnSchema::of::<f64>("e").default(0.5).check("e >= 0 AND e < 10 + 1"))
        .column(ColumnSchema::of::<Option<i64>>("f").references("every", "id", OnDelete::SetNull))
        .column(
            ColumnSchema::of::<Option<i64>>("g")
                .references("every", "id", OnDelete::Cascade)
                .unique(),
        )
        .column(ColumnSchema::of::<Vec<u8>>("h").default(vec![0, 1]))
        .column(ColumnSchema::of::<Option<Json<i64>>>("i").max_chars(9))
        .key(["a", "b"])
        .index("by_c", ["c", "e"])
        .unique_index("by \"d\"", ["d", "a"])
        .build()
        .unwrap()
}

fn single_keys() -> Vec<TableSchema> {
    let table = |name: &'static str, key| {
        TableSchema::builder(name).column(key).key(["key"]).build().unwrap()
    };
    vec![
        table("k1", ColumnSchema::of::<String>("key")),
        table("k2", ColumnSchema::of::<Uuid>("key")),
        table("k3", ColumnSchema::of::<Uuid>("key").as_text()),
        table("k4", ColumnSchema::of::<i32>("key")),
        table("k5", ColumnSchema::of::<Date>("key").as_text()),
        table("k6", ColumnSchema::of::<i64>("key")),
        table("k7", ColumnSchema::of::<Currency>("key")),
        table("k8", ColumnSchema::of::<Time>("key")),
        table("k9", ColumnSchema::of::<DateTime>("key")),
        table("k10", ColumnSchema::of::<Timestamp>("key")),
    ]
}

#[test]
fn created_tables_are_read_back() {
    let engine = Sqlite::open_memory().unwrap();
    let mut tables = vec![every_type("every", false), every_type("every_text", true), with_rules()];
    tables.extend(single_keys());
    let tables: Vec<_> = tables.into_iter().map(Arc::new).collect();
    create(&engine, &tables.iter().collect::<Vec<_>>());
    let found = engine.tables().unwrap();
    assert_eq!(found.len(), tables.len());
    for (found, made) in found.iter().zip(&tables) {
        assert!(found.same_as(made), "{found:#?}\n{made:#?}");
    }
}

#[test]
fn failed_schema_change_is_undone() {
    let engine = memory();
    let session = engine.session().unwrap();
    insert(&*session, &person(), &values(1, "a", None));
    let bigger = TableSchema::builder("car")
        .column(ColumnSchema::of::<String>("plate"))
        .column(ColumnSchema::of::<Option<i64>>("owner").references(
            "person",
            "id",
            OnDelete::Restrict,
        ))
        .column(ColumnSchema::of::<String>("colour").default("red").check("colour <> ''"))
        .column(ColumnSchema::of::<Option<i32>>("wheels"))
        .key(["plate"])
        .index("by_colour", ["colour", "wheels"])
        .build();
    let table = Arc::new(bigger.unwrap());
    insert(&*session, &car(), &["A".into(), Value::Int(1)]);
    let add = |column| SchemaChange::AddColumn { table: Arc::clone(&table), column };
    let index = || SchemaChange::AddIndex { table: Arc::clone(&table), index: 0 };
    let error = engine.alter(&[add(2), add(3), index(), index()]).unwrap_err();
    assert_eq!(error.kind(), bobak_core::ErrorKind::Schema, "{error}");
    assert!(engine.tables().unwrap()[1].same_as(&car()));
    engine.alter(&[add(2), add(3), index()]).unwrap();
    assert!(engine.tables().unwrap()[1].same_as(&table));
    let row = get(&*session, &table, "A".into()).unwrap();
    assert_eq!(row, ["A".into(), Value::Int(1), "red".into(), Value::Null]);
    // Statements prepared before still do what they did.
    assert_eq!(get(&*session, &car(), "A".into()).unwrap(), row[..2]);
}

/// Each row is stored once, in the tree of the key, and all writes tell what they did.
#[test]
fn tables_of_links_have_no_rowids() {
    let link = |name: &'static str| {
        let column = |name: &'static str| ColumnSchema::of::<i64>(name);
        TableSchema::builder(name).column(column("a")).column(column("b")).key(["a", "b"])
    };
    let noted = link("noted").column(ColumnSchema::of::<String>("note"));
    let [link, noted] = [link("link"), noted].map(|table| Arc::new(table.build().unwrap()));
    let engine = memory();
    create(&engine, &[&link, &noted]);
    let session = engine.session().unwrap();
    let without = "SELECT group_concat(name) FROM pragma_table_list WHERE wr";
    assert_eq!(one(&*session, without), "link".into());
    let stored = engine.tables().unwrap();
    assert!(stored.iter().any(|table| table.same_as(&link)));
    let row = |a: i64| [Value::Int(a), Value::Int(1)];
    assert_eq!(insert(&*session, &link, &row(1)), Outcome::Inserted(None));
    for (verb, a, expected) in [
        (Verb::Upsert, 1, Outcome::Changed(1)),
        (Verb::Upsert, 2, Outcome::Inserted(None)),
        (Verb::InsertOrIgnore, 2, Outcome::Ignored),
        (Verb::InsertOrIgnore, 3, Outcome::Inserted(None)),
        (Verb::InsertOrReplace, 3, Outcome::Inserted(None)),
    ] {
        assert_eq!(write(&*session, &link, verb, &row(a)).unwrap(), expected, "{verb:?} {a}");
    }
    assert_eq!(
        write(&*session, &link, Verb::Insert, &row(3)).unwrap_err().kind(),
        ErrorKind::Duplicate
    );
    assert_eq!(engine.estimate(&link).rows, Some(3));
    let many = "WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 20000) \
                INSERT INTO link SELECT a, 7 FROM n";
    session.execute(many, &[]).unwrap();
    assert_eq!(engine.estimate(&link).rows, Some(10_000));
}

#[test]
fn tables_of_other_programs_are_read() {
    let engine = Sqlite::open_memory().unwrap();
    let session = engine.session().unwrap();
    for sql in [
        "CREATE TABLE nokey (a, b TEXT)",
        "CREATE TABLE taken (rowid TEXT, x INT)",
        "CREATE TABLE hopeless (rowid, _rowid_, oid)",
        "CREATE TABLE wr (k INTEGER PRIMARY KEY, v TEXT UNIQUE) WITHOUT ROWID",
        "CREATE TABLE bigkey (k BIGINT PRIMARY KEY, v DATETIME DEFAULT CURRENT_TIMESTAMP)",
        "CREATE TABLE gen (id INTEGER PRIMARY KEY, a INT, b INT AS (a + 1), c INT AS (a) STORED)",
        "CREATE TABLE two (a INT, b INT, UNIQUE (a, b), FOREIGN KEY (a) REFERENCES wr)",
        "CREATE INDEX part ON two (a) WHERE b > 1",
        "CREATE INDEX expr ON two (a + b)",
        "CREATE VIEW seen AS SELECT * FROM two",
        "CREATE VIRTUAL TABLE words USING fts5(text)",
        "CREATE TABLE auto (id INTEGER PRIMARY KEY AUTOINCREMENT, a)",
    ] {
        session.execute(sql, &[]).unwrap();
    }
    let tables = engine.tables().unwrap();
    let names: Vec<_> = tables.iter().map(TableSchema::name).collect();
    assert_eq!(names, ["nokey", "taken", "wr", "bigkey", "gen", "two", "auto"]);
    let table = |name: &str| Arc::new(tables.iter().find(|t| t.name() == name).unwrap().clone());

    let nokey = table("nokey");
    assert_eq!((nokey.columns()[0].name.as_ref(), nokey.key()), ("rowid", &[0][..]));
    let row = [Value::Null, Value::Int(5), "x".into()];
    assert_eq!(insert(&*session, &nokey, &row), Outcome::Inserted(Some(GeneratedKey::Int(1))));
    assert_eq!(get(&*session, &nokey, Value::Int(1)).unwrap()[1..], row[1..]);
    let taken = table("taken");
    assert_eq!(taken.columns()[0].name, "_rowid_");
    insert(&*session, &taken, &[Value::Null, "text".into(), Value::Int(3)]);
    assert_eq!(get(&*session, &taken, Value::Int(1)).unwrap()[1], "text".into());

    let wr = table("wr");
    assert_eq!(wr.key_generation(), KeyGeneration::Given);
    assert!(wr.columns()[1].unique);
    let row = [Value::Int(5), "x".into()];
    assert_eq!(write(&*session, &wr, Verb::Upsert, &row).unwrap(), Outcome::Inserted(None));
    assert_eq!(write(&*session, &wr, Verb::Upsert, &row).unwrap(), Outcome::Changed(1));
    assert_eq!(table("bigkey").key_generation(), KeyGeneration::Given);
    assert_eq!(table("bigkey").columns()[1].default, None);
    let expressions =
        table("gen").columns().iter().map(|c| c.generated.clone()).collect::<Vec<_>>();
    assert_eq!(expressions, [None, None, Some("a + 1".into()), Some("a".into())]);
    let two = table("two");
    assert_eq!(two.indexes().len(), 1);
    assert_eq!(two.columns()[1].reference.as_ref().unwrap().column, "k");
    let auto = table("auto");
    assert_eq!(auto.key_generation(), KeyGeneration::Engine);
    assert!(auto.never_reuses_keys() && !two.never_reuses_keys());
}

#[test]
fn expression_defaults_are_kept() {
    let engine = Sqlite::open_memory().unwrap();
    let session = engine.session().unwrap();
    let sql = "CREATE TABLE visit (id INTEGER PRIMARY KEY, at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, \
               until TEXT DEFAULT (datetime('now')), kind TEXT NOT NULL DEFAULT 'walk')";
    session.execute(sql, &[]).unwrap();
    let visit = Arc::new(session.tables().unwrap().remove(0));
    let column = |name: &str| visit.columns()[visit.column(name).unwrap()].clone();
    assert_eq!(column("at").default_sql.as_deref(), Some("CURRENT_TIMESTAMP"));
    assert_eq!(column("until").default_sql.as_deref(), Some("datetime('now')"));
    assert_eq!(column("kind").default, Some(Value::from("walk")));
    let row = [Value::Null, Value::Null, Value::Null, Value::from("run")];
    for verb in [Verb::Insert, Verb::Upsert, Verb::InsertOrIgnore, Verb::InsertOrReplace] {
        write(&*session, &visit, verb, &row).unwrap();
    }
    let mut batch = WriteBatch::new();
    let one_row =
        Write { table: &visit, verb: Verb::Insert, fields: FieldSet::EMPTY, values: &row };
    (0..300).for_each(|_| batch.push(&one_row).unwrap());
    session.batch(&batch, OnError::Stop, &mut |_| {}).unwrap();
    let sql = "SELECT count(*) FROM visit WHERE length(at) = 19 AND until IS NULL";
    assert_eq!(one(&*session, sql), Value::Int(304), "NULL is stored in a nullable column");
    let partial = PartialInsert::new(Arc::clone(&visit)).table(FieldSet::from_iter([0, 1, 3]));
    for verb in [Verb::Insert, Verb::Upsert, Verb::InsertOrIgnore, Verb::InsertOrReplace] {
        write(&*session, &partial, verb, &row).unwrap();
    }
    let sql = "SELECT count(*) FROM visit WHERE length(until) = 19";
    assert_eq!(one(&*session, sql), Value::Int(4), "rows that lack it have the default");
}

/// A row that a trigger or a constraint leaves out is no success; those that a view's triggers write are.
#[test]
fn skipped_rows_are_reported() {
    let engine = Sqlite::open_memory().unwrap();
    let session = engine.session().unwrap();
    for sql in [
        "CREATE TABLE trap (id INTEGER PRIMARY KEY, v INTEGER UNIQUE ON CONFLICT IGNORE)",
        "CREATE TRIGGER trap_six BEFORE INSERT ON trap WHEN NEW.v = 6 BEGIN SELECT RAISE(IGNORE); END",
        "CREATE VIEW gate (id, v) AS SELECT id, v FROM trap",
        "CREATE TRIGGER gate_in INSTEAD OF INSERT ON gate BEGIN INSERT INTO trap (v) VALUES (NEW.v); END",
    ] {
        session.execute(sql, &[]).unwrap();
    }
    let trap = Arc::new(session.tables().unwrap().remove(0));
    let insert = |verb, key, v| write(&*session, &trap, verb, &[key, Value::Int(v)]);
    assert_eq!(
        insert(Verb::Insert, Value::Null, 2).unwrap(),
        Outcome::Inserted(Some(GeneratedKey::Int(1)))
    );
    for (verb, key) in [
        (Verb::Insert, Value::Null),
        (Verb::Insert, Value::Int(9)),
        (Verb::InsertOrReplace, Value::Int(9)),
        (Verb::Upsert, Value::Null),
        (Verb::Upsert, Value::Int(9)),
    ] {
        let error = insert(verb, key, 6).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
    }
    assert_eq!(insert(Verb::InsertOrIgnore, Value::Int(9), 6).unwrap(), Outcome::Ignored);
    assert_eq!(insert(Verb::Insert, Value::Null, 2).unwrap_err().kind(), ErrorKind::Constraint);
    assert_eq!(insert(Verb::Upsert, Value::Int(1), 3).unwrap(), Outcome::Changed(1));
    assert_eq!(one(&*session, "SELECT last_insert_rowid()"), Value::Int(1), "no mark of ours");
    let mut batch = WriteBatch::new();
    for v in [4, 6, 5] {
        let values = [Value::Null, Value::Int(v)];
        let write =
            Write { table: &trap, verb: Verb::Insert, fields: FieldSet::EMPTY, values: &values };
        batch.push(&write).unwrap();
    }
    let mut results = Vec::new();
    session.batch(&batch, OnError::Continue, &mut |row| results.push(row.is_ok())).unwrap();
    assert_eq!(results, [true, false, true]);
    let gate = TableSchema::builder("gate")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<i64>("v"))
        .key(["id"]);
    let gate = Arc::new(gate.build().unwrap());
    write(&*session, &gate, Verb::Insert, &[Value::Int(1), Value::Int(77)]).unwrap();
    assert_eq!(one(&*session, "SELECT count(*) FROM trap WHERE v = 77"), Value::Int(1));
}

#[test]
fn value_size_is_limited() {
    let engine = Sqlite::builder().max_value_bytes(1_000).open_memory().unwrap();
    let session = engine.session().unwrap();
    session.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB)", &[]).unwrap();
    let run = |sql: &str| session.execute(sql, &[]).map(drop).map_err(|error| error.kind());
    assert_eq!(run("INSERT INTO t (b) VALUES (zeroblob(900))"), Ok(()));
    assert_eq!(run("INSERT INTO t (b) VALUES (zeroblob(1001))"), Err(ErrorKind::OutOfRange));
    let parameter = session.execute("INSERT INTO t (b) VALUES (?)", &[vec![1; 1_001].into()]);
    assert_eq!(parameter.unwrap_err().kind(), ErrorKind::OutOfRange);
    let read =
        |sql: &str| session.query(&Source::Sql { text: sql, parameters: &[] }, &mut |_| Ok(true));
    assert_eq!(read("SELECT randomblob(5000)").unwrap_err().kind(), ErrorKind::OutOfRange);
    read("SELECT randomblob(1000)").unwrap();
}

#[test]
fn invalid_sql_is_a_syntax_error() {
    let engine = Sqlite::open_memory().unwrap();
    let session = engine.session().unwrap();
    for (sql, kind) in [
        ("SELECT 1 UNION SELECT 1, 2", ErrorKind::Syntax),
        ("SELECT (SELECT 1, 2)", ErrorKind::Syntax),
        ("SELECT 'a' LIKE 'b' ESCAPE 'cc'", ErrorKind::Syntax),
        ("SELECT json_extract('{}', 'bad')", ErrorKind::Syntax),
        ("SELECT json('{')", ErrorKind::Mismatch),
        ("SELECT abs(-9223372036854775808)", ErrorKind::OutOfRange),
    ] {
        let source = Source::Sql { text: sql, parameters: &[] };
        let error = session.query(&source, &mut |_| Ok(true)).unwrap_err();
        assert_eq!(error.kind(), kind, "{sql}: {error}");
    }
}
