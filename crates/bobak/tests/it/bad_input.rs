//! Each mistake gives one error of the right kind that names its location, and nothing is half written.

use crate::engines::{Person, on_each, person};
use bobak::prelude::*;
use bobak::schema::{ColumnSchema, TableSchema, Type};
use std::path::Path;

/// An error's kind, table, column and row.
fn place(error: &Error) -> (ErrorKind, Option<&str>, Option<&str>, Option<u64>) {
    (error.kind(), error.table(), error.column(), error.row())
}

#[test]
fn a_wrong_type_in_a_column_is_named() {
    let db = Db::open("sqlite::memory:").unwrap();
    db.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, size BIGINT NOT NULL)", ()).unwrap();
    db.execute("INSERT INTO item VALUES (1, 'large')", ()).unwrap();
    #[derive(Record, Debug)]
    struct Item {
        id: i64,
        size: i64,
    }
    let items = db.table::<Item>().unwrap();
    let error = items.get(1).unwrap_err();
    assert_eq!(place(&error), (ErrorKind::Mismatch, Some("item"), Some("size"), None), "{error}");
    assert!(error.to_string().contains("large"), "{error}");
    let error = items.list(Query::all()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    let error = db.sql::<(i64, i64)>("SELECT id, size FROM item", ()).unwrap_err();
    assert_eq!((error.kind(), error.row()), (ErrorKind::Mismatch, Some(0)), "{error}");
    let _ = items.list(Query::all()).map(|items| items.iter().map(|i| i.id + i.size).sum::<i64>());
}

#[test]
fn text_too_long_counts_characters_before_any_io() {
    on_each(|at| {
        let db = at.people();
        let people = db.table::<Person>().unwrap();
        people.insert(&person(&"é".repeat(40), 1)).unwrap();
        let error = people.insert(&person(&"é".repeat(41), 1)).unwrap_err();
        let expected = (ErrorKind::TooLong, Some("person"), Some("name"), None);
        assert_eq!(place(&error), expected, "{error}");
        let error = people.set(1, [Person::NAME.set("x".repeat(41))]).unwrap_err();
        assert_eq!(place(&error), expected);
        assert_eq!(people.count(Query::all()).unwrap(), 1);
    });
}

#[test]
fn null_in_a_required_column_is_rejected() {
    on_each(|at| {
        let db = at.people();
        let table = db.dynamic("person").unwrap();
        let mut row = DynRow::new();
        row.set("name", Option::<String>::None).unwrap();
        row.set("age", 1).unwrap();
        row.set("balance", 1).unwrap();
        let error = table.insert(&row).unwrap_err();
        let expected = (ErrorKind::Constraint, Some("person"), Some("name"), None);
        assert_eq!(place(&error), expected, "{error}");
        assert_eq!(table.count(Query::all()).unwrap(), 0);
    });
    let db = Db::open("sqlite::memory:").unwrap();
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL)", ()).unwrap();
    let error = db.execute("INSERT INTO t VALUES (1, NULL)", ()).unwrap_err();
    assert_eq!(place(&error), (ErrorKind::Constraint, Some("t"), Some("a"), None), "{error}");
}

#[test]
fn a_duplicate_unique_field_or_key_is_rejected() {
    on_each(|at| {
        let db = at.people();
        let people = db.table::<Person>().unwrap();
        let id = people.insert(&person("ada", 1)).unwrap();
        let error = people.insert(&person("ADA", 2)).unwrap_err();
        let expected = (ErrorKind::Duplicate, Some("person"), Some("email"), None);
        assert_eq!(place(&error), expected, "{error}");
        let error = people.insert(&Person { id, ..person("bob", 2) }).unwrap_err();
        let expected = (ErrorKind::Duplicate, Some("person"), Some("id"), None);
        assert_eq!(place(&error), expected, "{error}");
        assert_eq!(people.count(Query::all()).unwrap(), 1);
    });
}

#[test]
fn a_failing_check_is_rejected() {
    on_each(|at| {
        let db = at.people();
        let people = db.table::<Person>().unwrap();
        let poor = Person { balance: Currency::from_scaled(-1), ..person("ada", 1) };
        let error = people.insert(&poor).unwrap_err();
        assert_eq!(
            (error.kind(), error.table()),
            (ErrorKind::Constraint, Some("person")),
            "{error}"
        );
        assert_eq!(people.count(Query::all()).unwrap(), 0);
    });
}

