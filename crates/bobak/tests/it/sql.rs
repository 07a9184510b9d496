//! Raw SQL into typed rows.

use crate::engines::{Person, on_each, person};
use bobak::{SqlList, named, prelude::*};

fn db() -> Db {
    open("sqlite::memory:")
}

fn open(url: &str) -> Db {
    let db = Db::builder().record::<Person>().open(url).unwrap();
    fill(&db);
    db
}

fn fill(db: &Db) {
    db.create_missing_tables().unwrap();
    for (name, age) in [("ada", 36), ("bob", 7), ("cid", 50)] {
        db.table::<Person>().unwrap().insert(&person(name, age)).unwrap();
    }
}

#[test]
fn sql_rows_become_tuples_structs_records_values_and_dynamic_rows() {
    #[derive(FromRow, Debug, PartialEq)]
    struct Count {
        n: i64,
        name: String,
    }
    let db = db();
    let tuples =
        db.sql::<(String, i32)>("SELECT name, age FROM person WHERE age > ?", (30,)).unwrap();
    assert_eq!(tuples, [("ada".to_owned(), 36), ("cid".to_owned(), 50)]);
    let text = "SELECT name, count(*) AS N, 'extra' FROM person GROUP BY 1 HAVING name = ?";
    assert_eq!(db.sql::<Count>(text, ("bob",)).unwrap(), [Count { n: 1, name: "bob".into() }]);
    let people = db.sql::<Person>("SELECT * FROM person ORDER BY id", ()).unwrap();
    assert_eq!(people[2].name, "cid");
    let ages =
        db.sql::<i32>("SELECT age FROM person WHERE name IN (?, ?)", ["ada", "bob"]).unwrap();
    assert_eq!(ages, [36, 7]);
    let row = &db.sql::<DynRow>("SELECT *, age * 2 AS twice FROM person LIMIT 1", ()).unwrap()[0];
    assert_eq!(row.names().last(), Some("twice"));
    assert_eq!(row.get::<i64>("twice").unwrap(), 72);
    let money = db.sql::<Currency>("SELECT sum(balance) FROM person", ()).unwrap();
    assert_eq!(money[0].to_string(), "3.7035");
    let none = db.sql::<Option<i64>>("SELECT max(age) FROM person WHERE 0", ()).unwrap();
    assert_eq!(none, [None]);
}

/// Parameters by name, and lists.
fn check_arguments(db: &Db) {
    let names = |text: &str, values: bobak::NamedParameters| {
        db.sql::<String>(&format!("SELECT name FROM person WHERE {text} ORDER BY id"), values)
    };
    let (age, wanted) = (20, "ada");
    let text = "(age > :age OR name = ':age') AND (name = :wanted OR :wanted = 'cid')";
    assert_eq!(names(text, named! { wanted, age }).unwrap(), ["ada"]);
    let cid = named! { age: 30, wanted: "cid", };
    assert_eq!(names(text, cid).unwrap(), ["ada", "cid"]);
    let ages = vec![7, 50, 51];
    let text = "age IN (:ages) AND name <> :other";
    assert_eq!(names(text, named! { ages: SqlList(ages), other: "bob" }).unwrap(), ["cid"]);
    let none = || SqlList(Vec::<i32>::new());
    assert_eq!(names("age IN (:none)", named! { none: none() }).unwrap(), [""; 0]);
    assert_eq!(
        names("age NOT IN (:none)", named! { none: none() }).unwrap(),
        ["ada", "bob", "cid"]
    );
    let both = "NOT age IN (:none) AND balance NOT IN (:amounts)";
    let amounts = ["9".parse::<Currency>().unwrap()];
    let values = named! { none: none(), amounts: SqlList(amounts) };
    assert_eq!(names(both, values).unwrap(), ["ada", "bob", "cid"]);
    let text = "SELECT count(*) FROM person WHERE age < ? AND name IN (?) AND id > ?";
    assert_eq!(db.sql::<i64>(text, (50, SqlList(["ada", "bob", "cid"]), 0)).unwrap(), [2]);
    let set = named! { age: 8, names: SqlList(["bob", "eve"]) };
    assert_eq!(db.execute("UPDATE person SET age = :age WHERE name IN (:names)", set).unwrap(), 1);
    let transaction = db.begin().unwrap();
    let text = "SELECT name FROM person WHERE age = :age";
    assert_eq!(transaction.sql::<String>(text, named! { age: 8 }).unwrap(), ["bob"]);
    let set = named! { age: 7 };
    assert_eq!(transaction.execute("UPDATE person SET age = :age WHERE id = 2", set).unwrap(), 1);
    transaction.commit().unwrap();
    let error = names("age = :age", named! { age: 1, more: 2 }).unwrap_err();
    assert_eq!(error.to_string(), "the text has no parameter :more");
}

