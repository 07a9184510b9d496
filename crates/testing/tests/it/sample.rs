//! Sample data.

use crate::on_each;
use bobak::prelude::*;
use bobak_testing::Sample;
use std::collections::HashSet;

#[derive(Record, Debug, PartialEq)]
struct Customer {
    id: i64,
    #[record(max = 30)]
    name: String,
    #[record(max = 60, unique)]
    email: String,
    #[record(max = 20, check = "status IN ('gold', 'silver')")]
    status: String,
    born: Option<Date>,
    #[record(check = "length(phone) >= 5")]
    phone: String,
}

#[derive(Record, Debug, PartialEq)]
struct Product {
    #[record(key = "given")]
    code: String,
    #[record(max = 12)]
    description: String,
    #[record(check = "price > 0 AND price < 10")]
    price: Currency,
    weight: f64,
    key: Uuid,
}

#[derive(Record, Debug, PartialEq)]
#[record(index(customer_id, product, unique))]
struct Review {
    id: i64,
    #[record(references = Customer, index)]
    customer_id: i64,
    #[record(references = Product)]
    product: String,
    #[record(check = "stars >= 1 AND stars <= 5")]
    stars: u8,
    low: i32,
    #[record(check = "high > low")]
    high: i32,
    #[record(references = Review)]
    reply_to: Option<i64>,
    at: Timestamp,
}