#[test]
fn an_unknown_table_or_column_is_named() {
    on_each(|at| {
        let db = Db::open(&at.url).unwrap();
        let error = db.table::<Person>().err().unwrap();
        assert_eq!((error.kind(), error.table()), (ErrorKind::Schema, Some("person")), "{error}");
        assert!(error.to_string().contains("create_missing_tables"), "{error}");
        let error = db.dynamic("nothing").err().unwrap();
        assert_eq!((error.kind(), error.table()), (ErrorKind::Schema, Some("nothing")));
        drop(db);
        let db = at.people();
        let table = db.dynamic("PERSON").unwrap();
        let error = table.column("nothing").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema);
        let mut row = DynRow::new();
        row.set("nothing", 1).unwrap();
        assert_eq!(table.insert(&row).unwrap_err().kind(), ErrorKind::Schema);
        for text in ["SELECT * FROM missing", "SELECT missing FROM person"] {
            let error = db.sql::<DynRow>(text, ()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
        }
        let error = db.sql::<DynRow>("SELEC 1", ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Syntax, "{error}");
    });
}

#[test]
fn updating_a_missing_key_is_not_found() {
    on_each(|at| {
        let db = at.people();
        let people = db.table::<Person>().unwrap();
        assert_eq!(people.get(7).unwrap(), None);
        let error = people.require(7).unwrap_err();
        assert_eq!((error.kind(), error.table()), (ErrorKind::NotFound, Some("person")), "{error}");
        let error = people.update(&Person { id: 7, ..person("ada", 1) }).unwrap_err();
        assert_eq!((error.kind(), error.table()), (ErrorKind::NotFound, Some("person")));
    });
}

#[test]
fn a_file_that_is_not_a_database_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("letter.txt");
    let text = "Dear reader, this is not a database, whatever its name says.\n".repeat(40);
    std::fs::write(&path, &text).unwrap();
    for scheme in ["sqlite", "memory"] {
        let error = Db::open(&format!("{scheme}:{}", path.display())).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("letter.txt"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "kept as it was");
    }
}

#[test]
fn a_missing_folder_is_an_error() {
    for url in ["sqlite:/nonexistent/app.db", "sqlite:/nonexistent/app.db?mode=ro"] {
        let error = Db::open(url).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.to_string().contains("/nonexistent/app.db"), "{error}");
    }
}

#[test]
fn writing_a_read_only_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let url = format!("sqlite:{}", path.display());
    {
        let db = Db::builder().record::<Person>().open(&url).unwrap();
        db.create_missing_tables().unwrap();
        db.table::<Person>().unwrap().insert(&person("ada", 1)).unwrap();
    }
    let db = Db::builder().record::<Person>().open(&format!("{url}?mode=ro")).unwrap();
    let people = db.table::<Person>().unwrap();
    assert_eq!(people.count(Query::all()).unwrap(), 1);
    let error = people.insert(&person("bob", 1)).unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::ReadOnly, Some("person")), "{error}");
    assert_eq!(people.count(Query::all()).unwrap(), 1);
}

/// A database whose file may not grow, which is how SQLite sees a full disk.
fn small_database(path: &Path) -> Db {
    let url = format!("sqlite:{}", path.display());
    let db = Db::builder().record::<Person>().open(&url).unwrap();
    db.create_missing_tables().unwrap();
    // In a transaction, so that the limit is set on the writing connection.
    let limit =
        |transaction: &Transaction<'_>| transaction.execute("PRAGMA max_page_count = 24", ());
    db.transaction(limit).unwrap();
    db
}

#[test]
fn a_full_disk_keeps_what_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let kept = {
        let db = small_database(&path);
        let people = db.table::<Person>().unwrap();
        let mut kept = 0;
        let error = loop {
            match people.insert(&person(&format!("person number {kept}"), 1)) {
                Ok(_) => kept += 1,
                Err(error) => break error,
            }
        };
        assert_eq!((error.kind(), error.table()), (ErrorKind::Full, Some("person")), "{error}");
        let mut batch = db.batch(BatchOptions::new());
        for number in 0..1_000 {
            batch.insert(&person(&format!("late {number}"), 1)).unwrap();
        }
        let error = batch.finish().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Full, "{error}");
        assert_eq!(people.count(Query::all()).unwrap(), kept);
        kept
    };
    let db = Db::open(&format!("sqlite:{}", path.display())).unwrap();
    assert_eq!(db.table::<Person>().unwrap().count(Query::all()).unwrap(), kept);
    assert_eq!(db.sql::<String>("PRAGMA integrity_check", ()).unwrap(), ["ok"]);
}

