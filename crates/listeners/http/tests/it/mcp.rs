//! The Model Context Protocol over HTTP: tools with the permissions of the client.

use crate::client::{Reply, TestServer, sqlite};
use bobak_core::Engine;
use bobak_core::MonitoredEngine;
use bobak_core::statements::{MonitorOptions, StatementMonitor};
use bobak_http::{HttpServer, Settings, SqlAccess};
use bobak_permissions::{Access, new_token};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A server with these settings.
fn server(change: impl FnOnce(&mut Settings)) -> TestServer {
    let mut settings = Settings::default();
    change(&mut settings);
    TestServer::with(settings, sqlite())
}

fn post(server: &TestServer, message: &Value) -> Reply {
    server.send("POST", "/mcp", &message.to_string())
}

/// The result of a request.
fn ask(server: &TestServer, method: &str, params: Value) -> Value {
    let message = json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": params});
    let response = post(server, &message).ok(200).json();
    assert_eq!((&response["id"], &response["jsonrpc"]), (&json!("a"), &json!("2.0")));
    assert!(response["result"].is_object(), "{response}");
    response["result"].clone()
}

/// Calls a tool. Returns its text, and whether it is an error.
fn call(server: &TestServer, tool: &str, arguments: Value) -> (String, bool) {
    let result = ask(server, "tools/call", json!({"name": tool, "arguments": arguments}));
    assert_eq!(result["content"].as_array().unwrap().len(), 1);
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    (text, result["isError"].as_bool().unwrap())
}

/// The text of a call that succeeds.
fn good(server: &TestServer, tool: &str, arguments: Value) -> String {
    let (text, is_error) = call(server, tool, arguments);
    assert!(!is_error, "{text}");
    text
}

/// The kind of the error of a call that fails.
fn bad(server: &TestServer, tool: &str, arguments: Value) -> Value {
    let (text, is_error) = call(server, tool, arguments);
    assert!(is_error, "{text}");
    serde_json::from_str::<Value>(&text).unwrap()["kind"].clone()
}

/// The code of the error of a call that is no call.
fn rejected(server: &TestServer, method: &str, params: Value) -> i64 {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let response = post(server, &message).ok(200).json();
    response["error"]["code"].as_i64().unwrap_or_else(|| panic!("{response}"))
}

fn tools(server: &TestServer) -> Vec<String> {
    let list = ask(server, "tools/list", json!({}));
    let all = list["tools"].as_array().unwrap().iter();
    all.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// The status and the document of a request that names its revision.
fn stateless(server: &TestServer, headers: &[(&str, &str)], message: &Value) -> (u16, Value) {
    let json = ("content-type", "application/json");
    let headers: Vec<_> = headers.iter().copied().chain([json]).collect();
    let reply = server.ask("POST", "/mcp", &headers, &message.to_string());
    (reply.status, reply.json())
}

const READ: [&str; 4] = ["list_tables", "describe_table", "query_rows", "aggregate_rows"];

#[test]
fn versions_are_negotiated_and_there_are_no_sessions() {
    let server = server(|_| ());
    for (wanted, agreed) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2024-11-05"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let params = json!({"protocolVersion": wanted, "capabilities": {}, "clientInfo": {}});
        let result = ask(&server, "initialize", params);
        assert_eq!(result["protocolVersion"], agreed);
        assert_eq!(result["serverInfo"]["name"], "bobak");
        assert!(result["capabilities"]["tools"].is_object());
    }
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(&server, &notification).ok(202).text, "");
    assert_eq!(ask(&server, "ping", json!({})), json!({}));
    assert_eq!(rejected(&server, "server/discover", json!({})), -32_601);
    let both = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}, notification, {"jsonrpc": "2.0", "id": 2, "method": "ping"}]);
    assert_eq!(post(&server, &both).ok(200).json().as_array().unwrap().len(), 2);
    for text in ["{", "[]", "{}"] {
        let response = server.send("POST", "/mcp", text).ok(400).json();
        assert!(response["error"]["message"].is_string(), "{response}");
    }
    server.ask("POST", "/mcp", &[("content-type", "text/plain")], "{}").is(415, "Unsupported");
    server.get("/mcp").is(405, "Unsupported");
}

