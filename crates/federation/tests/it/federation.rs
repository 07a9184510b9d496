//! Tables of attached engines in SQL.

use bobak_core::{
    Collation, ColumnSchema, Engine, ErrorKind, FieldSet, OnError, Parameter, Result, SchemaChange,
    Source, TableSchema, TransactionControl, Uuid, Value, Verb, Write, WriteBatch,
};
use bobak_federation::Federation;
use bobak_memory::Memory;
use bobak_sqlite::Sqlite;
use std::sync::Arc;

type Rows = Vec<Vec<Value<'static>>>;

fn create(engine: &dyn Engine, tables: &[&Arc<TableSchema>]) {
    let changes: Vec<_> =
        tables.iter().map(|table| SchemaChange::CreateTable(Arc::clone(table))).collect();
    engine.alter(&changes).unwrap();
}

fn insert(engine: &dyn Engine, table: &Arc<TableSchema>, rows: Rows) {
    let session = engine.session().unwrap();
    for values in &rows {
        let write = Write { table, verb: Verb::Insert, fields: FieldSet::EMPTY, values };
        session.write(&write).unwrap();
    }
}

fn item() -> Arc<TableSchema> {
    let table = TableSchema::builder("item")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Option<String>>("name"))
        .column(ColumnSchema::of::<Option<f64>>("price"))
        .column(ColumnSchema::of::<Option<i32>>("stock"))
        .column(ColumnSchema::of::<Option<String>>("label").collation(Collation::NoCase))
        .key(["id"])
        .index("item_stock", ["stock"])
        .build();
    Arc::new(table.unwrap())
}

fn tag() -> Arc<TableSchema> {
    let table = TableSchema::builder("tag")
        .column(ColumnSchema::of::<String>("name"))
        .column(ColumnSchema::of::<Option<i64>>("weight"))
        .key(["name"]);
    Arc::new(table.build().unwrap())
}

fn seat() -> Arc<TableSchema> {
    let table = TableSchema::builder("seat")
        .column(ColumnSchema::of::<Option<String>>("holder"))
        .column(ColumnSchema::of::<String>("letter"))
        .column(ColumnSchema::of::<i32>("row"))
        .key(["row", "letter"]);
    Arc::new(table.build().unwrap())
}

fn device() -> Arc<TableSchema> {
    let table = TableSchema::builder("device")
        .column(ColumnSchema::of::<Uuid>("id"))
        .column(ColumnSchema::of::<String>("label"))
        .key(["id"]);
    Arc::new(table.build().unwrap())
}

fn items() -> Rows {
    let row = |id: i64, name: Option<&str>, price: Option<f64>, stock: Option<i32>| {
        let label = name.map(str::to_uppercase);
        vec![
            id.into(),
            Value::from(name).into_owned(),
            price.into(),
            stock.into(),
            Value::from(label),
        ]
    };
    vec![
        row(1, Some("apple"), Some(0.5), Some(3)),
        row(2, Some("05"), None, Some(5)),
        row(3, None, Some(2.0), None),
        row(4, Some("Apple"), Some(-1.5), Some(5)),
        row(5, Some(""), Some(7.25), Some(0)),
        row(6, Some("a\0b"), Some(1e300), Some(-2)),
    ]
}

/// A federation in memory with an attached engine `g`, and that engine.
fn federated() -> (Federation, Arc<dyn Engine>) {
    let attached: Arc<dyn Engine> = Arc::new(Memory::new());
    create(&*attached, &[&item(), &tag(), &seat(), &device()]);
    insert(&*attached, &item(), items());
    let main = Sqlite::open_memory().unwrap();
    (
        Federation::embedded(&main, vec![("g".to_owned(), Arc::clone(&attached))], Vec::new())
            .unwrap(),
        attached,
    )
}

