//! Guessed and changed secrets, and SQL that no client may send.

use crate::client::{TOKEN, TestServer, make};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bobak_http::{HttpServer, Settings, SqlAccess};
use bobak_permissions::{Access, hash_password, new_token};
use bobak_sqlite::Sqlite;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn basic(name: &str, password: &str) -> String {
    format!("Basic {}", BASE64.encode(format!("{name}:{password}")))
}

fn status(server: &TestServer, authorization: &str, path: &str) -> u16 {
    server.ask("GET", path, &[("authorization", authorization)], "").status
}

#[test]
fn wrong_passwords_lock_out_only_their_user() {
    let mut settings = Settings::default();
    settings.max_failed_logins = 1;
    let right = hash_password("right").unwrap();
    let builder = HttpServer::builder().settings(settings);
    let builder = builder.shared_database("main", crate::client::memory());
    let builder = builder.user("ada", &right, &["admin"]).user("bob", &right, &["admin"]);
    let mut server = TestServer::of(builder);
    server.headers.clear();
    for wanted in [401, 429] {
        assert_eq!(status(&server, &basic("ada", "wrong"), "/tables"), wanted);
    }
    assert_eq!(status(&server, &basic("ada", "right"), "/tables"), 429);
    assert_eq!(status(&server, &basic("bob", "right"), "/tables"), 200);
    assert_eq!(status(&server, &format!("Bearer {TOKEN}"), "/tables"), 200);
    // Credentials verified a moment ago need no second verification.
    assert_eq!(status(&server, &basic("bob", "wrong"), "/tables"), 401);
    assert_eq!(status(&server, &basic("bob", "right"), "/tables"), 200);
}

#[test]
fn changed_secrets_are_rejected_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access");
    let [(old, old_hash), (_, new_hash)] = [new_token().unwrap(), new_token().unwrap()];
    let [first, second] = ["first", "second"].map(|password| hash_password(password).unwrap());
    let write = |accounts: &str| {
        std::fs::write(&file, format!("role r\nread on *\n{accounts}")).unwrap();
    };
    write(&format!("token till {old_hash} roles r\nuser ada {first} roles r\n"));
    let access = Access::from_file(&file).unwrap();
    let builder = HttpServer::builder().access(access.clone());
    let mut server = TestServer::of(builder.shared_database("main", crate::client::memory()));
    server.headers.clear();
    let (token, password) = (format!("Bearer {old}"), basic("ada", "first"));
    let ask = |path: &str| [&token, &password].map(|shown| status(&server, shown, path));
    assert_eq!(ask("/tables"), [200, 200]);
    write(&format!("token till {new_hash} roles r\nuser ada {second} roles r\n"));
    access.reload().unwrap();
    for path in ["/tables", "/databases", "/metrics"] {
        assert_eq!(ask(path), [401, 401], "{path}");
    }
    assert_eq!(status(&server, &basic("ada", "second"), "/tables"), 200);
    write("");
    access.reload().unwrap();
    for path in ["/tables", "/databases", "/metrics"] {
        assert_eq!(status(&server, &basic("ada", "second"), path), 401, "{path}");
    }
}

