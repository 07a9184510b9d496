//! What goes wrong with servers, made to happen: each gives one error of the right kind, and what it
//! says of the rows is so.

use crate::proxy::{Proxy, ProxyMode};
use crate::support::{Schema, url};
use bobak_core::{
    Assign, ColumnSchema, ErrorKind, OnError, Result, TableSchema,
    TransactionControl::{Begin, Commit, Rollback},
};
use bobak_postgres::Postgres;
use bobak_servers::Options;
use bobak_testkit::{Entry, NULL, Probe, row, statement_ends, tables};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

/// A server of its own, which may be killed; none where no test server is named.
pub fn server(options: &Options) -> Option<bobak_servers::Postgres> {
    url()?;
    Some(bobak_servers::Postgres::start_with(options).unwrap())
}

#[test]
fn unreachable_servers_and_failed_authentication_are_distinguished() {
    let Some(server) = server(&Options::new().password("secret")) else { return };
    let port = server.port();
    let open = |url: String| kind(Postgres::open(&url));
    let at = |account: &str, database: &str, settings: &str| {
        open(format!("postgres://{account}@127.0.0.1:{port}/{database}?{settings}"))
    };
    assert_eq!(at("bobak:secret", "bobak", ""), None);
    assert_eq!(at("bobak:wrong", "bobak", ""), Some(ErrorKind::Denied));
    assert_eq!(at("bobak", "bobak", ""), Some(ErrorKind::Denied));
    assert_eq!(at("bobak:secret", "nothing", ""), Some(ErrorKind::Config));
    assert_eq!(at("bobak:secret", "bobak", "sslmode=require"), Some(ErrorKind::Denied));
    assert_eq!(at("bobak:secret", "bobak", "target=read-write"), None);
    // Of two hosts the one that answers is taken.
    let hosts =
        format!("postgres://bobak:secret@127.0.0.1:1,127.0.0.1:{port}/bobak?target=read-write");
    assert_eq!(open(hosts), None);
    let nobody = open("postgres://bobak@127.0.0.1:1/bobak".to_owned());
    assert_eq!(nobody, Some(ErrorKind::Unreachable));
    let error = Postgres::open("postgres://bobak@127.0.0.1:1/bobak").unwrap_err();
    // The address is there once.
    assert!(error.is_retryable(), "{error}");
    assert_eq!(error.to_string().matches("127.0.0.1:1").count(), 1, "{error}");
}

#[test]
fn a_table_that_another_connection_changed_is_read_again() {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    let engine = Postgres::open(&schema.url("")).unwrap();
    let probe = Probe::new(&engine).unwrap();
    let run = |sql: &str| probe.session.execute(sql, &[]).unwrap();
    run("CREATE TABLE person (id bigint PRIMARY KEY, name varchar(3), email text, age smallint)");
    let person = tables::person().unwrap();
    let entry = |id: i64, name: &'static str, age: i64| {
        Entry::insert(&person, row![id, name, NULL, bobak_core::Value::Int(age)])
    };
    probe.control(Begin).unwrap();
    probe.send(&entry(1, "Ada", 36)).unwrap();
    assert_eq!(kind(probe.send(&entry(2, "Augusta", 36))), Some(ErrorKind::TooLong));
    let error = probe.send(&entry(2, "Eve", 40_000)).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::OutOfRange, Some("age")));
    let mut batch: Vec<_> = (10..400).map(|id| entry(id, "x", 1)).collect();
    batch[300] = entry(310, "x", 40_000);
    let error = probe.batch(&batch, OnError::Stop).whole.unwrap_err();
    assert_eq!((error.kind(), error.row()), (ErrorKind::OutOfRange, Some(300)));
    batch[200] = entry(210, "four", 1);
    let sent = probe.batch(&batch, OnError::Continue);
    sent.whole.unwrap();
    let wrong: Vec<_> = (0..).zip(&sent.rows).filter(|(_, row)| row.is_err()).collect();
    assert_eq!(wrong.iter().map(|(at, _)| *at).collect::<Vec<i32>>(), [200, 300]);
    assert_eq!(probe.count(&person).unwrap(), 389);
    let missing = TableSchema::builder("person")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("nickname"))
        .key(["id"])
        .build()
        .unwrap();
    let error = probe.all(&Arc::new(missing)).unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::Schema, Some("person")));
    probe.control(Commit).unwrap();
    assert_eq!(probe.count(&person).unwrap(), 389);
    // Another connection changes the table: after at most one error the engine reads its schema again.
    schema
        .admin(&format!("ALTER TABLE {}.person ALTER age TYPE numeric(10,2)", schema.name))
        .unwrap();
    let wide = || (500..900).map(|id| entry(id, "x", 7)).collect::<Vec<_>>();
    let first = probe.batch(&wide(), OnError::Stop).outcomes();
    if first.is_err() {
        probe.batch(&wide(), OnError::Stop).outcomes().unwrap();
    }
    assert_eq!(probe.count(&person).unwrap(), 789);
}

