//! Changes of the schema by migrations.

use crate::client::{TestServer, memory, sqlite};
use bobak_http::{HttpServer, Settings, SqlAccess};
use bobak_permissions::{Access, new_token};
use serde_json::{Value, json};

fn migrate(server: &TestServer, query: &str, steps: &str) -> crate::client::Reply {
    let body = json!({"name": "more", "steps": steps});
    server.send("POST", &format!("/migrations{query}"), &body.to_string())
}

fn columns(server: &TestServer, table: &str) -> Vec<String> {
    let table = server.get(&format!("/tables/{table}")).ok(200).json();
    let names = table["columns"].as_array().unwrap().iter();
    names.map(|column| column["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn migrations_are_shown_before_they_run() {
    for engine in [sqlite(), memory()] {
        let has_sql = engine.name() == "sqlite";
        let server = TestServer::with(Settings::default(), engine);
        server.send("POST", "/tables/person/rows", r#"{"name":"ada"}"#).ok(201);
        let steps = "rename column person.rate to share\nadd column person {\"name\":\"rank\",\"type\":\"i64\",\"nullable\":false} fill 7\nadd index person {\"name\":\"by_name\",\"columns\":[\"name\"]}";
        let shown = migrate(&server, "?dry_run", steps).ok(200).json();
        assert!(columns(&server, "person").contains(&"rate".to_owned()), "nothing has changed");
        assert_eq!(shown["words"][0], "Rename the column rate of person to share.");
        assert_eq!(shown["can_be_undone"], json!(true));
        assert_eq!(!shown["sql"].as_array().unwrap().is_empty(), has_sql, "{shown}");
        let done = migrate(&server, "", steps).ok(201).json();
        assert_eq!(done, shown);
        assert!(done["file"].as_str().unwrap().starts_with("bobak migration 1\nfirst\n"));
        let row = server.get("/tables/person/rows/1").ok(200).json();
        assert_eq!((&row["rank"], row.get("rate")), (&json!(7), None));
        let drop = migrate(&server, "", "drop column person.rank").ok(201).json();
        assert_eq!((&drop["name"], &drop["loses_data"]), (&json!("0002_more"), &json!(true)));
        let all = server.get("/migrations").ok(200).json();
        let names: Vec<_> =
            all["migrations"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
        assert_eq!(names, ["0001_more", "0002_more"]);
        let tables = all["tables"].as_array().unwrap();
        let person = tables.iter().find(|table| table["name"] == "person").unwrap();
        let indexes = person["indexes"].as_array().unwrap();
        assert!(indexes.iter().any(|index| index["name"] == "by_name"), "{person}");
    }
}

#[test]
fn wrong_migrations_change_nothing() {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Write;
    let server = TestServer::with(settings, sqlite());
    let before = columns(&server, "person");
    server.send("POST", "/tables/person/rows", r#"{"name":"ada"}"#).ok(201);
    for (steps, status) in [
        ("drop tabel person", 400),
        ("drop table nosuch", 400),
        ("", 400),
        ("rust f", 501),
        // The second step fails, and the first one is undone.
        (
            "drop column person.rate\nchange column person {\"name\":\"name\",\"type\":\"i64\",\"nullable\":false}",
            422,
        ),
        // No client may run these.
        ("sql\nATTACH 'x.db' AS x;\nend", 403),
        ("sql\nPRAGMA writable_schema = 1;\nend", 403),
    ] {
        let reply = migrate(&server, "", steps);
        assert_eq!(reply.status, status, "{steps}: {reply:?}");
    }
    assert_eq!(columns(&server, "person"), before);
    assert_eq!(server.get("/migrations").json()["migrations"], json!([]));
    migrate(&server, "", "sql\nCREATE TABLE more (id INTEGER PRIMARY KEY);\nend").ok(201);
    assert_eq!(columns(&server, "more"), ["id"]);
}

const ROLES: &str = "
role builder
    schema, read on note, draft
    read, schema, update, delete on seat
    schema on thing
    read, insert, update, delete on thing where name = :user
";

#[test]
fn migrations_need_the_permission() {
    let (token, hash) = new_token().unwrap();
    let access = Access::from_text(&format!("{ROLES}\ntoken ada {hash} roles builder\n")).unwrap();
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Write;
    let builder = HttpServer::builder().access(access).settings(settings);
    let mut server = TestServer::of(builder.shared_database("main", sqlite()));
    server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
    let create = |name: &str, column: &str| {
        format!(
            "create table {{\"name\":\"{name}\",\"key\":[\"id\"],\"indexes\":[],\"columns\":[{{\"name\":\"id\",\"type\":\"i64\",\"nullable\":false}},{column}]}}"
        )
    };
    let reference = |table: &str| {
        format!(
            "{{\"name\":\"of\",\"type\":\"i64\",\"nullable\":true,\"references\":{{\"table\":\"{table}\",\"column\":\"id\",\"on_delete\":\"restrict\"}}}}"
        )
    };
    let plain = "{\"name\":\"a\",\"type\":\"text\",\"nullable\":true}";
    let evil = "{\"name\":\"a\",\"type\":\"text\",\"nullable\":true,\"check\":\"(SELECT count(*) FROM person) > 0\"}";
    for (steps, status) in [
        // Hidden tables look as if they did not exist.
        ("drop table person".to_owned(), 400),
        ("drop table nosuch".to_owned(), 400),
        (create("other", plain), 403),
        (create("draft", &reference("person")), 403),
        (create("draft", evil), 501),
        ("rename table note to other".to_owned(), 403),
        // It may add, and lose nothing.
        ("drop column note.text".to_owned(), 403),
        ("drop table note".to_owned(), 403),
        // A row rule is no permission on all rows.
        ("add index thing {\"name\":\"i\",\"columns\":[\"name\"]}".to_owned(), 403),
        ("sql\nDROP TABLE note;\nend".to_owned(), 403),
        (create("draft", &reference("note")), 201),
        (format!("add column note {plain}"), 201),
        ("drop column seat.holder".to_owned(), 201),
    ] {
        for query in ["?dry_run", ""] {
            let reply = migrate(&server, query, &steps);
            let expected = if status == 201 && !query.is_empty() { 200 } else { status };
            assert_eq!(reply.status, expected, "{steps}: {reply:?}");
            assert!(!reply.text.contains("person") || steps.contains("person"), "{reply:?}");
        }
    }
    let hidden = migrate(&server, "", "drop table person").text.replace("person", "nosuch");
    assert_eq!(hidden, migrate(&server, "", "drop table nosuch").text);
    let all = server.get("/migrations").ok(200).json();
    assert_eq!(all["migrations"], json!([]), "they may name hidden tables");
    let names: Vec<_> = all["tables"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert!(!names.contains(&&Value::from("person")), "{names:?}");
}
