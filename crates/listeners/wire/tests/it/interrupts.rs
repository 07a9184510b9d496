//! Endless requests are interrupted: cancelled, timed out, or of a disconnected client.

use crate::proxy::Proxy;
use crate::raw::Raw;
use crate::transports::{TOKEN, certificate, file, folder, pipe_to, serving, tcp_server};
use bobak_core::{
    ColumnSchema, Engine, ErrorKind, FieldSet, OnError, Result, SchemaChange, Session,
    Source as OwnedSource, TableSchema, TransactionControl, Type, Value, Verb, Write, WriteBatch,
};
use bobak_remote::Remote;
use bobak_server::{Server, Settings};
use bobak_testkit::interrupted;
use bobak_wire::{Credentials, Hello, RequestSource, ResultForm, encode_request};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

pub const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
const WRITES_ENDLESS: &str =
    "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
/// Returns some parts of rows, then runs endlessly.
pub const THEN_NOTHING: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
     SELECT i FROM n WHERE i < 50000";

/// The request timeout of tests that end requests otherwise.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(600);

/// A file with the table `t`.
fn store() -> (TempDir, Arc<dyn Engine>) {
    let folder = folder().unwrap();
    let engine = file(folder.path()).unwrap();
    engine.session().unwrap().execute("CREATE TABLE t (a INTEGER)", &[]).unwrap();
    (folder, engine)
}

/// One worker: an endless request blocks all others.
fn settings(timeout: Duration) -> Settings {
    Settings {
        max_workers: 1,
        worker_timeout: Duration::from_secs(60),
        request_timeout: timeout,
        ..Settings::default()
    }
}

/// A server with one worker over a file with the table `t`.
pub fn server(timeout: Duration) -> (TempDir, Arc<dyn Engine>, Server, String) {
    let (folder, engine) = store();
    let serving = serving(Arc::clone(&engine)).settings(settings(timeout));
    let (server, address) = tcp_server(serving).unwrap();
    (folder, engine, server, address)
}

fn tls_server(folder: &Path, engine: Arc<dyn Engine>) -> (Server, String) {
    let [chain, key] = certificate(folder);
    let serving = serving(engine).settings(settings(REQUEST_TIMEOUT)).tls(&chain, &key);
    let (server, address) = tcp_server(serving).unwrap();
    (server, address)
}

fn tls_client(folder: &Path, address: &str) -> Remote {
    let builder = Remote::builder().token(TOKEN).tls(true).ca(folder.join("chain.pem"));
    builder.open_tcp(address.replace("127.0.0.1", "localhost")).unwrap()
}

/// A table into which each insert takes endlessly.
fn slow_table(engine: &dyn Engine) -> Arc<TableSchema> {
    let key = ColumnSchema::new("id", Type::I64);
    let table = TableSchema::builder("slow").column(key).key(["id"]).build().unwrap();
    let table = Arc::new(table);
    engine.alter(&[SchemaChange::CreateTable(Arc::clone(&table))]).unwrap();
    let session = engine.session().unwrap();
    session.execute(&format!("CREATE VIEW endless AS {ENDLESS}"), &[]).unwrap();
    let trigger = "CREATE TRIGGER slow AFTER INSERT ON slow BEGIN SELECT * FROM endless; END";
    session.execute(trigger, &[]).unwrap();
    table
}

fn inserts(table: &Arc<TableSchema>, keys: impl IntoIterator<Item = Value<'static>>) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for key in keys {
        let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
        batch.push(&Write { table, verb, fields, values: &[key] }).unwrap();
    }
    batch
}

fn rows(engine: &dyn Engine, table: &str) -> i64 {
    let mut rows = -1;
    let source =
        OwnedSource::Sql { text: &format!("SELECT count(*) FROM {table}"), parameters: &[] };
    let session = engine.session().unwrap();
    let counted = session.query(&source, &mut |row| {
        rows = bobak_core::Field::from_value(row.get(0))?;
        Ok(true)
    });
    counted.unwrap();
    rows
}

fn execute(out: &mut Vec<u8>, id: u32, sql: &str) {
    encode_request::execute(out, id, RequestSource::Text(sql, &[])).unwrap();
}

fn ended(raw: &mut Raw, id: u32, kind: ErrorKind) {
    let (responses, response) = raw.response();
    assert_eq!((responses, response.unwrap_err().kind()), (id, kind));
}

