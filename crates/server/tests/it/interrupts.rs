//! Requests that run for ever are ended: taken back, too late, or of a client that is gone.

use crate::doors::{TOKEN, file, folder, serving, tcp_server};
use crate::raw::Raw;
use bobak_core::{Control, Engine, ErrorKind, Interrupt, Source as Asked};
use bobak_remote::Remote;
use bobak_server::{Server, Settings};
use bobak_wire::{Source, put_request};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const FOR_EVER: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
const WRITES_FOR_EVER: &str =
    "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";

/// A server with one worker over a file with the table `t`.
fn server(timeout: Duration) -> (TempDir, Arc<dyn Engine>, Server, String) {
    let folder = folder().unwrap();
    let engine = file(folder.path()).unwrap();
    engine.session().unwrap().execute("CREATE TABLE t (a INTEGER)", &[]).unwrap();
    let settings = Settings {
        workers: 1,
        worker_timeout: Duration::from_secs(60),
        request_timeout: timeout,
        ..Settings::default()
    };
    let (server, address) = tcp_server(serving(Arc::clone(&engine)).settings(settings)).unwrap();
    (folder, engine, server, address)
}

fn rows(engine: &dyn Engine) -> i64 {
    let mut rows = -1;
    let source = Asked::Sql { text: "SELECT count(*) FROM t", parameters: &[] };
    let session = engine.session().unwrap();
    let counted = session.query(&source, &mut |row| {
        rows = bobak_core::Field::from_value(row.get(0))?;
        Ok(true)
    });
    counted.unwrap();
    rows
}

fn execute(out: &mut Vec<u8>, id: u32, sql: &str) {
    put_request::execute(out, id, Source::Text(sql, &[])).unwrap();
}

fn ended(raw: &mut Raw, id: u32, kind: ErrorKind) {
    let (answered, answer) = raw.answer();
    assert_eq!((answered, answer.unwrap_err().kind()), (id, kind));
}

#[test]
fn a_statement_that_is_taken_back_ends_and_leaves_nothing() {
    let (_folder, engine, _server, address) = server(Duration::from_secs(600));
    let mut raw = Raw::known(&address);
    for (id, sql) in [(2, FOR_EVER), (4, WRITES_FOR_EVER)] {
        raw.put(|out| {
            match id {
                2 => put_request::query(out, id, 0, true, Source::Text(sql, &[])).unwrap(),
                _ => execute(out, id, sql),
            }
            put_request::ping(out, id + 1);
            put_request::cancel(out, id);
        });
        ended(&mut raw, id, ErrorKind::Interrupted);
        assert!(matches!(raw.answer(), (answered, Ok(())) if answered == id + 1));
    }
    raw.put(|out| execute(out, 6, "INSERT INTO t VALUES (1)"));
    assert!(matches!(raw.answer(), (6, Ok(()))));
    assert_eq!(rows(&*engine), 1);
}

#[test]
fn a_statement_that_runs_too_long_ends_and_its_worker_is_free() {
    let (_folder, engine, _server, address) = server(Duration::from_millis(300));
    let mut raw = Raw::known(&address);
    raw.put(|out| execute(out, 2, WRITES_FOR_EVER));
    ended(&mut raw, 2, ErrorKind::Timeout);
    // A transaction is lost with it, and says so until it is rolled back.
    raw.put(|out| {
        put_request::control(out, 3, Control::Begin).unwrap();
        execute(out, 4, "INSERT INTO t VALUES (1)");
        execute(out, 5, WRITES_FOR_EVER);
        execute(out, 6, "INSERT INTO t VALUES (2)");
        put_request::control(out, 7, Control::Rollback).unwrap();
        execute(out, 8, "INSERT INTO t VALUES (3)");
    });
    assert!(matches!((raw.answer(), raw.answer()), ((3, Ok(())), (4, Ok(())))));
    ended(&mut raw, 5, ErrorKind::Timeout);
    ended(&mut raw, 6, ErrorKind::Misuse);
    assert!(matches!((raw.answer(), raw.answer()), ((7, Ok(())), (8, Ok(())))));
    assert_eq!(rows(&*engine), 1);
}

#[test]
fn a_client_that_is_gone_leaves_its_worker_to_others() {
    let (_folder, engine, _server, address) = server(Duration::from_secs(600));
    for sql in [FOR_EVER, WRITES_FOR_EVER] {
        let mut raw = Raw::known(&address);
        raw.put(|out| execute(out, 2, sql));
        drop(raw);
    }
    let mut other = Raw::known(&address);
    other.put(|out| execute(out, 2, "INSERT INTO t VALUES (1)"));
    assert!(matches!(other.answer(), (2, Ok(()))));
    assert_eq!(rows(&*engine), 1);
}

#[test]
fn the_remote_engine_passes_an_interrupt_on() {
    let (_folder, engine, _server, address) = server(Duration::from_secs(600));
    let remote = Remote::builder().token(TOKEN).open_tcp(&address).unwrap();
    let session = remote.session().unwrap();
    for _ in 0..2 {
        let interrupt = Interrupt::new();
        let theirs = interrupt.clone();
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            theirs.interrupt();
        });
        let ended = interrupt.run(|| session.execute(WRITES_FOR_EVER, &[]));
        other.join().unwrap();
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::Interrupted);
    }
    assert_eq!(session.execute("INSERT INTO t VALUES (1)", &[]).unwrap(), 1);
    assert_eq!(rows(&*engine), 1);
}

#[test]
fn a_server_that_stops_ends_what_still_runs() {
    let folder = folder().unwrap();
    let settings = Settings { grace: Duration::from_millis(100), ..Settings::default() };
    let engine = serving(file(folder.path()).unwrap()).settings(settings);
    let (server, address) = tcp_server(engine).unwrap();
    let mut raw = Raw::known(&address);
    raw.put(|out| execute(out, 2, FOR_EVER));
    assert!(server.stop(), "it ends by itself");
    ended(&mut raw, 2, ErrorKind::Unreachable);
}
