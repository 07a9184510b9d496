//! The audit log: each row of the table in `docs/robustness.md`, with the client's name and address.

use crate::raw::Raw;
use crate::transports::{TOKEN, certificate, file, folder, memory, serving, tcp_server};
use bobak_core::{Engine, ErrorKind, TransactionControl};
use bobak_permissions::{Access, hash_password, new_token};
use bobak_remote::Remote;
use bobak_server::{Server, Settings};
use bobak_testkit::{Probe, row, tables};
use bobak_wire::{Credentials, Hello, RequestSource, encode_request};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The lines of a server's log.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn add(&self) -> impl Fn(&str) + Send + Sync + use<> {
        let lines = Arc::clone(&self.0);
        move |line| lines.lock().unwrap().push(line.to_owned())
    }

    /// Waits for a line.
    #[track_caller]
    fn hear(&self, wanted: &str) {
        let end = Instant::now() + Duration::from_secs(60);
        while !self.0.lock().unwrap().iter().any(|line| line.contains(wanted)) {
            assert!(Instant::now() < end, "no '{wanted}' in {:#?}", self.0.lock().unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn count(&self, wanted: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|line| line.contains(wanted)).count()
    }
}

fn server(settings: Settings) -> (Lines, Server, String) {
    let lines = Lines::default();
    let builder = serving(memory().unwrap()).settings(settings).log(lines.add());
    let (server, address) = tcp_server(builder).unwrap();
    (lines, server, address)
}

#[test]
fn unauthenticated_clients_are_logged_with_their_address() {
    let (lines, _server, address) = server(Settings::default());
    let rejected = Remote::builder().token("a token that is wrong").open_tcp(&address).err();
    assert_eq!(rejected.map(|error| error.kind()), Some(ErrorKind::Denied));
    lines.hear("an unauthenticated client at 127.0.0.1 was rejected: authentication failed: wrong token, user name or password");
    let mut raw = Raw::connect(&address);
    raw.stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert!(raw.response().1.is_err());
    lines.hear("an unauthenticated client at 127.0.0.1 was disconnected: received HTTP on a listener of the wire protocol");
    let mut first = Raw::connect(&address);
    first.put(|out| encode_request::tables(out, 3));
    assert!(first.response().1.is_err());
    lines.hear(
        "an unauthenticated client at 127.0.0.1 was rejected: the first request must be a hello",
    );
}

#[test]
fn wrong_protocol_is_named_in_the_error() {
    let folder = folder().unwrap();
    let [chain, key] = certificate(folder.path());
    let plain_lines = Lines::default();
    let builder = serving(memory().unwrap()).log(plain_lines.add());
    let (_plain, plain) = tcp_server(builder).unwrap();
    let builder = Remote::builder().token(TOKEN).tls(true).ca(&chain);
    let error = builder.open_tcp(plain.replace("127.0.0.1", "localhost")).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("does not speak TLS"), "{error}");
    plain_lines.hear("an unauthenticated client at 127.0.0.1 was disconnected: received TLS on a listener without TLS");

    let tls_lines = Lines::default();
    let builder = serving(memory().unwrap()).tls(&chain, &key).log(tls_lines.add());
    let (_tls, tls) = tcp_server(builder).unwrap();
    let error = Remote::builder().token(TOKEN).open_tcp(&tls).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("speaks TLS: add tls=on"), "{error}");
    tls_lines.hear("an unauthenticated client at 127.0.0.1 was disconnected: received no TLS on a listener with TLS");
    // A client that does not trust the certificate gets a TLS error.
    let other = crate::transports::folder().unwrap();
    let [untrusted, _] = certificate(other.path());
    let builder = Remote::builder().token(TOKEN).tls(true).ca(&untrusted);
    let error = builder.open_tcp(tls.replace("127.0.0.1", "localhost")).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");

    let web = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = web.local_addr().unwrap().to_string();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = web.accept().unwrap();
        let mut room = [0; 1_024];
        assert!(std::io::Read::read(&mut stream, &mut room).unwrap() > 0);
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let error = Remote::builder().token(TOKEN).open_tcp(&address).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("this is an HTTP server"), "{error}");
    serving.join().unwrap();
}

#[test]
fn handshake_timeout_is_logged() {
    let settings =
        Settings { handshake_timeout: Duration::from_millis(300), ..Settings::default() };
    let (lines, _server, address) = server(settings);
    assert!(Raw::connect(&address).frame().is_none());
    lines.hear("an unauthenticated client at 127.0.0.1 was disconnected: the handshake timed out");
}