fn open(url: &str) -> Db {
    let builder = Db::builder().record::<Customer>().record::<Product>().record::<Review>();
    let db = builder.open(url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

type Rows = (Vec<Customer>, Vec<Product>, Vec<Review>);

fn rows(db: &Db) -> Rows {
    (
        db.table().unwrap().list(Query::all()).unwrap(),
        db.table().unwrap().list(Query::all()).unwrap(),
        db.table().unwrap().list(Query::all()).unwrap(),
    )
}

#[test]
fn rows_satisfy_all_rules_and_are_the_same_on_every_engine() {
    let memory = open("memory:");
    let sample = || Sample::new(7).records::<Review>(2_000).rows("CUSTOMER", 300);
    let filled = sample().fill(&memory).unwrap();
    let names: Vec<_> = filled.iter().map(|(name, count)| format!("{name} {count}")).collect();
    assert_eq!(names, ["customer 300", "product 200", "review 2000"]);
    let (customers, products, reviews) = rows(&memory);
    assert_eq!((customers.len(), products.len(), reviews.len()), (300, 200, 2_000));
    let emails: HashSet<_> = customers.iter().map(|customer| &customer.email).collect();
    assert_eq!(emails.len(), 300);
    assert!(customers.iter().all(|customer| customer.email.contains("@example.")));
    assert!(customers.iter().all(|customer| customer.name.contains(' ')));
    let unknown = customers.iter().filter(|customer| customer.born.is_none()).count();
    assert!((10..60).contains(&unknown), "{unknown} NULLs");
    let pairs: HashSet<_> = reviews.iter().map(|r| (r.customer_id, &r.product)).collect();
    assert_eq!(pairs.len(), 2_000);
    assert!(reviews.iter().filter(|review| review.reply_to.is_some()).count() > 1_000);
    assert!(reviews.iter().all(|review| review.high > review.low));
    on_each(|url| {
        if url.starts_with("kv:") {
            return; // It has no foreign keys.
        }
        let db = open(url);
        sample().fill(&db).unwrap();
        assert!(rows(&db) == rows(&memory), "on {url}");
        // More rows go on from those that are there.
        Sample::new(8).records::<Review>(100).fill(&db).unwrap();
        assert_eq!(rows(&db).2.len(), 2_100, "on {url}");
    });
    let other = open("memory:");
    Sample::new(8).records::<Review>(2_000).rows("customer", 300).fill(&other).unwrap();
    assert_ne!(rows(&other).0, customers);
}

#[test]
fn values_of_ones_own() {
    let db = open("memory:");
    let sample = Sample::new(1).records::<Customer>(3);
    let sample = sample.column("customer", "name", |_, row| Value::from(format!("Customer {row}")));
    sample.fill(&db).unwrap();
    let names = rows(&db).0.into_iter().map(|customer| customer.name).collect::<Vec<_>>();
    assert_eq!(names, ["Customer 0", "Customer 1", "Customer 2"]);
}

#[test]
fn every_table_gets_rows_if_none_is_named() {
    let db = open("memory:");
    assert_eq!(Sample::new(1).fill(&db).unwrap().len(), 3);
    assert_eq!(rows(&db).2.len(), 100);
}

#[derive(Record, Debug)]
struct Flag {
    id: i64,
    #[record(unique)]
    set: bool,
}

#[derive(Record, Debug)]
struct Odd {
    id: i64,
    #[record(check = "number * number = 3")]
    number: i64,
}

#[derive(Record, Debug)]
struct Node {
    id: i64,
    #[record(references = Node)]
    parent: i64,
}

#[test]
fn rules_that_cannot_be_satisfied_have_an_error_and_nothing_is_inserted() {
    on_each(|url| {
        let references = !url.starts_with("kv:");
        let builder = Db::builder().record::<Flag>().record::<Odd>();
        let builder = if references { builder.record::<Node>() } else { builder };
        let db = builder.open(url).unwrap();
        db.create_missing_tables().unwrap();
        let error = Sample::new(1).records::<Flag>(3).fill(&db).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Duplicate, "{error}");
        assert!(error.to_string().contains("no values for row 2 after 1000 tries"), "{error}");
        assert_eq!(error.table(), Some("flag"));
        assert_eq!(db.table::<Flag>().unwrap().count(Query::all()).unwrap(), 0);
        let error = Sample::new(1).records::<Odd>(1).fill(&db).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
        if references {
            let error = Sample::new(1).records::<Node>(1).fill(&db).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
            assert!(error.to_string().contains("refer to"), "{error}");
        }
        let error = Sample::new(1).rows("none", 1).fill(&db).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
    });
}

/// The columns that other programs declare in SQLite files get values as those programs store them.
#[test]
fn untyped_columns_of_other_programs_get_the_values_that_they_declare() {
    use bobak::schema::Type;
    let db = Db::open("sqlite::memory:").unwrap();
    let columns = "d DATETIME, e DATE, j JSON, ts TIMESTAMP, t TIME, u UUID, b BOOL, p DECIMAL(6,2), n NUMERIC(5), w ODD, \
                   f DATETIME";
    db.execute(&format!("CREATE TABLE other (id INTEGER PRIMARY KEY, {columns})"), ()).unwrap();
    let types = || {
        let table = db.stored_types(&db.tables().unwrap()[0], &[]).unwrap().table;
        table.columns().iter().map(|column| column.ty).collect::<Vec<_>>()
    };
    let expected = [
        Type::I64,
        Type::DateTime,
        Type::Date,
        Type::Json,
        Type::DateTime,
        Type::Time,
        Type::Uuid,
        Type::Bool,
        Type::F64,
        Type::I64,
        Type::Text,
        Type::DateTime,
    ];
    // The first rows follow the declared names, and others the values.
    for seed in 1..=2 {
        Sample::new(seed).fill(&db).unwrap();
        assert_eq!(types(), expected, "with seed {seed}");
    }
    // Dates as numbers stay numbers; dates in another form get dates.
    db.execute("UPDATE other SET d = 20000, f = '2024-02-29T12:00:00.5'", ()).unwrap();
    Sample::new(3).fill(&db).unwrap();
    let kinds = "SELECT typeof(d) || '/' || typeof(f) AS kinds FROM other WHERE id > 200 AND f IS NOT NULL AND d IS NOT NULL \
                 GROUP BY 1";
    assert_eq!(db.sql::<(String,)>(kinds, ()).unwrap(), [("integer/text".to_owned(),)]);
    let dates = "SELECT count(*) AS n FROM other WHERE date(f) IS NULL AND f IS NOT NULL";
    assert_eq!(db.sql::<(i64,)>(dates, ()).unwrap(), [(0,)]);
}

#[test]
fn a_composite_foreign_key_with_one_optional_column_refers_to_a_row_or_to_nothing() {
    let db = Db::open("sqlite::memory:").unwrap();
    for sql in [
        "CREATE TABLE shelf (shop INTEGER, number INTEGER, PRIMARY KEY (shop, number))",
        "CREATE TABLE item (id INTEGER PRIMARY KEY, shop INTEGER NOT NULL, shelf INTEGER, \
         FOREIGN KEY (shop, shelf) REFERENCES shelf (shop, number))",
    ] {
        db.execute(sql, ()).unwrap();
    }
    Sample::new(3).rows("shelf", 10).rows("item", 200).fill(&db).unwrap();
    let counts = "SELECT count(*), count(shelf) FROM item";
    let (all, with_shelf) = db.sql::<(i64, i64)>(counts, ()).unwrap()[0];
    assert_eq!(all, 200);
    assert!((100..200).contains(&with_shelf), "{with_shelf}");
    assert!(db.sql::<DynRow>("PRAGMA foreign_key_check", ()).unwrap().is_empty());
}

/// What the schema does not tell: the labels of an ENUM, the decimals of an amount.
#[test]
fn tables_of_servers_get_values_that_their_types_take() {
    crate::on_each(|url| {
        let texts: &[&str] = match url.split(':').next() {
            Some("mysql") => &[
                "CREATE TABLE odd (id INT PRIMARY KEY, kind ENUM('a','it''s') NOT NULL, several SET('x','y') NOT NULL, \
                 flags BIT(3) NOT NULL, born YEAR NOT NULL, u UUID NOT NULL, year TINYINT NOT NULL, \
                 price DECIMAL(4,1) NOT NULL, code CHAR(2) NOT NULL UNIQUE, amount DECIMAL(3,2) UNIQUE NOT NULL)",
            ],
            Some("postgres") => &[
                "CREATE TYPE mood AS ENUM ('sad', 'it''s ok')",
                "CREATE TABLE odd (id INT PRIMARY KEY, m mood NOT NULL, n NUMERIC(3) NOT NULL, price NUMERIC(8,1) NOT NULL, \
                 amount NUMERIC(3,2) UNIQUE NOT NULL, code VARCHAR(2) NOT NULL UNIQUE)",
            ],
            Some("sqlite") => &[
                "CREATE TABLE odd (id INTEGER PRIMARY KEY, code VARCHAR(2) UNIQUE NOT NULL, year TINYINT NOT NULL)",
            ],
            _ => return,
        };
        let db = Db::open(url).unwrap();
        for text in texts {
            db.execute(text, ()).unwrap();
        }
        Sample::new(3).rows("odd", 500).fill(&db).unwrap();
        assert_eq!(db.sql::<i64>("SELECT count(*) FROM odd", ()).unwrap(), [500], "on {url}");
    });
}
