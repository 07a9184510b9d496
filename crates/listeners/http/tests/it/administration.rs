//! What administrators do: accounts, trying the permissions of others, backups, the state of the server.

use crate::client::{Reply, TestServer, sqlite};
use bobak_core::{BackupFormat, Engine, EngineLayer, Result, Session};
use bobak_http::{HttpServer, Settings, SqlAccess};
use bobak_permissions::{Access, new_token};
use bobak_serving::BackupFolders;
use bobak_sqlite::Sqlite;
use serde_json::json;
use std::sync::Arc;
use tempfile::TempDir;

/// A server with an access file, a folder for backups, and SQL that reads.
fn server() -> (TestServer, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let access = Access::from_optional_file(folder.path().join("app.access")).unwrap();
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Write;
    let backups = Some(folder.path().join("backups"));
    let folders = BackupFolders { backups, archives: None };
    let engine = Sqlite::open(folder.path().join("app.db")).unwrap();
    crate::client::make(&engine);
    let builder = HttpServer::builder().access(access).settings(settings).backups(folders);
    let builder = builder.shared_database("app", Arc::new(engine));
    (TestServer::of(builder), folder)
}

/// A request with another token, with a body of JSON unless that is empty.
fn ask_with(server: &TestServer, token: &str, method: &str, path: &str, body: &str) -> Reply {
    let request = ureq::http::Request::builder().method(method);
    let request = request.uri(format!("{}{path}", server.base_url));
    let request = request.header("authorization", format!("Bearer {token}"));
    let request = request.header("content-type", "application/json").body(body.to_owned());
    let mut response = server.agent.run(request.unwrap()).unwrap();
    let text = response.body_mut().read_to_string().unwrap();
    Reply {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        bytes: text.clone().into_bytes(),
        text,
    }
}

