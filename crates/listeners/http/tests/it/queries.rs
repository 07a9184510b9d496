//! Queries and updates by expressions.

use crate::client::{TestServer, memory, sqlite};
use bobak_core::Engine;
use bobak_core::join::Location;
use bobak_http::{HttpServer, Settings};
use bobak_permissions::{Access, new_token};
use serde_json::{Value, json};
use std::sync::Arc;

fn fill(server: &TestServer) {
    for (name, active, balance, born) in [
        ("Ada", true, "1.50", "1815-12-10"),
        ("bob", true, "2", "1815-01-02"),
        ("Eve", false, "3", "1990-02-03"),
        ("Zoe", true, "2", "1990-02-28"),
    ] {
        let row = json!({"name": name, "active": active, "balance": balance, "born": born});
        server.send("POST", "/tables/person/rows", &row.to_string()).ok(201);
    }
}

fn path(parameters: &[(&str, &str)]) -> String {
    let encode =
        |text| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC);
    let all = parameters.iter().map(|(name, value)| format!("{name}={}", encode(value)));
    all.collect::<Vec<_>>().join("&")
}

fn rows(server: &TestServer, parameters: &[(&str, &str)]) -> Value {
    server.get(&format!("/tables/person/query?{}", path(parameters))).ok(200).json()["rows"].take()
}

fn reject(server: &TestServer, parameters: &[(&str, &str)], kind: &str) {
    server.get(&format!("/tables/person/query?{}", path(parameters))).is(400, kind);
}

fn each(test: impl Fn(&TestServer)) {
    for engine in [sqlite(), memory()] as [Arc<dyn Engine>; 2] {
        let server = TestServer::with(Settings::default(), engine);
        fill(&server);
        test(&server);
    }
}

#[test]
fn expressions_are_selected_filtered_grouped_and_sorted() {
    each(|server| {
        let select = ("select", "upper(name) as name, balance * 2 as twice, year(born) as year");
        let found = rows(
            server,
            &[select, ("filter", "active and balance * 2 > 3"), ("order", "-lower(name)")],
        );
        let zoe = json!({"name": "ZOE", "twice": 4.0, "year": 1990});
        assert_eq!(found, json!([zoe, {"name": "BOB", "twice": 4.0, "year": 1815}]));
        let groups = [
            ("select", "date_trunc('year', born) as year, count(*), count_distinct(balance) as n"),
            ("group", "year"),
            ("having", "count(*) > 1"),
            ("order", "-year"),
        ];
        let nineties = json!({"year": "1990-01-01", "count": 2, "n": 2});
        assert_eq!(rows(server, &groups)[0], nineties);
        let kinds = [("select", "iif(active, 'on', 'off') as kind"), ("distinct", "")];
        assert_eq!(rows(server, &kinds), json!([{"kind": "off"}, {"kind": "on"}]));
        let page = server.get("/tables/person/query?select=id&limit=2&offset=1").ok(200).json();
        assert_eq!(page, json!({"rows": [{"id": 2}, {"id": 3}], "more": true, "next": "[3]"}));
        // Columns of truth values are conditions of lists, too.
        let list = server.get("/tables/person/rows?filter=not%20active&columns=name").json();
        assert_eq!(list["rows"], json!([{"name": "Eve"}]));
    });
}

#[test]
fn wrong_expressions_are_one_clear_error_each() {
    each(|server| {
        reject(server, &[("select", "name || ")], "Syntax");
        reject(server, &[("select", "balance * 2")], "Syntax");
        reject(server, &[("select", "nosuch")], "Schema");
        reject(server, &[("select", "balance * balance as x")], "Mismatch");
        reject(server, &[("filter", "name > 1")], "Mismatch");
        reject(server, &[("filter", "sum(balance) > 1")], "Syntax");
        reject(server, &[("select", "name, count(*)")], "Schema");
        reject(server, &[("select", "name"), ("distinct", ""), ("order", "balance")], "Schema");
        reject(server, &[("select", "name; drop table person")], "Syntax");
        reject(server, &[("filter", &format!("{}active", "not (".repeat(1_000)))], "Syntax");
        server.get("/tables/person/query?nosuch=1").is(400, "Syntax");
        server.get("/tables/nosuch/query").is(404, "NotFound");
        let large = path(&[("select", "id * 9223372036854775807 as x"), ("filter", "id > 1")]);
        server.get(&format!("/tables/person/query?{large}")).is(422, "OutOfRange");
    });
}