#[test]
fn parameters_have_names_and_lists() {
    on_each(|place| check_arguments(&open(&place.url)));
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    crate::engines::on_servers(|url| check_arguments(&open(url)));
    crate::engines::on_firebird(|url| check_arguments(&open(url)));
}

#[test]
fn parameters_have_names_and_lists_in_joined_databases() {
    let db = Db::builder().attach("other", "memory:").record_on::<Person>("other");
    let db = db.open("sqlite::memory:").unwrap();
    fill(&db);
    check_arguments(&db);
}

/// A statement takes only so many parameters.
fn check_long_list(db: &Db, most: usize) {
    let text = "SELECT count(*) FROM person WHERE age IN (?)";
    let list = |length: usize| SqlList((0..length).map(|n| n as i64 % 60));
    let expected = format!(
        "{} values are given, and a statement of this database takes at most {most}: ",
        most + 1
    );
    for error in [
        db.sql::<i64>(text, (list(most + 1),)).unwrap_err(),
        db.execute("DELETE FROM person WHERE age IN (?)", (list(most + 1),)).unwrap_err(),
        db.transaction(|t| t.sql::<i64>(text, (list(most + 1),))).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Misuse, "{error}");
        assert!(error.message().starts_with(&expected), "{error}");
    }
    assert_eq!(db.sql::<i64>(text, (list(most),)).unwrap(), [3]);
}

#[test]
fn lists_that_are_too_long_are_rejected() {
    for url in ["memory:", "sqlite::memory:"] {
        check_long_list(&open(url), 32_766);
    }
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    crate::engines::on_servers(|url| check_long_list(&open(url), 65_535));
}

#[test]
fn missing_columns_are_named() {
    #[derive(FromRow, Debug)]
    struct Wanted {
        #[allow(dead_code)]
        height: i64,
    }
    let db = db();
    let error = db.sql::<Wanted>("SELECT name, age FROM person", ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert!(
        error.to_string().contains("'height'") && error.to_string().contains("name, age"),
        "{error}"
    );
    let error = db.sql::<(String, i32)>("SELECT name FROM person", ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    assert!(error.message().starts_with("a row has 1 column, but the type reads 2:"), "{error}");
}

#[test]
fn statements_that_write() {
    let db = db();
    assert_eq!(db.execute("UPDATE person SET age = age + ?", (1,)).unwrap(), 3);
    let gone = db.sql::<String>("DELETE FROM person WHERE age < ? RETURNING name", (10,)).unwrap();
    assert_eq!(gone, ["bob"]);
    let transaction = db.begin().unwrap();
    transaction.execute("DELETE FROM person", ()).unwrap();
    assert!(transaction.sql::<String>("SELECT name FROM person", ()).unwrap().is_empty());
    drop(transaction);
    assert_eq!(db.table::<Person>().unwrap().count(Query::all()).unwrap(), 2);
    let two = db.execute("SELECT 1; DELETE FROM person", ()).unwrap_err();
    assert_eq!(two.kind(), ErrorKind::Syntax, "{two}");
    let mut seen = 0;
    db.sql_for_each::<i64>("SELECT id FROM person ORDER BY id", (), |_| {
        seen += 1;
        Ok(seen < 1)
    })
    .unwrap();
    assert_eq!(seen, 1);
}

#[test]
fn columns_that_the_type_does_not_read_are_rejected() {
    let db = db();
    for error in [
        db.sql::<(i64,)>("SELECT * FROM person", ()).unwrap_err(),
        db.sql::<i64>("SELECT id, name, age FROM person", ()).unwrap_err(),
        db.sql::<Option<i64>>("SELECT id, name FROM person", ()).unwrap_err(),
        db.transaction(|t| t.sql::<(i64, String)>("SELECT id, name, age FROM person", ()))
            .unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        assert!(error.message().contains("but the type reads"), "{error}");
    }
}

#[test]
fn a_value_that_no_field_holds_is_found_by_its_row_and_column() {
    // As another program creates and writes it.
    let db = open("sqlite::memory:?typed_sql=off");
    let made: Vec<String> =
        db.sql("SELECT sql FROM sqlite_schema WHERE name = 'person'", ()).unwrap();
    let plain = made[0].replace(" CHECK ((\"balance\" | 0) IS \"balance\")", "");
    assert_ne!(made[0], plain);
    for sql in [
        "CREATE TABLE copied AS SELECT * FROM person",
        "DROP TABLE person",
        &plain,
        "INSERT INTO person SELECT * FROM copied",
    ] {
        db.execute(sql, ()).unwrap();
    }
    db.execute("UPDATE person SET balance = 1.5 WHERE name = 'bob'", ()).unwrap();
    let people = db.table::<Person>().unwrap();
    let expected = "expected an amount (integer, times 10,000), found the float 1.5 (in the row with id 2) \
                    (table person, column balance)";
    let mut ada = people.require(1).unwrap();
    for error in [
        people.list(Query::all()).unwrap_err(),
        people.require(2).unwrap_err(),
        people.get_into(2, &mut ada).unwrap_err(),
        people.iter(Query::all()).unwrap().find_map(Result::err).unwrap(),
    ] {
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Mismatch, expected.to_owned()));
    }
    db.execute("UPDATE person SET balance = 15000 WHERE id = 2", ()).unwrap();
    assert_eq!(people.require(2).unwrap().balance.to_string(), "1.50");
}

