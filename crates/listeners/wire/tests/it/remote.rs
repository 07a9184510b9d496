//! The engine at the other end: what it does where a server is slow, silent or full.

use crate::doors::{TOKEN, memory, serving, tcp_server};
use bobak_core::{Engine, ErrorKind, TransactionControl};
use bobak_remote::Remote;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::time::Duration;

const SOON: Duration = Duration::from_millis(300);

#[test]
fn a_server_that_says_nothing_is_not_waited_for() {
    // The system connects for it; nobody ever answers.
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
fn a_server_that_can_not_be_reached_is_not_waited_for() {
    // A queue of one that is full: the system lets nobody else connect.
    let (_full, address) = full();
    let open = Remote::builder().token(TOKEN).connect_timeout(SOON).open_tcp(&address);
    let kind = open.err().map(|error| error.kind());
    assert!(matches!(kind, Some(ErrorKind::Unreachable | ErrorKind::Timeout)), "{kind:?}");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let open = Remote::builder().token(TOKEN).open_tcp(&nobody);
    assert_eq!(open.err().map(|error| error.kind()), Some(ErrorKind::Unreachable));
}

#[test]
fn a_program_that_ends_says_how() {
    let told = |script: &str| {
        let opened = Remote::builder().open_program("sh", ["-c", script]);
        let error = opened.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        error.to_string()
    };
    let end = told("exit 3");
    assert!(end.starts_with("the program sh ended (exit status: 3)"), "{end}");
    let end = told("kill -9 $$");
    assert!(end.starts_with("the program sh ended (signal: 9"), "{end}");
    // It lives on, until its input ends.
    assert_eq!(told("exec >&-; read x; read y"), "the program sh closed its output");
}

/// A listener whose queue is full, and what fills it.
fn full() -> ((OwnedFd, Vec<TcpStream>), String) {
    use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};
    let listener = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    bind(&listener, &any).unwrap();
    listen(&listener, 0).unwrap();
    let address = SocketAddr::try_from(getsockname(&listener).unwrap()).unwrap();
    let connect = || TcpStream::connect_timeout(&address, SOON).ok();
    let taken: Vec<_> = std::iter::from_fn(connect).take(100).collect();
    assert!(taken.len() < 100, "the queue is bounded");
    ((listener, taken), address.to_string())
}

#[test]
fn a_pool_has_so_many_connections_and_no_more() {
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
