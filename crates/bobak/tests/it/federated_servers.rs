//! Tables of PostgreSQL, MariaDB, memory and files in one SQL.

use crate::federation::{Thing, compare};
use bobak::prelude::*;
use bobak_servers::{MariaDb, Options, Postgres};

/// Private servers of each kind; `None` if the tests run without servers.
fn servers() -> Option<(Postgres, MariaDb)> {
    if ["BOBAK_TEST_POSTGRES", "BOBAK_TEST_MARIADB"].iter().any(|v| std::env::var_os(v).is_none()) {
        println!("not run: BOBAK_TEST_POSTGRES and BOBAK_TEST_MARIADB are not set");
        return None;
    }
    let options = Options::new().setting("log_statement", "all");
    Some((Postgres::start_with(&options).unwrap(), MariaDb::start().unwrap()))
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Order {
    id: i64,
    customer: i64,
    goods: String,
    currency: Option<String>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Customer {
    id: i64,
    #[record(max = 40)]
    name: String,
    balance: Currency,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Goods {
    #[record(key, max = 20)]
    code: String,
    price: Currency,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Rate {
    #[record(key, max = 3)]
    currency: String,
    percent: i32,
}

/// Orders in a file, customers on PostgreSQL, goods on MariaDB, rates in memory.
fn shop(postgres: &Postgres, mariadb: &MariaDb, folder: &std::path::Path) -> Db {
    let db = Db::builder()
        .record::<Order>()
        .attach("pg", &postgres.url())
        .record_on::<Customer>("pg")
        .attach("my", &mariadb.url())
        .record_on::<Goods>("my")
        .attach("mem", "memory:")
        .record_on::<Rate>("mem")
        .open(&format!("sqlite:{}/orders.db", folder.display()))
        .unwrap();
    db.create_missing_tables().unwrap();
    let mut batch = db.batch(BatchOptions::new());
    for n in 0..3_000_i64 {
        let goods = format!("g{}", n % 40);
        let currency = (n % 3 > 0).then(|| ["EUR", "SEK"][n as usize % 2].to_owned());
        let customer = n * 7_919 % 30_000 + 1;
        batch.insert(&Order { id: 0, customer, goods, currency }).unwrap();
    }
    batch.finish().unwrap();
    let mut batch = db.batch(BatchOptions::new());
    for n in 0..30_000 {
        let balance = Currency::from_scaled(n);
        batch.insert(&Customer { id: 0, name: format!("Namé {n}"), balance }).unwrap();
    }
    batch.finish().unwrap();
    for n in 0..40 {
        let goods = Goods { code: format!("g{n}"), price: Currency::from_scaled(n * 100) };
        db.table::<Goods>().unwrap().insert(&goods).unwrap();
    }
    for (currency, percent) in [("EUR", 100), ("SEK", 9)] {
        let rate = Rate { currency: currency.into(), percent };
        db.table::<Rate>().unwrap().insert(&rate).unwrap();
    }
    postgres.run("ANALYZE").unwrap();
    db
}

#[test]
fn servers_memory_and_a_file_join_and_are_written() {
    let Some((postgres, mariadb)) = servers() else { return };
    let folder = tempfile::tempdir().unwrap();
    let db = shop(&postgres, &mariadb, folder.path());
    joins(&db, &postgres);
    writes(&db);
    transactions(&db);
    fails(&db, &postgres);
}

fn joins(db: &Db, postgres: &Postgres) {
    let sql = "SELECT o.id, c.name, g.price, r.percent FROM \"order\" o \
               JOIN customer c ON c.id = o.customer JOIN goods g ON g.code = o.goods \
               LEFT JOIN rate r ON r.currency = o.currency ORDER BY o.id";
    let log = postgres.log().len();
    let rows = db.sql::<(i64, String, Currency, Option<i32>)>(sql, ()).unwrap();
    let statements = postgres.log()[log..].matches("FROM \"customer\"").count();
    assert_eq!(rows.len(), 3_000);
    for (id, name, price, percent) in rows {
        let n = id - 1;
        assert_eq!(name, format!("Namé {}", n * 7_919 % 30_000));
        assert_eq!(price, Currency::from_scaled(n % 40 * 100));
        assert_eq!(percent, (n % 3 > 0).then(|| [100, 9][n as usize % 2]));
    }
    assert!((3..60).contains(&statements), "{statements} statements for 3,000 rows");
    let plan = db.explain(
        "SELECT o.id FROM \"order\" o JOIN customer c ON c.id = o.customer \
         WHERE c.balance > 5 AND c.name LIKE 'N%'",
        (),
    );
    let plan = plan.unwrap().to_string();
    assert!(plan.contains("pg.customer: where") && plan.contains("name like ?"), "{plan}");
}

fn writes(db: &Db) {
    let one = |sql: &str| db.sql::<i64>(sql, ()).unwrap()[0];
    let add = "INSERT INTO customer (name, balance) SELECT 'of ' || goods, id FROM \"order\" \
               WHERE id <= 500";
    assert_eq!(db.execute(add, ()).unwrap(), 500);
    assert_eq!(one("SELECT count(*) FROM customer WHERE name LIKE 'of %'"), 500);
    let raise = "UPDATE goods SET price = price + ? WHERE code IN (SELECT goods FROM \"order\" \
                 WHERE customer < 1000)";
    let sum = || db.sql::<Currency>("SELECT sum(price) FROM goods", ()).unwrap()[0].scaled();
    let before = sum();
    let changed = db.execute(raise, (Currency::from_scaled(10),)).unwrap();
    assert_eq!(sum(), before + 10 * changed as i64);
    // Rows written before a statement fails are rolled back.
    let twice = "INSERT INTO goods VALUES ('new', 1), ('g1', 2)";
    let error = db.execute(twice, ()).unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::Duplicate, Some("goods")), "{error}");
    assert_eq!(one("SELECT count(*) FROM goods"), 40);
    let error = db.execute("UPDATE customer SET name = printf('%50d', id)", ()).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::TooLong, Some("name")), "{error}");
    assert_eq!(db.execute("DELETE FROM customer WHERE name LIKE 'of %'", ()).unwrap(), 500);
}