#[test]
fn distances_are_filtered_and_sorted() {
    each(|server| {
        for (id, degrees) in [(1, "46.9"), (2, "46.95"), (3, "-46.9")] {
            let row = format!(r#"{{"rate":{degrees}}}"#);
            server.send("PATCH", &format!("/tables/person/rows/{id}"), &row).ok(200);
        }
        let select = ("select", "id, distance(rate, rate, 46.96, 46.96) as metres");
        let near = ("filter", "distance(rate, rate, 46.96, 46.96) <= 9000 and active");
        let found = rows(server, &[select, near, ("order", "metres")]);
        let at = |degrees| Location::new(degrees, degrees).unwrap();
        let row = |id: i64, from| json!({"id": id, "metres": at(from).distance_to(at(46.96))});
        assert_eq!(found, json!([row(2, 46.95), row(1, 46.9)]));
        let nowhere =
            rows(server, &[("select", "id"), ("filter", "distance(rate, rate, 0, 0) is null")]);
        assert_eq!(nowhere, json!([{"id": 4}]));
        reject(server, &[("select", "distance(name, rate, 1, 2) as x")], "Mismatch");
        reject(server, &[("select", "distance(rate, rate, 1) as x")], "Syntax");
        reject(server, &[("select", "distance(rate, rate, 91, 0) as x")], "OutOfRange");
    });
}

#[test]
fn rows_are_set_to_expressions() {
    each(|server| {
        let set = |filter, set| {
            let query = path(&[("filter", filter), ("set", set)]);
            server.ask("PATCH", &format!("/tables/person/rows?{query}"), &[], "")
        };
        let changed = set("active", "balance = balance * 2, name = upper(name), email = null");
        assert_eq!(changed.ok(200).json(), json!({"changed": 3}));
        let names = rows(server, &[("select", "name, balance"), ("filter", "balance >= 3")]);
        assert_eq!(names.as_array().unwrap().len(), 4);
        set("active", "id = id + 1").is(400, "Misuse");
        set("active", "name = balance").is(400, "Mismatch");
        set("active", "balance = sum(balance)").is(501, "Unsupported");
        set("id > 0", "name = name || '01234567890123456789'").is(422, "TooLong");
    });
}

#[test]
fn queries_keep_row_rules() {
    let (token, hash) = new_token().unwrap();
    let access = format!(
        "role clerk\nread, update on person where active = true\ntoken ada {hash} roles clerk\n"
    );
    let builder = HttpServer::builder().access(Access::from_text(&access).unwrap());
    let mut server = TestServer::of(builder.shared_database("main", sqlite()));
    fill(&server);
    server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
    let count = rows(&server, &[("select", "count(*), max(balance)")]);
    assert_eq!(count, json!([{"count": 3, "max_balance": 2.0}]));
    let set = path(&[("filter", "id > 0"), ("set", "balance = balance + 1")]);
    let path_of_rows = format!("/tables/person/rows?{set}");
    assert_eq!(server.ask("PATCH", &path_of_rows, &[], "").ok(200).json(), json!({"changed": 3}));
    let hide = path(&[("filter", "id > 0"), ("set", "active = not active")]);
    server.ask("PATCH", &format!("/tables/person/rows?{hide}"), &[], "").is(400, "Syntax");
    let hide = path(&[("filter", "id > 0"), ("set", "active = iif(id > 2, false, true)")]);
    server.ask("PATCH", &format!("/tables/person/rows?{hide}"), &[], "").is(403, "Denied");
    server.get("/tables/note/query").is(404, "NotFound");
}

/// Each engine has words of its own for it.
#[test]
fn a_sum_beyond_64_bits_names_its_column() {
    for engine in [sqlite(), memory()] {
        let server = TestServer::with(Settings::default(), engine);
        for id in [i64::MAX, i64::MAX - 1] {
            server
                .send("POST", "/tables/person/rows", &format!(r#"{{"id":{id},"name":"a"}}"#))
                .ok(201);
        }
        for more in ["&group=name", "&group=name&order=-count", ""] {
            let path = format!("/tables/person/aggregate?values=count,sum(id){more}");
            let problem = server.get(&path).is(422, "OutOfRange").json();
            let named = (&problem["detail"], &problem["table"], &problem["column"]);
            let sentence = json!("the sum is more than 64 bits hold");
            assert_eq!(named, (&sentence, &json!("person"), &json!("id")), "{more}");
        }
    }
}

/// The database runs the query of a client that may read all rows; of others the server reads the rows, within its limit.
#[test]
fn the_database_calculates_for_clients_that_may_read_all_rows() {
    let clients = [("read on person", true), ("read on person where id > 0", false)];
    for (grant, is_run) in clients {
        let (token, hash) = new_token().unwrap();
        let access = format!("role clerk\n{grant}\ntoken ada {hash} roles clerk\n");
        let settings = Settings::default().expand_rows(3);
        let builder = HttpServer::builder().access(Access::from_text(&access).unwrap());
        let builder = builder.shared_database("main", sqlite()).settings(settings);
        let mut server = TestServer::of(builder);
        fill(&server);
        server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
        let path = "/tables/person/query?select=count(*)";
        if is_run {
            assert_eq!(server.get(path).ok(200).json()["rows"], json!([{"count": 4}]));
        } else {
            server.get(path).is(422, "OutOfRange");
        }
    }
}