#[test]
fn cancelled_statement_is_interrupted_and_rolled_back() {
    let (_folder, engine, _server, address) = server(REQUEST_TIMEOUT);
    let mut raw = Raw::known(&address);
    for (id, sql) in [(2, ENDLESS), (4, WRITES_ENDLESS)] {
        raw.put(|out| {
            match id {
                2 => encode_request::query(
                    out,
                    id,
                    0,
                    ResultForm::NAMED,
                    RequestSource::Text(sql, &[]),
                )
                .unwrap(),
                _ => execute(out, id, sql),
            }
            encode_request::ping(out, id + 1);
            encode_request::cancel(out, id);
        });
        ended(&mut raw, id, ErrorKind::Interrupted);
        assert!(matches!(raw.response(), (responses, Ok(())) if responses == id + 1));
    }
    raw.put(|out| execute(out, 6, "INSERT INTO t VALUES (1)"));
    assert!(matches!(raw.response(), (6, Ok(()))));
    assert_eq!(rows(&*engine, "t"), 1);
}

#[test]
fn pipelined_requests_can_be_cancelled() {
    let (_folder, engine, _server, address) = server(REQUEST_TIMEOUT);
    let mut raw = Raw::known(&address);
    raw.put(|out| {
        execute(out, 2, WRITES_ENDLESS);
        execute(out, 3, "INSERT INTO t VALUES (1)");
        execute(out, 4, "INSERT INTO t VALUES (2)");
        encode_request::cancel(out, 3);
        encode_request::cancel(out, 2);
    });
    ended(&mut raw, 2, ErrorKind::Interrupted);
    ended(&mut raw, 3, ErrorKind::Interrupted);
    assert!(matches!(raw.response(), (4, Ok(()))));
    assert_eq!(rows(&*engine, "t"), 1);
}

#[test]
fn open_query_does_not_block_commit() {
    let (_folder, engine, _server, address) = server(Duration::from_millis(300));
    let mut raw = Raw::known(&address);
    raw.put(|out| {
        encode_request::control(out, 2, TransactionControl::Begin).unwrap();
        execute(out, 3, "INSERT INTO t VALUES (1)");
        // It returns its first part, then nothing more.
        encode_request::open(out, 4, RequestSource::Text(THEN_NOTHING, &[])).unwrap();
        encode_request::control(out, 5, TransactionControl::Commit).unwrap();
    });
    assert!(matches!((raw.response(), raw.response()), ((2, Ok(())), (3, Ok(())))));
    assert!(matches!(raw.response(), (4, Ok(()))));
    assert!(matches!(raw.response(), (5, Ok(()))));
    assert_eq!(rows(&*engine, "t"), 1);
    // And a client that disconnects in the middle.
    raw.put(|out| {
        encode_request::control(out, 6, TransactionControl::Begin).unwrap();
        execute(out, 7, "INSERT INTO t VALUES (2)");
        encode_request::open(out, 8, RequestSource::Text(THEN_NOTHING, &[])).unwrap();
    });
    assert!(matches!(
        (raw.response(), raw.response(), raw.response()),
        ((6, Ok(())), (7, Ok(())), (8, Ok(())))
    ));
    drop(raw);
    let mut other = Raw::known(&address);
    other.put(|out| execute(out, 2, "INSERT INTO t VALUES (3)"));
    assert!(matches!(other.response(), (2, Ok(()))));
    assert_eq!(rows(&*engine, "t"), 2);
}

#[test]
fn timed_out_statement_frees_its_worker() {
    let (_folder, engine, _server, address) = server(Duration::from_millis(300));
    let mut raw = Raw::known(&address);
    raw.put(|out| execute(out, 2, WRITES_ENDLESS));
    ended(&mut raw, 2, ErrorKind::Timeout);
    // Its transaction is lost, and reports that until it is rolled back.
    raw.put(|out| {
        encode_request::control(out, 3, TransactionControl::Begin).unwrap();
        execute(out, 4, "INSERT INTO t VALUES (1)");
        execute(out, 5, WRITES_ENDLESS);
        execute(out, 6, "INSERT INTO t VALUES (2)");
        encode_request::control(out, 7, TransactionControl::Rollback).unwrap();
        execute(out, 8, "INSERT INTO t VALUES (3)");
    });
    assert!(matches!((raw.response(), raw.response()), ((3, Ok(())), (4, Ok(())))));
    ended(&mut raw, 5, ErrorKind::Timeout);
    ended(&mut raw, 6, ErrorKind::Misuse);
    assert!(matches!((raw.response(), raw.response()), ((7, Ok(())), (8, Ok(())))));
    assert_eq!(rows(&*engine, "t"), 1);
}