#[test]
fn requests_may_name_their_revision() {
    let server = server(|_| ());
    let message = |method: &str, version: &str, more: Value| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let mut params = json!({"_meta": meta});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    };
    const NEWEST: &str = "2026-07-28";
    let version = ("mcp-protocol-version", NEWEST);
    let method = |method| [version, ("mcp-method", method)];
    let found = |method_name: &'static str, more: Value| {
        let (status, reply) =
            stateless(&server, &method(method_name), &message(method_name, NEWEST, more));
        assert_eq!(status, 200, "{reply}");
        let result = reply["result"].clone();
        assert_eq!(result["resultType"], "complete", "{reply}");
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "bobak");
        result
    };
    let discovered = found("server/discover", json!({}));
    assert_eq!(discovered["supportedVersions"][0], NEWEST);
    assert!(discovered["capabilities"]["tools"].is_object());
    let listed = found("tools/list", json!({}));
    assert!(listed["ttlMs"].is_u64() && listed["cacheScope"] == "private", "{listed}");
    let list_tables = message("tools/call", NEWEST, json!({"name": "list_tables"}));
    for name in ["list_tables", "=?base64?bGlzdF90YWJsZXM=?="] {
        let headers = [version, ("mcp-method", "tools/call"), ("mcp-name", name)];
        let (status, reply) = stateless(&server, &headers, &list_tables);
        assert_eq!((status, &reply["result"]["isError"]), (200, &json!(false)), "{reply}");
    }
    let code = |headers: &[(&str, &str)], message: &Value| {
        let (status, reply) = stateless(&server, headers, message);
        assert_eq!(reply["id"], if message.is_array() { json!(null) } else { json!(1) }, "{reply}");
        (status, reply["error"]["code"].as_i64().unwrap())
    };
    let list = message("tools/list", NEWEST, json!({}));
    // Headers that are missing, or differ from the body.
    assert_eq!(code(&[], &list), (400, -32_020));
    assert_eq!(code(&[version], &list), (400, -32_020));
    assert_eq!(code(&method("ping"), &list), (400, -32_020));
    assert_eq!(code(&method("tools/call"), &list_tables), (400, -32_020));
    let plain = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    assert_eq!(code(&method("tools/list"), &plain), (400, -32_020));
    // Versions and methods that there are not; several messages; no capabilities.
    let (status, reply) = stateless(&server, &[], &message("tools/list", "1900-01-01", json!({})));
    assert_eq!((status, &reply["error"]["code"]), (400, &json!(-32_022)));
    assert_eq!(reply["error"]["data"]["requested"], "1900-01-01");
    assert_eq!(reply["error"]["data"]["supported"][0], NEWEST);
    assert_eq!(code(&[("mcp-protocol-version", "1999-01-01")], &plain), (400, -32_022));
    assert_eq!(code(&method("ping"), &message("ping", NEWEST, json!({}))), (404, -32_601));
    assert_eq!(code(&method("tools/list"), &json!([list])), (400, -32_600));
    let mut incomplete = list.clone();
    incomplete["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": NEWEST});
    assert_eq!(code(&method("tools/list"), &incomplete), (400, -32_602));
}