fn ask(engine: &dyn Engine, sql: &str, parameters: &[Value<'_>]) -> Result<Rows> {
    let mut rows = Vec::new();
    let parameters: Vec<Parameter<'_>> = parameters.iter().map(Parameter::from).collect();
    engine.session()?.query(&Source::Sql { text: sql, parameters: &parameters }, &mut |row| {
        rows.push((0..row.len()).map(|place| row.get(place).to_owned()).collect());
        Ok(true)
    })?;
    Ok(rows)
}

fn run(engine: &dyn Engine, sql: &str) -> Result<u64> {
    engine.session()?.execute(sql, &[])
}

#[test]
fn conditions_select_the_same_rows_as_in_sqlite() {
    let (federation, _) = federated();
    let own = Sqlite::open_memory().unwrap();
    create(&own, &[&item(), &tag()]);
    insert(&own, &item(), items());
    let conditions = [
        "1",
        "id = 3",
        "id = '3'",
        "id = 3.0",
        "id = 3.5",
        "id > 2.5",
        "id < '4'",
        "id >= 'x'",
        "id < x'00'",
        "id IN (1, '2', 2.0, NULL, 9)",
        "id IN (SELECT stock FROM item)",
        "name = 5",
        "name = '05'",
        "name = 'APPLE' COLLATE NOCASE",
        "name > 'A'",
        "name >= 4",
        "name LIKE 'app%'",
        "name LIKE 5",
        "name GLOB 'A*'",
        "name GLOB '*p*'",
        "name IS NULL",
        "name IS NOT NULL",
        "name IS 'apple'",
        "name IS NOT 'apple'",
        "name <> 'apple'",
        "name = 'a' || char(0) || 'b'",
        "label = 'APPLE'",
        "label = 'apple'",
        "label > 'B'",
        "label = 'apple' COLLATE BINARY",
        "label IN ('apple', '05')",
        "price = 2",
        "price = '2.0'",
        "price > 1",
        "price <= -1.5",
        "price IN (0.5, 7.25)",
        "price > 9223372036854775807",
        "price BETWEEN 0 AND 3",
        "price IS NULL",
        "stock = 5 AND price IS NULL",
        "stock = 5 OR price = 2",
        "NOT (stock = 5)",
        "stock > 1000000000000",
        "stock < 1000000000000",
        "stock <> 'x'",
        "stock = '5'",
        "rowid = 4",
        "rowid IN (1, 4)",
        "(id, stock) > (2, 4)",
        "length(name) = 5",
        "stock = price",
        "name = stock",
        "stock IN (5, 0) AND name IN ('Apple', '')",
        "EXISTS (SELECT 1 FROM item AS o WHERE o.stock = item.stock AND o.id <> item.id)",
    ];
    let ends = ["", " LIMIT 2", " LIMIT 2 OFFSET 1", " LIMIT -1 OFFSET 2", " LIMIT 0"];
    let orders = [
        "id",
        "id DESC",
        "name, id DESC",
        "label DESC, id",
        "stock DESC, price, id",
        "price COLLATE NOCASE, id",
    ];
    for condition in conditions {
        for order in orders {
            for end in ends {
                let sql = format!("SELECT * FROM item WHERE {condition} ORDER BY {order}{end}");
                let wanted = ask(&own, &sql, &[]).unwrap();
                assert_eq!(ask(federation.engine(), &sql, &[]).unwrap(), wanted, "{sql}");
            }
        }
        let sql = format!(
            "SELECT DISTINCT stock, max(name), count(*), sum(price), (SELECT name FROM item AS i WHERE i.id = item.stock) FROM item WHERE {condition} GROUP BY stock"
        );
        let wanted = ask(&own, &sql, &[]).unwrap();
        assert_eq!(ask(federation.engine(), &sql, &[]).unwrap(), wanted, "{sql}");
    }
}

#[test]
fn parameters_reach_the_engine() {
    let (federation, _) = federated();
    let sql = "SELECT name FROM g.item WHERE stock = ? AND price > ? ORDER BY id";
    let rows = ask(federation.engine(), sql, &[5.into(), Value::from("-2")]).unwrap();
    assert_eq!(rows, [[Value::from("Apple")]]);
}

#[test]
fn join_with_a_small_table_is_correct() {
    let (federation, attached) = federated();
    let tags = (0..200).map(|n| vec![Value::from(format!("t{n}")), (n % 7).into()]).collect();
    insert(&*attached, &tag(), tags);
    run(federation.engine(), "CREATE TABLE main.own (n INTEGER, t TEXT, i INTEGER)").unwrap();
    run(
        federation.engine(),
        "WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < 999) \
         INSERT INTO own SELECT n, 't' || (n % 250), n % 9 FROM c",
    )
    .unwrap();
    let sql = "SELECT count(*), sum(tag.weight), count(item.id), min(item.label) FROM own \
               LEFT JOIN tag ON tag.name = own.t AND tag.weight > 1 LEFT JOIN item ON item.id = own.i";
    let rows = ask(federation.engine(), sql, &[]).unwrap();
    run(federation.engine(), "CREATE TABLE main.tags AS SELECT * FROM tag").unwrap();
    run(federation.engine(), "CREATE TABLE main.items AS SELECT * FROM item").unwrap();
    let plain = sql
        .replace("JOIN tag", "JOIN main.tags AS tag")
        .replace("JOIN item", "JOIN main.items AS item");
    assert_eq!(rows, ask(federation.engine(), &plain, &[]).unwrap());
}

#[test]
fn all_key_kinds_are_read_and_written() {
    let (federation, attached) = federated();
    let engine = federation.engine();
    assert_eq!(run(engine, "INSERT INTO tag VALUES ('b', 2), ('a', 1)").unwrap(), 2);
    assert_eq!(run(engine, "UPDATE tag SET weight = weight * 10 WHERE name = 'a'").unwrap(), 1);
    assert_eq!(run(engine, "UPDATE tag SET name = 'c' WHERE name = 'b'").unwrap(), 1);
    let rows = ask(engine, "SELECT * FROM tag ORDER BY name", &[]).unwrap();
    assert_eq!(rows, [[Value::from("a"), 10.into()], [Value::from("c"), 2.into()]]);
    run(engine, "INSERT INTO seat VALUES ('Ada', 'A', 1), (NULL, 'B', 1), ('Cid', 'A', 2)")
        .unwrap();
    run(engine, "UPDATE seat SET holder = 'Bob' WHERE letter = 'B'").unwrap();
    run(engine, "UPDATE seat SET letter = 'C' WHERE row = 2").unwrap();
    run(engine, "DELETE FROM seat WHERE holder = 'Ada'").unwrap();
    let rows = ask(engine, "SELECT * FROM seat ORDER BY row, letter", &[]).unwrap();
    let text = Value::from;
    assert_eq!(rows, [[text("Bob"), text("B"), 1.into()], [text("Cid"), text("C"), 2.into()]]);
    run(engine, "INSERT INTO device (label) VALUES ('x'), ('y')").unwrap();
    run(engine, "INSERT INTO device VALUES ('01890a5d-ac96-774b-bcce-b302099a8057', 'z')").unwrap();
    run(engine, "UPDATE device SET label = label || '!' WHERE label <> 'x'").unwrap();
    run(engine, "DELETE FROM device WHERE label = 'x'").unwrap();
    let rows = ask(engine, "SELECT length(id), label FROM device ORDER BY label", &[]).unwrap();
    assert_eq!(rows, [[16.into(), text("y!")], [16.into(), text("z!")]]);
    assert_eq!(run(engine, "INSERT INTO item (name) VALUES ('new')").unwrap(), 1);
    let rows = ask(engine, "SELECT id FROM item WHERE name = 'new'", &[]).unwrap();
    assert_eq!(rows, [[Value::Int(7)]]);
    run(engine, "UPDATE item SET id = 70 WHERE id = 7").unwrap();
    run(engine, "UPDATE item SET rowid = 71 WHERE id = 70").unwrap();
    run(engine, "INSERT INTO item (name) VALUES ('more')").unwrap();
    for write in
        ["INSERT INTO item (name) VALUES ('x')", "UPDATE item SET name = 'x'", "DELETE FROM item"]
    {
        let error = ask(engine, &format!("{write} RETURNING id"), &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
    let last = ask(engine, "SELECT max(id), count(*) FROM item", &[]).unwrap();
    assert_eq!(last, [[Value::Int(72), 8.into()]]);
    assert_eq!(run(&*{ Arc::new(engine.clone()) }, "DELETE FROM item").unwrap(), 8);
    let _ = attached;
}

#[test]
fn conflicts_fail_or_are_skipped() {
    let (federation, _) = federated();
    let engine = federation.engine();
    let error = run(engine, "INSERT INTO item (id) VALUES (9), (1)").unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::Duplicate, Some("item")));
    let count = |sql: &str| ask(engine, sql, &[]).unwrap()[0][0].clone();
    assert_eq!(count("SELECT count(*) FROM item"), Value::Int(6), "the statement is undone");
    assert_eq!(run(engine, "INSERT OR IGNORE INTO item (id) VALUES (9), (1)").unwrap(), 1);
    assert_eq!(run(engine, "INSERT OR REPLACE INTO item (id, name) VALUES (1, 'r')").unwrap(), 1);
    assert_eq!(count("SELECT name FROM item WHERE id = 1"), Value::from("r"));
    assert_eq!(run(engine, "UPDATE OR IGNORE item SET id = id + 1 WHERE id < 3").unwrap(), 0);
    let error = run(engine, "UPDATE OR REPLACE item SET id = 2 WHERE id = 1").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let error = run(engine, "UPDATE item SET stock = 'many'").unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Mismatch, Some("stock")));
    let error = run(engine, "INSERT INTO tag VALUES (NULL, 1)").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
    let upsert = "INSERT INTO item (id) VALUES (1) ON CONFLICT DO NOTHING";
    for sql in ["DROP TABLE g.item", "CREATE INDEX g.by_name ON item (name)", upsert] {
        let error = run(engine, sql).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("attached engine"), "{error}");
    }
}

