//! Amounts, dates and times in SQL over SQLite and what is attached to it.

use bobak::Value;
use bobak::prelude::*;
use bobak_core::{ResultColumn, Type};

#[derive(Record, Debug, Clone, PartialEq)]
struct Sale {
    id: i64,
    #[record(max = 10)]
    shop: String,
    total: Currency,
    due: Option<Date>,
    placed: Timestamp,
    quantity: i32,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Target {
    #[record(key, max = 10)]
    shop: String,
    least: Currency,
    since: Date,
}

fn fill(db: &Db) {
    db.create_missing_tables().unwrap();
    let sales = db.table::<Sale>().unwrap();
    for (id, shop, total, due, placed, quantity) in [
        (1, "a", "1.5", Some("2013-01-15"), "2013-01-15T10:00:00Z", 3),
        (2, "a", "5", Some("2013-02-01"), "2013-02-01T00:00:00.000001Z", 1),
        (3, "b", "12.3456", None, "2013-02-28T23:59:59.999999Z", 2),
        (4, "b", "0.5", Some("2012-12-31"), "2012-12-31T23:00:00Z", 10),
    ] {
        let (shop, total) = (shop.to_owned(), total.parse().unwrap());
        let due = due.map(|due| due.parse().unwrap());
        let placed = placed.parse().unwrap();
        sales.insert(&Sale { id, shop, total, due, placed, quantity }).unwrap();
    }
    let targets = db.table::<Target>().unwrap();
    for (shop, least, since) in [("a", "6", "2013-01-20"), ("b", "0.5", "2012-12-31")] {
        let target = Target {
            shop: shop.to_owned(),
            least: least.parse().unwrap(),
            since: since.parse().unwrap(),
        };
        targets.insert(&target).unwrap();
    }
}

/// A value as a person reads it, whatever type an engine gives to it.
fn shown(value: &Value<'_>, column: &ResultColumn) -> String {
    let trimmed = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    match (value, column.ty) {
        (Value::Null, _) => "NULL".to_owned(),
        (Value::Int(scaled), Type::Currency) => trimmed(Currency::from_scaled(*scaled).to_string()),
        (value, Type::Date) => Date::from_value(value.as_ref()).unwrap().to_string(),
        (value, Type::Timestamp) => Timestamp::from_value(value.as_ref()).unwrap().to_string(),
        (Value::Int(number), _) => number.to_string(),
        (Value::Float(number), _) => trimmed(number.to_string()),
        (Value::Text(text), Type::Decimal) => trimmed(text.to_string()),
        (Value::Text(text), _) => text.to_string(),
        (other, ty) => format!("{other:?} as {ty:?}"),
    }
}

/// The rows, each as `a|b`, with a space between rows.
fn ask(db: &Db, sql: &str) -> bobak::Result<String> {
    rows_as_text(db, sql, " ", shown)
}

/// The rows, each as `a|b`, with a text between rows.
pub(crate) fn rows_as_text(
    db: &Db,
    sql: &str,
    between: &str,
    shown: fn(&Value<'_>, &ResultColumn) -> String,
) -> bobak::Result<String> {
    let rows = db.sql::<DynRow>(sql, ())?;
    let row = |row: &DynRow| {
        let cells = row.values().iter().zip(row.columns());
        cells.map(|(value, column)| shown(value, column)).collect::<Vec<_>>().join("|")
    };
    Ok(rows.iter().map(row).collect::<Vec<_>>().join(between))
}

/// Statements in what all dialects share.
const EVERYWHERE: &[(&str, &str)] = &[
    ("SELECT id FROM sale WHERE total > 5 ORDER BY id", "3"),
    ("SELECT id FROM sale WHERE total >= 0.50 AND 5 >= total ORDER BY id", "1 2 4"),
    ("SELECT id FROM sale WHERE total BETWEEN 1 AND 5 ORDER BY id", "1 2"),
    ("SELECT id FROM sale WHERE total IN (5, 0.5) ORDER BY id", "2 4"),
    ("SELECT id FROM sale WHERE total > quantity ORDER BY id", "2 3"),
    ("SELECT total + 1, total - 0.25, -total, total * 2 FROM sale WHERE id = 1", "2.5|1.25|-1.5|3"),
    ("SELECT total * quantity, total / 2, 2 * total FROM sale WHERE id = 2", "5|2.5|10"),
    ("SELECT sum(total), min(total), max(total) FROM sale", "19.3456|0.5|12.3456"),
    ("SELECT avg(total) FROM sale WHERE id IN (1, 4)", "1"),
    ("SELECT round(total, 2), abs(-total) FROM sale WHERE id = 3", "12.35|12.3456"),
    ("SELECT sum(total) OVER (ORDER BY id) FROM sale ORDER BY id", "1.5 6.5 18.8456 19.3456"),
    ("SELECT lag(total, 1) OVER (ORDER BY id) FROM sale ORDER BY id", "NULL 1.5 5 12.3456"),
    ("SELECT CASE WHEN total > 5 THEN total ELSE 0 END FROM sale ORDER BY id", "0 0 12.3456 0"),
    (
        "SELECT CASE total WHEN 5 THEN 'five' ELSE 'other' END FROM sale WHERE id < 3 ORDER BY id",
        "other five",
    ),
    ("SELECT coalesce(NULL, total), nullif(total, 1.5) FROM sale WHERE id = 1", "1.5|NULL"),
    (
        "SELECT shop, sum(total) AS s FROM sale GROUP BY shop HAVING sum(total) > 6.5 ORDER BY s",
        "b|12.8456",
    ),
    ("SELECT id FROM sale ORDER BY total DESC", "3 2 1 4"),
    ("SELECT id FROM sale WHERE total > (SELECT avg(total) FROM sale) ORDER BY id", "2 3"),
    ("SELECT id FROM sale WHERE total IN (SELECT least FROM target) ORDER BY id", "4"),
    (
        "WITH s AS (SELECT shop, sum(total) AS t FROM sale GROUP BY shop) SELECT shop FROM s WHERE t > 10",
        "b",
    ),
    ("SELECT total FROM sale WHERE id = 1 UNION ALL SELECT 7 ORDER BY 1", "1.5 7"),
    ("SELECT x.t FROM (SELECT total + 1 AS t FROM sale) AS x WHERE x.t < 2", "1.5"),
    (
        "SELECT s.id FROM sale AS s JOIN target AS t ON t.shop = s.shop AND s.total < t.least ORDER BY s.id",
        "1 2",
    ),
    (
        "SELECT t.shop, sum(s.total) - t.least FROM sale AS s JOIN target AS t ON t.shop = s.shop GROUP BY t.shop, t.least ORDER BY 1",
        "a|0.5 b|12.3456",
    ),
    (
        "SELECT total, due, placed FROM sale WHERE id = 2",
        "5|2013-02-01|2013-02-01T00:00:00.000001Z",
    ),
    ("SELECT id FROM sale WHERE placed >= '2013-01-01' ORDER BY id", "1 2 3"),
    ("SELECT id FROM sale WHERE placed = '2013-02-01 00:00:00.000001'", "2"),
    ("SELECT id FROM sale WHERE placed BETWEEN '2013-01-01' AND '2013-02-01' ORDER BY id", "1"),
    ("SELECT id FROM sale WHERE due = '2013-02-01'", "2"),
    ("SELECT id FROM sale WHERE due IN ('2013-02-01', '2012-12-31') ORDER BY id", "2 4"),
    ("SELECT id FROM sale WHERE due IS NULL OR due < '2013-01-01' ORDER BY id", "3 4"),
    ("SELECT id FROM sale WHERE due < placed ORDER BY id", "1 2 4"),
    ("SELECT min(due), max(placed) FROM sale", "2012-12-31|2013-02-28T23:59:59.999999Z"),
    (
        "SELECT s.id FROM sale AS s JOIN target AS t ON t.shop = s.shop AND s.due >= t.since ORDER BY s.id",
        "2 4",
    ),
    (
        "SELECT CAST('2013-01-31' AS DATE) FROM sale WHERE due = CAST('2013-02-01' AS DATE)",
        "2013-01-31",
    ),
    ("SELECT CAST(total AS DECIMAL(19, 1)) FROM sale WHERE id = 3", "12.3"),
    ("SELECT count(*), count(due), count(DISTINCT shop) FROM sale", "4|3|2"),
    ("SELECT count(due) FROM sale WHERE placed < CURRENT_TIMESTAMP AND due < CURRENT_DATE", "3"),
];

/// SQLite's functions, on its tables and on those of all engines that are joined there.
const SQLITE: &[(&str, &str)] = &[
    (
        "SELECT strftime('%Y-%m', placed) AS m, sum(total) FROM sale GROUP BY m ORDER BY m",
        "2012-12|0.5 2013-01|1.5 2013-02|17.3456",
    ),
    (
        "SELECT strftime('%Y', due), date(due, '+1 month') FROM sale WHERE id < 4 ORDER BY id",
        "2013|2013-02-15 2013|2013-03-01 NULL|NULL",
    ),
    (
        "SELECT datetime(placed), time(placed), strftime('%f', placed) FROM sale WHERE id = 3",
        "2013-02-28 23:59:59|23:59:59|59.999999",
    ),
    ("SELECT unixepoch(placed), julianday(due) FROM sale WHERE id = 4", "1356994800|2456292.5"),
    ("SELECT id FROM sale WHERE date(placed) = due ORDER BY id", "1 2 4"),
    ("SELECT id FROM sale WHERE placed > datetime('2013-02-28') ORDER BY id", "3"),
    ("SELECT total || ' EUR', printf('%.2f', total) FROM sale WHERE id = 1", "1.5000 EUR|1.50"),
    ("SELECT id FROM sale WHERE placed LIKE '2013-02%' ORDER BY id", "2 3"),
    ("SELECT total / 3, total * 1.1, total / total FROM sale WHERE id = 2", "1.6667|5.5|1"),
    (
        "WITH RECURSIVE r(n, t) AS (SELECT 0, 0 UNION ALL SELECT n + 1, t + total FROM r JOIN sale ON id = n + 1) SELECT max(t) FROM r",
        "19.3456",
    ),
];

/// SQLite's functions in joins of two engines.
const JOINED: &[(&str, &str)] = &[(
    "SELECT strftime('%Y-%m', s.placed) AS m, sum(s.total), max(t.least + 1) FROM sale AS s \
     JOIN target AS t ON t.shop = s.shop GROUP BY m ORDER BY m",
    "2012-12|0.5|1.5 2013-01|1.5|7 2013-02|17.3456|7",
)];

const REJECTED: &[&str] = &[
    "SELECT id FROM sale WHERE total > '5'",
    "SELECT id FROM sale WHERE placed > 5",
    "SELECT id FROM sale WHERE due = 'soon'",
    "SELECT id FROM sale WHERE total > 0.00005",
    "SELECT placed + 1 FROM sale",
    "SELECT id FROM sale WHERE total = due",
    "UPDATE sale SET quantity = due",
    "INSERT INTO sale (id, quantity) SELECT 9, placed FROM sale",
];

fn check(db: &Db, name: &str, statements: &[(&str, &str)]) {
    let wrong: Vec<_> = statements
        .iter()
        .map(|(sql, wanted)| (sql, ask(db, sql).unwrap_or_else(|error| error.to_string()), wanted))
        .filter(|(_, found, wanted)| found != *wanted)
        .collect();
    assert!(wrong.is_empty(), "{name}: statement, what it gave, what it should give: {wrong:#?}");
}

/// Writes by SQL, and by parameters of each type.
fn check_writes(db: &Db, name: &str) {
    let amount = |text: &str| text.parse::<Currency>().unwrap();
    let day = "2013-03-01".parse::<Date>().unwrap();
    let moment = "2013-03-01T00:00:00.5Z".parse::<Timestamp>().unwrap();
    let insert = "INSERT INTO sale (id, shop, total, due, placed, quantity) VALUES ";
    let literal = format!("{insert} (5, 'c', 5.25, '2013-03-01', '2013-03-01 00:00:00.5', 1)");
    assert_eq!(db.execute(&literal, ()).unwrap(), 1, "{name}");
    let typed = (6, "c", amount("5.25"), day, moment, 1);
    db.execute(&format!("{insert} (?, ?, ?, ?, ?, ?)"), typed).unwrap();
    let sales = db.table::<Sale>().unwrap();
    let [fifth, sixth] = [5, 6].map(|id| sales.get(id).unwrap().unwrap());
    assert_eq!(fifth, Sale { id: 5, ..sixth.clone() }, "{name}");
    assert_eq!((fifth.total, fifth.due, fifth.placed), (amount("5.25"), Some(day), moment));
    let count = |sql: &str, parameter: Currency| {
        db.sql::<i64>(&format!("SELECT count(*) FROM sale WHERE {sql}"), (parameter,)).unwrap()[0]
    };
    assert_eq!(count("total = ?", amount("5.25")), 2, "{name}");
    assert_eq!(count("total + 1 > ?", amount("6")), 3, "{name}");
    let since = "SELECT count(*) FROM sale WHERE due >= ? AND placed >= ?";
    assert_eq!(db.sql::<i64>(since, (day, moment)).unwrap(), [2], "{name}");
    let raise =
        "UPDATE sale SET total = total + 1.5, due = '2013-04-01' WHERE total > ? AND id > 4";
    assert_eq!(db.execute(raise, (amount("5"),)).unwrap(), 2, "{name}");
    let raised = sales.get(6).unwrap().unwrap();
    assert_eq!(
        (raised.total, raised.due.unwrap().to_string()),
        (amount("6.75"), "2013-04-01".into())
    );
    assert_eq!(
        db.sql::<Currency>("SELECT sum(total) FROM sale WHERE id > 4", ()).unwrap(),
        [amount("13.5")]
    );
    assert_eq!(db.execute("DELETE FROM sale WHERE total = 6.75", ()).unwrap(), 2, "{name}");
}

fn builder() -> bobak::DbBuilder {
    Db::builder().record::<Sale>().record::<Target>()
}

fn open(builder: bobak::DbBuilder) -> Db {
    builder.open("sqlite::memory:").unwrap()
}

#[test]
fn sqlite_and_memory_have_amounts_and_moments() {
    let both = Db::builder().attach("other", "memory:");
    let joined = Db::builder().attach("other", "memory:").record::<Sale>();
    for (name, db) in [
        ("sqlite", open(builder())),
        ("memory", builder().open("memory:").unwrap()),
        ("attached memory", open(both.record_on::<Sale>("other").record_on::<Target>("other"))),
        ("sqlite joined with memory", open(joined.record_on::<Target>("other"))),
    ] {
        fill(&db);
        check(&db, name, EVERYWHERE);
        check(&db, name, SQLITE);
        check(&db, name, JOINED);
        for sql in REJECTED {
            let error = ask(&db, sql).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{name}: {sql}: {error}");
        }
        check_writes(&db, name);
    }
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn joins_with_servers_have_amounts_and_moments() {
    if ["BOBAK_TEST_POSTGRES", "BOBAK_TEST_MARIADB"].iter().any(|v| std::env::var_os(v).is_none()) {
        println!("not run: BOBAK_TEST_POSTGRES and BOBAK_TEST_MARIADB are not set");
        return;
    }
    let postgres = bobak_servers::Postgres::start().unwrap();
    let mariadb = bobak_servers::MariaDb::start().unwrap();
    for (name, url) in [("PostgreSQL", postgres.url()), ("MariaDB", mariadb.url())] {
        let db = Db::builder().record::<Target>().attach("server", &url);
        let db = open(db.record_on::<Sale>("server"));
        fill(&db);
        // The others run on the server alone.
        let is_join = |(sql, _): &&(&str, &str)| sql.contains("target");
        let joins: Vec<_> = EVERYWHERE.iter().filter(is_join).copied().collect();
        check(&db, name, &joins);
        check(&db, name, JOINED);
    }
}

/// New values are computed from the rows before the statement.
#[test]
fn updates_read_the_rows_as_they_were() {
    for url in ["sqlite::memory:", "memory:"] {
        let db = builder().open(url).unwrap();
        fill(&db);
        for sql in [
            "UPDATE sale SET shop = 'x', quantity = (SELECT count(*) FROM sale AS q WHERE q.shop = sale.shop)",
            "UPDATE sale SET total = (SELECT sum(q.total) FROM sale AS q WHERE q.id <= sale.id) WHERE id > 1",
        ] {
            db.execute(sql, ()).unwrap();
        }
        let rows = "SELECT shop, quantity, total FROM sale ORDER BY id";
        assert_eq!(ask(&db, rows).unwrap(), "x|2|1.5 x|2|6.5 x|2|18.8456 x|2|19.3456", "{url}");
    }
    let plain = Db::open("sqlite::memory:").unwrap();
    plain.execute("CREATE TABLE t (g INTEGER, b INTEGER)", ()).unwrap();
    plain.execute("INSERT INTO t VALUES (1, 0), (1, 0), (2, 0)", ()).unwrap();
    let sql = "UPDATE t SET g = 0, b = (SELECT count(*) FROM t q WHERE q.g = t.g)";
    assert_eq!(plain.execute(sql, ()).unwrap(), 3);
    assert_eq!(plain.sql::<i64>("SELECT b FROM t ORDER BY rowid", ()).unwrap(), [2, 2, 1]);
}

#[test]
fn stored_units_are_a_setting() {
    let memory = || builder().typed_sql(false).open("memory:");
    for db in [builder().open("sqlite::memory:?typed_sql=off"), memory()] {
        let db = db.unwrap();
        fill(&db);
        assert_eq!(db.sql::<i64>("SELECT id FROM sale WHERE total > 50000", ()).unwrap(), [3]);
        assert_eq!(db.execute("UPDATE sale SET total = 1, due = 2 WHERE id = 3", ()).unwrap(), 1);
        let sale = db.table::<Sale>().unwrap().get(3).unwrap().unwrap();
        assert_eq!(
            (sale.total, sale.due.unwrap().to_string()),
            (Currency::from_scaled(1), "1970-01-03".into())
        );
    }
}

#[test]
fn views_are_stored_in_stored_units() {
    let db = open(builder());
    fill(&db);
    db.execute(
        "CREATE VIEW big AS SELECT id, total * 2 AS twice, total + 1 AS more, placed \
         FROM sale WHERE total > 1.5",
        (),
    )
    .unwrap();
    check(
        &db,
        "view",
        &[
            ("SELECT id, twice, more FROM big ORDER BY id", "2|10|6 3|24.6912|13.3456"),
            ("SELECT id FROM big WHERE twice > 10 AND placed >= '2013-01-01'", "3"),
            ("SELECT strftime('%m', placed) FROM big WHERE more = 6", "02"),
        ],
    );
}

#[test]
fn a_changed_schema_changes_the_meaning() {
    let db = open(builder());
    fill(&db);
    let sql = "SELECT count(*) FROM sale WHERE total > 5";
    assert_eq!(ask(&db, sql).unwrap(), "1");
    db.execute("ALTER TABLE sale RENAME TO old_sale", ()).unwrap();
    db.execute("CREATE TABLE sale (total REAL)", ()).unwrap();
    db.execute("INSERT INTO sale SELECT total FROM old_sale", ()).unwrap();
    assert_eq!(ask(&db, sql).unwrap(), "1");
    assert_eq!(ask(&db, "SELECT max(total) FROM sale").unwrap(), "12.3456");
}

/// As docs/sql.md says: SQLite computes on with a float, servers reject the statement.
#[test]
fn integers_of_more_than_64_bits() {
    const SUMS: [&str; 2] = ["big + 1", "big * 4"];
    fn open(url: &str) -> Db {
        #[derive(Record)]
        struct Number {
            id: i64,
            big: i64,
        }
        let db = Db::builder().record::<Number>().open(url).unwrap();
        db.create_missing_tables().unwrap();
        db.table().unwrap().insert(&Number { id: 0, big: i64::MAX }).unwrap();
        db
    }
    crate::engines::on_each(|place| {
        let db = open(&place.url);
        for sum in SUMS {
            let found = db.sql::<(f64,)>(&format!("SELECT {sum} FROM number"), ()).unwrap();
            assert!(found[0].0 > 9.2e18, "{sum}: {found:?}");
        }
        let sql = "SELECT (big * 4) % 0, big / 0 FROM number";
        assert_eq!(db.sql::<(Option<i64>, Option<i64>)>(sql, ()).unwrap(), [(None, None)]);
    });
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    crate::engines::on_servers(|url| {
        let db = open(url);
        for sum in SUMS {
            let error = db.sql::<(f64,)>(&format!("SELECT {sum} FROM number"), ()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfRange, "{url}: {sum}: {error}");
        }
        let by_zero = db.sql::<(Option<i64>,)>("SELECT big % 0 FROM number", ());
        match url.starts_with("postgres") {
            true => assert!(by_zero.is_err(), "{by_zero:?}"),
            false => assert_eq!(by_zero.unwrap(), [(None,)]),
        }
    });
}
