//! Servers that must prove who they are, that hang, or that make keys by themselves.

use crate::failures::{kind, server};
use crate::proxy::Proxy;
use crate::support::{Schema, url};
use bobak_core::TransactionControl::{Begin, Commit, Rollback};
use bobak_core::{Engine, ErrorKind, OnError, Source, Value};
use bobak_postgres::Postgres;
use bobak_servers::{Authority, Options};
use bobak_testkit::{Entry, NULL, Probe, row, tables};
use std::fs;

/// Whether the engine's line is encrypted, as the server sees it.
fn is_encrypted(engine: &Postgres) -> bool {
    let text = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let rows = Probe::new(engine).unwrap().query(&Source::Sql { text, parameters: &[] }).unwrap();
    rows == [row![1]]
}

#[test]
fn tls_verifies_the_server_as_configured() {
    if url().is_none() {
        return;
    }
    let (own, other) = (Authority::new().unwrap(), Authority::new().unwrap());
    let Some(server) = server(&Options::new().tls_only(&own)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, authority: &Authority| {
        let path = folder.path().join(name);
        fs::write(&path, authority.pem()).unwrap();
        path.display().to_string()
    };
    let (own, other) = (file("own.pem", &own), file("other.pem", &other));
    // The certificate is for 127.0.0.1 and localhost: by this address it is another's.
    let proxy = Proxy::start_at("127.0.0.2:0", server.port());
    let open = |host: &str, port: u16, settings: &str| {
        Postgres::open(&format!("postgres://bobak@{host}:{port}/bobak?{settings}"))
    };
    let right = |settings: &str| open("127.0.0.1", server.port(), settings);
    let strange = |settings: &str| open("127.0.0.2", proxy.port, settings);
    for trusted in [
        right("sslmode=prefer"),
        right("sslmode=require"),
        right(&format!("sslmode=verify-ca&sslrootcert={own}")),
        right(&format!("sslmode=verify-full&sslrootcert={own}")),
        open("localhost", server.port(), &format!("sslmode=verify-full&sslrootcert={own}")),
        strange("sslmode=require"),
        strange(&format!("sslmode=verify-ca&sslrootcert={own}")),
    ] {
        assert!(is_encrypted(&trusted.unwrap()));
    }
    for rejected in [
        right("sslmode=disable"),
        right(&format!("sslmode=verify-ca&sslrootcert={other}")),
        right(&format!("sslmode=verify-full&sslrootcert={other}")),
        // Of the authorities that the system trusts it is none's.
        right("sslmode=verify-full"),
        right("sslmode=verify-ca"),
        strange(&format!("sslmode=verify-full&sslrootcert={own}")),
    ] {
        let error = rejected.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Denied, false), "{error}");
    }
    let nowhere = right("sslmode=verify-full&sslrootcert=/nowhere.pem");
    assert_eq!(kind(nowhere), Some(ErrorKind::Config));
}

#[test]
fn a_server_that_hangs_is_a_timeout() {
    let Some(server) = server(&Options::new()) else { return };
    let settings = "statement_timeout=300&connect_timeout=500&busy_timeout=200";
    let engine = Postgres::open(&format!("{}?{settings}", server.url())).unwrap();
    let tag = tables::tag().unwrap();
    let probe = Probe::with_tables(&engine, &[&tag]).unwrap();
    let busy = Probe::new(&engine).unwrap();
    probe.insert(&tag, row!["a", 1.0]).unwrap();
    busy.control(Begin).unwrap();
    busy.insert(&tag, row!["b", 1.0]).unwrap();
    server.pause();
    assert_eq!(kind(probe.all(&tag)), Some(ErrorKind::Timeout));
    // A new line gets no further than the system's own part of it.
    assert_eq!(
        kind(Postgres::open(&format!("{}?{settings}", server.url()))),
        Some(ErrorKind::Timeout)
    );
    assert_eq!(kind(busy.control(Commit)), Some(ErrorKind::Unknown));
    server.resume();
    let rows = probe.count(&tag).unwrap();
    assert!(rows == 1 || rows == 2, "the unknown write was done completely or not at all: {rows}");
    probe.insert(&tag, row!["c", 1.0]).unwrap();
    assert_eq!(probe.count(&tag).unwrap(), rows + 1);
}

#[test]
fn keys_are_generated_by_the_server() {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    // As of servers whose keys are no sequence.
    schema
        .admin(&format!(
            "CREATE FUNCTION {0}.unique_rowid() RETURNS bigint LANGUAGE sql AS \
             'SELECT (random() * 1e15)::bigint * 2 + 1'",
            schema.name
        ))
        .unwrap();
    schema
        .admin(&format!(
            "CREATE TABLE {0}.person (id bigint PRIMARY KEY DEFAULT {0}.unique_rowid(), \
             name varchar(20) NOT NULL, email text, age bigint NOT NULL)",
            schema.name
        ))
        .unwrap();
    let engine = Postgres::open(&schema.url("keys=server")).unwrap();
    let probe = Probe::new(&engine).unwrap();
    let person = tables::person().unwrap();
    let entry = |age: i64| Entry::insert(&person, row![NULL, "x", NULL, age]);
    let mut entries: Vec<_> = (0..300).map(entry).collect();
    entries.push(Entry::insert(&person, row![8, "given", NULL, 300]));
    probe.control(Begin).unwrap();
    let outcomes = probe.batch(&entries, OnError::Stop).outcomes().unwrap();
    probe.control(Commit).unwrap();
    let rows = probe.all(&person).unwrap();
    assert_eq!(rows.len(), 301);
    for (age, outcome) in outcomes.iter().enumerate().take(300) {
        let bobak_core::Outcome::Inserted(Some(bobak_core::GeneratedKey::Int(key))) = outcome
        else {
            panic!("no key came back: {outcome:?}");
        };
        assert!(rows.iter().any(|row| row[0] == Value::Int(*key) && row[3] == (age as i64).into()));
        assert_eq!(key % 2, 1, "the server's own");
    }
    probe.control(Begin).unwrap();
    probe.insert(&person, row![NULL, "one", NULL, 1]).unwrap();
    probe.control(Rollback).unwrap();
    assert_eq!(probe.count(&person).unwrap(), 301);
}

#[test]
fn the_planner_knows_the_number_of_rows() {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    let engine = Postgres::open(&schema.url("")).unwrap();
    let tag = tables::tag().unwrap();
    assert_eq!(engine.estimate(&tag).rows, None, "it is not there");
    let probe = Probe::with_tables(&engine, &[&tag]).unwrap();
    let many: Vec<_> =
        (0..5_000).map(|n| Entry::insert(&tag, row![format!("t{n}"), 1.0])).collect();
    probe.batch(&many, OnError::Stop).outcomes().unwrap();
    schema.admin(&format!("ANALYZE {}.tag", schema.name)).unwrap();
    assert_eq!(engine.estimate(&tag).rows, Some(5_000));
    // It waits for nobody, and remembers.
    let engine = Postgres::open(&schema.url("connections=1&acquire_timeout=60000")).unwrap();
    let probe = Probe::new(&engine).unwrap();
    probe.control(Begin).unwrap();
    assert_eq!(engine.estimate(&tag).rows, None);
    probe.control(Rollback).unwrap();
    assert_eq!(engine.estimate(&tag).rows, Some(5_000));
    probe.control(Begin).unwrap();
    assert_eq!(engine.estimate(&tag).rows, Some(5_000));
}
