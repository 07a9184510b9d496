//! Secrets that are guessed or changed, and SQL that nobody may send.

use crate::client::{Door, TOKEN, make};
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

fn status(door: &Door, authorization: &str, path: &str) -> u16 {
    door.ask("GET", path, &[("authorization", authorization)], "").status
}

#[test]
fn wrong_passwords_lock_out_nobody_but_the_name_they_were_for() {
    let mut settings = Settings::default();
    settings.refusals = 1;
    let right = hash_password("right").unwrap();
    let builder = HttpServer::builder().settings(settings);
    let builder = builder.shared_database("main", crate::client::memory());
    let builder = builder.user("ada", &right, &["admin"]).user("bob", &right, &["admin"]);
    let mut door = Door::of(builder);
    door.headers.clear();
    for wanted in [401, 429] {
        assert_eq!(status(&door, &basic("ada", "wrong"), "/tables"), wanted);
    }
    assert_eq!(status(&door, &basic("ada", "right"), "/tables"), 429);
    assert_eq!(status(&door, &basic("bob", "right"), "/tables"), 200);
    assert_eq!(status(&door, &format!("Bearer {TOKEN}"), "/tables"), 200);
    // What was right a moment ago is not asked about again.
    assert_eq!(status(&door, &basic("bob", "wrong"), "/tables"), 401);
    assert_eq!(status(&door, &basic("bob", "right"), "/tables"), 200);
}

#[test]
fn a_secret_that_was_changed_lets_nobody_in_any_more() {
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
    let mut door = Door::of(builder.shared_database("main", crate::client::memory()));
    door.headers.clear();
    let (token, password) = (format!("Bearer {old}"), basic("ada", "first"));
    let ask = |path: &str| [&token, &password].map(|shown| status(&door, shown, path));
    assert_eq!(ask("/tables"), [200, 200]);
    write(&format!("token till {new_hash} roles r\nuser ada {second} roles r\n"));
    access.reload().unwrap();
    for path in ["/tables", "/databases", "/metrics"] {
        assert_eq!(ask(path), [401, 401], "{path}");
    }
    assert_eq!(status(&door, &basic("ada", "second"), "/tables"), 200);
    write("");
    access.reload().unwrap();
    for path in ["/tables", "/databases", "/metrics"] {
        assert_eq!(status(&door, &basic("ada", "second"), path), 401, "{path}");
    }
}

#[test]
fn no_sql_stays_on_a_connection_or_reaches_a_file() {
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
        let mut door = Door::of(builder.shared_database("main", Arc::clone(&engine)));
        for token in [TOKEN, &token] {
            door.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
            let send = |sql: &str| {
                door.send("POST", "/sql", &serde_json::json!({ "sql": sql }).to_string())
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
            let told = send("PRAGMA table_info(person)").status;
            assert_eq!(told, if token == TOKEN { 200 } else { 403 });
        }
        let memory = Door::with(
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
fn one_caller_has_but_its_share_of_the_streams() {
    let (token, hash) = new_token().unwrap();
    let access =
        Access::from_text(&format!("role clerk\nread on person\ntoken ada {hash} roles clerk\n"));
    let engine = crate::client::memory();
    crate::events::track(&*engine);
    let mut settings = Settings::default();
    (settings.streams, settings.subscribers) = (4, 4);
    let builder = HttpServer::builder().settings(settings).access(access.unwrap());
    let mut door = Door::of(builder.shared_database("main", engine));
    let address = door.server.addresses()[0];
    let open = |head: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("{head} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n");
        let media = "content-type: application/x-ndjson\r\ncontent-length: 1000\r\n\r\n";
        stream.write_all(format!("{head}{media}").as_bytes()).unwrap();
        stream
    };
    // Changes that nobody makes, and bodies that do not come.
    let mut events = [(); 2].map(|()| open("GET /tables/person/changes"));
    for stream in &mut events {
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
    }
    let _bodies = [(); 2].map(|()| open("POST /batch"));
    let end = Instant::now() + Duration::from_secs(60);
    while !door.get("/metrics").text.contains("bobak_http_streams 2\n") {
        assert!(Instant::now() < end, "the bodies have their streams");
        std::thread::sleep(Duration::from_millis(20));
    }
    let operator = door.headers.clone();
    for path in ["/tables/person/export", "/tables/person/changes?since=99999"] {
        door.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
        let told = door.get(path).is(503, "Busy").json();
        assert!(
            told["detail"].as_str().unwrap().starts_with("you have reached the limit"),
            "{told}"
        );
        door.headers.clone_from(&operator);
        // Another of the same address gets his: what he asked for, or that there is no such change.
        assert_ne!(door.get(path).status, 503);
    }
}