#[test]
fn accounts_are_created_changed_and_removed() {
    let (server, folder) = server();
    let empty = server.get("/access").ok(200).json();
    assert_eq!((&empty["roles"], &empty["public"]), (&json!([]), &json!(false)));
    let role = r#"{"grants":["read on person where name = :user","read on seat"]}"#;
    server.send("PUT", "/access/roles/clerk", role).ok(204);
    let user = r#"{"password":"correct horse","roles":["clerk"],"variables":{"tenant":7}}"#;
    server.send("PUT", "/access/users/ada", user).ok(204);
    let made = server.send("PUT", "/access/tokens/till", r#"{"roles":["clerk"]}"#).ok(200).json();
    let token = made["token"].as_str().unwrap();
    // The new token is valid at once, with its role.
    ask_with(&server, token, "GET", "/tables/seat/rows", "").ok(200);
    ask_with(&server, token, "GET", "/tables/note/rows", "").is(404, "NotFound");
    let all = server.get("/access").ok(200).json();
    assert_eq!(all["users"][0]["variables"], json!({"tenant": 7}));
    let text = std::fs::read_to_string(folder.path().join("app.access")).unwrap();
    assert!(!text.contains("correct horse") && !text.contains(token), "hashes only: {text}");
    assert!(!server.get("/access").text.contains("argon2"), "no hash leaves the server");
    // Other roles hold at once, and the token stays; a renewed one replaces it.
    let narrow = r#"{"grants":["read on thing"]}"#;
    server.send("PUT", "/access/roles/clerk", narrow).ok(204);
    ask_with(&server, token, "GET", "/tables/seat/rows", "").is(404, "NotFound");
    let same = server.send("PUT", "/access/tokens/till", r#"{"roles":["clerk"]}"#).ok(200).json();
    assert_eq!(same["token"], json!(null));
    let new = server.send("PUT", "/access/tokens/till", r#"{"renew":true}"#).ok(200).json();
    assert_ne!(new["token"], made["token"]);
    ask_with(&server, token, "GET", "/tables", "").is(401, "Denied");
    server.ask("DELETE", "/access/tokens/till", &[], "").ok(204);
    server.ask("DELETE", "/access/tokens/till", &[], "").is(404, "NotFound");
    server.ask("DELETE", "/access/roles/clerk", &[], "").is(422, "Config");
    server.ask("DELETE", "/access/users/ada", &[], "").ok(204);
    server.ask("DELETE", "/access/roles/clerk", &[], "").ok(204);
}

#[test]
fn the_last_administrator_stays_one() {
    let (server, _folder) = server();
    server.send("PUT", "/access/roles/clerk", r#"{"grants":["read on *"]}"#).ok(204);
    let (path, admin) = ("/access/tokens/ada", r#"{"roles":["admin"]}"#);
    let made = server.send("PUT", path, admin).ok(200).json();
    let ada = made["token"].as_str().unwrap();
    let ask = |method, path, body| ask_with(&server, ada, method, path, body);
    ask("PUT", path, r#"{"roles":["clerk"]}"#).is(409, "Conflict");
    ask("DELETE", path, "").is(409, "Conflict");
    let tokens = server.get("/access").ok(200).json()["tokens"].clone();
    assert_eq!(tokens[0]["roles"], json!(["admin"]), "nothing was changed");
    let eve = r#"{"password":"correct horse","roles":["admin"]}"#;
    ask("PUT", "/access/users/eve", eve).ok(204);
    ask("DELETE", path, "").ok(204);
    // The operator stays one without an account.
    server.ask("DELETE", "/access/users/eve", &[], "").ok(204);
}

#[test]
fn wrong_accounts_are_rejected() {
    let (server, folder) = server();
    for (path, body, status) in [
        ("/access/roles/clerk", r#"{"grants":["raed on x"]}"#, 422),
        ("/access/roles/clerk", r#"{"grants":[]}"#, 422),
        ("/access/roles/admin", r#"{"grants":["read on *"]}"#, 422),
        ("/access/roles/a%0Auser", r#"{"grants":["read on *"]}"#, 422),
        ("/access/roles/clerk", r#"{"grants":["read on a\nuser eve x roles admin"]}"#, 422),
        ("/access/users/ada", r#"{"password":"short"}"#, 422),
        ("/access/users/ada", r#"{}"#, 422),
        ("/access/users/ada", r#"{"password":"correct horse","roles":["nosuch"]}"#, 422),
        ("/access/users/ada", r#"{"password":"correct horse","roles":["x\nrole admin"]}"#, 422),
        ("/access/users/a%20b", r#"{"password":"correct horse"}"#, 422),
        ("/access/users/a%0Ab", r#"{"password":"correct horse"}"#, 422),
        ("/access/users/ada", r#"{"password":"correct horse","expires":"soon"}"#, 422),
        ("/access/users/ada", r#"{"password":"correct horse","variables":{"a":[1]}}"#, 400),
        ("/access/users/ada", r#"{"password":"correct horse","variables":{"a":"x\ny"}}"#, 422),
        ("/access/users/ada", r#"{"passwort":"correct horse"}"#, 400),
        ("/access/users/ada", r#"{"password":"correct horse","variables":{"user":"eve"}}"#, 422),
        ("/access/users/ada", r#"{"password":"correct horse","variables":{"USER":"eve"}}"#, 422),
        ("/access/roles/clerk", r#"{"grants":["read on person where nosuch = 1"]}"#, 422),
        (
            "/access/roles/clerk",
            r#"{"grants":["read on app.PERSON where id = :n and nosuch = 1"]}"#,
            422,
        ),
    ] {
        let reply = server.send("PUT", path, body);
        assert_eq!(reply.status, status, "{path} {body}: {reply:?}");
    }
    assert!(!folder.path().join("app.access").exists(), "nothing was written");
    let body = r#"{"password":"correct horse","variables":{"a":"x\ny"}}"#;
    let detail =
        server.send("PUT", "/access/users/ada", body).is(422, "Config").json()["detail"].clone();
    assert_eq!(detail, "the value of the variable 'a' has a line break");
    let body = r#"{"grants":["read on person where nosuch = 1"]}"#;
    let detail =
        server.send("PUT", "/access/roles/clerk", body).is(422, "Config").json()["detail"].clone();
    assert_eq!(
        detail,
        "the row rule `nosuch = 1` names the column 'nosuch', which 'person' does not have"
    );
    // Tables may come later, and a rule for all tables holds for those that have its columns.
    let later = r#"{"grants":["read on nosuch where x = 1","read on * where owner = :user","read on other.person where x = 1"]}"#;
    server.send("PUT", "/access/roles/clerk", later).ok(204);
}

#[test]
fn passwords_have_12_to_128_characters() {
    let (server, _folder) = server();
    for (length, status) in [(11, 422), (12, 204), (64, 204), (128, 204), (129, 422)] {
        let body = format!(r#"{{"password":"{}"}}"#, "é".repeat(length));
        assert_eq!(server.send("PUT", "/access/users/ada", &body).status, status, "{length}");
    }
}

#[test]
fn administrators_alone_administrate() {
    let (server, _folder) = server();
    // Everything, but in one database only: the server is not theirs.
    server.send("PUT", "/access/roles/most", r#"{"grants":["all on app.*"]}"#).ok(204);
    let made = server.send("PUT", "/access/tokens/eve", r#"{"roles":["most"]}"#).ok(200).json();
    let token = made["token"].as_str().unwrap();
    for (method, path) in [
        ("GET", "/access"),
        ("DELETE", "/access/roles/most"),
        ("DELETE", "/access/users/ada"),
        ("DELETE", "/access/tokens/eve"),
        ("GET", "/status"),
        ("GET", "/log"),
        ("GET", "/sizes"),
        ("GET", "/backups"),
        ("POST", "/backups"),
        ("GET", "/backups/app-20260101T000000Z.db"),
        ("POST", "/backups/app-20260101T000000Z.db/verify"),
        ("POST", "/backups/app-20260101T000000Z.db/restore"),
    ] {
        ask_with(&server, token, method, path, "").is(403, "Denied");
    }
    for (path, body) in [
        ("/access/roles/x", r#"{"grants":["all on *"]}"#),
        ("/access/users/x", r#"{"password":"correct horse","roles":["admin"]}"#),
        ("/access/tokens/x", r#"{"roles":["admin"]}"#),
    ] {
        ask_with(&server, token, "PUT", path, body).is(403, "Denied");
    }
    ask_with(&server, token, "GET", "/tables", "").ok(200);
}

#[test]
fn an_administrator_tries_the_permissions_of_others() {
    let (mut server, _folder) = server();
    for name in ["ada", "bea"] {
        server.send("POST", "/tables/person/rows", &format!(r#"{{"name":"{name}"}}"#)).ok(201);
    }
    let role = r#"{"grants":["read, update on person where name = :user","sql on person"]}"#;
    server.send("PUT", "/access/roles/own", role).ok(204);
    let user = r#"{"password":"correct horse","roles":["own"]}"#;
    server.send("PUT", "/access/users/ada", user).ok(204);
    let as_ada = [("bobak-as", "user ada")];
    let rows = server.ask("GET", "/tables/person/rows?columns=name", &as_ada, "").ok(200).json();
    assert_eq!(rows["rows"], json!([{"name": "ada"}]));
    let me = server.ask("GET", "/session", &as_ada, "").ok(200).json();
    assert_eq!(
        me,
        json!({"name": "ada", "anonymous": false, "administrator": false, "sql": "read", "as": "user ada"})
    );
    server.ask("GET", "/tables/seat/rows", &as_ada, "").is(404, "NotFound");
    server.ask("GET", "/access", &as_ada, "").is(403, "Denied");
    // To see is not to act: a change would be recorded in their name.
    let json = [("bobak-as", "user ada"), ("content-type", "application/json")];
    server.ask("PATCH", "/tables/person/rows/1", &json, r#"{"rate":1}"#).is(403, "Denied");
    server.ask("POST", "/sql", &json, r#"{"sql":"UPDATE person SET rate = 1"}"#).is(403, "Denied");
    let sql = server.ask("POST", "/sql", &json, r#"{"sql":"SELECT 1"}"#);
    sql.ok(200);
    server.ask("GET", "/tables", &[("bobak-as", "user nosuch")], "").is(404, "NotFound");
    // An account that may see nothing is one, too.
    let user = r#"{"password":"correct horse","roles":[]}"#;
    server.send("PUT", "/access/users/zoe", user).ok(204);
    let as_zoe = [("bobak-as", "user zoe")];
    assert_eq!(server.ask("GET", "/session", &as_zoe, "").ok(200).json()["as"], "user zoe");
    assert_eq!(
        server.ask("GET", "/databases", &as_zoe, "").ok(200).json(),
        json!({"databases": []})
    );
    server.ask("GET", "/tables", &as_zoe, "").is(404, "NotFound");
    server.ask("GET", "/session?x=1", &as_zoe, "").is(400, "Syntax");
    server.ask("GET", "/tables", &[("bobak-as", "public")], "").is(404, "NotFound");
    let made = server.send("PUT", "/access/tokens/eve", r#"{"roles":["own"]}"#).ok(200).json();
    let own = format!("Bearer {}", made["token"].as_str().unwrap());
    server.headers = vec![("authorization".to_owned(), own)];
    server.ask("GET", "/tables", &as_ada, "").is(403, "Denied");
}

#[test]
fn backups_are_made_verified_downloaded_and_restored() {
    let (server, folder) = server();
    server.send("POST", "/tables/person/rows", r#"{"name":"ada"}"#).ok(201);
    assert_eq!(server.get("/backups").ok(200).json()["backups"], json!([]));
    let made = server.ask("POST", "/backups", &[], "").ok(201).json();
    assert_eq!((&made["tables"], &made["rows"]), (&json!(4), &json!(1)));
    let name = made["name"].as_str().unwrap().to_owned();
    let listed = server.get("/backups").ok(200).json();
    assert_eq!(listed["backups"][0]["name"], json!(name));
    server.send("POST", "/tables/person/rows", r#"{"name":"bea"}"#).ok(201);
    let valid = server.ask("POST", &format!("/backups/{name}/verify"), &[], "").ok(200).json();
    assert_eq!(valid["valid"], json!(true));
    let bytes = server.get(&format!("/backups/{name}"));
    assert!(bytes.ok(200).text.starts_with("SQLite format 3"));
    assert!(bytes.header("content-disposition").contains(&name));
    let restore = |body: &str| server.send("POST", &format!("/backups/{name}/restore"), body);
    let restored = restore("{}").ok(201).json();
    let file = restored["file"].as_str().unwrap();
    let count = Sqlite::open(file).unwrap();
    assert_eq!(rows(&count), 1, "the backup's moment");
    assert_ne!(restore("{}").ok(201).json()["file"], restored["file"], "never over another file");
    assert_eq!(server.get("/tables/person/aggregate").json()["rows"], json!([{"count": 2}]));
    restore(r#"{"until":"2026-01-01T00:00:00Z"}"#).is(409, "Config");
    restore(r#"{"until":"yesterday"}"#).is(400, "Syntax");
    restore(r#"{"until":""}"#).is(400, "Syntax");
    // A damaged backup is found.
    let path = folder.path().join("backups").join(&name);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&path, bytes).unwrap();
    let damaged = server.ask("POST", &format!("/backups/{name}/verify"), &[], "").ok(200).json();
    assert_eq!(damaged["valid"], json!(false), "{damaged}");
    // Other files are not there for clients.
    for wrong in ["app.db", "..%2Fapp.db", "..%2F..%2Fetc%2Fpasswd", "app-restored-1.db", "x"] {
        server.get(&format!("/backups/{wrong}")).is(404, "NotFound");
    }
}

/// A database whose backups its own tools make.
struct NoBackups(Arc<dyn Engine>);

impl EngineLayer for NoBackups {
    fn inner(&self) -> &dyn Engine {
        &*self.0
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        self.0.session()
    }

    fn backup_format(&self) -> Option<BackupFormat> {
        None
    }
}

#[test]
fn backups_that_bobak_does_not_make_are_not_possible() {
    let server = TestServer::with(Settings::default(), Arc::new(NoBackups(sqlite())));
    let listed = server.get("/backups").ok(200).json();
    assert_eq!((&listed["possible"], &listed["folder"]), (&json!(false), &json!(null)));
    server.ask("POST", "/backups", &[], "").is(501, "Unsupported");
    let server = TestServer::open();
    assert_eq!(server.get("/backups").ok(200).json()["possible"], true);
    server.ask("POST", "/backups", &[], "").is(409, "Config");
}

fn rows(engine: &Sqlite) -> u64 {
    use bobak_core::{Engine, Select, Source};
    let tables = engine.tables().unwrap();
    let table = tables.into_iter().find(|table| table.name() == "person").unwrap();
    let mut rows = 0;
    let select = Select::all(&Arc::new(table));
    let session = engine.session().unwrap();
    session
        .query(&Source::Select(&select), &mut |_| {
            rows += 1;
            Ok(true)
        })
        .unwrap();
    rows
}

#[test]
fn the_state_of_the_server_is_shown() {
    let (server, _folder) = server();
    let status = server.get("/status").ok(200).json();
    assert_eq!(status["databases"][0]["name"], json!("app"));
    assert!(status["connections"]["used"].as_u64().unwrap() >= 1, "{status}");
    assert!(status["memory_bytes"].as_u64().is_none_or(|bytes| bytes > 1 << 20), "{status}");
    let sizes = server.get("/sizes").ok(200).json();
    let person = sizes["tables"].as_array().unwrap().iter().find(|one| one["name"] == "person");
    assert!(person.unwrap()["bytes"].as_u64().unwrap() >= 4096, "{sizes}");
    server.get("/nosuch").ok(404);
    ask_with(&server, "wrong token of a guess", "GET", "/tables", "").ok(401);
    let log = server.get("/log").ok(200).json();
    let newest = log["lines"][0]["line"].as_str().unwrap();
    assert!(newest.contains("got status 401"), "{log}");
}

#[test]
fn without_a_file_accounts_and_backups_say_what_to_do() {
    let (_, hash) = new_token().unwrap();
    let access = Access::from_text(&format!("token a {hash} roles admin\n")).unwrap();
    let builder = HttpServer::builder().access(access).shared_database("main", sqlite());
    let server = TestServer::of(builder);
    let put = server.send("PUT", "/access/roles/a", r#"{"grants":["read on b"]}"#);
    assert!(put.is(422, "Config").text.contains("--access-file"), "{put:?}");
    let make = server.ask("POST", "/backups", &[], "");
    assert!(make.is(409, "Config").text.contains("--backup"), "{make:?}");
    assert_eq!(server.get("/backups").ok(200).json()["folder"], json!(null));
}
