//! Decimal numbers of servers that money cannot hold: every digit, or an error.

use bobak::copy::CopyOptions;
use bobak::prelude::*;
use bobak::{DbBuilder, Value};

#[derive(Record, Debug, Clone, PartialEq)]
struct Mark {
    id: i64,
    name: String,
}

/// A table of another program, whose money has two decimals.
#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "cheap")]
struct Cheap {
    #[record(key = "given")]
    id: i64,
    price: Currency,
    #[record(max = 9)]
    note: Option<String>,
}

/// `(server, URL, the statement that makes its table)`
type ServerCase = (&'static str, String, &'static str);

const LONG: &str = "12345678901234567890.0123456789";
const WHOLE: &str = "12345678901234567890";

/// Reads of the table by name, by SQL, and joined with another engine's.
fn check(case: &ServerCase) {
    let (name, url, create) = case;
    let db = Db::open(url).unwrap();
    db.execute(create, ()).unwrap();
    db.execute(
        &format!("INSERT INTO bill VALUES (1, {LONG}, 12.30, 5), (2, {WHOLE}, 0.05, 6)"),
        (),
    )
    .unwrap();
    db.execute("INSERT INTO bill VALUES (3, 7, NULL, NULL)", ()).unwrap();
    let table = db.dynamic("bill").unwrap();
    let rows = table.list(Query::all()).unwrap();
    let text = |at: usize| rows[at].get::<String>("long_one").unwrap();
    assert_eq!([text(0), text(1), text(2)], [LONG, WHOLE, "7"], "{name}");
    assert_eq!(rows[0].get::<Currency>("small").unwrap(), "12.30".parse().unwrap(), "{name}");
    assert!(rows[0].get::<f64>("long_one").is_err(), "{name}");
    let mut row = DynRow::new();
    row.set("id", 4_i64).unwrap();
    row.set("long_one", "0.0000000001").unwrap();
    row.set("small", "1.25".parse::<Currency>().unwrap()).unwrap();
    table.insert(&row).unwrap();
    let found = table.get([4_i64]).unwrap().unwrap();
    assert_eq!(found.get::<String>("long_one").unwrap(), "0.0000000001", "{name}");
    let small = table.column("small").unwrap();
    assert_eq!(table.count(small.gt("1.2".parse::<Currency>().unwrap())).unwrap(), 2, "{name}");

    let sql = |sql: &str| db.sql::<DynRow>(sql, ()).unwrap()[0].values()[0].clone();
    assert_eq!(sql("SELECT long_one FROM bill WHERE id = 1"), Value::from(LONG), "{name}");
    let sum = "12345678901234567890.0123456789";
    let total = sql("SELECT sum(long_one) FROM bill WHERE id IN (1, 5)");
    assert_eq!(total, Value::from(sum), "{name}");
    assert_eq!(sql("SELECT long_one + 1 FROM bill WHERE id = 3"), Value::Int(8), "{name}");
    assert_eq!(sql("SELECT count(*) FROM bill WHERE long_one > 7"), Value::Int(2), "{name}");
    assert!(db.sql::<i64>("SELECT long_one FROM bill WHERE id = 2", ()).is_err(), "{name}");
    joined(name, url);
}

fn joined(name: &str, url: &str) {
    let db: DbBuilder = Db::builder().record::<Mark>().attach("far", url);
    let db = db.open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    db.table::<Mark>().unwrap().insert(&Mark { id: 1, name: "one".to_owned() }).unwrap();
    let ask = |sql: &str| db.sql::<DynRow>(sql, ()).map(|rows| rows[0].values()[0].clone());
    let join = |what: &str| {
        ask(&format!("SELECT {what} FROM far.bill AS b JOIN mark AS m ON m.id = b.id"))
    };
    assert_eq!(join("b.long_one").unwrap(), Value::from(LONG), "{name}");
    assert_eq!(join("count(b.long_one)").unwrap(), Value::Int(1), "{name}");
    assert_eq!(join("b.small").unwrap(), Value::Int(123_000), "{name}");
    for condition in ["long_one > 7", "long_one >= 12345678901234567890"] {
        let counted = ask(&format!("SELECT count(*) FROM far.bill WHERE {condition}"));
        let is_right = counted.as_ref().is_ok_and(|count| *count == Value::Int(2));
        assert!(is_right || counted.is_err(), "{name}: {condition}: {counted:?}");
    }
    let cast = ask("SELECT CAST(long_one AS DECIMAL(19, 4)) FROM far.bill WHERE id = 4");
    assert_eq!(cast.unwrap(), Value::Int(0), "{name}");
    for what in ["b.long_one + 1", "sum(b.long_one)", "max(b.long_one)", "b.long_one > 5"] {
        let error = join(what).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{name}: {what}: {error}");
    }
    // The server orders its own table.
    let first = ask("SELECT long_one FROM far.bill ORDER BY long_one LIMIT 1").unwrap();
    assert_eq!(first, Value::from("0.0000000001"), "{name}");
    for order in ["b.long_one", "1"] {
        let sql = format!(
            "SELECT b.long_one FROM far.bill AS b JOIN mark AS m ON m.id = b.id ORDER BY {order}"
        );
        assert_eq!(ask(&sql).unwrap_err().kind(), ErrorKind::Mismatch, "{name}: {order}");
    }
}

