//! How often a session waits for the server: what begins transactions and sets savepoints travels with other requests.

use crate::failures::through_proxy;
use crate::support::{Schema, url};
use bobak_core::TransactionControl::{Begin, Commit, Release, Rollback, RollbackTo, Savepoint};
use bobak_core::{Engine, ErrorKind, GeneratedKey, OnError, Outcome, Select, Source, Value};
use bobak_postgres::Postgres;
use bobak_testkit::{Entry, Probe, row, tables};

#[test]
fn each_request_of_a_transaction_is_one_round_trip() {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    let (proxy, engine) = through_proxy(&schema, &url);
    let tag = tables::tag().unwrap();
    let probe = Probe::with_tables(&engine, &[&tag]).unwrap();
    let run = || {
        probe.control(Begin).unwrap();
        probe.insert(&tag, row!["a", 1.0]).unwrap();
        assert_eq!(probe.all(&tag).unwrap().len(), 1);
        probe.control(Savepoint("part")).unwrap();
        let entries = ["b", "c"].map(|name| Entry::insert(&tag, row![name, 2.0]));
        probe.batch(&entries, OnError::Stop).outcomes().unwrap();
        probe.control(Release("part")).unwrap();
        assert_eq!(probe.delete_where(&tag, None).unwrap(), 3);
        probe.control(Commit).unwrap();
    };
    let read = || {
        let first = Select { limit: Some(1), ..Select::all(&tag) };
        assert!(probe.select(&first).unwrap().is_empty());
    };
    let count = |run: &dyn Fn()| {
        let before = proxy.round_trips();
        run();
        proxy.round_trips() - before
    };
    // The first time, statements are prepared.
    run();
    read();
    // The insert, the query, the batch, the delete and the commit.
    assert_eq!(count(&run), 5);
    assert_eq!(count(&read), 1);
}

#[test]
fn what_is_not_sent_needs_no_round_trip() {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    let (proxy, engine) = through_proxy(&schema, &url);
    let tag = tables::tag().unwrap();
    let probe = Probe::with_tables(&engine, &[&tag]).unwrap();
    probe.insert(&tag, row!["b", 1.0]).unwrap();
    let count = |run: &dyn Fn()| {
        let before = proxy.round_trips();
        run();
        proxy.round_trips() - before
    };
    // A transaction without requests needs no server.
    for end in [Commit, Rollback] {
        let nothing = || {
            probe.control(Begin).unwrap();
            probe.control(Savepoint("part")).unwrap();
            probe.control(end).unwrap();
        };
        assert_eq!(count(&nothing), 0);
    }
    // A rollback drops what has not been sent.
    let undone = || {
        probe.control(Begin).unwrap();
        probe.insert(&tag, row!["a", 1.0]).unwrap();
        probe.control(Savepoint("part")).unwrap();
        probe.control(Rollback).unwrap();
    };
    assert_eq!(count(&undone), 2);
    assert_eq!(probe.count(&tag).unwrap(), 1);
}