#[test]
fn transactions_and_savepoints_reach_the_engine() {
    let (federation, attached) = federated();
    let session = federation.engine().session().unwrap();
    let names = || ask(federation.engine(), "SELECT name FROM tag ORDER BY name", &[]);
    let add =
        |name: &str| session.execute("INSERT INTO tag (name) VALUES (?)", &[name.into()]).unwrap();
    let seen = |engine: &Arc<dyn Engine>| {
        let mut names = Vec::new();
        let select = bobak_core::Select::all(&tag());
        let session = engine.session().unwrap();
        session
            .query(&Source::Select(&select), &mut |row| {
                names.push(format!("{:?}", row.get(0)).replace(['"'], ""));
                Ok(true)
            })
            .unwrap();
        names.join(" ").replace("Text(", "").replace(')', "")
    };
    session.control(TransactionControl::Begin).unwrap();
    add("a");
    assert_eq!(seen(&attached), "", "not committed yet");
    session.control(TransactionControl::Savepoint("one")).unwrap();
    add("b");
    session.execute("UPDATE tag SET weight = 1", &[]).unwrap();
    session.control(TransactionControl::Savepoint("two")).unwrap();
    add("c");
    assert!(session.execute("INSERT INTO tag (name) VALUES ('d'), ('a')", &[]).is_err());
    session.control(TransactionControl::RollbackTo("two")).unwrap();
    add("e");
    session.control(TransactionControl::RollbackTo("one")).unwrap();
    add("f");
    session.control(TransactionControl::Release("one")).unwrap();
    session.control(TransactionControl::Commit).unwrap();
    assert_eq!(seen(&attached), "a f");
    // A transaction that begins to write only after the mark.
    session.control(TransactionControl::Begin).unwrap();
    session.control(TransactionControl::Savepoint("one")).unwrap();
    session.control(TransactionControl::Savepoint("two")).unwrap();
    add("g");
    session.execute("INSERT INTO seat VALUES (NULL, 'A', 1)", &[]).unwrap();
    session.control(TransactionControl::RollbackTo("one")).unwrap();
    add("h");
    session.control(TransactionControl::Commit).unwrap();
    assert_eq!(seen(&attached), "a f h");
    session.control(TransactionControl::Begin).unwrap();
    session.execute("DELETE FROM tag", &[]).unwrap();
    session.control(TransactionControl::Rollback).unwrap();
    drop(session);
    assert_eq!(names().unwrap().len(), 3);
}

