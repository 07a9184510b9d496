//! Servers that must prove their identity, or that hang; and the row counts that the planner uses.

use crate::failures::kind;
use crate::proxy::Proxy;
use crate::stores::{Database, run, server};
use bobak_core::{Engine, ErrorKind, OnError, Source, TransactionControl};
use bobak_mysql::{MySql, Tls};
use bobak_servers::{Authority, MariaDb, Options};
use bobak_testkit::{Entry, Probe, row, tables};
use std::fs;
use std::time::Duration;

/// Whether the engine's line is encrypted, as the server sees it.
fn is_encrypted(engine: &MySql) -> bool {
    let text = "SELECT VARIABLE_VALUE <> '' FROM information_schema.SESSION_STATUS \
                WHERE VARIABLE_NAME = 'Ssl_cipher'";
    let rows = Probe::new(engine).unwrap().query(&Source::Sql { text, parameters: &[] }).unwrap();
    rows == [row![1]]
}

#[test]
fn tls_verifies_the_server_as_configured() {
    if server().is_none() {
        return;
    }
    let (own, other) = (Authority::new().unwrap(), Authority::new().unwrap());
    let running = MariaDb::start_with(&Options::new().tls_only(&own)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, authority: &Authority| {
        let path = folder.path().join(name);
        fs::write(&path, authority.pem()).unwrap();
        path
    };
    let (own, other) = (file("own.pem", &own), file("other.pem", &other));
    // The certificate is for 127.0.0.1 and localhost: by this address it is another's.
    let proxy = Proxy::at("127.0.0.2:0", format!("127.0.0.1:{}", running.port()));
    let at = |host: &str, port: u16, tls: Tls| MySql::builder(host, port).user("bobak").tls(tls);
    let right = |tls| at("127.0.0.1", running.port(), tls);
    let strange = |tls| at("127.0.0.2", proxy.address.port(), tls);
    for trusted in [
        right(Tls::Require),
        right(Tls::Verify).tls_ca(&own),
        at("localhost", running.port(), Tls::Verify).tls_ca(&own),
        strange(Tls::Require),
    ] {
        assert!(is_encrypted(&trusted.connect().unwrap()));
    }
    for rejected in [
        right(Tls::Off),
        right(Tls::Verify).tls_ca(&other),
        // Of the authorities that everybody trusts it is none's.
        right(Tls::Verify),
        strange(Tls::Verify).tls_ca(&own),
    ] {
        let error = rejected.connect().unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Denied, false), "{error}");
    }
}

#[test]
fn a_server_that_hangs_is_a_timeout() {
    if server().is_none() {
        return;
    }
    let running = MariaDb::start().unwrap();
    let settings = MySql::builder("127.0.0.1", running.port())
        .user("bobak")
        .database("bobak")
        .connect_timeout(Duration::from_millis(500))
        .statement_timeout(Some(Duration::from_millis(300)));
    let engine = settings.clone().connect().unwrap();
    let tag = tables::tag().unwrap();
    let probe = Probe::with_tables(&engine, &[&tag]).unwrap();
    let busy = Probe::new(&engine).unwrap();
    probe.insert(&tag, row!["a", 1.0]).unwrap();
    busy.control(TransactionControl::Begin).unwrap();
    busy.insert(&tag, row!["b", 1.0]).unwrap();
    running.pause();
    // A new line gets no further than the system's own part of it.
    assert_eq!(kind(settings.connect()), Some(ErrorKind::Timeout));
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| kind(Probe::new(&engine).unwrap().all(&tag)));
        assert_eq!(kind(busy.control(TransactionControl::Commit)), Some(ErrorKind::Unknown));
        assert_eq!(reading.join().unwrap(), Some(ErrorKind::Timeout));
    });
    running.resume();
    let rows = probe.count(&tag).unwrap();
    assert!(rows == 1 || rows == 2, "the unknown write was done completely or not at all: {rows}");
    probe.insert(&tag, row!["c", 1.0]).unwrap();
    assert_eq!(probe.count(&tag).unwrap(), rows + 1);
}

#[test]
fn the_planner_knows_the_number_of_rows() {
    let Some(url) = server() else { return };
    let database = Database::new(&url).unwrap();
    let engine = database.settings.clone().connect().unwrap();
    let tag = tables::tag().unwrap();
    assert_eq!(engine.estimate(&tag).rows, None, "it is not there");
    let probe = Probe::with_tables(&engine, &[&tag]).unwrap();
    let many: Vec<_> =
        (0..5_000).map(|n| Entry::insert(&tag, row![format!("t{n}"), 1.0])).collect();
    probe.batch(&many, OnError::Stop).outcomes().unwrap();
    run(&engine, "ANALYZE TABLE tag").unwrap();
    let rows = engine.estimate(&tag).rows.unwrap();
    assert!((2_000..10_000).contains(&rows), "InnoDB samples: {rows}");
    // It waits for nobody.
    let engine = database.settings.clone().connections(1).connect().unwrap();
    let probe = Probe::new(&engine).unwrap();
    probe.control(TransactionControl::Begin).unwrap();
    probe.all(&tag).unwrap();
    assert_eq!(engine.estimate(&tag).rows, None);
}
