//! Tables copied from one database to another.

use bobak::Value;
use bobak::copy::CopyOptions;
use bobak::prelude::*;
use bobak::schema::{ColumnSchema, TableSchema, Type};
use bobak::types::Json;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[derive(Record, Clone, Debug, PartialEq)]
struct Kind {
    #[record(key = "given", max = 10)]
    name: String,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Thing {
    id: i64,
    #[record(references = "kind(name)", on_delete = "cascade", index)]
    kind: Option<String>,
    #[record(unique, max = 40)]
    name: String,
    price: Currency,
    weight: f64,
    photo: Option<Vec<u8>>,
    token: Uuid,
    note: Json<Vec<u8>>,
    born: Date,
    #[record(created_at)]
    created: Timestamp,
    #[record(modified_at)]
    modified: Timestamp,
    #[record(version)]
    version: i64,
}

fn source(rows: i64) -> Db {
    let db = Db::builder().record::<Kind>().record::<Thing>().open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    db.table().unwrap().insert(&Kind { name: "metal".into() }).unwrap();
    let things = db.table::<Thing>().unwrap();
    for id in 1..=rows {
        let thing = Thing {
            id: 0,
            kind: (id % 2 == 0).then(|| "metal".to_owned()),
            name: format!("Nam\u{e9} \0 {id}"),
            price: Currency::from_scaled(i64::MAX - id),
            weight: id as f64 / 3.0,
            photo: (id % 3 == 0).then(|| vec![0, 255, 128]),
            token: Uuid::nil(),
            note: Json(vec![1, 2]),
            born: "1969-12-31".parse().unwrap(),
            created: Timestamp::UNIX_EPOCH,
            modified: Timestamp::UNIX_EPOCH,
            version: 0,
        };
        let id = things.insert(&thing).unwrap();
        let thing = things.require(id).unwrap();
        things.update(&thing).unwrap();
    }
    db
}

fn all(db: &Db) -> Vec<Thing> {
    db.table::<Thing>().unwrap().list(Query::all()).unwrap()
}

const OPTIONS: CopyOptions = CopyOptions::new().batch_rows(10).checksum(true);

#[test]
fn every_value_arrives_with_its_table() {
    let from = source(25);
    for url in ["memory:", "sqlite::memory:"] {
        let to = Db::open(url).unwrap();
        let mut seen = Vec::new();
        let reports = from
            .copy_to(&to, &[], &OPTIONS, |at| {
                seen.push((at.table.to_owned(), at.checking, at.rows, at.of));
            })
            .unwrap();
        let summary: Vec<_> = reports
            .iter()
            .map(|r| (r.table.as_str(), r.created, r.found, r.copied, r.checksum.is_some()))
            .collect();
        // Referenced tables are copied first.
        assert_eq!(summary, [("kind", true, 0, 1, true), ("thing", true, 0, 25, true)]);
        let thing = |rows| ("thing".to_owned(), false, rows, 25);
        assert_eq!(seen, [("kind".into(), false, 1, 1), thing(10), thing(20), thing(25)]);
        assert_eq!(all(&to), all(&from));
        let table = |db: &Db| db.dynamic("thing").unwrap().schema().as_ref().clone();
        assert!(table(&to).same_as(&table(&from)), "{:#?}", table(&to));
        // Generated keys continue after the copied ones, and constraints hold.
        let mut next = all(&from)[0].clone();
        next.id = 0;
        next.name = "another".into();
        let things = to.table::<Thing>().unwrap();
        assert_eq!(things.insert(&next).unwrap(), 26);
        let mut next = things.require(26).unwrap();
        next.kind = Some("wood".into());
        assert_eq!(things.update(&next).unwrap_err().kind(), ErrorKind::Constraint);
    }
}

/// A copy that fails in the middle, after its first batch.
fn interrupt(from: &Db, to: &Db, table: &str) {
    let broken = catch_unwind(AssertUnwindSafe(|| {
        from.copy_to(to, &[table], &OPTIONS, |_| std::panic::resume_unwind(Box::new("off")))
    }));
    assert!(broken.is_err());
    assert_eq!(to.dynamic(table).unwrap().count(Query::all()).unwrap(), 10);
}

#[test]
fn an_interrupted_copy_is_resumed() {
    let from = source(25);
    for url in ["memory:", "sqlite::memory:"] {
        let to = Db::open(url).unwrap();
        from.copy_to(&to, &["kind"], &OPTIONS, |_| {}).unwrap();
        interrupt(&from, &to, "thing");
        let error = from.copy_to(&to, &["thing"], &OPTIONS, |_| {}).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.to_string().contains("10 rows already"), "{error}");
        let reports = from.copy_to(&to, &["thing"], &OPTIONS.resume(true), |_| {}).unwrap();
        assert_eq!((reports[0].found, reports[0].copied), (10, 15));
        assert_eq!(all(&to), all(&from));
        // Once more: nothing is left to copy.
        let reports = from.copy_to(&to, &[], &OPTIONS.resume(true), |_| {}).unwrap();
        assert_eq!((reports[1].found, reports[1].copied), (25, 0));
    }
}

