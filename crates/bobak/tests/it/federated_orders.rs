//! SQL over attached tables of other programs whose texts compare by rules that only their engine knows.

use bobak::prelude::*;

const WORDS: &str =
    "(1,'apple'),(2,'Zebra'),(3,'banana'),(4,'Apple'),(5,'zoo'),(6,'_x'),(7,'apple')";

/// A database in memory with the same words in `own`, and the tables of the URL as `d`.
fn attached(url: &str) -> Db {
    let db = Db::builder().attach("d", url).open("sqlite::memory:").unwrap();
    db.execute("CREATE TABLE own (id INTEGER PRIMARY KEY, w TEXT)", ()).unwrap();
    db.execute(&format!("INSERT INTO own VALUES {WORDS}"), ()).unwrap();
    db
}

fn texts(db: &Db, sql: &str) -> Vec<String> {
    let rows = db.sql::<(String,)>(sql, ()).unwrap_or_else(|error| panic!("{sql}: {error}"));
    rows.into_iter().map(|(text,)| text).collect()
}

/// Statements over `table` have the rows that they have over the same rows in SQLite.
fn same_as_own(db: &Db, table: &str) {
    for statement in [
        "SELECT w FROM own EXCEPT SELECT w FROM @",
        "SELECT w FROM own INTERSECT SELECT w FROM @",
        "SELECT w FROM own UNION SELECT w FROM @",
        "SELECT DISTINCT w FROM @ ORDER BY 1",
        "SELECT w FROM @ ORDER BY w DESC LIMIT 3",
        "SELECT w || count(*) FROM @ JOIN (SELECT 1) GROUP BY w ORDER BY 1",
        "SELECT min(w) || max(w) FROM @",
        "SELECT w || row_number() OVER (PARTITION BY w ORDER BY id) FROM @ ORDER BY 1",
        "SELECT w FROM @ WHERE w > 'Z' ORDER BY id",
        "SELECT w FROM @ WHERE w BETWEEN 'A' AND 'b' ORDER BY id",
        "SELECT w FROM @ WHERE w = 'apple' ORDER BY id LIMIT 2",
        "SELECT w FROM @ WHERE w <> 'apple' ORDER BY id",
        "SELECT w FROM @ WHERE w IS NOT 'apple' ORDER BY id LIMIT 3",
        "SELECT w FROM @ WHERE w IN ('apple', 'zoo') AND id + 0 > 1 ORDER BY id",
        "SELECT w FROM @ WHERE w GLOB 'a*' ORDER BY id",
        "SELECT w FROM @ WHERE w LIKE 'a%' ORDER BY id",
        "SELECT a.w FROM @ AS a JOIN own AS b ON a.w = b.w ORDER BY a.id, b.id",
        "SELECT a.w FROM own AS a JOIN @ AS b ON a.w = b.w WHERE b.id > 0 ORDER BY a.id, b.id",
    ] {
        let (own, foreign) = (statement.replace('@', "own"), statement.replace('@', table));
        assert_eq!(texts(db, &foreign), texts(db, &own), "{foreign}");
    }
}

#[cfg(feature = "postgres")]
#[test]
fn texts_of_postgres_with_another_order() {
    crate::engines::on_postgres(orders_of_postgres);
}

#[cfg(feature = "postgres")]
fn orders_of_postgres(url: &str) {
    let db = Db::open(url).unwrap();
    for sql in [
        "CREATE TYPE mood AS ENUM ('z', 'a', 'm')",
        "CREATE TABLE words (id int PRIMARY KEY, w text COLLATE \"en-x-icu\")",
        &format!("INSERT INTO words VALUES {WORDS}"),
        "CREATE TABLE kinds (id int PRIMARY KEY, e mood, ip inet, took interval, c char(5), \
         tags int[], bits bit(2), at timetz)",
        "INSERT INTO kinds VALUES \
         (1, 'z', '10.0.0.10', '2 days', 'abc', '{10}', B'01', '10:00+00'), \
         (2, 'a', '10.0.0.9', '10 days', 'abc  ', '{9}', B'10', '10:00+02'), \
         (3, 'm', '10.0.0.10', '48 hours', 'b', '{10}', B'01', '10:00+00')",
    ] {
        db.execute(sql, ()).unwrap();
    }
    let db = attached(url);
    same_as_own(&db, "d.words");
    for column in ["e", "ip", "took", "tags", "bits", "at"] {
        let each =
            format!("SELECT CAST({column} AS TEXT) FROM d.kinds WHERE id + 0 > 0 ORDER BY 1");
        let mut distinct = texts(&db, &each);
        distinct.dedup();
        let select = format!("SELECT {column} FROM d.kinds");
        assert_eq!(texts(&db, &format!("{select} UNION {select}")), distinct, "{column}");
        assert!(texts(&db, &format!("{select} EXCEPT {select} WHERE id > 0")).is_empty());
        let max = texts(&db, &format!("SELECT max({column}) FROM d.kinds"));
        assert_eq!(max.last(), distinct.last(), "{column}");
        for value in &distinct {
            let equal =
                format!("{select} AS x WHERE {column} = '{value}' AND {column} IN ('{value}', '')");
            assert!(!texts(&db, &equal).is_empty(), "{equal}");
            let other = format!("{select} WHERE {column} <> '{value}' AND {column} > ' '");
            assert!(!texts(&db, &other).is_empty(), "{other}");
        }
    }
    assert_eq!(texts(&db, "SELECT e FROM d.kinds UNION SELECT 'a' ORDER BY 1"), ["a", "m", "z"]);
    let padded = "SELECT c FROM d.kinds WHERE c = 'abc  '";
    assert_eq!(texts(&db, padded), ["abc  ", "abc  "]);
}

