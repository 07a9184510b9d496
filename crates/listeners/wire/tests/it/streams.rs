//! Pipelined requests, large batches and queries, cancellation, and shutdown.

use crate::raw::Raw;
use crate::transports::{TOKEN, memory, pipe_to, serving, tcp_server};
use bobak_core::{Engine, ErrorKind, OnError, Select, Source as OwnedSource, TransactionControl};
use bobak_memory::Memory;
use bobak_remote::Remote;
use bobak_server::{Server, Settings};
use bobak_testkit::{Entry, Probe, row, tables};
use bobak_wire::{RequestSource, Response, ResultForm, encode_request};
use std::sync::Arc;

pub fn start() -> (Server, String, Remote) {
    let (server, address) = tcp_server(serving(memory().unwrap())).unwrap();
    let remote = Remote::builder().token(TOKEN).open_tcp(&address).unwrap();
    (server, address, remote)
}

/// A window smaller than the batch, so that outcomes must be read while parts are sent.
fn start_narrow() -> (Server, Remote) {
    let settings = Settings::default().receive_window(3 << 19);
    let (server, address) = tcp_server(serving(memory().unwrap()).settings(settings)).unwrap();
    (server, Remote::builder().token(TOKEN).open_tcp(&address).unwrap())
}

/// Some MiB in several parts, so that outcomes arrive while parts are sent.
#[test]
fn large_batches_are_atomic() {
    let (_server, tcp) = start_narrow();
    let pipes = pipe_to(Arc::new(Memory::new())).unwrap();
    for engine in [&tcp, &pipes] {
        let mark = tables::mark().unwrap();
        let probe = Probe::with_tables(engine, &[&mark]).unwrap();
        let rows: Vec<_> = (0..120_000).map(|n| Entry::insert(&mark, row![n, 0])).collect();
        assert_eq!(probe.batch(&rows, OnError::Stop).outcomes().unwrap().len(), 120_000);
        // Every row is invalid: the errors are larger than the rows.
        let sent = probe.batch(&rows, OnError::Continue);
        sent.whole.unwrap();
        assert_eq!(sent.rows.len(), 120_000);
        for (number, result) in sent.rows.into_iter().enumerate() {
            let error = result.unwrap_err();
            assert_eq!((error.kind(), error.row()), (ErrorKind::Duplicate, Some(number as u64)));
        }
        // The last row is invalid: none of them is written.
        probe.delete_where(&mark, None).unwrap();
        let mut rows = rows;
        rows.push(Entry::insert(&mark, row![7, 0]));
        for inside in [false, true] {
            if inside {
                probe.control(TransactionControl::Begin).unwrap();
            }
            let error = probe.batch(&rows, OnError::Stop).whole.unwrap_err();
            assert_eq!((error.kind(), error.row()), (ErrorKind::Duplicate, Some(120_000)));
            assert_eq!(probe.count(&mark).unwrap(), 0);
            // The first row is invalid: the server skips the parts that follow.
            let mut early = rows.clone();
            early.insert(1, Entry::insert(&mark, row![0, 0]));
            let error = probe.batch(&early, OnError::Stop).whole.unwrap_err();
            assert_eq!((error.kind(), error.row()), (ErrorKind::Duplicate, Some(1)));
            assert_eq!(probe.count(&mark).unwrap(), 0);
        }
        probe.control(TransactionControl::Rollback).unwrap();
    }
}

#[test]
fn query_can_be_abandoned() {
    let (_server, _, remote) = start();
    let mark = tables::mark().unwrap();
    let probe = Probe::with_tables(&remote, &[&mark]).unwrap();
    let rows: Vec<_> = (0..200_000).map(|n| Entry::insert(&mark, row![n, 0])).collect();
    probe.batch(&rows, OnError::Stop).outcomes().unwrap();
    for wanted in [1, 5_000, 100_000, 200_000] {
        let mut seen = 0;
        let select = Select::all(&mark);
        let each = &mut |_: &dyn bobak_core::Row| {
            seen += 1;
            Ok(seen < wanted)
        };
        probe.session.query(&OwnedSource::Select(&select), each).unwrap();
        assert_eq!(seen, wanted);
        probe.insert(&mark, row![-wanted, 0]).unwrap();
    }
}

