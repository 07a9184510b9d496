//! The statements that ran, for administrators and for monitoring.

use crate::client::{TOKEN, TestServer, sqlite};
use bobak_core::statements::{MonitorOptions, StatementMonitor};
use bobak_core::{
    Engine, EngineLayer, Error, ErrorKind, MonitoredEngine, Result, Session, SessionLayer,
    SqlAuthorizer,
};
use bobak_http::{HttpServer, Settings, SqlAccess};
use bobak_permissions::{Access, new_token};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub fn monitored(options: MonitorOptions) -> Arc<dyn Engine> {
    Arc::new(MonitoredEngine::new(sqlite(), StatementMonitor::new(options)))
}

/// The statement whose text contains a part.
fn find<'l>(list: &'l Value, part: &str) -> &'l Value {
    let all = list["statements"].as_array().unwrap();
    let found = all.iter().find(|one| one["text"].as_str().unwrap().contains(part));
    found.unwrap_or_else(|| panic!("{part}: {list:#}"))
}

#[test]
fn statements_are_listed_with_client_and_route() {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Read;
    let server = TestServer::with(settings, monitored(MonitorOptions::new()));
    server.send("POST", "/tables/person/rows", r#"{"name":"secret"}"#).ok(201);
    server.send("POST", "/tables/person/rows", r#"{"name":"a very long name, too long"}"#);
    for name in ["a", "b"] {
        server.get(&format!("/tables/person/rows?filter=name%20%3D%20'{name}'")).ok(200);
    }
    server.send("POST", "/sql", r#"{"sql":"SELECT 'secret', 7"}"#).ok(200);
    server.get("/tables/person/query?select=name,%20lower(name)").ok(200);
    let set = "/tables/person/rows?filter=id%20%3E%200&set=name%20%3D%20lower(name)";
    server.send("PATCH", set, "").ok(200);
    let list = server.get("/statements").ok(200).json();
    assert!(!list.to_string().contains("secret"), "{list:#}");
    assert!(list.to_string().contains(": GET /tables/{table}/query\""), "{list:#}");
    assert!(!list.to_string().contains(".rs:"), "a place in the server: {list:#}");
    let origin =
        |part: &str| find(&list, part)["last_origin"].as_str().unwrap_or_default().to_owned();
    assert_eq!(find(&list, "FROM person WHERE name = ?")["count"], 2);
    let listed = origin("FROM person WHERE name = ?");
    assert!(listed.ends_with(": GET /tables/{table}/rows"), "{listed}");
    assert!(origin("INSERT INTO person").ends_with(": rows over HTTP"), "{list:#}");
    assert!(origin("SELECT ?, …").ends_with(": POST /sql"), "{list:#}");
    let slowest = server.get("/statements?order=max&limit=1").ok(200).json();
    assert_eq!(slowest["statements"].as_array().unwrap().len(), 1);
    assert_eq!(slowest["total"].as_u64(), list["total"].as_u64());
    server.get("/statements?order=secret").is(400, "Syntax");
    server.get("/statements?limit=-1").is(400, "Syntax");
    server.send("POST", "/statements", "{}").is(405, "Unsupported");
    let metrics = server.get("/metrics").ok(200).text.clone();
    assert!(metrics.contains("\nbobak_statements_errors_total 0\n"), "{metrics}");
    let shape = "bobak_statement_count{database=\"main\",engine=\"sqlite\",verb=\"select\",table=\"person\",text=\"SELECT";
    assert!(metrics.contains(shape), "{metrics}");
}

#[test]
fn a_statement_is_explained_and_does_not_run() {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Write;
    let server = TestServer::with(settings, monitored(MonitorOptions::new()));
    let explain = |sql: &str, parameters: &str| {
        let body = format!(r#"{{"sql":"{sql}","parameters":{parameters},"explain":true}}"#);
        server.send("POST", "/sql", &body)
    };
    let plan = explain("SELECT id FROM person WHERE name = ?", "[\"a\"]").ok(200).json();
    let step = serde_json::json!({
        "text": "SCAN person", "table": "person", "access": "scan", "index": null, "rows": null, "steps": []
    });
    assert_eq!(plan["steps"], serde_json::json!([step]));
    let message = "person reads every row: an index on name may help";
    let advice = serde_json::json!([{"message": message, "table": "person", "columns": ["name"]}]);
    assert_eq!(plan["advice"], advice);
    server.send("POST", "/tables/person/rows", r#"{"name":"kept"}"#).ok(201);
    let plan = explain("DELETE FROM person WHERE id = 1", "[]").ok(200).json();
    assert_eq!(
        (&plan["steps"][0]["access"], &plan["advice"]),
        (&"search".into(), &serde_json::json!([]))
    );
    explain("SELECT id FROM nosuch", "[]").is(400, "Schema");
    explain("CREATE TABLE t (id INTEGER)", "[]").is(400, "Misuse");
    let rows = server.get("/tables/person/rows").ok(200).json();
    assert_eq!(rows["rows"].as_array().unwrap().len(), 1);
}

#[test]
fn other_clients_see_sums_only() {
    let (token, hash) = new_token().unwrap();
    let access =
        Access::from_text(&format!("role clerk\nread on person\ntoken ada {hash} roles clerk\n"));
    let builder = HttpServer::builder().access(access.unwrap());
    let mut server =
        TestServer::of(builder.shared_database("main", monitored(MonitorOptions::new())));
    server.get("/tables/person/rows").ok(200);
    server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
    server.get("/tables/person/rows").ok(200);
    server.get("/statements").is(403, "Denied");
    let metrics = server.get("/metrics").ok(200).text.clone();
    assert!(metrics.contains("\nbobak_statements_count_total "), "{metrics}");
    assert!(!metrics.contains("bobak_statement_count{"), "{metrics}");
    server.headers = vec![("authorization".to_owned(), format!("Bearer {TOKEN}"))];
    let list = server.get("/statements").ok(200).json();
    let origin = find(&list, "FROM person ORDER BY")["last_origin"].as_str().unwrap().to_owned();
    assert_eq!(origin, "ada: GET /tables/{table}/rows");
}

#[test]
fn database_without_a_monitor_has_no_statements() {
    let server = TestServer::open();
    server.get("/statements").is(501, "Unsupported");
    assert!(!server.get("/metrics").ok(200).text.contains("bobak_statements"));
}

#[test]
fn statement_that_runs_too_long_is_504() {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Read;
    let options = MonitorOptions::new().timeout(Duration::from_millis(20));
    let server = TestServer::with(settings, monitored(options));
    let sql = format!(r#"{{"sql":"{}"}}"#, crate::interrupts::ENDLESS_QUERY);
    server.send("POST", "/sql", &sql).is(504, "Timeout");
    let list = server.get("/statements?order=errors").ok(200).json();
    assert_eq!(list["statements"][0]["last_error"], "Timeout");
}

/// SQL whose rows are streamed ends by its whole time; the rows of a table by that of each part.
#[test]
fn the_timeout_ends_sql_whose_rows_are_streamed() {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Read;
    let server = TestServer::with(
        settings,
        monitored(MonitorOptions::new().timeout(Duration::from_millis(50))),
    );
    let numbers =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000000)";
    let sql = json!({ "sql": format!("{numbers} SELECT i FROM n") }).to_string();
    let request = ureq::http::Request::post(format!("{}/sql", server.base_url))
        .header("authorization", format!("Bearer {TOKEN}"))
        .header("content-type", "application/json")
        .header("accept", "text/csv");
    let mut response = server.agent.run(request.body(sql).unwrap()).unwrap();
    let length = std::io::copy(&mut response.body_mut().as_reader(), &mut std::io::sink());
    assert!(length.is_err(), "the stream breaks off");
    let list = server.get("/statements?order=errors").ok(200).json();
    assert_eq!(list["statements"][0]["last_error"], "Timeout", "{list}");
}

#[test]
fn statements_whose_rows_are_streamed_count_as_others() {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Read;
    let slow = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&slow);
    let options = MonitorOptions::new().slow(Duration::ZERO, move |statement| {
        let origin = statement.origin.as_ref().map(ToString::to_string);
        log.lock().unwrap().push((
            statement.text.to_owned(),
            statement.rows,
            statement.error,
            origin,
        ));
    });
    let server = TestServer::with(settings, monitored(options));
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)";
    let stream = |select: &str| {
        let request = ureq::http::Request::post(format!("{}/sql", server.base_url));
        let request = request.header("authorization", format!("Bearer {TOKEN}"));
        let request =
            request.header("content-type", "application/json").header("accept", "text/csv");
        let sql = json!({ "sql": format!("{numbers} {select}") }).to_string();
        let mut response = server.agent.run(request.body(sql).unwrap()).unwrap();
        response.body_mut().read_to_string()
    };
    assert_eq!(stream("SELECT i AS whole FROM n").unwrap().lines().count(), 50_001);
    // The largest negative number has no absolute value.
    let failing = "SELECT abs(-9223372036854775807 - (i = 40000)) AS part FROM n";
    assert!(stream(failing).is_err(), "the stream breaks off");
    let list = server.get("/statements").ok(200).json();
    let whole = find(&list, " AS whole ");
    assert_eq!((&whole["count"], &whole["rows"]), (&json!(1), &json!(50_000)));
    let (mean, max) = (whole["mean_ms"].as_f64().unwrap(), whole["max_ms"].as_f64().unwrap());
    assert!((mean - max).abs() < 0.01, "{whole}");
    assert_eq!(whole["last_origin"], "operator: POST /sql");
    let part = find(&list, " AS part ");
    assert_eq!((&part["count"], &part["errors"]), (&json!(1), &json!(1)));
    assert!(part["last_error"].is_string(), "{part}");
    let slow = slow.lock().unwrap();
    let of = |name: &str| slow.iter().filter(|(text, ..)| text.contains(name)).collect::<Vec<_>>();
    let ([whole], [part]) = (&of(" AS whole ")[..], &of(" AS part ")[..]) else {
        panic!("{slow:?}")
    };
    assert_eq!((whole.1, whole.2, whole.3.as_deref()), (50_000, None, Some("operator: POST /sql")));
    assert!(part.1 < 40_000 && part.2.is_some(), "{part:?}");
}

/// An engine that does not judge statements, as servers.
struct NoAuthorizer(Arc<dyn Engine>);

struct NoAuthorizerSession<'e>(Box<dyn Session + 'e>);

impl EngineLayer for NoAuthorizer {
    fn inner(&self) -> &dyn Engine {
        &*self.0
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(NoAuthorizerSession(self.0.session()?)))
    }
}

impl SessionLayer for NoAuthorizerSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.0
    }

    fn set_authorizer(&self, _: Arc<dyn SqlAuthorizer>) -> Result<()> {
        Err(Error::new(ErrorKind::Unsupported, "there is none"))
    }
}

