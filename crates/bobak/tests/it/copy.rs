//! Tables copied from one database to another.

use bobak::Value;
use bobak::copy::CopyOptions;
use bobak::prelude::*;
use bobak::schema::{ColumnSchema, OnDelete, OnUpdate, TableSchema, Type};
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

fn options() -> CopyOptions {
    CopyOptions::new().batch_rows(10).checksum(true)
}

#[test]
fn every_value_arrives_with_its_table() {
    let from = source(25);
    for url in ["memory:", "sqlite::memory:"] {
        let to = Db::open(url).unwrap();
        let mut seen = Vec::new();
        let reports = from
            .copy_to(&to, &[], &options(), |at| {
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
        from.copy_to(to, &[table], &options(), |_| std::panic::resume_unwind(Box::new("off")))
    }));
    assert!(broken.is_err());
    assert_eq!(to.dynamic(table).unwrap().count(Query::all()).unwrap(), 10);
}

#[test]
fn an_interrupted_copy_is_resumed() {
    let from = source(25);
    for url in ["memory:", "sqlite::memory:"] {
        let to = Db::open(url).unwrap();
        from.copy_to(&to, &["kind"], &options(), |_| {}).unwrap();
        interrupt(&from, &to, "thing");
        let error = from.copy_to(&to, &["thing"], &options(), |_| {}).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.to_string().contains("already has 10 rows"), "{error}");
        let reports = from.copy_to(&to, &["thing"], &options().resume(true), |_| {}).unwrap();
        assert_eq!((reports[0].found, reports[0].copied), (10, 15));
        assert_eq!(all(&to), all(&from));
        // Once more: nothing is left to copy.
        let reports = from.copy_to(&to, &[], &options().resume(true), |_| {}).unwrap();
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
    let reports = from.copy_to(&to, &[], &options().resume(true), |_| {}).unwrap();
    assert_eq!((reports[0].found, reports[0].copied), (10, 20));
}

#[test]
fn a_target_table_with_other_rows_is_rejected() {
    let from = source(25);
    let to = Db::open("memory:").unwrap();
    from.copy_to(&to, &[], &options(), |_| {}).unwrap();
    to.dynamic("thing").unwrap().delete([7]).unwrap();
    let error = from.copy_to(&to, &["thing"], &options().resume(true), |_| {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("24 rows up to its largest key"), "{error}");
}

#[test]
fn a_changed_value_changes_the_checksum() {
    let from = source(12);
    let to = Db::open("memory:").unwrap();
    from.copy_to(&to, &[], &options(), |_| {}).unwrap();
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
    from.copy_to(&to, &[], &options(), |_| {}).unwrap();
    let rows = to.dynamic("t").unwrap().list(Query::all()).unwrap();
    assert_eq!(rows[0].get::<Date>("day").unwrap(), "2000-02-29".parse().unwrap());
    assert_eq!(rows[1].values(), [(-7).into(), (-1).into(), 5.into(), Value::Int(2)]);

    for (name, ty, expected) in [
        ("today", Type::I64, "no column 'day'"),
        ("day", Type::Currency, "i16 in the source, currency in the target"),
    ] {
        let to = Db::open("memory:").unwrap();
        to.create_table(table(name, ty)).unwrap();
        let error = from.copy_to(&to, &[], &options(), |_| {}).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema);
        assert!(error.to_string().contains(expected), "{error}");
    }
    let to = Db::open("memory:").unwrap();
    to.create_table(table("day", Type::U8)).unwrap();
    let error = from.copy_to(&to, &[], &options(), |_| {}).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::OutOfRange, Some("n")), "{error}");
}

#[test]
fn a_table_without_a_key_keeps_its_row_ids() {
    let from = Db::open("sqlite::memory:").unwrap();
    from.execute("CREATE TABLE log (line TEXT NOT NULL)", ()).unwrap();
    from.execute("INSERT INTO log VALUES ('b'), ('a'), ('b')", ()).unwrap();
    let to = Db::open("memory:").unwrap();
    from.copy_to(&to, &[], &options(), |_| {}).unwrap();
    let rows = to.dynamic("log").unwrap().list(Query::all()).unwrap();
    let rows: Vec<_> =
        rows.iter().map(|r| (r.get("rowid").unwrap(), r.get("line").unwrap())).collect();
    let line = |id: i64, line: &str| (id, line.to_owned());
    assert_eq!(rows, [line(1, "b"), line(2, "a"), line(3, "b")]);
}