#[test]
fn values_out_of_range_are_rejected() {
    #[derive(Record, Debug, PartialEq)]
    struct Reading {
        id: i64,
        large: u64,
        real: f64,
    }
    on_each(|at| {
        let db = at.open(Db::builder().record::<Reading>());
        let readings = db.table::<Reading>().unwrap();
        for (large, real, column) in [(u64::MAX, 0.0, "large"), (0, f64::NAN, "real")] {
            let error = readings.insert(&Reading { id: 0, large, real }).unwrap_err();
            let expected = (ErrorKind::OutOfRange, Some("reading"), Some(column), None);
            assert_eq!(place(&error), expected, "{error}");
        }
        let most = Reading { id: 0, large: i64::MAX as u64, real: f64::INFINITY };
        let id = readings.insert(&most).unwrap();
        assert_eq!(readings.require(id).unwrap(), Reading { id, ..most });
        let table = db.dynamic("reading").unwrap();
        let mut row = DynRow::new();
        row.set("large", -1).unwrap();
        row.set("real", 1).unwrap();
        let error = table.insert(&row).unwrap_err();
        let expected = (ErrorKind::OutOfRange, Some("reading"), Some("large"), None);
        assert_eq!(place(&error), expected, "{error}");
    });
    // A value that another program stored and that is too large for the field.
    let db = Db::open("sqlite::memory:").unwrap();
    db.execute("CREATE TABLE small (id INTEGER PRIMARY KEY, n TINYINT NOT NULL)", ()).unwrap();
    db.execute("INSERT INTO small VALUES (1, 300)", ()).unwrap();
    #[derive(Record, Debug)]
    struct Small {
        #[allow(dead_code)]
        id: i64,
        #[allow(dead_code)]
        n: i8,
    }
    let error = db.table::<Small>().unwrap().get(1).unwrap_err();
    let expected = (ErrorKind::OutOfRange, Some("small"), Some("n"), None);
    assert_eq!(place(&error), expected, "{error}");
}