#[test]
fn digits_of_long_decimals_are_kept() {
    if ["BOBAK_TEST_POSTGRES", "BOBAK_TEST_MARIADB"].iter().any(|v| std::env::var_os(v).is_none()) {
        println!("not run: BOBAK_TEST_POSTGRES and BOBAK_TEST_MARIADB are not set");
        return;
    }
    let postgres = bobak_servers::Postgres::start().unwrap();
    let mariadb = bobak_servers::MariaDb::start().unwrap();
    for case in [
        (
            "PostgreSQL",
            postgres.url(),
            "CREATE TABLE bill (id bigint PRIMARY KEY, long_one numeric, small numeric(10,2), whole numeric(20,0))",
        ),
        (
            "MariaDB",
            mariadb.url(),
            "CREATE TABLE bill (id bigint PRIMARY KEY, long_one decimal(40,10), small decimal(10,2), whole decimal(20,0))",
        ),
    ] {
        check(&case);
        let scale = if case.0 == "MariaDB" { "decimal(10,2)" } else { "numeric(10,2)" };
        narrow(case.0, &case.1, scale);
    }
    // Beyond money's range in a column of money.
    let db = Db::open(&postgres.url()).unwrap();
    db.execute("CREATE TABLE huge (id bigint PRIMARY KEY, cost numeric(19,4))", ()).unwrap();
    db.execute("INSERT INTO huge VALUES (1, 999999999999999.9999), (2, 'NaN')", ()).unwrap();
    for key in [1_i64, 2] {
        let error = db.dynamic("huge").unwrap().get([key]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
        let sql = format!("SELECT cost FROM huge WHERE id = {key}");
        assert_eq!(db.sql::<DynRow>(&sql, ()).unwrap_err().kind(), ErrorKind::OutOfRange);
    }
    db.execute("CREATE TABLE gauge (id bigint PRIMARY KEY, a float8, b float4)", ()).unwrap();
    db.execute("INSERT INTO gauge VALUES (1, 'NaN', 0), (2, 0, 'NaN'), (3, 'inf', 0)", ()).unwrap();
    let gauge = db.dynamic("gauge").unwrap();
    for (key, column) in [(1_i64, "a"), (2, "b")] {
        let error = gauge.get([key]).unwrap_err();
        assert_eq!((error.kind(), error.column()), (ErrorKind::OutOfRange, Some(column)));
    }
    gauge.get([3_i64]).unwrap().unwrap();
    assert_eq!(gauge.list(Query::all()).unwrap_err().kind(), ErrorKind::OutOfRange);
}

/// Nothing but zeros is beyond the decimals of a column of another program: the server would round it.
fn narrow(name: &str, url: &str, scale: &str) {
    let create = |name: &str| {
        format!(
            "CREATE TABLE {name} (id bigint PRIMARY KEY, price {scale} NOT NULL, note varchar(9))"
        )
    };
    let db = Db::open(url).unwrap();
    db.execute(&create("cheap"), ()).unwrap();
    let table = db.table::<Cheap>().unwrap();
    let amount = |text: &str| text.parse::<Currency>().unwrap();
    let row = |id: i64, price: &str| Cheap { id, price: amount(price), note: None };
    let insert_all = |rows: &[Cheap]| {
        let mut batch = db.batch(BatchOptions::new());
        rows.iter().try_for_each(|row| batch.insert(row))?;
        batch.finish()
    };
    let is_rejected = |result: bobak::Result<()>| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange, "{name}: {error}");
        assert_eq!(error.column(), Some("price"), "{name}: {error}");
    };
    table.insert(&row(1, "12.30")).unwrap();
    for price in ["-0.0001", "0.005", "12.301"] {
        is_rejected(table.insert(&row(2, price)).map(drop));
        is_rejected(table.update(&row(1, price)).map(drop));
        is_rejected(table.upsert(&row(1, price)).map(drop));
        is_rejected(table.set_where(Cheap::ID.eq(1), [Cheap::PRICE.set(amount(price))]).map(drop));
        is_rejected(table.set_where(Cheap::ID.eq(1), [Cheap::PRICE.add(amount(price))]).map(drop));
        let mut dynamic = DynRow::new();
        dynamic.set("id", 3_i64).unwrap();
        dynamic.set("price", amount(price)).unwrap();
        is_rejected(db.dynamic("cheap").unwrap().insert(&dynamic).map(drop));
        for rows in [2_i64, 200] {
            let mut all: Vec<Cheap> = (10..10 + rows).map(|id| row(id, "1.25")).collect();
            all[1].price = amount(price);
            is_rejected(insert_all(&all).map(drop));
        }
    }
    assert_eq!(table.list(Query::all()).unwrap(), [row(1, "12.30")], "{name}");
    table.set_where(Cheap::ID.eq(1), [Cheap::PRICE.add(amount("0.05"))]).unwrap();
    let all: Vec<Cheap> = (10..210).map(|id| row(id, "1.25")).collect();
    insert_all(&all).unwrap();
    assert_eq!(table.get(1).unwrap(), Some(row(1, "12.35")));
    // A copy into a table that is there.
    let from = Db::open("sqlite::memory:").unwrap();
    from.execute(
        "CREATE TABLE fine (id INTEGER PRIMARY KEY, price CURRENCY_E4 NOT NULL, note VARCHAR(9))",
        (),
    )
    .unwrap();
    from.execute("INSERT INTO fine VALUES (1, ?, NULL)", (amount("0.0001"),)).unwrap();
    db.execute(&create("fine"), ()).unwrap();
    is_rejected(from.copy_to(&db, &["fine"], &CopyOptions::new(), |_| {}).map(drop));
}
