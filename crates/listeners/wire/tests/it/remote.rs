//! The remote engine with slow, silent and full servers.

use crate::transports::{TOKEN, memory, serving, tcp_server};
use bobak_core::{Engine, ErrorKind, TransactionControl};
use bobak_remote::Remote;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::time::Duration;

const SOON: Duration = Duration::from_millis(300);

#[test]
fn silent_server_times_out() {
    // The system accepts the connection; nobody ever responds.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let open = || Remote::builder().token(TOKEN).timeout(Some(SOON)).open_tcp(&address);
    assert_eq!(open().err().map(|error| error.kind()), Some(ErrorKind::Timeout));
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _silent = UnixListener::bind(&socket).unwrap();
    let open = Remote::builder().timeout(Some(SOON)).open_unix(&socket);
    assert_eq!(open.err().map(|error| error.kind()), Some(ErrorKind::Timeout));
}

#[test]
fn unreachable_server_times_out() {
    // A full accept backlog of one: nobody else can connect.
    let (_full, address) = full();
    let open = Remote::builder().token(TOKEN).connect_timeout(SOON).open_tcp(&address);
    let kind = open.err().map(|error| error.kind());
    assert!(matches!(kind, Some(ErrorKind::Unreachable | ErrorKind::Timeout)), "{kind:?}");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let open = Remote::builder().token(TOKEN).open_tcp(&nobody);
    assert_eq!(open.err().map(|error| error.kind()), Some(ErrorKind::Unreachable));
}

#[test]
fn exit_of_a_child_process_is_reported() {
    let exit_error = |script: &str| {
        let opened = Remote::builder().open_program("sh", ["-c", script]);
        let error = opened.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        error.to_string()
    };
    let end = exit_error("exit 3");
    assert!(end.starts_with("the program sh ended (exit status: 3)"), "{end}");
    let end = exit_error("kill -9 $$");
    assert!(end.starts_with("the program sh ended (signal: 9"), "{end}");
    // It runs until its input ends.
    assert_eq!(exit_error("exec >&-; read x; read y"), "the program sh closed its output");
}

/// A listener with a full backlog, and the connections that fill it.
fn full() -> ((OwnedFd, Vec<TcpStream>), String) {
    use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};
    let listener = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    bind(&listener, &any).unwrap();
    listen(&listener, 0).unwrap();
    let address = SocketAddr::try_from(getsockname(&listener).unwrap()).unwrap();
    let connect = || TcpStream::connect_timeout(&address, SOON).ok();
    let taken: Vec<_> = std::iter::from_fn(connect).take(100).collect();
    assert!(taken.len() < 100, "the backlog is bounded");
    ((listener, taken), address.to_string())
}

#[test]
fn pool_size_is_limited() {
    let (_server, address) = tcp_server(serving(memory().unwrap())).unwrap();
    let builder = Remote::builder().token(TOKEN).connections(2).timeout(Some(SOON));
    let remote = builder.open_tcp(&address).unwrap();
    let [one, two] = [remote.session().unwrap(), remote.session().unwrap()];
    for session in [&one, &two] {
        session.tables().unwrap();
    }
    one.control(TransactionControl::Begin).unwrap();
    two.tables().unwrap();
    drop(two);
    let other = remote.session().unwrap();
    other.tables().unwrap();
    let third = remote.session().and_then(|session| session.tables());
    assert_eq!(third.err().map(|error| error.kind()), Some(ErrorKind::Busy));
    one.control(TransactionControl::Rollback).unwrap();
    drop((one, other));
    remote.tables().unwrap();
}

#[test]
fn losses_and_broken_foreign_keys_of_the_served_database_arrive() {
    let folder = tempfile::tempdir().unwrap();
    let engine = crate::transports::file(folder.path()).unwrap();
    let session = engine.session().unwrap();
    // As other programs do by default, without foreign keys.
    session.begin_replay(&[]).unwrap();
    for sql in [
        "CREATE TABLE a (id INTEGER PRIMARY KEY)",
        "CREATE TABLE b (id INTEGER PRIMARY KEY, a INT REFERENCES a)",
        "INSERT INTO b VALUES (1, 7), (2, NULL), (3, 8)",
        "CREATE TRIGGER audit AFTER INSERT ON a BEGIN SELECT 1; END",
    ] {
        session.execute(sql, &[]).unwrap();
    }
    session.control(TransactionControl::Commit).unwrap();
    let expected = session.schema_details().unwrap();
    drop(session);
    assert_eq!(expected.losses[0].to_string(), "a: trigger audit");
    let broken = &expected.broken_keys[0];
    assert_eq!(
        (&*broken.table, &*broken.columns, &*broken.parent, broken.rows),
        ("b", "a", "a", 2)
    );

    let (_server, address) = tcp_server(serving(engine)).unwrap();
    let remote = Remote::builder().token(TOKEN).open_tcp(&address).unwrap();
    assert_eq!(remote.session().unwrap().schema_details().unwrap(), expected);
}
