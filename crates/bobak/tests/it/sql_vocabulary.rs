//! The shared vocabulary of SQL: one spelling, the same result on every engine and route.

use bobak::engine::sqlite::Sqlite;
use bobak::prelude::*;
use bobak::types::Json;
use bobak::{DbBuilder, Value};
use bobak_core::{ResultColumn, Type};
use bobak_server::Server;

#[derive(Record, Debug, Clone, PartialEq)]
struct Event {
    id: i64,
    title: String,
    cost: Currency,
    due: Option<Date>,
    clock: Option<Time>,
    noted: Option<DateTime>,
    placed: Option<Timestamp>,
    token: Uuid,
    note: Option<Json<serde_json::Value>>,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Label {
    id: i64,
    name: String,
}

/// Statements and their rows, each as `a|b`, with two spaces between rows. Event 3 has NULLs.
const STATEMENTS: &[(&str, &str)] = &[
    // Parts.
    (
        "SELECT date_part('year', placed), date_part('quarter', placed), date_part('month', placed), \
         date_part('day', placed), date_part('hour', placed), date_part('minute', placed), \
         date_part('second', placed) FROM event ORDER BY id",
        "2012|4|12|30|23|59|59  2013|2|5|31|7|8|9  NULL|NULL|NULL|NULL|NULL|NULL|NULL",
    ),
    (
        "SELECT date_part('isoyear', due), date_part('week', due), date_part('dow', due), \
         date_part('isodow', due), date_part('doy', due) FROM event ORDER BY id",
        "2013|1|1|1|366  2013|22|5|5|151  NULL|NULL|NULL|NULL|NULL",
    ),
    (
        "SELECT date_part('epoch', placed), date_part('epoch', noted) FROM event ORDER BY id",
        "1356911999|1356911999  1369984089|-1  NULL|NULL",
    ),
    (
        "SELECT date_part('hour', clock), date_part('second', clock) FROM event WHERE id = 1",
        "10|12",
    ),
    ("SELECT date_part('week', '2012-12-31'), DATE_PART('HOUR', CAST('10:11:12' AS TIME))", "1|10"),
    // Truncation.
    (
        "SELECT date_trunc('year', placed), date_trunc('month', noted), date_trunc('week', due) \
         FROM event ORDER BY id",
        "2012-01-01T00:00:00|2012-12-01T00:00:00|2012-12-31T00:00:00  \
         2013-01-01T00:00:00|1969-12-01T00:00:00|2013-05-27T00:00:00  NULL|NULL|NULL",
    ),
    (
        "SELECT date_trunc('quarter', due), date_trunc('day', placed), date_trunc('hour', placed), \
         date_trunc('minute', placed), date_trunc('second', noted) FROM event WHERE id = 2",
        "2013-04-01T00:00:00|2013-05-31T00:00:00|2013-05-31T07:00:00|2013-05-31T07:08:00|\
         1969-12-31T23:59:59",
    ),
    ("SELECT CAST(date_trunc('month', due) AS DATE) FROM event WHERE id = 2", "2013-05-01"),
    ("SELECT date_trunc('month', '2013-05-31T01:00:00+02:00')", "2013-05-01T00:00:00"),
    (
        "SELECT date_trunc('month', placed) AS m, sum(cost), count(*) FROM event \
         WHERE placed IS NOT NULL GROUP BY date_trunc('month', placed) ORDER BY m",
        "2012-12-01T00:00:00|1.5|1  2013-05-01T00:00:00|-0.25|1",
    ),
    ("SELECT id FROM event WHERE date_trunc('year', placed) = '2013-01-01' ORDER BY id", "2"),
    ("SELECT id FROM event WHERE date_trunc('day', placed) = due", "2"),
    // Formats.
    ("SELECT strftime('%Y-%m', placed) FROM event ORDER BY id", "2012-12  2013-05  NULL"),
    (
        "SELECT strftime('%d.%m.%Y', due), strftime('%F %T', placed), strftime('%j', due) FROM event WHERE id = 2",
        "31.05.2013|2013-05-31 07:08:09|151",
    ),
    (
        "SELECT strftime('%G-W%V', due), strftime('%I %p', placed), strftime('%H:%M:%f', placed) FROM event WHERE id = 1",
        "2013-W01|11 PM|23:59:59.500000",
    ),
    (
        "SELECT strftime('%d%d%% of ''%Y'' \"x\\y\"', due) FROM event WHERE id = 2",
        "3131% of '2013' \"x\\y\"",
    ),
    ("SELECT strftime('%H:%M', clock) FROM event WHERE id = 1", "10:11"),
    (
        "SELECT strftime('%Y', placed) AS y, count(*) FROM event WHERE strftime('%Y', placed) > '2012' \
         GROUP BY strftime('%Y', placed)",
        "2013|1",
    ),
    // Now.
    ("SELECT count(*) FROM event WHERE placed < now()", "2"),
    ("SELECT count(*) FROM event WHERE placed > now() OR due > now()", "0"),
    ("SELECT count(*) FROM event WHERE date_part('year', now()) < 2020", "0"),
    ("SELECT count(*) FROM event WHERE date_part('year', 'now') <> date_part('year', now())", "0"),
    // Literals.
    (
        "SELECT CAST('2013-01-31' AS DATE), CAST('10:11:12.5' AS TIME), CAST('2013-01-31 10:11:12' AS DATETIME), \
         CAST('2013-01-31T10:11:12.25+02:00' AS TIMESTAMP), CAST(5.5 AS DECIMAL(19, 4))",
        "2013-01-31|10:11:12.5|2013-01-31T10:11:12|2013-01-31T08:11:12.25|5.5",
    ),
    ("SELECT id FROM event WHERE placed >= CAST('2013-05-31T09:08:09+02:00' AS TIMESTAMP)", "2"),
    (
        "SELECT id FROM event WHERE clock < CAST('10:11:12.5' AS TIME) OR due < CAST('2013-01-01' AS DATE)",
        "1",
    ),
    (
        "SELECT id FROM event WHERE token = CAST('00000000-0000-0000-0000-000000000002' AS UUID)",
        "2",
    ),
    (
        "SELECT CAST(placed AS DATE), CAST(noted AS DATE) FROM event WHERE id = 1",
        "2012-12-30|2012-12-30",
    ),
    (
        "SELECT CAST(cost AS TEXT), CAST(id AS TEXT), CAST('7' AS BIGINT) FROM event WHERE id = 1",
        "1.5000|1|7",
    ),
    ("SELECT CAST('1.25' AS DOUBLE PRECISION) + id FROM event WHERE id = 1", "2.25"),
    // Joining texts.
    ("SELECT title || '-' || 'x' FROM event ORDER BY id", "one-x  two-x  -x"),
    ("SELECT title || json_value(note, '$.none') FROM event ORDER BY id", "NULL  NULL  NULL"),
    ("SELECT id FROM event WHERE title || 'x' = 'onex' OR id = 3 ORDER BY id", "1  3"),
    ("SELECT 'a' || CAST(id AS TEXT) || 'b' FROM event WHERE id < 3 ORDER BY id", "a1b  a2b"),
    // JSON.
    (
        "SELECT json_value(note, '$.a'), json_value(note, '$.b[1].c'), json_value(note, '$.\"d e\"'), \
         json_value(note, '$.b'), json_value(note, '$.t'), json_value(note, '$.n') FROM event ORDER BY id",
        "it's \"é\"|1.5|-7|NULL|1|NULL  two|NULL|NULL|NULL|0|NULL  NULL|NULL|NULL|NULL|NULL|NULL",
    ),
    ("SELECT id FROM event WHERE json_value(note, '$.a') = 'two'", "2"),
    (
        "SELECT json_value(note, '$.a') AS a, count(*) FROM event WHERE id < 3 GROUP BY json_value(note, '$.a') ORDER BY a DESC",
        "two|1  it's \"é\"|1",
    ),
    ("SELECT json_value('[10, [20]]', '$[0]'), json_value('[10, [20]]', '$[1][0]')", "10|20"),
    // Nothing is translated in quotes.
    (
        "SELECT 'now()', 'CAST(a AS TIMESTAMP)' /* now() */ -- strftime('%q', 1)",
        "now()|CAST(a AS TIMESTAMP)",
    ),
];

/// Changes, and how many rows each changes.
const CHANGES: &[(&str, u64)] = &[
    (
        "UPDATE event SET placed = date_trunc('month', placed), title = strftime('%Y', due) WHERE id = 2",
        1,
    ),
    ("UPDATE event SET title = title || '!' WHERE date_part('month', placed) = 5", 1),
    (
        "INSERT INTO event (id, title, cost, placed, token) SELECT 9, json_value(note, '$.a'), 1, \
      CAST('2013-01-01T00:00:00Z' AS TIMESTAMP), token FROM event WHERE id = 1",
        1,
    ),
    ("DELETE FROM event WHERE placed < now() AND id = 9", 1),
];

/// What no engine can say.
const REJECTED: &[(&str, ErrorKind)] = &[
    ("SELECT date_part('lunch', placed) FROM event", ErrorKind::Unsupported),
    ("SELECT date_trunc('lunch', placed) FROM event", ErrorKind::Unsupported),
    ("SELECT CAST('soon' AS DATE)", ErrorKind::Mismatch),
    ("SELECT CAST('2013-01-31T10:00:00+02:00' AS DATETIME)", ErrorKind::Mismatch),
    ("SELECT date_trunc('day', 'soon')", ErrorKind::Mismatch),
];

fn shown(value: &Value<'_>, column: &ResultColumn) -> String {
    let number = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    let value = value.as_ref();
    match (value, column.ty) {
        (value, _) if value.is_null() => "NULL".to_owned(),
        (_, Type::Currency) => number(Currency::from_value(value).unwrap().to_string()),
        (_, Type::Date) => Date::from_value(value).unwrap().to_string(),
        (_, Type::Time) => Time::from_value(value).unwrap().to_string(),
        // MariaDB has one type for both.
        (_, Type::DateTime | Type::Timestamp) => DateTime::from_value(value).unwrap().to_string(),
        (bobak_core::ValueRef::Int(found), _) => found.to_string(),
        (bobak_core::ValueRef::Float(found), _) => number(found.to_string()),
        (bobak_core::ValueRef::Text(text), Type::Decimal) => number(text.to_owned()),
        (bobak_core::ValueRef::Text(text), _) => text.to_owned(),
        (other, ty) => format!("{other:?} as {ty:?}"),
    }
}

fn ask(db: &Db, sql: &str) -> bobak::Result<String> {
    crate::sql_types::rows_as_text(db, sql, "  ", shown)
}

fn fill(db: &Db) {
    db.create_missing_tables().unwrap();
    let first = Event {
        id: 1,
        title: "one".to_owned(),
        cost: "1.5".parse().unwrap(),
        due: Some("2012-12-31".parse().unwrap()),
        clock: Some("10:11:12.5".parse().unwrap()),
        noted: Some("2012-12-30T23:59:59.5".parse().unwrap()),
        placed: Some("2012-12-30T23:59:59.5Z".parse().unwrap()),
        token: Uuid::from_bytes([1; 16]),
        note: Some(Json(serde_json::json!({
            "a": "it's \"é\"", "b": [1, {"c": 1.5}], "d e": -7, "t": true, "n": null
        }))),
    };
    let second = Event {
        id: 2,
        title: "two".to_owned(),
        cost: "-0.25".parse().unwrap(),
        due: Some("2013-05-31".parse().unwrap()),
        clock: None,
        noted: Some("1969-12-31T23:59:59.75".parse().unwrap()),
        placed: Some("2013-05-31T07:08:09.000001Z".parse().unwrap()),
        token: "00000000-0000-0000-0000-000000000002".parse().unwrap(),
        note: Some(Json(serde_json::json!({"a": "two", "t": false}))),
    };
    let third = Event {
        id: 3,
        title: String::new(),
        due: None,
        clock: None,
        noted: None,
        placed: None,
        note: None,
        ..first.clone()
    };
    let events = db.table::<Event>().unwrap();
    for event in [first, second, third] {
        events.insert(&event).unwrap();
    }
}

fn check(name: &str, db: &Db) {
    fill(db);
    let wrong: Vec<_> = STATEMENTS
        .iter()
        .map(|(sql, wanted)| (sql, ask(db, sql).unwrap_or_else(|e| format!("{e:?}")), wanted))
        .filter(|(_, found, wanted)| found != *wanted)
        .collect();
    assert!(wrong.is_empty(), "{name}: statement, what it gave, what it should give: {wrong:#?}");
    for (sql, kind) in REJECTED {
        let found = ask(db, sql).map_err(|error| error.kind());
        // PostgreSQL has other parts, and says so itself.
        let is_own = name == "PostgreSQL" && *kind == ErrorKind::Unsupported && found.is_err();
        assert!(is_own || found == Err(*kind), "{name}: {sql}: {found:?}");
    }
    let at: Timestamp = "2013-05-31T07:08:09.000001Z".parse().unwrap();
    for sql in [
        "SELECT count(*) FROM event WHERE date_trunc('month', placed) = date_trunc('month', ?)",
        "SELECT count(*) FROM event WHERE strftime('%Y', placed) = strftime('%Y', ?)",
        "SELECT count(*) FROM event WHERE date_part('day', placed) = date_part('day', ?)",
    ] {
        assert_eq!(db.sql::<i64>(sql, (at,)).unwrap(), [1], "{name}: {sql}");
    }
    for (sql, changed) in CHANGES {
        assert_eq!(db.execute(sql, ()).unwrap(), *changed, "{name}: {sql}");
    }
    let second = db.table::<Event>().unwrap().get(2).unwrap().unwrap();
    let placed = second.placed.unwrap().to_string();
    assert_eq!(
        (second.title.as_str(), placed.as_str()),
        ("2013!", "2013-05-01T00:00:00Z"),
        "{name}"
    );
}

fn builder() -> DbBuilder {
    Db::builder().record::<Event>().record::<Label>()
}

fn attached(url: &str) -> Db {
    let db = Db::builder().record::<Label>().attach("far", url).record_on::<Event>("far");
    db.open("sqlite::memory:").unwrap()
}

#[test]
fn the_vocabulary_is_the_same_on_every_engine() {
    let server = Server::builder().database("one", Sqlite::open_memory().unwrap());
    let server = server.token("0123456789abcdef").tcp("127.0.0.1:0").start().unwrap();
    let wire = format!("bobak://{}/one?token=0123456789abcdef", server.addresses()[0]);
    check("SQLite", &builder().open("sqlite::memory:").unwrap());
    check("memory", &builder().open("memory:").unwrap());
    check("attached memory", &attached("memory:"));
    check("attached SQLite", &attached("sqlite::memory:"));
    check("over the wire", &builder().open(&wire).unwrap());
    server.stop();
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn the_vocabulary_is_the_same_on_servers() {
    if ["BOBAK_TEST_POSTGRES", "BOBAK_TEST_MARIADB"].iter().any(|v| std::env::var_os(v).is_none()) {
        println!("not run: BOBAK_TEST_POSTGRES and BOBAK_TEST_MARIADB are not set");
        return;
    }
    let postgres = bobak_servers::Postgres::start().unwrap();
    let mariadb = bobak_servers::MariaDb::start().unwrap();
    // A session's own zone must not matter.
    postgres.run("ALTER DATABASE bobak SET timezone = 'Asia/Kolkata'").unwrap();
    postgres.run("CREATE SCHEMA other").unwrap();
    mariadb.run("CREATE DATABASE other").unwrap();
    let (first, second) = (mariadb.url(), format!("{}?schema=other", postgres.url()));
    let other = first.rsplit_once('/').map(|(server, _)| format!("{server}/other")).unwrap();
    check("PostgreSQL", &builder().open(&postgres.url()).unwrap());
    check("MariaDB", &builder().open(&first).unwrap());
    for url in [postgres.url(), first] {
        check_comparisons(&url);
    }
    check("attached PostgreSQL", &attached(&second));
    check("attached MariaDB", &attached(&other));
}

/// A comparison is right or rejected. MariaDB itself only warns.
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn check_comparisons(url: &str) {
    let db = builder().open(url).unwrap();
    for condition in
        ["placed > 'soon'", "due = 'soon'", "cost > 'x'", "title = 5", "clock < 'noon'"]
    {
        let sql = format!("SELECT id FROM event WHERE {condition}");
        assert!(db.sql::<i64>(&sql, ()).is_err(), "{url}: {condition}");
        let rows = db.sql_for_each::<i64>(&sql, (), |_| Ok(true));
        assert!(rows.is_err(), "{url}: {condition}");
        db.transaction(|t| {
            assert!(t.sql::<i64>(&sql, ()).is_err(), "{url}: {condition}");
            Ok(())
        })
        .ok();
    }
    let at = "SELECT id FROM event WHERE placed = '2013-05-01T00:00:00Z'";
    assert!(db.sql::<i64>(at, ()).is_ok_and(|ids| ids == [2]) || url.starts_with("mysql"));
    assert!(db.sql::<i64>(at, ()).is_err() || !url.starts_with("mysql"));
    assert_eq!(db.sql::<i64>("SELECT count(*) FROM event", ()).unwrap(), [3], "{url}");
}

#[test]
fn typed_sql_is_needed_on_sqlite() {
    let db = builder().open("sqlite::memory:?typed_sql=off").unwrap();
    let error = db.sql::<i64>("SELECT now()", ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("typed_sql"), "{error}");
}