#[test]
fn sql_cannot_reach_files_or_change_connections() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Sqlite::builder().open(folder.path().join("main.db")).unwrap();
    make(&engine);
    let engine: Arc<dyn bobak_core::Engine> = Arc::new(engine);
    let (token, hash) = new_token().unwrap();
    let other = folder.path().join("other.db");
    let other = other.display();
    let beyond = [
        format!("ATTACH '{other}' AS x"),
        "ATTACH '/etc/passwd' AS x".to_owned(),
        "ATTACH '/nowhere/at/all' AS x".to_owned(),
        "DETACH x".to_owned(),
        format!("VACUUM INTO '{other}'"),
        "SELECT load_extension('x')".to_owned(),
        "PRAGMA foreign_keys = off".to_owned(),
        "PRAGMA temp_store_directory = '/'".to_owned(),
        "CREATE TEMP TABLE person (id INTEGER)".to_owned(),
    ];
    let writes = [
        "DELETE FROM person",
        "WITH x AS (SELECT 1) INSERT INTO seat SELECT 'a', 1, 'b'",
        "PRAGMA user_version = 7",
        "CREATE TABLE more (id INTEGER)",
        "EXPLAIN DELETE FROM person",
        "VACUUM",
    ];
    for access in [SqlAccess::Read, SqlAccess::Write] {
        let accounts = Access::from_text(&format!(
            "role r\nread, write, sql on *\ntoken clerk {hash} roles r\n"
        ));
        let mut settings = Settings::default();
        settings.sql = access;
        let builder = HttpServer::builder().settings(settings).access(accounts.unwrap());
        let mut server = TestServer::of(builder.shared_database("main", Arc::clone(&engine)));
        for token in [TOKEN, &token] {
            server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
            let send = |sql: &str| {
                server.send("POST", "/sql", &serde_json::json!({ "sql": sql }).to_string())
            };
            for sql in &beyond {
                send(sql).is(403, "Denied");
            }
            for sql in writes {
                let reply = send(sql);
                if access == SqlAccess::Read {
                    reply.is(403, "Denied");
                } else if token == TOKEN {
                    reply.ok(200);
                }
            }
            send("SELECT count(*) FROM person").ok(200);
            send("WITH p AS (SELECT id FROM person) SELECT max(id) FROM p").ok(200);
            let reply = send("PRAGMA table_info(person)").status;
            assert_eq!(reply, if token == TOKEN { 200 } else { 403 });
        }
        let memory = TestServer::with(
            {
                let mut settings = Settings::default();
                settings.sql = access;
                settings
            },
            crate::client::memory(),
        );
        memory.send("POST", "/sql", r#"{"sql":"SELECT 1"}"#).is(501, "Unsupported");
    }
    let names = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name());
    assert!(names.into_iter().all(|name| name.to_string_lossy().starts_with("main.db")));
}

#[test]
fn one_client_cannot_take_all_streams() {
    let (token, hash) = new_token().unwrap();
    let access =
        Access::from_text(&format!("role clerk\nread on person\ntoken ada {hash} roles clerk\n"));
    let engine = crate::client::memory();
    crate::changes::track(&*engine);
    let mut settings = Settings::default();
    (settings.max_streams, settings.max_subscriptions) = (4, 4);
    let builder = HttpServer::builder().settings(settings).access(access.unwrap());
    let mut server = TestServer::of(builder.shared_database("main", engine));
    let address = server.http.addresses()[0];
    let open = |head: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("{head} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n");
        let media = "content-type: application/x-ndjson\r\ncontent-length: 1000\r\n\r\n";
        stream.write_all(format!("{head}{media}").as_bytes()).unwrap();
        stream
    };
    // Subscriptions without changes, and bodies that never arrive.
    let mut events = [(); 2].map(|()| open("GET /tables/person/changes"));
    for stream in &mut events {
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
    }
    let _bodies = [(); 2].map(|()| open("POST /batch"));
    let end = Instant::now() + Duration::from_secs(60);
    while !server.get("/metrics").text.contains("bobak_http_streams 2\n") {
        assert!(Instant::now() < end, "the bodies occupy streams");
        std::thread::sleep(Duration::from_millis(20));
    }
    let operator = server.headers.clone();
    for path in ["/tables/person/export", "/tables/person/changes?since=99999"] {
        server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
        let reply = server.get(path).is(503, "Busy").json();
        assert!(
            reply["detail"].as_str().unwrap().starts_with("you have reached the limit"),
            "{reply}"
        );
        server.headers.clone_from(&operator);
        // Another client of the same address is served: with an export, or a 410 for the change.
        assert_ne!(server.get(path).status, 503);
    }
}
