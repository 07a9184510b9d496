//! Misbehaving clients: they are rejected, and do not affect others.

use crate::raw::Raw;
use crate::transports::{TOKEN, memory, serving, tcp_server};
use bobak_core::{Engine, ErrorKind, FieldSet, Select, TransactionControl, Value, Verb};
use bobak_remote::Remote;
use bobak_server::{Server, Settings};
use bobak_testkit::{Entry, NULL, Probe, create, row, tables};
use bobak_wire::{
    Credentials, FrameHeader, FrameKind, Hello, RequestSource, ResultForm, encode_request,
};
use std::io::Write;
use std::time::Duration;

fn server(settings: Settings) -> (Server, String) {
    tcp_server(serving(memory().unwrap()).settings(settings)).unwrap()
}

fn remote(address: &str) -> Remote {
    Remote::builder().token(TOKEN).open_tcp(address).unwrap()
}

fn works(address: &str) {
    remote(address).tables().unwrap();
}

#[test]
fn garbage_gets_a_protocol_error() {
    let (_server, address) = server(Settings::default());
    for bytes in [&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..], &[0xff; 100], &[0; 12]] {
        let mut raw = Raw::connect(&address);
        raw.stream.write_all(bytes).unwrap();
        let (id, response) = raw.response();
        assert_eq!((id, response.unwrap_err().kind()), (0, ErrorKind::Corrupt));
        assert!(raw.frame().is_none());
    }
    works(&address);
}