#[test]
fn disconnected_client_frees_its_worker() {
    let (_folder, engine, _server, address) = server(REQUEST_TIMEOUT);
    for sql in [ENDLESS, WRITES_ENDLESS] {
        for behind in [0, 1, 1_000] {
            let mut raw = Raw::known(&address);
            // Pipelined requests do not hide that it has disconnected.
            raw.put(|out| {
                execute(out, 2, sql);
                (0..behind).for_each(|id| encode_request::ping(out, 3 + id));
            });
            drop(raw);
        }
    }
    let mut other = Raw::known(&address);
    other.put(|out| execute(out, 2, "INSERT INTO t VALUES (1)"));
    assert!(matches!(other.response(), (2, Ok(()))));
    assert_eq!(rows(&*engine, "t"), 1);
}

/// The remote engine cancels a statement, a query and a batch. Nothing of them is left, and the connection stays
/// usable.
fn are_taken_back(engine: &dyn Engine, remote: &Remote) {
    let slow = slow_table(engine);
    let session = remote.session().unwrap();
    let batch = inserts(&slow, [Value::Null]);
    for inside in [false, true] {
        for on_error in [OnError::Stop, OnError::Continue] {
            if inside {
                session.control(TransactionControl::Begin).unwrap();
            }
            let ends = |what: &str, ended: Result<()>| {
                let kind = ended.expect_err(what).kind();
                // SQLite rolls back the whole transaction with it.
                assert!(
                    kind == ErrorKind::Interrupted || inside && kind == ErrorKind::Misuse,
                    "{what}: {kind:?}"
                );
            };
            let source = OwnedSource::Sql { text: ENDLESS, parameters: &[] };
            ends("a query", interrupted(|| session.query(&source, &mut |_| Ok(true))));
            ends("a statement", interrupted(|| session.execute(WRITES_ENDLESS, &[]).map(drop)));
            ends("a batch", interrupted(|| session.batch(&batch, on_error, &mut |_| {})));
            if inside {
                session.control(TransactionControl::Rollback).unwrap();
            }
        }
    }
    assert_eq!(session.execute("INSERT INTO t VALUES (1)", &[]).unwrap(), 1);
    assert_eq!((rows(engine, "t"), rows(engine, "slow")), (1, 0));
}

#[test]
fn remote_engine_forwards_interrupts() {
    let (_folder, engine, _server, address) = server(REQUEST_TIMEOUT);
    are_taken_back(&*engine, &Remote::builder().token(TOKEN).open_tcp(&address).unwrap());
}

#[test]
fn remote_engine_forwards_interrupts_over_unix_socket() {
    let (folder, engine) = store();
    let socket = folder.path().join("socket");
    let _server = serving(Arc::clone(&engine)).unix(&socket).start().unwrap();
    are_taken_back(&*engine, &Remote::builder().open_unix(&socket).unwrap());
}

#[test]
fn remote_engine_forwards_interrupts_over_tls() {
    let (folder, engine) = store();
    let (_server, address) = tls_server(folder.path(), Arc::clone(&engine));
    are_taken_back(&*engine, &tls_client(folder.path(), &address));
}

#[test]
fn remote_engine_forwards_interrupts_over_pipes() {
    let (_folder, engine) = store();
    let remote = pipe_to(Arc::clone(&engine)).unwrap();
    are_taken_back(&*engine, &remote);
}

/// Clients disconnect during statements and a batch; the only worker then serves others.
fn vanish_and_leave_the_worker(
    engine: &dyn Engine,
    address: &str,
    client: impl Fn(&str) -> Remote,
) {
    let slow = slow_table(engine);
    let batch = inserts(&slow, [Value::Null]);
    type Work<'w> = &'w (dyn Fn(&dyn Session) -> Result<()> + Sync);
    let query = OwnedSource::Sql { text: ENDLESS, parameters: &[] };
    let works: [Work<'_>; 5] = [
        &|session| session.execute(ENDLESS, &[]).map(drop),
        &|session| session.query(&query, &mut |_| Ok(true)),
        &|session| session.open(&query).map(drop),
        &|session| session.execute(WRITES_ENDLESS, &[]).map(drop),
        &|session| session.batch(&batch, OnError::Continue, &mut |_| {}),
    ];
    for work in works {
        let proxy = Proxy::to(address);
        let remote = client(&proxy.address);
        std::thread::scope(|scope| {
            let (connected, waits) = std::sync::mpsc::channel();
            let working = scope.spawn(move || {
                let session = remote.session().unwrap();
                session.tables().unwrap();
                connected.send(()).unwrap();
                work(&*session)
            });
            waits.recv().unwrap();
            std::thread::sleep(Duration::from_millis(100));
            proxy.cut();
            assert!(working.join().unwrap().is_err());
        });
    }
    let other = client(address);
    let session = other.session().unwrap();
    assert_eq!(session.execute("INSERT INTO t VALUES (1)", &[]).unwrap(), 1);
    assert_eq!((rows(engine, "t"), rows(engine, "slow")), (1, 0));
}