/// Each has one thing that a copy to another engine loses.
const LOSSES: [(&str, &str); 15] = [
    ("CREATE TABLE t (id INTEGER PRIMARY KEY) STRICT", "t: STRICT"),
    (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT COLLATE RTRIM)",
        "t: collation RTRIM of column a",
    ),
    (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT UNIQUE ON CONFLICT IGNORE)",
        "t: ON CONFLICT clause",
    ),
    (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, b TEXT AS (hex(a)))",
        "t: generated column b AS (hex(a))",
    ),
    (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT DEFAULT CURRENT_TIMESTAMP)",
        "t: default CURRENT_TIMESTAMP of column a",
    ),
    ("CREATE TABLE t (id INTEGER PRIMARY KEY, a INT DEFAULT 'x')", "t: default 'x' of column a"),
    (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT REFERENCES gone)",
        "t: foreign key (a) references gone ()",
    ),
    (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT REFERENCES t ON DELETE SET DEFAULT)",
        "t: ON DELETE SET DEFAULT of the foreign key (a) references t (id)",
    ),
    (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT); CREATE INDEX i ON t (a DESC) WHERE a > 1",
        "t: partial index i",
    ),
    (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT); CREATE UNIQUE INDEX i ON t (a + 1 COLLATE nocase)",
        "t: index i over an expression",
    ),
    (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a INT); CREATE INDEX i ON t (id, a DESC)",
        "t: descending order of index i",
    ),
    (
        "CREATE TABLE t (id INTEGER PRIMARY KEY); CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END",
        "t: trigger g",
    ),
    ("CREATE VIEW v AS SELECT 1 AS a", "v: view"),
    ("CREATE VIRTUAL TABLE w USING fts5 (a)", "w: virtual table"),
    (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, \"\" TEXT)",
        "t: the table: '' is not a valid column name",
    ),
];

#[test]
fn what_a_copy_would_lose_is_listed_and_nothing_is_written() {
    for (sql, expected) in LOSSES {
        let from = Db::open("sqlite::memory:").unwrap();
        let parts = if sql.contains("TRIGGER") { sql.splitn(2, ';') } else { sql.splitn(9, ';') };
        parts.for_each(|sql| {
            from.execute(sql, ()).unwrap();
        });
        for url in ["memory:", "sqlite::memory:"] {
            let to = Db::open(url).unwrap();
            let losses = from.copy_losses(&to, &[]).unwrap();
            let losses: Vec<_> = losses.iter().map(ToString::to_string).collect();
            assert_eq!(losses, [expected], "{sql}");
            let error = from.copy_to(&to, &[], &options(), |_| {}).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(to.tables().unwrap().len(), 0);
            from.copy_to(&to, &[], &options().allow_loss(true), |_| {}).unwrap();
            assert_eq!(to.tables().unwrap().len(), from.tables().unwrap().len());
        }
    }
}

/// The indexes of the next test, and what the copy to an engine without such indexes loses.
const COMPUTED_INDEXES: [(&str, &str); 4] = [
    ("CREATE UNIQUE INDEX live ON person (mail) WHERE gone = 0", "person: partial index live"),
    (
        "CREATE UNIQUE INDEX lower_name ON person (lower(name), gone)",
        "person: index lower_name over an expression",
    ),
    ("CREATE INDEX total ON person (age + gone)", "person: index total over an expression"),
    // A function that only SQLite has.
    ("CREATE INDEX second ON person (unicode(name))", "person: index second over an expression"),
];

fn with_computed_indexes() -> Db {
    let from = Db::open("sqlite::memory:").unwrap();
    let table = "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL, mail TEXT, age INT, gone INT NOT NULL)";
    for sql in [table].into_iter().chain(COMPUTED_INDEXES.map(|(sql, _)| sql)) {
        from.execute(sql, ()).unwrap();
    }
    let rows = "INSERT INTO person VALUES (1, 'Ada', 'a@x', 36, 0), (2, 'Bob', 'a@x', 40, 1), (3, 'Cy', 'a@x', 50, 1)";
    from.execute(rows, ()).unwrap();
    from
}

/// Copies to an empty database, and tries the rules of the indexes.
fn keeps_computed_indexes(url: &str, lost: &[&str]) {
    let (from, to) = (with_computed_indexes(), Db::open(url).unwrap());
    let losses = from.copy_losses(&to, &[]).unwrap();
    assert_eq!(losses.iter().map(ToString::to_string).collect::<Vec<_>>(), lost, "{url}");
    let options = options().allow_loss(!lost.is_empty());
    from.copy_to(&to, &[], &options, |_| {}).unwrap();
    from.copy_to(&to, &[], &options.resume(true), |_| {}).unwrap();
    let insert = |values: &str| {
        to.execute(&format!("INSERT INTO person VALUES ({values})"), ()).map_err(|e| e.kind())
    };
    assert_eq!(insert("4, 'Dan', 'a@x', 1, 1"), Ok(1), "{url}");
    assert_eq!(insert("5, 'Eve', 'a@x', 1, 0"), Err(ErrorKind::Duplicate), "{url}");
    assert_eq!(insert("6, 'ADA', 'b@x', 1, 0"), Err(ErrorKind::Duplicate), "{url}");
    assert_eq!(insert("7, 'ADA', 'b@x', 1, 1"), Ok(1), "{url}");
}