#[cfg(feature = "mysql")]
#[test]
fn texts_of_mariadb_with_another_order() {
    crate::engines::on_mariadb(orders_of_mariadb);
}

#[cfg(feature = "mysql")]
fn orders_of_mariadb(url: &str) {
    let db = Db::open(url).unwrap();
    for sql in [
        "CREATE TABLE words (id int PRIMARY KEY, w varchar(20) COLLATE utf8mb4_general_ci)",
        &format!("INSERT INTO words VALUES {WORDS}"),
        "CREATE TABLE kinds (id int PRIMARY KEY, e enum('z', 'a', 'm'), \
         s varchar(9) COLLATE utf8mb4_bin)",
        "INSERT INTO kinds VALUES (1, 'z', 'abc'), (2, 'a', 'abc '), (3, 'm', 'abc\t')",
    ] {
        db.execute(sql, ()).unwrap();
    }
    let db = attached(url);
    same_as_own(&db, "d.words");
    assert_eq!(texts(&db, "SELECT e FROM d.kinds EXCEPT SELECT 'a' ORDER BY 1"), ["m", "z"]);
    assert_eq!(texts(&db, "SELECT e FROM d.kinds ORDER BY e"), ["a", "m", "z"]);
    assert_eq!(texts(&db, "SELECT s FROM d.kinds WHERE s = 'abc'"), ["abc"]);
    assert_eq!(texts(&db, "SELECT s FROM d.kinds ORDER BY s"), ["abc", "abc\t", "abc "]);
}

#[test]
fn texts_of_sqlite_with_a_collation_that_bobak_does_not_know() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/n.db", folder.path().display());
    let db = Db::open(&url).unwrap();
    db.execute("CREATE TABLE words (id INTEGER PRIMARY KEY, w TEXT COLLATE RTRIM)", ()).unwrap();
    db.execute("INSERT INTO words VALUES (1, 'b'), (2, 'b '), (3, 'b')", ()).unwrap();
    let db = attached(&url);
    assert_eq!(texts(&db, "SELECT DISTINCT w FROM d.words"), ["b", "b "]);
    assert_eq!(texts(&db, "SELECT w FROM d.words UNION SELECT w FROM d.words"), ["b", "b "]);
    assert_eq!(texts(&db, "SELECT w FROM d.words WHERE w = 'b '"), ["b "]);
}

#[test]
fn all_columns_of_a_table_without_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/o.db", folder.path().display());
    let db = Db::open(&url).unwrap();
    db.execute("CREATE TABLE nopk (a TEXT, b TEXT)", ()).unwrap();
    db.execute("INSERT INTO nopk VALUES ('x', 'y'), ('x', 'y')", ()).unwrap();
    let db = attached(&url);
    db.execute("CREATE TABLE pairs (a TEXT, b TEXT)", ()).unwrap();
    db.execute("INSERT INTO pairs SELECT * FROM d.nopk", ()).unwrap();
    let pair = ("x".to_owned(), "y".to_owned());
    let all = "SELECT n.* FROM d.nopk AS n JOIN own ON own.id = 1";
    assert_eq!(db.sql::<(String, String)>(all, ()).unwrap(), [pair.clone(), pair.clone()]);
    assert_eq!(
        db.sql::<(String, String)>("SELECT * FROM pairs", ()).unwrap(),
        [pair.clone(), pair]
    );
    // The key is there if it is named, and identifies the rows.
    let changed = db.execute("UPDATE d.nopk SET b = w FROM own WHERE rowid = own.id + 1", ());
    assert_eq!(changed.unwrap(), 1);
    db.execute("INSERT INTO d.nopk VALUES ('p', 'q')", ()).unwrap();
    db.execute("DELETE FROM d.nopk WHERE rowid IN (SELECT id FROM own WHERE id = 1)", ()).unwrap();
    let rows = db.sql::<(i64, String)>("SELECT rowid, b FROM d.nopk, (SELECT 1)", ()).unwrap();
    assert_eq!(rows, [(2, "apple".to_owned()), (3, "q".to_owned())]);
}

#[test]
fn a_column_is_dropped_while_the_table_is_attached() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/c.db", folder.path().display());
    let other = Db::open(&url).unwrap();
    for sql in [
        "CREATE TABLE item (id INTEGER PRIMARY KEY, secret TEXT, price INTEGER)",
        "INSERT INTO item VALUES (1, 'a', 10), (2, 'b', 20)",
    ] {
        other.execute(sql, ()).unwrap();
    }
    let db = attached(&url);
    let all = "SELECT i.* FROM own JOIN d.item AS i ON i.id = own.id ORDER BY i.id";
    let rows = db.sql::<(i64, String, i64)>(all, ()).unwrap();
    assert_eq!(rows, [(1, "a".to_owned(), 10), (2, "b".to_owned(), 20)]);
    other.execute("ALTER TABLE item DROP COLUMN secret", ()).unwrap();
    assert_eq!(db.sql::<(i64, i64)>(all, ()).unwrap(), [(1, 10), (2, 20)]);
}