#[test]
fn oversized_frame_is_rejected_by_its_header() {
    let settings = Settings::default().max_frame(100_000).max_row(50_000);
    let (_server, address) = server(settings);
    let head =
        |length| FrameHeader { length, kind: FrameKind::Prepare, more: false, id: 2 }.encode();
    let mut unauthenticated = Raw::connect(&address);
    unauthenticated.stream.write_all(&head(65_537)).unwrap();
    assert_eq!(unauthenticated.response().1.unwrap_err().kind(), ErrorKind::OutOfRange);
    let mut known = Raw::known(&address);
    known.stream.write_all(&head(100_001)).unwrap();
    assert_eq!(known.response().1.unwrap_err().kind(), ErrorKind::OutOfRange);
    assert!(known.frame().is_none());
    let remote = remote(&address);
    let tag = tables::of_type(bobak_core::Type::Text).unwrap();
    let probe = Probe::with_tables(&remote, &[&tag]).unwrap();
    for size in [60_000, 200_000] {
        let error = probe.insert(&tag, row![1, "x".repeat(size)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange);
        let batch =
            [Entry::insert(&tag, row![2, "x"]), Entry::insert(&tag, row![1, "x".repeat(size)])];
        let error = probe.batch(&batch, bobak_core::OnError::Stop).whole.unwrap_err();
        assert_eq!((error.kind(), error.row()), (ErrorKind::OutOfRange, Some(1)));
    }
    probe.insert(&tag, row![1, "x".repeat(40_000)]).unwrap();
}

#[test]
fn incomplete_frame_blocks_no_other_client() {
    let settings = Settings { max_workers: 1, ..Settings::default() };
    let (_server, address) = server(settings);
    let mut ping = Vec::new();
    encode_request::ping(&mut ping, 9);
    let mut slow: Vec<Raw> = (0..5).map(|_| Raw::known(&address)).collect();
    for raw in &mut slow {
        raw.stream.write_all(&ping[..5]).unwrap();
    }
    works(&address);
    for raw in &mut slow {
        raw.stream.write_all(&ping[5..]).unwrap();
        assert!(matches!(raw.response(), (9, Ok(()))));
    }
}

#[test]
fn unauthenticated_clients_are_rejected() {
    let settings =
        Settings { handshake_timeout: Duration::from_millis(300), ..Settings::default() };
    let (_server, address) = server(settings);
    let mut first = Raw::connect(&address);
    first.put(|out| encode_request::tables(out, 3));
    let (id, response) = first.response();
    assert_eq!((id, response.unwrap_err().kind()), (3, ErrorKind::Misuse));
    assert!(first.frame().is_none());
    let rejected = |hello: Hello| {
        let mut raw = Raw::connect(&address);
        raw.put(|out| hello.encode(out, 1).unwrap());
        let error = raw.response().1.unwrap_err();
        assert!(raw.frame().is_none());
        error.kind()
    };
    let hello = |database: &str, token: &str| {
        Hello::new(database, "raw", Credentials::Token(token.to_owned()))
    };
    assert_eq!(rejected(hello("", "a token for texts")), ErrorKind::Denied);
    assert_eq!(rejected(hello("nosuch", "a token for texts")), ErrorKind::Denied);
    assert_eq!(rejected(hello("nosuch", TOKEN)), ErrorKind::Config);
    assert_eq!(rejected(Hello::new("", "raw", Credentials::None)), ErrorKind::Denied);
    let newer = Hello { lowest: 2, highest: 9, ..hello("", TOKEN) };
    assert_eq!(rejected(newer), ErrorKind::Unsupported);
    // The server does not wait for a silent client.
    assert!(Raw::connect(&address).frame().is_none());
    let mut twice = Raw::known(&address);
    twice.put(|out| hello("", TOKEN).encode(out, 2).unwrap());
    assert_eq!(twice.response().1.unwrap_err().kind(), ErrorKind::Misuse);
    twice.put(|out| encode_request::ping(out, 3));
    assert!(matches!(twice.response(), (3, Ok(()))));
}

#[test]
fn disconnect_rolls_back_transaction() {
    let (_server, address) = server(Settings::default());
    let mark = tables::mark().unwrap();
    let other = remote(&address);
    create(&other, &[&mark]).unwrap();
    let mut raw = Raw::known(&address);
    raw.put(|out| {
        encode_request::define(out, 2, 0, &mark).unwrap();
        encode_request::control(out, 3, TransactionControl::Begin).unwrap();
        let what = (&*mark, Verb::Insert, FieldSet::EMPTY);
        encode_request::write(out, 4, 0, what, &[Value::Int(1), Value::Int(0)]).unwrap();
    });
    assert!(matches!((raw.response(), raw.response()), ((3, Ok(())), (4, Ok(())))));
    drop(raw);
    let probe = Probe::new(&other).unwrap();
    // The server notices when it reads next.
    while matches!(probe.insert(&mark, row![2, 0]), Err(error) if error.kind() == ErrorKind::Busy) {
    }
    assert_eq!(probe.all(&mark).unwrap(), [row![2, 0]]);
}

#[test]
fn idle_transaction_is_rolled_back() {
    let settings =
        Settings { transaction_timeout: Duration::from_millis(300), ..Settings::default() };
    let (_server, address) = server(settings);
    let mark = tables::mark().unwrap();
    let engine = remote(&address);
    let probe = Probe::with_tables(&engine, &[&mark]).unwrap();
    let mut raw = Raw::known(&address);
    raw.put(|out| encode_request::control(out, 3, TransactionControl::Begin).unwrap());
    assert!(matches!(raw.response(), (3, Ok(()))));
    let (id, response) = raw.response();
    assert_eq!((id, response.unwrap_err().kind()), (0, ErrorKind::Timeout));
    probe.insert(&mark, row![1, 0]).unwrap();
}

#[test]
fn client_that_does_not_read_is_disconnected() {
    let settings = Settings { write_timeout: Duration::from_secs(1), ..Settings::default() };
    let (_server, address) = server(settings);
    let tag = tables::of_type(bobak_core::Type::Text).unwrap();
    let engine = remote(&address);
    let probe = Probe::with_tables(&engine, &[&tag]).unwrap();
    let text = "x".repeat(100_000);
    let rows: Vec<_> = (0..200).map(|id| Entry::insert(&tag, row![id, text.clone()])).collect();
    probe.batch(&rows, bobak_core::OnError::Stop).outcomes().unwrap();
    for credit in [0, 1] {
        let mut raw = Raw::known(&address);
        raw.put(|out| {
            encode_request::define(out, 2, 0, &tag).unwrap();
            let select = Select::all(&tag);
            let (form, source) = (ResultForm::default(), RequestSource::Select(0, &select, &[]));
            encode_request::query(out, 3, credit, form, source).unwrap();
        });
        probe.insert(&tag, row![NULL, "meanwhile"]).unwrap();
        // It reads only now: it gets the responses sent before, and then the connection is closed.
        std::thread::sleep(Duration::from_millis(2_500));
        while let Some(head) = raw.frame() {
            assert!(head.more);
        }
    }
    assert_eq!(probe.count(&tag).unwrap(), 202);
}

#[test]
fn waiting_too_long_for_a_worker_returns_busy() {
    let settings = Settings {
        max_workers: 1,
        worker_timeout: Duration::from_millis(100),
        ..Settings::default()
    };
    let (_server, address) = server(settings);
    let mut first = Raw::known(&address);
    let mut second = Raw::known(&address);
    first.put(|out| encode_request::control(out, 2, TransactionControl::Begin).unwrap());
    assert!(matches!(first.response(), (2, Ok(()))));
    second.put(|out| encode_request::tables(out, 2));
    assert_eq!(second.response().1.unwrap_err().kind(), ErrorKind::Busy);
    first.put(|out| encode_request::control(out, 3, TransactionControl::Rollback).unwrap());
    assert!(matches!(first.response(), (3, Ok(()))));
    second.put(|out| encode_request::tables(out, 3));
    assert!(matches!(second.response(), (3, Ok(()))));
}

#[test]
fn connections_are_limited() {
    let (_server, address) = server(Settings { max_connections: 2, ..Settings::default() });
    let [_one, _two] = [Raw::known(&address), Raw::known(&address)];
    let mut three = Raw::connect(&address);
    let (id, response) = three.response();
    assert_eq!((id, response.unwrap_err().kind()), (0, ErrorKind::Busy));
    let rejected = Remote::builder().token(TOKEN).open_tcp(&address).err();
    assert_eq!(rejected.map(|error| error.kind()), Some(ErrorKind::Busy));
}

#[test]
fn too_many_requests_in_flight_end_the_connection() {
    let settings = Settings::default().max_requests(3);
    let (_server, address) = server(settings);
    let tag = tables::of_type(bobak_core::Type::Text).unwrap();
    let engine = remote(&address);
    let probe = Probe::with_tables(&engine, &[&tag]).unwrap();
    let rows: Vec<_> = (0..5).map(|id| Entry::insert(&tag, row![id, "x".repeat(99_999)])).collect();
    probe.batch(&rows, bobak_core::OnError::Stop).outcomes().unwrap();
    let mut raw = Raw::known(&address);
    raw.put(|out| {
        encode_request::define(out, 2, 0, &tag).unwrap();
        let select = Select::all(&tag);
        encode_request::query(
            out,
            3,
            1,
            ResultForm::default(),
            RequestSource::Select(0, &select, &[]),
        )
        .unwrap();
        // The query waits for credit; these wait behind it.
        (4..8).for_each(|id| encode_request::ping(out, id));
    });
    let error = std::iter::from_fn(|| Some(raw.response()))
        .find_map(|(id, response)| response.err().map(|error| (id, error.kind())));
    assert_eq!(error, Some((0, ErrorKind::Misuse)));
    assert!(raw.frame().is_none());
    // The number of open queries is limited.
    let mut raw = Raw::known(&address);
    raw.put(|out| encode_request::define(out, 2, 0, &tag).unwrap());
    let mut open = |id| {
        let select = Select::all(&tag);
        raw.put(|out| {
            encode_request::open(out, id, RequestSource::Select(0, &select, &[])).unwrap()
        });
        raw.response().1.map_err(|error| error.kind())
    };
    assert_eq!(
        (3..7).map(&mut open).collect::<Vec<_>>(),
        [Ok(()), Ok(()), Ok(()), Err(ErrorKind::Misuse)]
    );
    works(&address);
}