#[test]
fn copies_of_tables_with_composite_and_text_keys_are_resumed() {
    let from = Db::open("sqlite::memory:").unwrap();
    let schema = TableSchema::builder("place")
        .column(ColumnSchema::new("name", Type::Text))
        .column(ColumnSchema::new("number", Type::I32))
        .column(ColumnSchema::new("day", Type::Date).as_text())
        .key(["name", "number"])
        .build()
        .unwrap();
    let places = from.create_table(schema).unwrap();
    for number in 0..30_i64 {
        let mut row = DynRow::new();
        row.set("name", ["B", "a", "\u{e4}", ""][number as usize % 4]).unwrap();
        row.set("number", number - 7).unwrap();
        row.set("day", "2000-02-29").unwrap();
        places.insert(&row).unwrap();
    }
    let to = Db::open("memory:").unwrap();
    interrupt(&from, &to, "place");
    let reports = from.copy_to(&to, &[], &OPTIONS.resume(true), |_| {}).unwrap();
    assert_eq!((reports[0].found, reports[0].copied), (10, 20));
}

#[test]
fn a_target_table_with_other_rows_is_rejected() {
    let from = source(25);
    let to = Db::open("memory:").unwrap();
    from.copy_to(&to, &[], &OPTIONS, |_| {}).unwrap();
    to.dynamic("thing").unwrap().delete([7]).unwrap();
    let error = from.copy_to(&to, &["thing"], &OPTIONS.resume(true), |_| {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("24 rows up to its largest key"), "{error}");
}

#[test]
fn a_changed_value_changes_the_checksum() {
    let from = source(12);
    let to = Db::open("memory:").unwrap();
    from.copy_to(&to, &[], &OPTIONS, |_| {}).unwrap();
    let mut row = DynRow::new();
    row.set("id", 3).unwrap();
    row.set("weight", 1.25).unwrap();
    row.set("version", 1).unwrap();
    to.dynamic("thing").unwrap().update(&row).unwrap();
    let resume = CopyOptions::new().resume(true);
    from.copy_to(&to, &[], &resume, |_| {}).unwrap();
    let error = from.copy_to(&to, &[], &resume.checksum(true), |_| {}).unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::Conflict, Some("thing")));
    assert!(error.to_string().contains("checksum"), "{error}");
}

#[test]
fn columns_are_matched_by_name_and_converted() {
    let from = Db::open("sqlite::memory:").unwrap();
    from.execute(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, day DATE_TEXT NOT NULL, n SMALLINT NOT NULL)",
        (),
    )
    .unwrap();
    from.execute("INSERT INTO t VALUES (1, '2000-02-29', 7), (2, '1969-12-31', -7)", ()).unwrap();
    let table = |name: &'static str, ty| {
        let builder = TableSchema::builder("t")
            .column(ColumnSchema::new("n", ty))
            .column(ColumnSchema::new(name, Type::Date))
            .column(ColumnSchema::new("own", Type::I64).default(5))
            .column(ColumnSchema::new("k", Type::I64));
        builder.key(["k"]).build().unwrap()
    };
    let to = Db::open("memory:").unwrap();
    to.create_table(table("day", Type::I64)).unwrap();
    from.copy_to(&to, &[], &OPTIONS, |_| {}).unwrap();
    let rows = to.dynamic("t").unwrap().list(Query::all()).unwrap();
    assert_eq!(rows[0].get::<Date>("day").unwrap(), "2000-02-29".parse().unwrap());
    assert_eq!(rows[1].values(), [(-7).into(), (-1).into(), 5.into(), Value::Int(2)]);

    for (name, ty, expected) in [
        ("today", Type::I64, "no column 'day'"),
        ("day", Type::Currency, "i16 in the source, currency in the target"),
    ] {
        let to = Db::open("memory:").unwrap();
        to.create_table(table(name, ty)).unwrap();
        let error = from.copy_to(&to, &[], &OPTIONS, |_| {}).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema);
        assert!(error.to_string().contains(expected), "{error}");
    }
    let to = Db::open("memory:").unwrap();
    to.create_table(table("day", Type::U8)).unwrap();
    let error = from.copy_to(&to, &[], &OPTIONS, |_| {}).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::OutOfRange, Some("n")), "{error}");
}

