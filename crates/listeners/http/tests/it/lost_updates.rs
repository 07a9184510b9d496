//! Two people edit one row under load: each change is written once, or rejected because of the other.
//! And a change that a trigger skips is not taken for one of a missing row.

use crate::client::{TestServer, memory, sqlite};
use bobak_core::Engine;
use bobak_http::Settings;
use bobak_sqlite::Sqlite;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Editors, and the changes that each makes.
const EDITORS: usize = 8;
const CHANGES: usize = 40;

#[test]
fn no_edit_overwrites_another() {
    for engine in [sqlite(), memory()] {
        let server = TestServer::with(Settings::default(), engine);
        server.send("POST", "/tables/person/rows", r#"{"name":"a","rate":0}"#).ok(201);
        let conflicts = AtomicUsize::new(0);
        let edit = || {
            let mut done = 0;
            while done < CHANGES {
                let row = server.get("/tables/person/rows/1");
                let tag = row.ok(200).header("etag").to_owned();
                let rate = row.json()["rate"].as_f64().unwrap();
                let headers = [("content-type", "application/json"), ("if-match", tag.as_str())];
                let body = format!(r#"{{"rate":{}}}"#, rate + 1.0);
                match server.ask("PATCH", "/tables/person/rows/1", &headers, &body).status {
                    200 => done += 1,
                    412 => {
                        conflicts.fetch_add(1, Ordering::Relaxed);
                    }
                    status => panic!("status {status}"),
                }
            }
        };
        std::thread::scope(|scope| (0..EDITORS).for_each(|_| drop(scope.spawn(edit))));
        let rate = server.get("/tables/person/rows/1").ok(200).json()["rate"].as_f64();
        assert_eq!(rate, Some((EDITORS * CHANGES) as f64), "no change is lost");
        assert!(conflicts.into_inner() > 0, "the editors were at it at the same time");
    }
}

#[test]
fn a_change_that_a_trigger_skips_is_no_missing_row() {
    let engine = Sqlite::open_memory().unwrap();
    let session = engine.session().unwrap();
    for sql in [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)",
        "INSERT INTO t VALUES (1, 'x')",
        "CREATE TRIGGER fixed BEFORE UPDATE ON t BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER kept BEFORE DELETE ON t BEGIN SELECT RAISE(IGNORE); END",
    ] {
        session.execute(sql, &[]).unwrap();
    }
    drop(session);
    let server = TestServer::with(Settings::default(), Arc::new(engine));
    let tag = server.get("/tables/t/rows/1").header("etag").to_owned();
    for headers in [vec![], vec![("if-match", tag.as_str())]] {
        for (method, body) in [("PATCH", r#"{"a":"y"}"#), ("DELETE", "")] {
            let headers = [&headers[..], &[("content-type", "application/json")]].concat();
            let problem = server.ask(method, "/tables/t/rows/1", &headers, body);
            let problem = problem.is(422, "Constraint").json();
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains("a trigger of the table skipped it"), "{detail}");
        }
    }
    for (method, body) in [("PATCH", r#"{"a":"y"}"#), ("DELETE", "")] {
        server.send(method, "/tables/t/rows/2", body).is(404, "NotFound");
    }
}
