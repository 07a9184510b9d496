//! Values round-trip exactly or are rejected: numbers in any notation, infinities, values that are not
//! of their column's type.

use crate::client::{TestServer, memory, sqlite};
use bobak_core::Engine;
use bobak_http::{Settings, SqlAccess};
use bobak_sqlite::Sqlite;
use serde_json::json;
use std::sync::Arc;

const NDJSON: [(&str, &str); 1] = [("content-type", "application/x-ndjson")];
const CSV: [(&str, &str); 1] = [("content-type", "text/csv")];

#[test]
fn decimal_and_exponent_numbers_are_exact() {
    let server = TestServer::open();
    for (written, number) in [
        ("9007199254740993.0", "9007199254740993"),
        ("9.007199254740995e15", "9007199254740995"),
        ("-9223372036854775808.000", "-9223372036854775808"),
        ("50e-1", "5"),
        ("-0.0", "0"),
    ] {
        let inserted = server.send(
            "POST",
            "/tables/person/rows",
            &format!(r#"{{"id":{written},"name":"x"}}"#),
        );
        assert!(inserted.ok(201).text.contains(&format!("\"id\":{number},")), "{inserted:?}");
    }
    for (column, number, kind) in [
        ("id", "1.00000000000000000001", "Mismatch"),
        ("id", "1e-400", "Mismatch"),
        ("id", "1.5", "Mismatch"),
        ("id", "9223372036854775808.0", "OutOfRange"),
        ("id", "1e400", "OutOfRange"),
        ("rate", "1e-400", "OutOfRange"),
        ("rate", "1e400", "OutOfRange"),
        ("rate", "9007199254740993.0", "OutOfRange"),
        ("rate", "100000000000000000001", "OutOfRange"),
        ("rate", "9007199254740993", "OutOfRange"),
        ("name", "1.5", "Mismatch"),
        ("active", "1", "Mismatch"),
    ] {
        let row =
            json!({"name": "x"}).to_string().replace('}', &format!(",\"{column}\":{number}}}"));
        let row = if column == "name" { format!("{{\"name\":{number}}}") } else { row };
        let reply = server.send("POST", "/tables/person/rows", &row);
        assert_eq!(reply.is(422, kind).json()["column"], column, "{number}");
    }
    // As JavaScript writes floats.
    for number in ["9007199254740994", "100000000000000000", "1152921504606847000"] {
        let row = format!(r#"{{"name":"x","rate":{number}}}"#);
        let inserted = server.send("POST", "/tables/person/rows", &row).ok(201).json();
        assert_eq!(inserted["rate"].as_f64(), number.parse().ok(), "{number}");
    }
    let inserted = server.send(
        "POST",
        "/tables/person/rows",
        r#"{"name":"\u0041","rate":0.1,"born":"2000-01-0\u0031"}"#,
    );
    let row = inserted.ok(201).json();
    assert_eq!(
        (&row["name"], &row["rate"], &row["born"]),
        (&json!("A"), &json!(0.1), &json!("2000-01-01"))
    );
}

#[test]
fn sql_has_amounts_and_dates() {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Write;
    let server = TestServer::with(settings, sqlite());
    let ask = |sql: &str, parameters: serde_json::Value| {
        let body = json!({ "sql": sql, "parameters": parameters });
        server.send("POST", "/sql", &body.to_string()).ok(200).json()
    };
    ask(
        "CREATE TABLE sale (id INTEGER PRIMARY KEY, total CURRENCY_E4, due DATE_DAYS, u UUID)",
        json!([]),
    );
    let uuid = "0190163d-8694-739b-aea5-966c26f8ad90";
    ask(
        "INSERT INTO sale VALUES (1, 2.5, '2013-01-31', ?), (2, ?, ?, NULL)",
        json!([uuid, 10, "2013-02-01"]),
    );
    let found = ask(
        "SELECT sum(total) + 1, max(due), max(u), strftime('%m', max(due)) FROM sale WHERE total >= ? AND due < '2014-01-01'",
        json!([2.5]),
    );
    assert_eq!(found["rows"], json!([[13.5, "2013-02-01", uuid, "02"]]));
}

#[test]
fn no_amount_among_sql_parameters_is_rounded() {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Write;
    let server = TestServer::with(settings, sqlite());
    let ask = |sql: &str, parameters: &str| {
        server.send("POST", "/sql", &format!(r#"{{"sql":"{sql}","parameters":{parameters}}}"#))
    };
    ask("CREATE TABLE sale (id INTEGER PRIMARY KEY, total CURRENCY_E4, rate REAL)", "[]").ok(200);
    ask("INSERT INTO sale VALUES (1, ?, 12.50001)", "[12.50]").ok(200);
    for (sql, parameters) in [
        ("SELECT id FROM sale WHERE total = ?", "[12.50001]"),
        ("SELECT id FROM sale WHERE total IN (?)", "[[1, 12.50001]]"),
        ("SELECT total + :more FROM sale", r#"{"more": 0.00001}"#),
        ("UPDATE sale SET total = ?", "[12.49999]"),
    ] {
        let reply = ask(sql, parameters).is(422, "Mismatch").text.clone();
        assert!(reply.contains("is not an amount: it has at most four decimals"), "{reply}");
    }
    // Next to other columns, it is the number that it is.
    let rows = |sql: &str, parameters: &str| ask(sql, parameters).ok(200).text.clone();
    let found = rows("SELECT total FROM sale WHERE rate = ?", "[12.50001]");
    assert!(found.contains("[12.50]]"), "{found}");
    // More digits than a float has.
    ask("UPDATE sale SET total = ?", "[-922337203685477.5807]").ok(200);
    let found = rows("SELECT total FROM sale WHERE total = ?", "[-922337203685477.5807]");
    assert!(found.contains("[-922337203685477.5807]]"), "{found}");
    ask("UPDATE sale SET total = ?", "[922337203685477.6]").is(422, "OutOfRange");
}

#[test]
fn sql_parameters_have_names_and_lists() {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Read;
    let server = TestServer::with(settings, sqlite());
    let ask = |sql: &str, parameters: &str| {
        server.send("POST", "/sql", &format!(r#"{{"sql":"{sql}","parameters":{parameters}}}"#))
    };
    let rows = |sql: &str, parameters: &str| ask(sql, parameters).ok(200).json()["rows"].clone();
    let numbers = "SELECT value FROM (SELECT 1 AS value UNION SELECT 2 UNION SELECT 3) WHERE value";
    let by_name = format!("{numbers} IN (:list) OR value = :one ORDER BY 1");
    assert_eq!(rows(&by_name, r#"{"one": 3, "list": [1, 5]}"#), json!([[1], [3]]));
    assert_eq!(rows(&format!("{numbers} NOT IN (?) AND value < ?"), "[[], 3]"), json!([[1], [2]]));
    for (parameters, status, message) in [
        (r#"{"one": 3}"#, 400, "the parameter :list of the text has no value"),
        (r#"{"one": [3], "list": 4}"#, 400, "a list of values stands alone in the parentheses"),
        ("7", 422, "'parameters' is an array of values, or an object of values by name"),
        (r#"{"one": {}, "list": []}"#, 422, "an object"),
    ] {
        let reply = ask(&by_name, parameters).ok(status).json().to_string();
        assert!(reply.contains(message), "{reply}");
    }
}

#[test]
fn sql_parameters_are_exact() {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Read;
    let server = TestServer::with(settings, sqlite());
    let ask = |number: &str| {
        server.send(
            "POST",
            "/sql",
            &format!(r#"{{"sql":"SELECT ? AS x","parameters":[{number}]}}"#),
        )
    };
    for number in ["9007199254740993", "0.1", "\"a\\nb\"", "null", "1", "-2.5", "1e300", "\"inf\""]
    {
        let rows = ask(number).ok(200).text.clone();
        assert!(rows.contains(&format!("[{number}]")), "{number}: {rows}");
    }
    assert!(ask("true").ok(200).text.contains("[1]"));
    for number in ["1e-400", "9007199254740993.0", "18446744073709551615", "1e400"] {
        ask(number).is(422, "OutOfRange");
    }
    ask("[1]").is(400, "Misuse");
    ask("{\"a\":1}").is(422, "Mismatch");
}

#[test]
fn infinite_floats_round_trip() {
    for engine in [sqlite(), memory()] {
        let server = TestServer::with(Settings::default(), engine);
        for rate in ["inf", "-inf"] {
            let row = json!({"name": rate, "rate": rate}).to_string();
            let inserted = server.send("POST", "/tables/person/rows", &row);
            assert_eq!(inserted.ok(201).json()["rate"], rate);
        }
        let found =
            server.get("/tables/person/rows?filter=rate%20%3d%20%27-inf%27&columns=rate").json();
        assert_eq!(found["rows"], json!([{"rate": "-inf"}]));
        let all = server.get("/tables/person/export").ok(200).text.clone();
        let csv = server.get("/tables/person/export?format=csv").ok(200).text.clone();
        for (head, body) in [(NDJSON, &all), (CSV, &csv)] {
            server.ask("POST", "/tables/person/import?mode=replace", &head, body).ok(200);
            assert_eq!(server.get("/tables/person/export").text, all);
        }
        let wrong = server.send("POST", "/tables/person/rows", r#"{"name":"x","rate":"nan"}"#);
        wrong.is(422, "Mismatch");
    }
}

/// A table of another program with one row of these values.
fn odd(values: &str) -> TestServer {
    let engine = Sqlite::open_memory().expect("opens");
    let session = engine.session().expect("a session");
    session.execute("CREATE TABLE odd (id INTEGER PRIMARY KEY, x, t TEXT, n BLOB)", &[]).unwrap();
    session.execute(&format!("INSERT INTO odd VALUES (1, {values})"), &[]).unwrap();
    drop(session);
    TestServer::with(Settings::default(), Arc::new(engine))
}

#[test]
fn lossy_values_are_not_exported() {
    let exported = |values: &str, format: &str| {
        odd(values).get(&format!("/tables/odd/export?format={format}"))
    };
    for (values, forms, column) in [
        ("x'00ff', 'a', NULL", ["ndjson", "csv", "json"].as_slice(), "x"),
        ("1e999, 'a', NULL", &["ndjson", "csv"], "x"),
        ("1, x'00ff', NULL", &["ndjson", "csv"], "t"),
        ("1, 'a', 'abcd'", &["ndjson", "csv"], "n"),
        ("'7', 'a', NULL", &["csv"], "x"),
    ] {
        for format in forms {
            exported(values, &format!("{format}&lossy")).ok(200);
            let reply = exported(values, format);
            reply.is(422, "Mismatch");
            let problem = reply.json();
            assert_eq!((&problem["column"], &problem["row"]), (&json!(column), &json!(0)));
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.ends_with("(in the row with id 1)"), "{detail}");
        }
    }
    for values in ["1, 'a', x'00ff'", "1.0, 'b', NULL", "-0.5, '', NULL", "'text', 'a', NULL"] {
        let server = odd(values);
        let all = server.get("/tables/odd/export").ok(200).text.clone();
        let csv = server.get("/tables/odd/export?format=csv&null=NULL").ok(200).text.clone();
        for (head, body) in [(NDJSON, &all), (CSV, &csv)] {
            server.ask("POST", "/tables/odd/import?mode=replace&null=NULL", &head, body).ok(200);
            assert_eq!(server.get("/tables/odd/export").text, all);
        }
    }
    // JSON distinguishes a string from a number.
    assert!(exported("'7', 'a', NULL", "ndjson").ok(200).text.contains("\"x\":\"7\""));
}

#[test]
fn invalid_sql_is_client_error() {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Read;
    let server = TestServer::with(settings, sqlite());
    for (sql, status, kind) in [
        ("SELEC 1", 400, "Syntax"),
        ("SELECT 1 UNION SELECT 1, 2", 400, "Syntax"),
        ("SELECT missing(1)", 400, "Syntax"),
        ("SELECT missing FROM person", 400, "Schema"),
        ("SELECT 1 FROM missing", 400, "Schema"),
        ("SELECT json('{')", 422, "Mismatch"),
    ] {
        server.send("POST", "/sql", &json!({ "sql": sql }).to_string()).is(status, kind);
    }
}

/// CSV has one text for NULL, which an import takes for a value in a column that may not be NULL.
#[test]
fn null_keys_are_not_exported_as_values() {
    let engine = Sqlite::open_memory().unwrap();
    for sql in [
        "CREATE TABLE word (text TEXT PRIMARY KEY, n INTEGER)",
        "INSERT INTO word VALUES ('', 1), (NULL, 2)",
        "CREATE TABLE size (n INT PRIMARY KEY)",
        "INSERT INTO size VALUES (NULL)",
    ] {
        engine.session().unwrap().execute(sql, &[]).unwrap();
    }
    let server = TestServer::with(Settings::default(), Arc::new(engine));
    for query in ["", "&null=NULL"] {
        let reply = server.get(&format!("/tables/word/export?format=csv{query}"));
        let problem = reply.is(422, "Mismatch").json();
        assert_eq!((&problem["column"], &problem["row"]), (&json!("text"), &json!(0)));
    }
    let lossy = server.get("/tables/word/export?format=csv&null=NULL&lossy").ok(200).text.clone();
    assert_eq!(lossy, "text,n\r\nNULL,2\r\n\"\",1\r\n");
    // An import rejects an empty text as a number.
    server.get("/tables/size/export?format=csv").ok(200);
    let lines = server.get("/tables/word/export?format=ndjson").ok(200).text.clone();
    assert_eq!(lines.lines().next(), Some(r#"{"text":null,"n":2}"#));
}