#[test]
fn transaction_writes_to_one_engine_only() {
    let (federation, _) = federated();
    let engine = federation.engine();
    run(engine, "CREATE TABLE main.own (n INTEGER PRIMARY KEY)").unwrap();
    assert_eq!(run(engine, "INSERT INTO own SELECT id FROM item").unwrap(), 6);
    let session = engine.session().unwrap();
    let rejected = |sql: &str| {
        let error = session.execute(sql, &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("'g'"), "{error}");
    };
    session.control(TransactionControl::Begin).unwrap();
    session.execute("INSERT INTO own VALUES (100)", &[]).unwrap();
    rejected("DELETE FROM item");
    session.control(TransactionControl::Rollback).unwrap();
    session.control(TransactionControl::Begin).unwrap();
    session.execute("DELETE FROM item WHERE id IN (SELECT n FROM own WHERE n < 3)", &[]).unwrap();
    rejected("DELETE FROM own");
    session.control(TransactionControl::Commit).unwrap();
    let rows = ask(engine, "SELECT count(*) FROM item", &[]).unwrap();
    assert_eq!(rows, [[Value::Int(4)]]);
    run(engine, "CREATE TEMP TRIGGER t AFTER INSERT ON own BEGIN DELETE FROM item; END").unwrap();
    let error = run(engine, "INSERT INTO own VALUES (200)").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

#[test]
fn cursor_keeps_its_snapshot_during_writes() {
    let (federation, _) = federated();
    let session = federation.engine().session().unwrap();
    let mut cursor =
        session.open(&Source::Sql { text: "SELECT id FROM item", parameters: &[] }).unwrap();
    session.execute("DELETE FROM item WHERE id > 1", &[]).unwrap();
    let mut rows = bobak_core::RowBuffer::default();
    session.fetch(&mut cursor, &mut rows).unwrap();
    assert_eq!(rows.rows(), 6);
    session.close(&mut cursor);
    run(federation.engine(), "INSERT INTO item (name) SELECT name FROM item").unwrap();
    run(federation.engine(), "UPDATE item SET stock = (SELECT count(*) FROM item)").unwrap();
    let rows = ask(federation.engine(), "SELECT stock FROM item", &[]).unwrap();
    assert_eq!(rows, [[Value::Int(2)], [Value::Int(2)]]);
}

#[test]
fn standalone_federation_runs_sql_without_an_sqlite_engine() {
    let engine: Arc<dyn Engine> = Arc::new(Memory::new());
    create(&*engine, &[&item()]);
    insert(&*engine, &item(), items());
    let federation =
        Federation::standalone(vec![("main".to_owned(), Arc::clone(&engine))], Vec::new(), true)
            .unwrap();
    let sql = "SELECT count(*) FROM main.item WHERE stock = 5";
    assert_eq!(ask(federation.engine(), sql, &[]).unwrap(), [[Value::Int(2)]]);
    assert_eq!(run(federation.engine(), "UPDATE item SET stock = 6 WHERE stock = 5").unwrap(), 2);
    let error = run(federation.engine(), "CREATE TABLE x (a)").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    // Tables that come later are found.
    create(&*engine, &[&tag()]);
    assert_eq!(run(federation.engine(), "INSERT INTO tag VALUES ('late', 1)").unwrap(), 1);
    // A statement inside a transaction that was opened elsewhere.
    let session = engine.session().unwrap();
    session.control(TransactionControl::Begin).unwrap();
    let both = ("INSERT INTO tag VALUES ('x', 1), ('late', 2)", &[][..]);
    let error = federation.run_in("main", &*session, both, &mut |_| Ok(true)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Duplicate);
    let one = ("INSERT INTO tag VALUES ('y', 1)", &[][..]);
    assert_eq!(federation.run_in("main", &*session, one, &mut |_| Ok(true)).unwrap(), 1);
    let mut seen = 0;
    let count = ("SELECT * FROM tag", &[][..]);
    federation
        .run_in("main", &*session, count, &mut |_| {
            seen += 1;
            Ok(true)
        })
        .unwrap();
    assert_eq!(seen, 2);
    session.control(TransactionControl::Rollback).unwrap();
    assert_eq!(ask(federation.engine(), "SELECT * FROM tag", &[]).unwrap().len(), 1);
}

#[test]
fn explain_describes_the_plan() {
    let (federation, _) = federated();
    let sql =
        "SELECT i.name FROM g.item AS i WHERE i.stock = 5 AND i.price > 1 ORDER BY i.id LIMIT 3";
    let lines = federation.explain(sql, &[]).unwrap();
    assert_eq!(
        lines,
        [
            "g.item: where stock = ? and price > ?, order by id, limit, columns id, name, price, stock"
        ]
    );
}

#[test]
fn a_join_starts_with_the_table_whose_rows_an_index_selects() {
    let link = TableSchema::builder("item_tag")
        .column(ColumnSchema::of::<i64>("item"))
        .column(ColumnSchema::of::<String>("tag"))
        .key(["item", "tag"]);
    let link = Arc::new(link.build().unwrap());
    let attached: Arc<dyn Engine> = Arc::new(Memory::new());
    create(&*attached, &[&tag(), &link]);
    let tags = (0..50).map(|n| vec![format!("tag {n}").into(), Value::Int(n)]);
    insert(&*attached, &tag(), tags.collect());
    let links = (0..5_000).map(|n| vec![Value::Int(n / 5), format!("tag {}", n % 50).into()]);
    insert(&*attached, &link, links.collect());
    let main = Sqlite::open_memory().unwrap();
    let federation =
        Federation::embedded(&main, vec![("g".to_owned(), attached)], Vec::new()).unwrap();
    let sql = "SELECT tag.weight FROM item_tag JOIN tag ON tag.name = item_tag.tag WHERE item = ?";
    assert_eq!(
        federation.explain(sql, &[7.into()]).unwrap(),
        ["g.item_tag: where item = ?, columns *", "g.tag: where name = ?, columns *"]
    );
}

#[test]
fn large_results_and_long_lists_are_supported() {
    let (federation, attached) = federated();
    let mut batch = WriteBatch::default();
    let table = item();
    for id in 10..30_010_i64 {
        let row = [id.into(), Value::from("n"), Value::Null, (id % 100).into(), Value::Null];
        let write =
            Write { table: &table, verb: Verb::Insert, fields: FieldSet::EMPTY, values: &row };
        batch.push(&write).unwrap();
    }
    attached.session().unwrap().batch(&batch, OnError::Stop, &mut |_| ()).unwrap();
    let mut seen = 0;
    let sql = Source::Sql { text: "SELECT * FROM item WHERE id >= 10", parameters: &[] };
    federation
        .engine()
        .session()
        .unwrap()
        .query(&sql, &mut |_| {
            seen += 1;
            Ok(true)
        })
        .unwrap();
    assert_eq!(seen, 30_000);
    let ids = (0..5_000).map(|id| (id * 2).to_string()).collect::<Vec<_>>().join(", ");
    for order in ["", " ORDER BY id"] {
        let sql = format!("SELECT count(*) FROM (SELECT id FROM item WHERE id IN ({ids}){order})");
        assert_eq!(ask(federation.engine(), &sql, &[]).unwrap(), [[Value::Int(4_998)]]);
    }
}