#[test]
fn rejected_connections_are_logged_by_the_server() {
    let worker_timeout = Duration::from_millis(100);
    let settings =
        Settings { max_connections: 2, max_workers: 1, worker_timeout, ..Settings::default() };
    let (lines, _server, address) = server(settings);
    let [mut one, mut two] = [Raw::known(&address), Raw::known(&address)];
    assert!(Raw::connect(&address).response().1.is_err());
    lines.hear(
        "an unauthenticated client at 127.0.0.1 was rejected: the server has reached its limit of 2 connections",
    );
    one.put(|out| encode_request::control(out, 2, TransactionControl::Begin).unwrap());
    assert!(matches!(one.response(), (2, Ok(()))));
    two.put(|out| encode_request::ping(out, 2));
    assert!(two.response().1.is_err());
    lines.hear(
        "operator at 127.0.0.1 was rejected: you have reached the limit of requests at a time",
    );
}

#[test]
fn disconnect_is_logged_if_responses_are_unread() {
    let folder = folder().unwrap();
    let lines = Lines::default();
    let builder = serving(file(folder.path()).unwrap()).log(lines.add());
    let (server, address) = tcp_server(builder).unwrap();
    // With an unread response the system resets the connection, otherwise it closes it.
    let [idle, mut asks, mut waits] = [(); 3].map(|()| Raw::known(&address));
    asks.put(|out| encode_request::ping(out, 2));
    asks.stream.peek(&mut [0]).unwrap();
    drop((idle, asks));
    let sql = RequestSource::Text(crate::interrupts::ENDLESS, &[]);
    waits.put(|out| encode_request::execute(out, 2, sql).unwrap());
    std::thread::sleep(Duration::from_millis(100));
    drop(waits);
    lines.hear("operator at 127.0.0.1 disconnected before it received its response");
    let (requests, mut to_server) = std::io::pipe().unwrap();
    let (from_server, responses) = std::io::pipe().unwrap();
    let serving = std::thread::spawn(move || server.serve_pipes(requests, responses));
    let mut bytes = Vec::new();
    Hello::new("", "raw", Credentials::None).encode(&mut bytes, 1).unwrap();
    encode_request::execute(&mut bytes, 2, sql).unwrap();
    to_server.write_all(&bytes).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    drop((to_server, from_server));
    serving.join().unwrap().unwrap();
    lines.hear("operator at this machine disconnected before it received its response");
    assert_eq!((lines.count(""), lines.count("pipe"), lines.count("reset")), (2, 0, 0));
}

#[test]
fn denied_requests_are_logged_with_the_name() {
    let (till, hash) = new_token().unwrap();
    let password = hash_password("secret").unwrap();
    let access = Access::from_text(&format!(
        "role clerk\nread on tag\ntoken till {hash} roles clerk\nuser ada {password} roles clerk\n"
    ));
    let folder = folder().unwrap();
    let socket = folder.path().join("socket");
    let engine = memory().unwrap();
    let tag = tables::tag().unwrap();
    Probe::with_tables(&*engine, &[&tag]).unwrap();
    let lines = Lines::default();
    let builder = serving(engine).access(access.unwrap()).unix(&socket).log(lines.add());
    let (_server, address) = tcp_server(builder).unwrap();
    let till = Remote::builder().token(&till).open_tcp(&address).unwrap();
    let denied = Probe::new(&till).unwrap().insert(&tag, row!["a", 1.0]).unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::Denied);
    lines.hear(
        "till at 127.0.0.1 was rejected: permission denied: you may not insert into this table",
    );
    let ada = Remote::builder().user("ada").password("secret").open_unix(&socket).unwrap();
    let denied = ada.session().unwrap().execute("SELECT 1", &[]).unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::Unsupported, "nothing was rejected");
    let denied = Probe::new(&ada).unwrap().insert(&tag, row!["a", 1.0]).unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::Denied);
    lines.hear(
        "ada at this machine was rejected: permission denied: you may not insert into this table",
    );
    assert_eq!(lines.count("was rejected"), 2);
}

#[test]
fn client_cannot_flood_the_log() {
    let (lines, _server, address) = server(Settings::default());
    for _ in 0..200 {
        assert!(Remote::builder().token("a token that is wrong").open_tcp(&address).is_err());
    }
    let logged = lines.count("was rejected");
    assert!(logged >= 20, "{logged} lines");
    // The limit, and what the time since has added.
    assert!(logged < 190, "{logged} lines");
    Remote::builder().token(TOKEN).open_tcp(&address).unwrap();
}
