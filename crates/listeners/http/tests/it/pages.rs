//! Pages of lists: the next one begins behind the last row of the one before.

use crate::client::TestServer;
use bobak_core::Engine;
use bobak_http::{HttpServer, Settings};
use bobak_permissions::{Access, new_token};
use bobak_sqlite::Sqlite;
use serde_json::{Value, json};
use std::sync::Arc;

/// The rows of `t`, and of a view of them without a key.
fn engine() -> Arc<dyn Engine> {
    let engine = Sqlite::open_memory().unwrap();
    let session = engine.session().unwrap();
    let columns = "id INTEGER PRIMARY KEY, a TEXT, b REAL, c BOOLEAN NOT NULL, d DATE_DAYS";
    session.execute(&format!("CREATE TABLE t ({columns})"), &[]).unwrap();
    let values = "(1,'x',0.1,1,'1969-02-03'), (2,NULL,2,0,NULL), (3,'é,\"',2,1,'1969-02-03'), (4,'x',NULL,1,'2000-01-01'), (5,'',0.1,0,'1970-01-01'), \
                  (6,NULL,NULL,0,'2001-02-03'), (7,'x',1e300,0,'2000-12-31')";
    session.execute(&format!("INSERT INTO t VALUES {values}"), &[]).unwrap();
    session.execute("CREATE VIEW v AS SELECT a, b FROM t", &[]).unwrap();
    drop(session);
    Arc::new(engine)
}