fn transactions(db: &Db) {
    let count = |sql: &str| db.sql::<i64>(sql, ()).unwrap()[0];
    for (engine, table, add) in [
        ("pg", "customer", "INSERT INTO customer (name, balance) VALUES ('x', 1)"),
        ("my", "goods", "INSERT INTO goods VALUES ('x', 1)"),
    ] {
        let all = format!("SELECT count(*) FROM {table}");
        let before = count(&all);
        let transaction = db.begin_on(engine).unwrap();
        let savepoint = transaction.savepoint().unwrap();
        transaction.execute(add, ()).unwrap();
        savepoint.rollback().unwrap();
        transaction.execute(add, ()).unwrap();
        let both = format!("SELECT count(*) FROM {table}, rate");
        assert_eq!(transaction.sql::<i64>(&both, ()).unwrap()[0], (before + 1) * 2);
        assert_eq!(count(&all), before, "not committed yet");
        transaction.rollback().unwrap();
        assert_eq!(count(&all), before);

        // The main engine's own transaction reaches one server and no other.
        let transaction = db.begin().unwrap();
        transaction.execute(add, ()).unwrap();
        let error = transaction.execute("DELETE FROM rate", ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        transaction.commit().unwrap();
        assert_eq!(count(&all), before + 1);
    }
}

fn fails(db: &Db, postgres: &Postgres) {
    let sql = "SELECT count(*) FROM \"order\" o JOIN customer c ON c.id = o.customer";
    let whole = db.sql::<i64>(sql, ()).unwrap();
    let transaction = db.begin_on("pg").unwrap();
    transaction.execute("DELETE FROM customer WHERE id < 100", ()).unwrap();
    postgres.kill().unwrap();
    let error = transaction.execute("DELETE FROM customer", ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    drop(transaction);
    let error = db.sql::<i64>(sql, ()).unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unreachable, true), "{error}");
    // The other engines still work.
    assert_eq!(db.sql::<i64>("SELECT count(*) FROM goods, rate", ()).unwrap().len(), 1);
    postgres.restart().unwrap();
    assert_eq!(db.sql::<i64>(sql, ()).unwrap(), whole);
}

#[test]
fn rows_of_servers_are_the_same_by_every_route() {
    let Some((postgres, mariadb)) = servers() else { return };
    postgres.run("CREATE SCHEMA other").unwrap();
    mariadb.run("CREATE DATABASE other").unwrap();
    let other = mariadb.url();
    let other = other.rsplit_once('/').map(|(server, _)| format!("{server}/other")).unwrap();
    let mut dbs = vec![Db::builder().record::<Thing>().open("sqlite::memory:").unwrap()];
    for (far, direct) in [
        (postgres.url(), true),
        (format!("{}?schema=other", postgres.url()), false),
        (mariadb.url(), true),
        (other, false),
    ] {
        let builder = Db::builder().direct(direct).attach("far", &far);
        dbs.push(builder.record_on::<Thing>("far").open("sqlite::memory:").unwrap());
    }
    for db in &dbs {
        db.create_missing_tables().unwrap();
    }
    // Without NUL characters, which PostgreSQL's texts cannot contain.
    let straight = compare(&dbs, &["a", "A", "ab", "B", "3", "", "b c", "é"], 200);
    assert!(straight > 50, "only {straight} went straight");
}