#[test]
fn rows_are_read_with_filters_and_limits_and_exactly() {
    let server = server(|settings| settings.sql = SqlAccess::Read);
    assert_eq!(tools(&server), [&READ[..], &["run_sql"]].concat());
    for index in 0..150 {
        let row = format!(r#"{{"name":"p{index}","balance":{index}.2500}}"#);
        server.send("POST", "/tables/person/rows", &row).ok(201);
    }
    let tables: Value = serde_json::from_str(&good(&server, "list_tables", json!({}))).unwrap();
    let person = &tables["tables"].as_array().unwrap().iter().find(|one| one["name"] == "person");
    assert_eq!(person.unwrap()["columns"][1], "name");
    assert_eq!(person.unwrap()["key"], json!(["id"]));
    let table = good(&server, "describe_table", json!({"table": "person"}));
    assert!(table.contains("\"max_chars\":20") || table.contains("20"), "{table}");
    let arguments = json!({"table": "person", "filter": "balance > 100 and name <> 'p7'", "columns": ["name", "balance"], "order": "-id", "limit": 2});
    let text = good(&server, "query_rows", arguments);
    assert!(text.contains(r#"{"name":"p149","balance":149.25}"#), "{text}");
    let rows = |arguments: Value| {
        let page: Value = serde_json::from_str(&good(&server, "query_rows", arguments)).unwrap();
        (page["rows"].as_array().unwrap().len(), page["more"] == true, page["next"].clone())
    };
    let (count, more, next) = rows(json!({"table": "person"}));
    assert_eq!((count, more), (100, true));
    assert_eq!(rows(json!({"table": "person", "after": next})).0, 50);
    let text =
        good(&server, "aggregate_rows", json!({"table": "person", "values": "count,max(balance)"}));
    assert!(text.contains(r#""count":150"#) && text.contains("149.25"), "{text}");
    let sql = json!({"sql": "SELECT name FROM person WHERE id > ? ORDER BY id", "parameters": [10], "limit": 3});
    let result: Value = serde_json::from_str(&good(&server, "run_sql", sql)).unwrap();
    assert_eq!(result["rows"], json!([["p10"], ["p11"], ["p12"]]));
    assert_eq!(result["more"], true);
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    let result: Value =
        serde_json::from_str(&good(&server, "run_sql", json!({"sql": many, "limit": 1_000_000})))
            .unwrap();
    assert_eq!(result["rows"].as_array().unwrap().len(), 1_000, "never more than a model reads");
}

#[test]
fn wrong_calls_say_what_is_wrong() {
    let server = server(|settings| settings.sql = SqlAccess::Read);
    assert_eq!(bad(&server, "describe_table", json!({"table": "nosuch"})), "NotFound");
    assert_eq!(
        bad(&server, "query_rows", json!({"table": "person", "filter": "nosuch = 1"})),
        "Schema"
    );
    assert_eq!(
        bad(&server, "query_rows", json!({"table": "person", "filter": "name ="})),
        "Syntax"
    );
    assert_eq!(bad(&server, "run_sql", json!({"sql": "SELEC"})), "Syntax");
    for (tool, arguments) in [("nosuch", json!({})), ("list_tables", json!(1))] {
        let params = json!({"name": tool, "arguments": arguments});
        assert_eq!(rejected(&server, "tools/call", params), -32_602, "{tool} {arguments}");
    }
    assert_eq!(rejected(&server, "tools/call", json!([])), -32_602);
}

/// Clients show results to the language model, which corrects its call, and may keep errors of the protocol from it.
#[test]
fn wrong_arguments_are_results_that_name_them() {
    let server = server(|settings| settings.mcp_write = true);
    for (tool, arguments, expected) in [
        ("query_rows", json!({}), "the argument 'table' is missing"),
        ("query_rows", json!({"table": 1}), "the argument 'table' must be a text"),
        ("query_rows", json!({"table": null}), "the argument 'table' must be a text"),
        (
            "query_rows",
            json!({"table": "person", "where": "1"}),
            "there is no argument 'where': there are ",
        ),
        (
            "query_rows",
            json!({"table": "person", "limit": -1}),
            "the argument 'limit' must be an integer, 0 or more",
        ),
        (
            "query_rows",
            json!({"table": "person", "limit": "1"}),
            "the argument 'limit' must be an integer, 0 or more",
        ),
        (
            "query_rows",
            json!({"table": "person", "order": ["-name"]}),
            "the argument 'order' must be a text",
        ),
        (
            "query_rows",
            json!({"table": "person", "columns": [1]}),
            "the argument 'columns' must be an array of texts",
        ),
        (
            "insert_rows",
            json!({"table": "person", "rows": {}}),
            "the argument 'rows' must be an array of objects",
        ),
        (
            "update_rows",
            json!({"table": "person", "filter": "id = 1", "values": "x"}),
            "the argument 'values' must be an object",
        ),
        ("list_tables", json!({"table": "person"}), "there is no argument 'table': there are none"),
    ] {
        let (text, is_error) = call(&server, tool, arguments.clone());
        let problem: Value = serde_json::from_str(&text).unwrap();
        assert!(is_error && problem["kind"] == "Syntax", "{tool} {arguments}: {text}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.starts_with(&format!("{tool}: {expected}")), "{tool} {arguments}: {detail}");
    }
    // A text stands for an array of columns, as over HTTP.
    server.send("POST", "/tables/person/rows", r#"{"name":"a"}"#).ok(201);
    let columns = |columns: Value| {
        good(&server, "query_rows", json!({"table": "person", "columns": columns, "filter": null}))
    };
    assert_eq!(columns(json!("name,id")), columns(json!(["name", "id"])));
    let groups = |group: Value| {
        good(
            &server,
            "aggregate_rows",
            json!({"table": "person", "values": "count", "group": group}),
        )
    };
    assert_eq!(groups(json!("name")), groups(json!(["name"])));
}

#[test]
fn nothing_is_written_unless_the_server_allows_it() {
    let reads = server(|settings| settings.sql = SqlAccess::Write);
    reads.send("POST", "/tables/person/rows", r#"{"name":"a"}"#).ok(201);
    for tool in ["insert_rows", "update_rows", "delete_rows"] {
        assert!(!tools(&reads).contains(&tool.to_owned()));
        let arguments = json!({"table": "person", "filter": "id = 1", "values": {}, "rows": [{}]});
        let params = json!({"name": tool, "arguments": arguments});
        assert_eq!(rejected(&reads, "tools/call", params), -32_602);
    }
    // SQL only reads, whatever the client may do elsewhere.
    for sql in [
        "DELETE FROM person",
        "DROP TABLE person",
        "WITH x AS (SELECT 1) INSERT INTO note SELECT 1, '', '', '', 1",
        "PRAGMA user_version = 7",
    ] {
        assert_eq!(bad(&reads, "run_sql", json!({"sql": sql})), "Denied", "{sql}");
    }
    assert!(good(&reads, "query_rows", json!({"table": "person"})).contains("\"a\""));
}

#[test]
fn rows_are_inserted_changed_and_deleted_if_the_server_allows_it() {
    let server = server(|settings| settings.mcp_write = true);
    assert_eq!(
        tools(&server),
        [&READ[..], &["insert_rows", "update_rows", "delete_rows"]].concat()
    );
    // As a client sends JSON over several lines, and with numbers that no float holds.
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"insert_rows","arguments":{"table":"person","rows":[
        {"name":"a",
         "balance":922337203685477.5807},
        {"name":"b"}]}}}"#;
    let response = server.send("POST", "/mcp", message).ok(200).json();
    assert_eq!(response["result"]["isError"], false, "{response}");
    assert!(
        good(&server, "query_rows", json!({"table": "person"})).contains("922337203685477.5807")
    );
    let rows = json!([{"name": "c"}, {"name": "longer than twenty characters"}]);
    assert_eq!(bad(&server, "insert_rows", json!({"table": "person", "rows": rows})), "TooLong");
    let all = json!({"table": "person", "values": "count"});
    assert!(good(&server, "aggregate_rows", all.clone()).contains("\"count\":2"), "all or none");
    let arguments = json!({"table": "person", "filter": "name = 'b'", "values": {"balance": 1.5}});
    assert!(good(&server, "update_rows", arguments).contains("\"changed\":1"));
    for filter in ["", "name ="] {
        bad(&server, "delete_rows", json!({"table": "person", "filter": filter}));
    }
    let arguments = json!({"table": "person", "filter": "balance = 1.5"});
    assert!(good(&server, "delete_rows", arguments).contains("\"changed\":1"));
    assert!(good(&server, "aggregate_rows", all).contains("\"count\":1"));
}

#[test]
fn tools_have_the_permissions_of_the_token() {
    let (token, hash) = new_token().unwrap();
    let text = format!("role clerk\nread on person where id <= 2\ntoken ada {hash} roles clerk\n");
    let mut settings = Settings::default();
    (settings.sql, settings.mcp_write) = (SqlAccess::Read, true);
    let builder =
        HttpServer::builder().access(Access::from_text(&text).unwrap()).settings(settings);
    let mut server = TestServer::of(builder.shared_database("main", sqlite()));
    for name in ["a", "b", "c"] {
        server.send("POST", "/tables/person/rows", &json!({"name": name}).to_string()).ok(201);
    }
    server.headers.clear();
    post(&server, &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).is(401, "Denied");
    server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
    let tables = good(&server, "list_tables", json!({}));
    assert!(tables.contains("person") && !tables.contains("note"), "{tables}");
    let rows = good(&server, "query_rows", json!({"table": "person", "columns": ["name"]}));
    assert!(rows.contains("\"b\"") && !rows.contains("\"c\""), "{rows}");
    assert!(
        good(&server, "aggregate_rows", json!({"table": "person", "values": "count"}))
            .contains("\"count\":2")
    );
    assert_eq!(bad(&server, "describe_table", json!({"table": "note"})), "NotFound");
    assert_eq!(bad(&server, "run_sql", json!({"sql": "SELECT * FROM person"})), "Denied");
    let row = json!({"table": "person", "rows": [{"name": "d"}]});
    assert_eq!(bad(&server, "insert_rows", row), "Denied");
    assert_eq!(
        bad(&server, "delete_rows", json!({"table": "person", "filter": "id = 1"})),
        "Denied"
    );
}

#[test]
fn statements_of_tools_end_in_time_and_name_the_client() {
    let options = MonitorOptions::new().timeout(Duration::from_millis(50));
    let engine: Arc<dyn Engine> =
        Arc::new(MonitoredEngine::new(sqlite(), StatementMonitor::new(options)));
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Read;
    let server = TestServer::with(settings, engine);
    assert_eq!(
        bad(&server, "run_sql", json!({"sql": crate::interrupts::ENDLESS_QUERY})),
        "Timeout"
    );
    let list = server.get("/statements?order=errors").ok(200).json();
    assert_eq!(list["statements"][0]["last_origin"], "operator: POST /mcp");
}

#[test]
fn each_database_has_its_tools() {
    let builder = HttpServer::builder().shared_database("a", sqlite());
    let server = TestServer::of(builder.shared_database("b", sqlite()));
    server.send("POST", "/databases/b/tables/person/rows", r#"{"name":"in b"}"#).ok(201);
    let arguments = json!({"name": "query_rows", "arguments": {"table": "person"}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments});
    let rows = |path: &str| server.send("POST", path, &message.to_string()).ok(200).text.clone();
    assert!(!rows("/mcp").contains("in b"));
    assert!(rows("/databases/b/mcp").contains("in b"));
}

/// As the protocol requires, against pages whose name leads to this machine (DNS rebinding).
#[test]
fn pages_of_other_origins_may_not_use_the_tools() {
    let server = server(|settings| settings.cors_origin = vec!["https://app.example.com".into()]);
    let own = server.base_url.clone();
    let by_name = own.replace("127.0.0.1", "localhost");
    let ask = |origin: &str, host: &str| {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let host = host.strip_prefix("http://").unwrap();
        let headers = [("origin", origin), ("host", host), ("content-type", "application/json")];
        server.ask("POST", "/mcp", &headers, ping)
    };
    for (origin, host) in [(&*own, &own), ("https://app.example.com", &own), (&by_name, &by_name)] {
        ask(origin, host).ok(200);
    }
    let rebound = own.replace("127.0.0.1", "evil.example.com");
    for (origin, host) in [("https://evil.example.com", &own), (&rebound, &rebound), ("null", &own)]
    {
        ask(origin, host).is(403, "Denied");
    }
}
