//! `bobak serve --cache`: rows that are read by key, kept in memory.

use crate::http::Server;
use crate::program::Program;
use bobak::Db;
use bobak_permissions::new_token;

const TOKEN: &str = "0123456789abcdef";

/// A database with three cities, as another program has it open.
fn cities(url: &str) -> Db {
    let db = Db::open(url).expect("opens");
    let create = "CREATE TABLE city (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL)";
    db.execute(create, ()).expect("creates");
    db.execute("INSERT INTO city VALUES (1, 'Bern'), (2, 'Thun'), (3, 'Chur')", ())
        .expect("inserts");
    db
}

fn rename(db: &Db, id: i64, name: &str) {
    let changed = db.execute("UPDATE city SET name = ? WHERE id = ?", (name, id)).expect("changes");
    assert_eq!(changed, 1);
}

/// Checks that rows of `city` at a path are answered from memory, while `theirs` writes behind the server's back.
fn check_cached(server: &Server, theirs: &Db, path: &str) {
    let rows = format!("{path}/tables/city/rows");
    let shows = |id: i64, name: &str| {
        let row = server.ask(&format!("GET {rows}/{id}"), "");
        assert!(row.starts_with("HTTP/1.1 200"), "{row}");
        row.contains(&format!("\"name\":\"{name}\""))
    };
    assert!(shows(1, "Bern") && shows(2, "Thun"));
    // The database has another value by now, and is not asked.
    rename(theirs, 1, "Basel");
    rename(theirs, 2, "Spiez");
    assert!(shows(1, "Bern") && shows(2, "Thun"));
    // A write through the server is visible at once, and makes no other row be read.
    let patched = server.ask(&format!("PATCH {rows}/1"), r#"{"name":"Biel"}"#);
    assert!(patched.starts_with("HTTP/1.1 200"), "{patched}");
    assert!(shows(1, "Biel") && shows(2, "Thun"));
    // SQL may write anything.
    let sql = r#"{"sql":"UPDATE city SET name = 'Visp' WHERE id = 3","parameters":[]}"#;
    let changed = server.ask(&format!("POST {path}/sql"), sql);
    assert!(changed.starts_with("HTTP/1.1 200"), "{changed}");
    assert!(shows(3, "Visp") && shows(2, "Spiez"));
    let deleted = server.ask(&format!("DELETE {rows}/3"), "");
    assert!(deleted.starts_with("HTTP/1.1 204"), "{deleted}");
    assert!(server.ask(&format!("GET {rows}/3"), "").starts_with("HTTP/1.1 404"));
}

fn file(program: &Program) -> String {
    std::fs::write(program.path("tokens"), format!("{TOKEN}\n")).expect("writes");
    format!("sqlite:{}", program.path("app.db").display())
}

#[test]
fn rows_are_read_once_and_writes_are_visible_at_once() {
    let program = Program::new();
    let theirs = cities(&file(&program));
    let flags = ["--token-file", "tokens", "--http-sql", "write", "--cache", "City=1h"];
    check_cached(&Server::start(&program, &flags), &theirs, "");
}

#[test]
fn rows_of_postgres_are_read_once() {
    if std::env::var_os("BOBAK_TEST_POSTGRES").is_none() {
        println!("not run: BOBAK_TEST_POSTGRES is not set");
        return;
    }
    let postgres = bobak_servers::Postgres::start().expect("starts");
    let program = Program::new();
    drop(Db::open(&file(&program)).expect("creates"));
    let theirs = cities(&postgres.url());
    let database = format!("pg={}", postgres.url());
    let flags = [&database, "--token-file", "tokens", "--http-sql", "write", "--cache", "city=1h"];
    check_cached(&Server::start(&program, &flags), &theirs, "/databases/pg");
}

#[test]
fn writes_of_others_are_visible_after_the_time_or_from_the_change_log() {
    let program = Program::new();
    let theirs = cities(&file(&program));
    for flags in [&["--cache", "city=1ms"][..], &["--cache", "city=1h", "--track", "city"]] {
        rename(&theirs, 1, "Bern");
        let server = Server::start(&program, &[&["--token-file", "tokens"][..], flags].concat());
        assert!(server.ask("GET /tables/city/rows/1", "").contains("Bern"));
        rename(&theirs, 1, "Basel");
        while !server.ask("GET /tables/city/rows/1", "").contains("Basel") {
            std::thread::yield_now();
        }
    }
}

#[test]
fn permissions_and_row_rules_hold_for_rows_in_memory() {
    let program = Program::new();
    let theirs = cities(&file(&program));
    let [(ada, ada_hash), (bob, bob_hash)] = [new_token().unwrap(), new_token().unwrap()];
    let access = format!(
        "role north\nread on city where id < 2\nrole none\nread on other\n\
         token ada {ada_hash} roles north\ntoken bob {bob_hash} roles none\n"
    );
    program.file("access.txt", access);
    let flags = ["--token-file", "tokens", "--access-file", "access.txt", "--cache", "city=1h"];
    let server = Server::start(&program, &flags);
    for status in ["HTTP/1.1 200"; 2] {
        assert!(server.ask("GET /tables/city/rows/1", "").starts_with(status));
        assert!(server.ask("GET /tables/city/rows/2", "").starts_with(status));
    }
    rename(&theirs, 1, "Basel");
    let own = server.ask_with(&ada, "GET /tables/city/rows/1", "");
    assert!(own.contains("Bern"), "the row comes from memory: {own}");
    for (token, id) in [(&ada, 2), (&bob, 1), (&bob, 2)] {
        let hidden = server.ask_with(token, &format!("GET /tables/city/rows/{id}"), "");
        assert!(hidden.starts_with("HTTP/1.1 404"), "{hidden}");
    }
}

#[test]
fn tables_to_cache_exist_and_are_no_views() {
    let program = Program::new();
    let theirs = cities(&file(&program));
    theirs.execute("CREATE VIEW town AS SELECT id, name FROM city", ()).expect("creates");
    let serve = ["serve", "app.db", "--stdio", "--cache"];
    for (table, sentence) in [
        ("nosuch", "there is no table 'nosuch' to cache"),
        ("town", "a view is not cached: its rows change with those of other tables"),
    ] {
        program.fails(1, sentence, &[&serve[..], &[table]].concat());
    }
    program.fails(2, "expected a duration", &[&serve[..], &["city=5"]].concat());
}