#[test]
fn a_request_that_fails_leaves_the_transaction_usable() {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    let (_proxy, engine) = through_proxy(&schema, &url);
    let tag = tables::tag().unwrap();
    let probe = Probe::with_tables(&engine, &[&tag]).unwrap();
    probe.insert(&tag, row!["a", 1.0]).unwrap();
    let is_duplicate = || {
        let error = probe.insert(&tag, row!["a", 2.0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Duplicate);
    };
    // The request that fails is the first one, that after a savepoint, or that after a release.
    probe.control(Begin).unwrap();
    is_duplicate();
    probe.insert(&tag, row!["b", 1.0]).unwrap();
    probe.control(Savepoint("part")).unwrap();
    is_duplicate();
    probe.insert(&tag, row!["c", 1.0]).unwrap();
    probe.control(Release("part")).unwrap();
    is_duplicate();
    probe.control(Savepoint("other")).unwrap();
    probe.control(RollbackTo("other")).unwrap();
    probe.insert(&tag, row!["d", 1.0]).unwrap();
    probe.control(Commit).unwrap();
    assert_eq!(probe.count(&tag).unwrap(), 4);
}

#[test]
fn an_operation_that_something_else_undoes_has_no_savepoint_of_its_own() {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    let (proxy, engine) = through_proxy(&schema, &url);
    let tag = tables::tag().unwrap();
    let probe = Probe::with_tables(&engine, &[&tag]).unwrap();
    let savepoints = |run: &dyn Fn()| {
        let before = proxy.savepoints();
        run();
        proxy.savepoints() - before
    };
    let insert = |name: &'static str| {
        probe.insert(&tag, row![name, 1.0]).unwrap();
    };
    let entries = |names: [&'static str; 2]| names.map(|name| Entry::insert(&tag, row![name, 2.0]));
    let batch = |names| probe.batch(&entries(names), OnError::Stop).outcomes();
    let is_duplicate = || {
        let error = batch(["z", "a"]).unwrap_err();
        assert_eq!((error.kind(), error.row()), (ErrorKind::Duplicate, Some(1)));
    };
    // A batch by itself, and the first operation of a transaction, begin it again.
    assert_eq!(savepoints(&|| drop(batch(["a", "b"]).unwrap())), 0);
    probe.control(Begin).unwrap();
    assert_eq!(savepoints(&|| insert("c")), 0);
    assert_eq!(savepoints(&|| insert("d")), 1);
    // The caller's savepoint alone, then that of the batch alone.
    probe.control(Savepoint("part")).unwrap();
    assert_eq!(savepoints(&|| drop(batch(["e", "f"]).unwrap())), 1);
    assert_eq!(savepoints(&|| drop(batch(["g", "h"]).unwrap())), 1);
    probe.control(RollbackTo("part")).unwrap();
    assert_eq!(savepoints(&|| insert("e")), 0);
    probe.control(Commit).unwrap();
    assert_eq!(probe.count(&tag).unwrap(), 5);
    // What fails first undoes nothing else, wherever it goes back to.
    is_duplicate();
    probe.control(Begin).unwrap();
    is_duplicate();
    insert("f");
    is_duplicate();
    probe.control(Savepoint("part")).unwrap();
    is_duplicate();
    insert("g");
    probe.control(RollbackTo("part")).unwrap();
    is_duplicate();
    insert("h");
    probe.control(Commit).unwrap();
    let names: Vec<_> = probe.all(&tag).unwrap().iter().map(|row| row[0].clone()).collect();
    assert_eq!(names, ["a", "b", "c", "d", "e", "f", "h"].map(Value::from));
}

#[test]
fn a_few_rows_are_one_statement_and_get_keys_in_order() {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    let (proxy, engine) = through_proxy(&schema, &url);
    let person = tables::person().unwrap();
    let probe = Probe::with_tables(&engine, &[&person]).unwrap();
    let people = |names: &[&'static str]| -> Vec<Entry> {
        let row = |name: &&'static str| {
            Entry::insert(&person, row![Value::Null, *name, *name, Value::Null])
        };
        names.iter().map(row).collect()
    };
    let insert = |names: &[&'static str]| probe.batch(&people(names), OnError::Stop).outcomes();
    let key = |key| Outcome::Inserted(Some(GeneratedKey::Int(key)));
    assert_eq!(insert(&["z", "a", "m"]).unwrap(), [1, 2, 3].map(key));
    let before = proxy.round_trips();
    assert_eq!(insert(&["y", "b"]).unwrap(), [4, 5].map(key));
    // The rows, and the commit.
    assert_eq!(proxy.round_trips() - before, 2);
    // Rows of one statement have one command in common.
    let text = "SELECT count(DISTINCT (xmin::text, cmin::text)) FROM person WHERE id > 3";
    let commands = probe.query(&Source::Sql { text, parameters: &[] }).unwrap();
    assert_eq!(commands, [row![1]]);
    let names: Vec<_> = probe.all(&person).unwrap().iter().map(|row| row[1].clone()).collect();
    assert_eq!(names, ["z", "a", "m", "y", "b"].map(Value::from));
    // One row cannot be inserted: the error tells which one, and no row stays.
    let error = insert(&["c", "y", "d"]).unwrap_err();
    assert_eq!((error.kind(), error.row()), (ErrorKind::Duplicate, Some(1)));
    assert_eq!(probe.count(&person).unwrap(), 5);
}

/// A column that the server computes cannot be written: a schema leaves it out, and a copy lists it.
#[test]
fn generated_columns_of_other_programs_are_left_out() {
    let Some(url) = url() else { return };
    let schema = Schema::new(&url).unwrap();
    let engine = Postgres::open(&schema.url("")).unwrap();
    let session = engine.session().unwrap();
    for sql in [
        "CREATE TABLE made (id int PRIMARY KEY, a int, half int GENERATED ALWAYS AS (a / 2 + length('x')) STORED, b int)",
        "CREATE INDEX by_half ON made (half)",
        "CREATE TABLE cased (id int PRIMARY KEY, \"UPPER\" int, \"upper\" int)",
    ] {
        session.execute(sql, &[]).unwrap();
    }
    let made = std::sync::Arc::new(engine.tables().unwrap().remove(0));
    let probe = Probe::new(&engine).unwrap();
    probe.insert(&made, row![1, 10, 7]).unwrap();
    let rows = (2..600).map(|id| Entry::insert(&made, row![id, 10, 7])).collect::<Vec<_>>();
    probe.batch(&rows, OnError::Stop).outcomes().unwrap();
    probe.update(&made, row![1, 20, 8]).unwrap();
    assert_eq!(probe.get(&made, row![1]).unwrap(), Some(row![1, 20, 8]));
    assert_eq!(probe.count(&made).unwrap(), 599);
    let losses = session.schema_details().unwrap().losses;
    let own =
        losses.iter().map(ToString::to_string).filter(|loss| !loss.contains("another schema"));
    let expected = [
        "cased: the table: it has columns whose names differ only in case",
        "made: generated column half",
    ];
    assert_eq!(own.collect::<Vec<_>>(), expected);
}
