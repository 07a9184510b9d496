//! Two people edit one row under load: each change is written once, or rejected because of the other.

use crate::client::{TestServer, memory, sqlite};
use bobak_http::Settings;
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