#[test]
fn a_deadlock_aborts_one_of_two_transactions() {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    let engine = Postgres::open(&schema.url("busy_timeout=20000")).unwrap();
    let document = tables::document().unwrap();
    let first = Probe::with_tables(&engine, &[&document]).unwrap();
    first.insert_all(&document, [row![1, "a", 0, 0], row![2, "b", 0, 0]]).unwrap();
    let add = [Assign::Add { column: 2, value: 1.into() }];
    let change = |probe: &Probe<'_>, id: i64| {
        let condition = bobak_core::Condition::Compare {
            column: 0,
            comparison: bobak_core::Comparison::Equal,
            value: id.into(),
        };
        probe.change(&document, Some(condition), &add).map(drop)
    };
    drop(first);
    let barrier = std::sync::Barrier::new(2);
    let both = |one: i64, other: i64| -> Result<()> {
        let probe = Probe::new(&engine)?;
        probe.control(Begin)?;
        let first = change(&probe, one);
        barrier.wait();
        first.and_then(|()| change(&probe, other)).and_then(|()| probe.control(Commit))
    };
    let (a, b) = std::thread::scope(|scope| {
        let second = scope.spawn(|| kind(both(2, 1)));
        (kind(both(1, 2)), second.join().unwrap())
    });
    let is_conflict = |kind| matches!(kind, Some(ErrorKind::Serialization | ErrorKind::Busy));
    assert!(is_conflict(a) || is_conflict(b), "{a:?} {b:?}");
}

#[test]
fn a_statement_that_exceeds_the_timeout_is_cancelled() {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    for settings in ["statement_timeout=300", "statement_timeout=300&prepared=off"] {
        let engine = Postgres::open(&schema.url(settings)).unwrap();
        let probe = Probe::new(&engine).unwrap();
        probe.control(Begin).unwrap();
        let begun = Instant::now();
        let slow = probe.session.execute("SELECT pg_sleep(60)", &[]);
        assert_eq!(kind(slow), Some(ErrorKind::Timeout), "{settings}");
        assert!(begun.elapsed() < Duration::from_secs(40));
        assert_eq!(probe.session.execute("SELECT 1", &[]).unwrap(), 0);
        probe.control(Rollback).unwrap();
    }
}

#[test]
fn an_interrupted_statement_is_rolled_back() {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    let engine = Postgres::open(&schema.url("")).unwrap();
    statement_ends(&engine, "INSERT INTO slow SELECT 1 FROM pg_sleep(60)").unwrap();
}

#[test]
fn a_killed_server_is_unreachable_until_it_restarts() {
    let Some(server) = server(&Options::new()) else { return };
    let engine = Postgres::open(&server.url()).unwrap();
    let tag = tables::tag().unwrap();
    let probe = Probe::with_tables(&engine, &[&tag]).unwrap();
    probe.insert(&tag, row!["kept", 1.0]).unwrap();
    probe.control(Begin).unwrap();
    probe.insert(&tag, row!["lost", 1.0]).unwrap();
    server.kill().unwrap();
    let gone = probe.insert(&tag, row!["lost too", 1.0]);
    assert_eq!(kind(gone), Some(ErrorKind::Unreachable));
    assert_eq!(kind(probe.insert(&tag, row!["x", 1.0])), Some(ErrorKind::Misuse));
    probe.control(Rollback).unwrap();
    let nobody = probe.all(&tag);
    assert_eq!(kind(nobody), Some(ErrorKind::Unreachable));
    server.restart().unwrap();
    assert_eq!(probe.all(&tag).unwrap(), vec![row!["kept", 1.0]]);
    probe.insert(&tag, row!["after", 1.0]).unwrap();
}

/// The engine of a schema, behind a proxy.
pub fn through_proxy(schema: &Schema, url: &str) -> (Proxy, Postgres) {
    let port = url.rsplit_once(':').and_then(|(_, rest)| rest.split_once('/')).unwrap().0;
    let proxy = Proxy::start(port.parse().unwrap());
    let through =
        schema.url("sslmode=disable").replace(&format!(":{port}/"), &format!(":{}/", proxy.port));
    (proxy, Postgres::open(&through).unwrap())
}

#[test]
fn a_broken_connection_gives_unreachable_or_unknown() {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    let (proxy, engine) = through_proxy(&schema, &url);
    let tag = tables::tag().unwrap();
    let probe = Probe::with_tables(&engine, &[&tag]).unwrap();
    let names = || -> Vec<String> {
        proxy.set(ProxyMode::Whole);
        let rows = Probe::new(&engine).unwrap().all(&tag).unwrap();
        rows.iter().map(|row| format!("{:?}", row[0])).collect()
    };
    probe.insert(&tag, row!["a", 1.0]).unwrap();

    // The answer to a commit is lost: nobody can say, and it is not tried again.
    probe.control(Begin).unwrap();
    probe.insert(&tag, row!["b", 1.0]).unwrap();
    proxy.set(ProxyMode::RepliesLost);
    let error = probe.control(Commit).unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unknown, false), "{error}");
    assert_eq!(names().len(), 2, "this one was committed");

    // The same of a write alone; the first on a connection is prepared before, which writes nothing.
    probe.insert(&tag, row!["prepared", 1.0]).unwrap();
    proxy.set(ProxyMode::RepliesLost);
    assert_eq!(kind(probe.insert(&tag, row!["c", 1.0])), Some(ErrorKind::Unknown));
    assert_eq!(names().len(), 4);

    // Cut in the midst of a transaction, and of a batch: nothing is there.
    probe.control(Begin).unwrap();
    probe.insert(&tag, row!["d", 1.0]).unwrap();
    proxy.set(ProxyMode::Cut);
    assert_eq!(kind(probe.insert(&tag, row!["e", 1.0])), Some(ErrorKind::Unreachable));
    probe.control(Rollback).unwrap();
    assert_eq!(names().len(), 4);
    proxy.set(ProxyMode::Cut);
    let many: Vec<_> =
        (0..5_000).map(|n| Entry::insert(&tag, row![format!("t{n}"), 1.0])).collect();
    let sent = probe.batch(&many, OnError::Continue);
    assert_eq!(kind(sent.whole), Some(ErrorKind::Unreachable));
    assert_eq!(names().len(), 4);
    probe.batch(&many, OnError::Stop).outcomes().unwrap();
    assert_eq!(names().len(), 5_004);
}