#[test]
fn a_table_without_a_key_keeps_its_row_ids() {
    let from = Db::open("sqlite::memory:").unwrap();
    from.execute("CREATE TABLE log (line TEXT NOT NULL)", ()).unwrap();
    from.execute("INSERT INTO log VALUES ('b'), ('a'), ('b')", ()).unwrap();
    let to = Db::open("memory:").unwrap();
    from.copy_to(&to, &[], &OPTIONS, |_| {}).unwrap();
    let rows = to.dynamic("log").unwrap().list(Query::all()).unwrap();
    let rows: Vec<_> =
        rows.iter().map(|r| (r.get("rowid").unwrap(), r.get("line").unwrap())).collect();
    let line = |id: i64, line: &str| (id, line.to_owned());
    assert_eq!(rows, [line(1, "b"), line(2, "a"), line(3, "b")]);
}

#[test]
fn unknown_names_are_rejected_before_anything_is_created() {
    let (from, to) = (source(1), Db::open("memory:").unwrap());
    let error = from.copy_to(&to, &["kind", "thin"], &OPTIONS, |_| {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert!(error.to_string().contains("there are: kind, thing"), "{error}");
    assert_eq!(to.tables().unwrap().len(), 0);
}

/// From a file to PostgreSQL, on to MariaDB, and into memory: the last equals the first.
#[cfg(all(feature = "mysql", feature = "postgres"))]
#[test]
fn servers_keep_every_value_too() {
    if ["BOBAK_TEST_POSTGRES", "BOBAK_TEST_MARIADB"].iter().any(|v| std::env::var_os(v).is_none()) {
        println!("not run: BOBAK_TEST_POSTGRES and BOBAK_TEST_MARIADB are not set");
        return;
    }
    let postgres = bobak_servers::Postgres::start().unwrap();
    let mariadb = bobak_servers::MariaDb::start().unwrap();
    let first = source(0);
    let things = first.table::<Thing>().unwrap();
    // Without NUL characters, which PostgreSQL's texts cannot contain.
    for thing in all(&source(25)) {
        let mut batch = first.batch(BatchOptions::new());
        batch.insert(&Thing { name: thing.name.replace('\0', ""), ..thing }).unwrap();
        batch.finish().unwrap();
    }
    assert_eq!(things.count(Query::all()).unwrap(), 25);
    let mut from = first.clone();
    for url in [postgres.url(), mariadb.url(), "memory:".to_owned()] {
        let to = Db::open(&url).unwrap();
        from.copy_to(&to, &["kind"], &OPTIONS, |_| {}).unwrap();
        interrupt(&from, &to, "thing");
        let reports = from.copy_to(&to, &["thing"], &OPTIONS.resume(true), |_| {}).unwrap();
        assert_eq!((reports[0].found, reports[0].copied), (10, 15), "{url}");
        // The next generated key is none of the copied ones.
        let mut next = all(&to).remove(0);
        (next.id, next.name) = (0, "next".into());
        let id = to.table::<Thing>().unwrap().insert(&next).unwrap();
        assert!(id > 25, "{url}");
        to.table::<Thing>().unwrap().delete(id).unwrap();
        from = to;
    }
    assert_eq!(all(&from), all(&first));
}