/// What a server has that is no value here is an error, and so is SQL that it would answer wrongly or not at all.
#[cfg(all(feature = "postgres", feature = "mysql"))]
#[test]
fn odd_sql_and_values_of_servers_are_errors() {
    use crate::engines::{on_postgres, on_servers};
    on_postgres(|url| {
        let db = Db::open(url).unwrap();
        db.execute("CREATE TABLE odd (id bigint PRIMARY KEY, tz timestamptz, d date, tm time)", ())
            .unwrap();
        db.execute(
            "INSERT INTO odd VALUES (1, '9999-12-31 23:59:59+00', NULL, NULL), (2, NULL, 'infinity', NULL), \
             (3, NULL, NULL, '24:00'), (4, '9999-12-30 22:00+00', '9999-12-31', '23:59:59.999999')",
            (),
        )
        .unwrap();
        let odd = db.dynamic("odd").unwrap();
        for (key, column) in [(1_i64, "tz"), (2, "d"), (3, "tm")] {
            let error = odd.get([key]).unwrap_err();
            assert_eq!((error.kind(), error.column()), (ErrorKind::OutOfRange, Some(column)));
            let sql = format!("SELECT * FROM odd WHERE id = {key}");
            let error = db.sql::<DynRow>(&sql, ()).unwrap_err();
            assert_eq!((error.kind(), error.column()), (ErrorKind::OutOfRange, Some(column)));
        }
        odd.get([4_i64]).unwrap().unwrap();
        let error = db.sql::<DynRow>("SELECT $1 AS x", ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Syntax);
        db.execute("CREATE FUNCTION twice(int) RETURNS int RETURN $1 * 2", ()).unwrap();
        assert_eq!(db.sql::<i64>("SELECT twice(4)", ()).unwrap(), [8]);
    });
    on_servers(|url| {
        let db = Db::open(url).unwrap();
        for text in ["", ";", " ;; ", "-- nothing", "/* nothing */"] {
            let error = db.sql::<DynRow>(text, ()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Syntax, "{text}: {error}");
            assert_eq!(db.execute(text, ()).unwrap_err().kind(), ErrorKind::Syntax, "{text}");
        }
        let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) \
                   SELECT count(*) FROM n";
        assert_eq!(db.sql::<i64>(sql, ()).unwrap(), [5000]);
    });
}
