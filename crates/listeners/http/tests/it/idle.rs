//! Ten thousand clients that say nothing any more.

use crate::client::{Door, memory};
use crate::doors::settings;
use bobak_http::HttpServer;
use bobak_serving::raise_file_limit;
use bobak_testkit::idle;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Not a test by itself: what the child does.
#[test]
fn idle_clients() {
    raise_file_limit();
    idle::hold(|socket| {
        let mut stream = UnixStream::connect(socket).unwrap();
        stream.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let mut first = [0; 15];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 200 OK");
        stream
    });
}

#[test]
fn ten_thousand_idle_clients_cost_little_and_harm_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let settings = settings(|settings| settings.header_timeout = Duration::from_secs(600));
    let builder = HttpServer::builder().settings(settings).shared_database("main", memory());
    let door = Door::of(builder.unix(&socket));
    idle::cost_little("idle::idle_clients", &socket, raise_file_limit(), || {
        door.get("/tables").ok(200);
    });
    door.get("/tables").ok(200);
}