/// Reads a list completely, and in pages of two rows; the pages must have the same rows.
fn read_in_pages(server: &TestServer, list: &str) -> Vec<Value> {
    let all = server.get(list).ok(200).json()["rows"].as_array().unwrap().clone();
    let (mut found, mut path) = (Vec::new(), format!("{list}&limit=2&total"));
    loop {
        let page = server.get(&path).ok(200).json();
        assert_eq!(page["total"], all.len(), "{path}: {page}");
        found.extend(page["rows"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else { break };
        let next = percent_encoding::utf8_percent_encode(next, percent_encoding::NON_ALPHANUMERIC);
        path = format!("{list}&limit=2&total&after={next}");
    }
    assert_eq!(found, all, "{list}");
    all
}

#[test]
fn pages_follow_each_other_in_any_order() {
    let server = TestServer::with(Settings::default(), engine());
    for order in ["a", "-a", "b,-a", "-b,a,-id", "id", "-id", "c,d", "-c,-d"] {
        let list = format!("/tables/t/rows?order={order}&columns=id");
        assert_eq!(read_in_pages(&server, &list).len(), 7);
    }
    for after in ["1", "%5B%5D", "%5B1,2,3%5D", "%5B%5B%5D,1%5D", "%5B%22x%22,%7B%7D%5D"] {
        server.get(&format!("/tables/t/rows?order=a&after={after}")).is(400, "Syntax");
    }
}

fn encoded(query: &str) -> String {
    query.replace(' ', "%20").replace('<', "%3C").replace('>', "%3E")
}

const QUERIES: [(&str, usize); 11] = [
    ("select=id&order=a,-b", 7),
    ("select=id,b*2 as twice&order=-twice", 7),
    ("select=id&order=-coalesce(a,'y'),c", 7),
    ("select=id&order=iif(c,'on','off'),-year(d),d", 7),
    ("select=upper(a) as a&filter=id<>4&order=length(a)", 6),
    ("select=a&distinct", 4),
    ("select=a,sum(b),count(*)&group=a&order=-count", 4),
    ("select=c,max(d),avg(b)&group=c,d&having=count(*)>0&order=-avg_b", 6),
    ("select=count(*)", 1),
    // No number of a column.
    ("select=cast(3 as integer) as k,a,count(*)&group=k,a&order=k,-a", 4),
    ("select=cast(-9 as integer) as k,id&order=k,-id", 7),
];

#[test]
fn pages_of_expressions_and_groups_follow_each_other() {
    let server = TestServer::with(Settings::default(), engine());
    for (query, rows) in QUERIES {
        let list = format!("/tables/t/query?{}", encoded(query));
        assert_eq!(read_in_pages(&server, &list).len(), rows, "{query}");
    }
    for (query, after) in [
        ("select=id", "1"),
        ("select=id", "[1,2]"),
        ("select=id", "[\"x\"]"),
        ("select=id&order=upper(a)", "[1,2]"),
        ("select=id&order=b*2", "[\"x\",2]"),
        ("select=count(*)", "[]"),
    ] {
        let after =
            percent_encoding::utf8_percent_encode(after, percent_encoding::NON_ALPHANUMERIC);
        server.get(&format!("/tables/t/query?{query}&after={after}")).is(400, "Syntax");
    }
    let view = server.get("/tables/v/query?select=a&limit=1").ok(200).json();
    assert_eq!((&view["more"], &view["next"]), (&json!(true), &Value::Null));
    server.get("/tables/v/query?select=a&after=%5B1%5D").is(501, "Unsupported");
}

/// A file of another program: keys are NULL, and values are not of their columns' types.
fn odd_engine() -> Arc<dyn Engine> {
    let engine = Sqlite::open_memory().unwrap();
    let session = engine.session().unwrap();
    for sql in [
        "CREATE TABLE odd (name TEXT PRIMARY KEY, n INTEGER, x)",
        "INSERT INTO odd VALUES ('a', 1, 5), ('b', 'text', '5'), ('c', 3, x'00'), ('d', 4, 2.0), (NULL, 5, NULL), (NULL, 6, 7)",
        "CREATE TABLE loose (id PRIMARY KEY)",
        "INSERT INTO loose VALUES (1), (2.0), (5), ('5'), ('a')",
    ] {
        session.execute(sql, &[]).unwrap();
    }
    drop(session);
    Arc::new(engine)
}

#[test]
fn pages_lose_no_rows_with_null_keys_and_values_of_other_types() {
    let server = TestServer::with(Settings::default(), odd_engine());
    for list in ["rows?columns=name,n&order", "query?select=name,n&order"] {
        let page = |query: &str| server.get(&format!("/tables/odd/{list}={query}"));
        // NULL is the smallest value, in keys too.
        let rest = page("-name&limit=3&after=%5B%22b%22%5D").ok(200).json();
        let names: Vec<_> =
            rest["rows"].as_array().unwrap().iter().map(|row| &row["name"]).collect();
        assert_eq!(names, [&json!("a"), &Value::Null, &Value::Null], "{list}");
        for (query, column, row) in [
            ("-n&limit=1", "n", "(in the row with n 'text', name 'b')"),
            ("n&limit=4", "name", "(in the row with n 5, name NULL)"),
            ("-x&limit=1", "x", "(in the row with x 1 bytes, name 'c')"),
        ] {
            let problem = page(query).is(422, "Mismatch").json();
            assert_eq!((&problem["table"], &problem["column"]), (&json!("odd"), &json!(column)));
            assert!(problem["detail"].as_str().unwrap().ends_with(row), "{problem}");
        }
        // The rows of one page are shown, whatever they have.
        assert_eq!(page("n&limit=6").ok(200).json()["more"], false);
    }
    // A key in a path is a text, which does not tell 5 from '5'; a place in an order does.
    let page = server.get("/tables/loose/rows?limit=4").ok(200).json();
    assert_eq!((&page["more"], &page["next"]), (&json!(true), &Value::Null));
    let page = server.get("/tables/loose/rows?limit=2").ok(200).json();
    assert_eq!((&page["more"], &page["next"]), (&json!(true), &json!("2")));
    assert_eq!(read_in_pages(&server, "/tables/loose/rows?order=id").len(), 5);
}

#[test]
fn pages_of_expressions_keep_row_rules() {
    let (token, hash) = new_token().unwrap();
    let access = format!("role clerk\nread on t where id <> 3\ntoken ada {hash} roles clerk\n");
    let builder = HttpServer::builder().access(Access::from_text(&access).unwrap());
    let mut server = TestServer::of(builder.shared_database("main", engine()));
    server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
    for (query, rows) in QUERIES {
        let list = format!("/tables/t/query?{}", encoded(query));
        let found = read_in_pages(&server, &list);
        assert!(found.len() == rows || found.len() == rows - 1, "{query}");
        assert!(found.iter().all(|row| row["id"] != 3), "{query}");
    }
}