#[test]
fn many_requests_can_be_pipelined() {
    let (_server, address, _) = start();
    let mark = tables::mark().unwrap();
    let mut raw = Raw::known(&address);
    raw.put(|out| {
        encode_request::tables(out, 2);
        encode_request::alter(out, 3, &[bobak_core::SchemaChange::CreateTable(Arc::clone(&mark))])
            .unwrap();
        encode_request::define(out, 4, 0, &mark).unwrap();
        let what = (&*mark, bobak_core::Verb::Insert, bobak_core::FieldSet::EMPTY);
        for id in 5..500 {
            // Every third row exists already.
            let key = i64::from(id - u32::from(id % 3 == 0));
            encode_request::write(out, id, 0, what, &row![key, 0]).unwrap();
        }
        // An undefined handle, and one that is too large.
        encode_request::get(out, 500, 1, &row![1, 0]).unwrap();
        encode_request::define(out, 501, 9_999, &mark).unwrap();
        encode_request::get(out, 502, 9_999, &row![1, 0]).unwrap();
        // A value of the wrong type, and a row of the wrong length.
        encode_request::write(out, 503, 0, what, &row!["x", 0]).unwrap();
        encode_request::write(out, 504, 0, what, &row![1]).unwrap();
        encode_request::ping(out, 505);
    });
    for id in (2..500).filter(|id| *id != 4) {
        let (responses, response) = raw.response();
        let wanted = (id > 5 && id % 3 == 0).then_some(ErrorKind::Duplicate);
        assert_eq!((responses, response.err().map(|error| error.kind())), (id, wanted));
    }
    let wrong = [
        (500, ErrorKind::Misuse),
        (502, ErrorKind::Misuse),
        (503, ErrorKind::Mismatch),
        (504, ErrorKind::Mismatch),
    ];
    for (id, kind) in wrong {
        let (responses, response) = raw.response();
        assert_eq!((responses, response.unwrap_err().kind()), (id, kind));
    }
    assert!(matches!(raw.response(), (505, Ok(()))));
}

#[test]
fn client_reconnects_to_a_restarted_server() {
    let engine: Arc<dyn Engine> = Arc::new(Memory::new());
    let (server, address) = tcp_server(serving(Arc::clone(&engine))).unwrap();
    let remote = Remote::builder().token(TOKEN).open_tcp(&address).unwrap();
    let mark = tables::mark().unwrap();
    let probe = Probe::with_tables(&remote, &[&mark]).unwrap();
    probe.insert(&mark, row![1, 0]).unwrap();
    let inside = Probe::new(&remote).unwrap();
    inside.control(TransactionControl::Begin).unwrap();
    inside.insert(&mark, row![2, 0]).unwrap();
    let settings = Settings { shutdown_timeout: std::time::Duration::ZERO, ..Settings::default() };
    drop(server);
    let unreachable = probe.count(&mark).unwrap_err();
    assert_eq!(unreachable.kind(), ErrorKind::Unreachable);
    assert!(unreachable.is_retryable());
    let builder = serving(engine).settings(settings);
    let _server = builder.tcp(&address).start().unwrap();
    assert_eq!(probe.count(&mark).unwrap(), 1);
    // The transaction is lost, and reports that until it is rolled back.
    let lost = inside.insert(&mark, row![3, 0]).unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::Unreachable);
    assert_eq!(
        inside.control(TransactionControl::Commit).unwrap_err().kind(),
        ErrorKind::Unreachable
    );
    inside.insert(&mark, row![4, 0]).unwrap();
    assert_eq!(probe.count(&mark).unwrap(), 2);
}

#[test]
fn shutdown_waits_for_transactions() {
    let (server, _, remote) = start();
    let mark = tables::mark().unwrap();
    let probe = Probe::with_tables(&remote, &[&mark]).unwrap();
    probe.control(TransactionControl::Begin).unwrap();
    probe.insert(&mark, row![1, 0]).unwrap();
    server.begin_stop();
    probe.insert(&mark, row![2, 0]).unwrap();
    probe.control(TransactionControl::Commit).unwrap();
    assert!(server.stop());
    let gone = probe.insert(&mark, row![3, 0]).unwrap_err();
    assert!(matches!(gone.kind(), ErrorKind::Unknown | ErrorKind::Unreachable), "{gone:?}");
}

/// A client grants credit while the server writes more than fits the socket: the server reads it before it has written all.
#[test]
fn credit_during_a_long_write_counts() {
    let (_server, address, remote) = start();
    let tag = tables::of_type(bobak_core::Type::Text).unwrap();
    let probe = Probe::with_tables(&remote, &[&tag]).unwrap();
    let text = "x".repeat(16 << 20);
    for id in 1..=3 {
        probe.insert(&tag, row![id, text.clone()]).unwrap();
    }
    for blocks in [false, true] {
        let mut raw = Raw::known(&address);
        raw.put(|out| {
            encode_request::define(out, 2, 0, &tag).unwrap();
            let (form, select) = (ResultForm { columns: false, blocks }, Select::all(&tag));
            let source = RequestSource::Select(0, &select, &[]);
            encode_request::query(out, 3, 1, form, source).unwrap();
        });
        let mut rows = 0;
        loop {
            // The frame has begun, and does not fit the socket.
            if raw.inbox.is_empty() {
                raw.stream.peek(&mut [0]).unwrap();
            }
            raw.put(|out| encode_request::credit(out, 3, 1));
            std::thread::sleep(std::time::Duration::from_millis(100));
            let head = raw.frame().unwrap();
            rows += match Response::decode(head, raw.inbox.body()).unwrap() {
                Response::Rows(rows) => rows.count(),
                Response::Block(block) => block.rows(),
                other => panic!("{other:?}"),
            };
            if !head.more {
                break;
            }
        }
        assert_eq!(rows, 3);
    }
}