#[test]
fn computed_indexes_are_kept_where_the_target_has_them() {
    keeps_computed_indexes("sqlite::memory:", &[]);
    let from = with_computed_indexes();
    let losses = from.copy_losses(&Db::open("memory:").unwrap(), &[]).unwrap();
    let mut wanted = COMPUTED_INDEXES.map(|(_, loss)| loss);
    let mut losses: Vec<_> = losses.iter().map(ToString::to_string).collect();
    wanted.sort_unstable();
    losses.sort_unstable();
    assert_eq!(losses, wanted);
}

#[cfg(feature = "postgres")]
#[test]
fn computed_indexes_are_kept_on_postgres() {
    crate::engines::on_postgres(|url| keeps_computed_indexes(url, &[COMPUTED_INDEXES[3].1]));
}

#[test]
fn rules_that_schemas_express_are_kept() {
    let from = Db::open("sqlite::memory:").unwrap();
    for sql in [
        "CREATE TABLE a (id INTEGER PRIMARY KEY, b INT, c INT, d INT, UNIQUE (b, c), CHECK (b < c), \
         CONSTRAINT e CHECK (d <> 5))",
        "CREATE TABLE f (id INTEGER PRIMARY KEY, \
         g INT REFERENCES a ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED, \
         h INT REFERENCES a ON DELETE CASCADE ON UPDATE SET NULL, \
         i INT REFERENCES a ON DELETE RESTRICT ON UPDATE RESTRICT, UNIQUE (h, i), UNIQUE (i, h))",
    ] {
        from.execute(sql, ()).unwrap();
    }
    let to = Db::open("sqlite::memory:").unwrap();
    from.copy_to(&to, &[], &options(), |_| {}).unwrap();
    for name in ["a", "f"] {
        let table = |db: &Db| db.dynamic(name).unwrap().schema().as_ref().clone();
        assert!(table(&to).same_as(&table(&from)), "{:#?}\n{:#?}", table(&to), table(&from));
    }
    let a = from.dynamic("a").unwrap().schema().clone();
    assert_eq!(a.columns()[1].check.as_deref(), Some("b < c"));
    assert_eq!(a.columns()[3].check.as_deref(), Some("d <> 5"));
    assert_eq!(a.indexes()[0].name, "a_b_c_unique");
    let f = from.dynamic("f").unwrap().schema().clone();
    let rules = |column: usize| {
        let reference = f.columns()[column].reference.as_ref().unwrap();
        (reference.on_delete, reference.on_update, reference.deferred)
    };
    assert_eq!(rules(1), (OnDelete::NoAction, OnUpdate::Cascade, true));
    assert_eq!(rules(2), (OnDelete::Cascade, OnUpdate::SetNull, false));
    assert_eq!(rules(3), (OnDelete::Restrict, OnUpdate::Restrict, false));
    // The memory engine has no such foreign keys.
    let losses = from.copy_losses(&Db::open("memory:").unwrap(), &[]).unwrap();
    let losses: Vec<_> = losses.iter().map(ToString::to_string).collect();
    let expected = [
        "f: DEFERRABLE INITIALLY DEFERRED of the foreign key g, which the target checks after each statement",
        "f: ON UPDATE action of the foreign key g",
        "f: ON UPDATE action of the foreign key h",
    ];
    assert_eq!(losses, expected);
}

#[test]
fn tables_that_refer_to_themselves_and_each_other_are_copied() {
    let from = Db::open("sqlite::memory:").unwrap();
    for sql in [
        "CREATE TABLE person (id INTEGER PRIMARY KEY, boss INT NOT NULL REFERENCES person, \
         team INT REFERENCES team)",
        "CREATE TABLE team (id INTEGER PRIMARY KEY, lead INT NOT NULL REFERENCES person ON DELETE CASCADE)",
        "INSERT INTO person VALUES (1, 30, NULL), (2, 2, NULL), (30, 1, NULL)",
        "INSERT INTO team VALUES (1, 30), (2, 1)",
        "UPDATE person SET team = 3 - id WHERE id < 3",
    ] {
        from.execute(sql, ()).unwrap();
    }
    for url in ["memory:", "sqlite::memory:"] {
        let to = Db::open(url).unwrap();
        from.copy_to(&to, &[], &options(), |_| {}).unwrap();
        for name in ["person", "team"] {
            let table = |db: &Db| db.dynamic(name).unwrap().schema().as_ref().clone();
            assert!(table(&to).same_as(&table(&from)), "{:#?}", table(&to));
        }
        let mut row = DynRow::new();
        row.set("id", 2).unwrap();
        row.set("boss", 3).unwrap();
        let error = to.dynamic("person").unwrap().update(&row).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Constraint, "{url}");
    }
}

#[test]
fn unknown_names_are_rejected_before_anything_is_created() {
    let (from, to) = (source(1), Db::open("memory:").unwrap());
    let error = from.copy_to(&to, &["kind", "thin"], &options(), |_| {}).unwrap_err();
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
        from.copy_to(&to, &["kind"], &options(), |_| {}).unwrap();
        interrupt(&from, &to, "thing");
        let reports = from.copy_to(&to, &["thing"], &options().resume(true), |_| {}).unwrap();
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