#[test]
fn an_overflowing_sum_is_an_error() {
    #[derive(Record)]
    struct Big {
        id: i64,
        n: i64,
    }
    on_each(|at| {
        let db = at.open(Db::builder().record::<Big>());
        let table = db.table::<Big>().unwrap();
        for _ in 0..2 {
            table.insert(&Big { id: 0, n: i64::MAX }).unwrap();
        }
        let error = table.sum(Query::all(), Big::N).unwrap_err();
        assert_eq!((error.kind(), error.table()), (ErrorKind::OutOfRange, Some("big")), "{error}");
        let error = table.set(1, [Big::N.add(1)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
        assert_eq!(table.require(1).unwrap().n, i64::MAX);
    });
}

#[test]
fn two_record_types_for_one_table_are_rejected() {
    #[derive(Record)]
    #[record(table = "person")]
    struct Other {
        #[allow(dead_code)]
        id: i64,
        #[allow(dead_code)]
        title: String,
    }
    on_each(|at| {
        let two = Db::builder().record::<Person>().record::<Other>().open(&at.url);
        let error = two.err().unwrap();
        assert_eq!((error.kind(), error.table()), (ErrorKind::Schema, Some("person")), "{error}");
        let db = at.people();
        let error = db.table::<Other>().err().unwrap();
        assert_eq!((error.kind(), error.table()), (ErrorKind::Schema, Some("person")), "{error}");
    });
}

#[test]
fn malformed_urls_are_rejected() {
    for url in
        ["", "sqlite://a.db", "sqlite:", "sqlite:a.db?synchronous=maybe", "sqlite:a.db?x", "db2:x"]
    {
        let error = Db::open(url).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Config, "{error}");
        assert!(!Path::new("a.db").exists());
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plain.db");
    let db = Db::open(file.to_str().unwrap()).unwrap();
    db.execute("CREATE TABLE t (a)", ()).unwrap();
    assert!(file.exists());
    let error = Db::builder().attach("x", "memory:").attach("x", "memory:").open("memory:").err();
    assert_eq!(error.unwrap().kind(), ErrorKind::Config);
    let error = Db::builder().record_on::<Person>("nowhere").open("memory:").err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
}

#[test]
fn wrong_values_in_queries_are_rejected() {
    on_each(|at| {
        let db = at.people();
        let table = db.dynamic("person").unwrap();
        let age = table.column("age").unwrap();
        let error = table.list(age.eq("old")).unwrap_err();
        let expected = (ErrorKind::Mismatch, Some("person"), Some("age"), None);
        assert_eq!(place(&error), expected, "{error}");
        let error = table.get(("1", 2)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        if !at.is_memory_engine() {
            let error = db.sql::<i64>("SELECT ?", ()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        }
    });
}

#[test]
fn a_transaction_or_batch_over_two_engines_is_rejected() {
    #[derive(Record)]
    struct Visit {
        id: i64,
    }
    let db = Db::builder()
        .record::<Person>()
        .attach("cache", "memory:")
        .record_on::<Visit>("cache")
        .open("sqlite::memory:")
        .unwrap();
    db.create_missing_tables().unwrap();
    assert_eq!(db.table::<Visit>().unwrap().insert(&Visit { id: 0 }).unwrap(), 1);
    let transaction = db.begin().unwrap();
    let error = transaction.table::<Visit>().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    drop(transaction);
    let mut batch = db.batch(BatchOptions::new());
    batch.insert(&person("ada", 1)).unwrap();
    assert_eq!(batch.insert(&Visit { id: 0 }).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(batch.finish().unwrap().inserted, 1);
    let elsewhere = db.begin_on("cache").unwrap();
    elsewhere.table::<Visit>().unwrap().insert(&Visit { id: 0 }).unwrap();
    elsewhere.commit().unwrap();
}

#[test]
fn contradictory_schemas_are_rejected() {
    let build = |builder: bobak::schema::TableSchemaBuilder| builder.build().unwrap_err();
    let id = || ColumnSchema::of::<i64>("id");
    for error in [
        build(TableSchema::builder("t")),
        build(TableSchema::builder("t").column(id())),
        build(TableSchema::builder("t").column(id()).column(id()).key(["id"])),
        build(TableSchema::builder("t").column(id().nullable(true)).key(["id"])),
        build(TableSchema::builder("t").column(id()).key(["other"])),
        build(TableSchema::builder("").column(id()).key(["id"])),
        build(TableSchema::builder("t").column(ColumnSchema::new("", Type::I64)).key([""])),
    ] {
        assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
    }
}

#[test]
fn a_deep_condition_is_rejected_wherever_it_is_used() {
    // A program can build what no client can send: its levels are as deep as the stack of this thread.
    let deep = |levels| (0..levels).fold(Person::AGE.gt(18), |filter, _| filter.not());
    let check = move || {
        on_each(|place| {
            let db = place.people();
            let people = db.table::<Person>().unwrap();
            people.insert(&person("ada", 36)).unwrap();
            assert_eq!(people.count(deep(190)).unwrap(), 1);
            let errors = [
                people.list(deep(10_000)).err(),
                people.count(deep(10_000)).err(),
                people.set_where(deep(10_000), [Person::AGE.set(1)]).err(),
                people.delete_where(deep(10_000)).err(),
                db.list(&bobak::query::from::<Person>().and(deep(10_000))).err(),
            ];
            for error in errors {
                let error = error.unwrap();
                assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
                assert!(error.to_string().contains("200 levels"), "{error}");
            }
            assert_eq!(people.count(Query::all()).unwrap(), 1);
        });
    };
    std::thread::Builder::new().stack_size(16 << 20).spawn(check).unwrap().join().unwrap();
    let text = format!("{}age > 18{}", "(".repeat(10_000), ")".repeat(10_000));
    let error = bobak::engine::Condition::parse(&text, Person::schema()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Syntax, "{error}");
    assert!(error.to_string().len() < 200, "{error}");
}

#[test]
fn columns_and_values_that_users_choose_are_checked() {
    use bobak::engine::Comparison;
    use bobak::query::OrderBy;
    on_each(|place| {
        let db = place.people();
        let people = db.table::<Person>().unwrap();
        for (name, age) in [("ada", 36), ("bob", 41), ("cyd", 20)] {
            people.insert(&person(name, age)).unwrap();
        }
        let count = |column: &str, comparison, text: &str| {
            bobak::Filter::by_name(column, comparison, text).and_then(|filter| people.count(filter))
        };
        assert_eq!(count("AGE", Comparison::Greater, "20").unwrap(), 2);
        assert_eq!(count("age", Comparison::NotEqual, "-3").unwrap(), 3);
        assert_eq!(count("email", Comparison::Equal, "ADA@example.org").unwrap(), 1);
        assert_eq!(count("name", Comparison::Less, "bob' OR 1 = 1 --").unwrap(), 2);
        assert_eq!(count("balance", Comparison::Equal, "1.2345").unwrap(), 3);
        for (column, text, kind) in [
            ("age", "old", ErrorKind::Syntax),
            ("age", "", ErrorKind::Syntax),
            ("age", "1.5", ErrorKind::Mismatch),
            ("balance", "1.23456", ErrorKind::Mismatch),
        ] {
            let error = count(column, Comparison::Equal, text).unwrap_err();
            assert_eq!(place_of(&error), (kind, Some("person"), Some(column)), "{error}");
        }
        let error = count("age; DROP TABLE person", Comparison::Equal, "1").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
        let oldest = OrderBy::by_name("age", true).unwrap();
        assert_eq!(people.first(Query::all().order_by(oldest)).unwrap().unwrap().name, "bob");
    });
}

fn place_of(error: &Error) -> (ErrorKind, Option<&str>, Option<&str>) {
    (error.kind(), error.table(), error.column())
}