#[test]
fn a_text_without_a_statement_is_a_wrong_one() {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Read;
    for engine in [sqlite(), Arc::new(NoAuthorizer(sqlite()))] {
        let server = TestServer::with(settings.clone(), engine);
        for sql in ["", "-- x", " ; /* y */"] {
            let body = json!({ "sql": sql }).to_string();
            let problem = server.send("POST", "/sql", &body).is(400, "Syntax").json();
            assert_eq!(problem["detail"], "the SQL has no statement", "{sql}");
        }
        server.send("POST", "/sql", r#"{"sql":"DELETE FROM person"}"#).is(403, "Denied");
    }
}

#[test]
fn a_statement_sent_as_read_only_does_not_write() {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Write;
    let server = TestServer::with(settings, sqlite());
    let send = |sql: &str, accept: &str| {
        let headers = [("content-type", "application/json"), ("accept", accept)];
        let body = format!(r#"{{"sql":"{sql}","read_only":true}}"#);
        server.ask("POST", "/sql", &headers, &body)
    };
    for accept in ["application/json", "text/csv"] {
        send("SELECT 1", accept).ok(200);
        send("DELETE FROM person", accept).is(403, "Denied");
        send("INSERT INTO person (name) VALUES ('a') RETURNING id", accept).is(403, "Denied");
    }
    server.send("POST", "/sql", r#"{"sql":"DELETE FROM person"}"#).ok(200);
}