#[test]
fn request_of_disconnected_client_is_interrupted() {
    let (_folder, engine, _server, address) = server(REQUEST_TIMEOUT);
    let client = |address: &str| Remote::builder().token(TOKEN).open_tcp(address).unwrap();
    vanish_and_leave_the_worker(&*engine, &address, client);
}

#[test]
fn request_of_disconnected_client_is_interrupted_over_tls() {
    let (folder, engine) = store();
    let (_server, address) = tls_server(folder.path(), Arc::clone(&engine));
    vanish_and_leave_the_worker(&*engine, &address, |address| tls_client(folder.path(), address));
}

#[test]
fn request_of_disconnected_client_is_interrupted_over_pipes() {
    let (_folder, engine) = store();
    let slow = slow_table(&*engine);
    let batch = inserts(&slow, [Value::Null]);
    let run = batch.runs().next().unwrap();
    type Put<'p> = &'p dyn Fn(&mut Vec<u8>);
    let works: [Put<'_>; 5] = [
        &|out| execute(out, 2, ENDLESS),
        &|out| execute(out, 2, WRITES_ENDLESS),
        &|out| {
            encode_request::query(out, 2, 0, ResultForm::NAMED, RequestSource::Text(ENDLESS, &[]))
                .unwrap()
        },
        &|out| {
            encode_request::define(out, 2, 0, &slow).unwrap();
            encode_request::batch(out, 3, false, OnError::Continue, |out| {
                encode_request::batch_run(out, 0, (run.table, run.verb, run.fields), run.as_bytes())
            })
            .unwrap();
        },
        // Pipelined requests do not hide that it has disconnected.
        &|out| {
            execute(out, 2, WRITES_ENDLESS);
            (3..1_000).for_each(|id| encode_request::ping(out, id));
        },
    ];
    for work in works {
        let server = serving(Arc::clone(&engine)).start().unwrap();
        let (requests, mut to_server) = std::io::pipe().unwrap();
        let (from_server, responses) = std::io::pipe().unwrap();
        let serving = std::thread::spawn(move || server.serve_pipes(requests, responses));
        let mut bytes = Vec::new();
        Hello::new("", "raw", Credentials::None).encode(&mut bytes, 1).unwrap();
        work(&mut bytes);
        to_server.write_all(&bytes).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        drop((to_server, from_server));
        serving.join().unwrap().unwrap();
    }
    assert_eq!((rows(&*engine, "t"), rows(&*engine, "slow")), (0, 0));
}

/// A batch in several parts, whose client disconnects when some of them are written.
#[test]
fn batch_of_disconnected_client_is_rolled_back() {
    let (_folder, engine, _server, address) = server(REQUEST_TIMEOUT);
    let slow = slow_table(&*engine);
    engine.session().unwrap().execute("DROP TRIGGER slow", &[]).unwrap();
    let mut raw = Raw::known(&address);
    let batch = inserts(&slow, (1..100).map(Value::Int));
    let run = batch.runs().next().unwrap();
    raw.put(|out| {
        encode_request::define(out, 2, 0, &slow).unwrap();
        encode_request::batch(out, 3, true, OnError::Continue, |out| {
            encode_request::batch_run(out, 0, (run.table, run.verb, run.fields), run.as_bytes())
        })
        .unwrap();
    });
    assert!(matches!(raw.response(), (3, Ok(()))), "the first part is written");
    drop(raw);
    let mut other = Raw::known(&address);
    other.put(|out| execute(out, 2, "INSERT INTO t VALUES (1)"));
    assert!(matches!(other.response(), (2, Ok(()))));
    assert_eq!((rows(&*engine, "t"), rows(&*engine, "slow")), (1, 0));
}

#[test]
fn shutdown_interrupts_running_requests() {
    let (_folder, engine) = store();
    let settings = Settings { shutdown_timeout: Duration::from_millis(100), ..Settings::default() };
    let serving = serving(Arc::clone(&engine)).settings(settings);
    let (server, address) = tcp_server(serving).unwrap();
    let mut raw = Raw::known(&address);
    raw.put(|out| execute(out, 2, WRITES_ENDLESS));
    // It runs as soon as others cannot write.
    while engine.session().unwrap().execute("DELETE FROM t", &[]).is_ok() {
        std::thread::yield_now();
    }
    assert!(server.stop(), "the request is interrupted");
    ended(&mut raw, 2, ErrorKind::Unreachable);
}
