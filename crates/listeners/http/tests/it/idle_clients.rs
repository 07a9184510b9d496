//! Ten thousand idle clients.

use crate::client::{TestServer, memory};
use crate::connections::settings;
use bobak_http::HttpServer;
use bobak_serving::raise_file_limit;
use bobak_testkit::idle;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Not a test: the code of the child process.
#[test]
fn child_clients() {
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
fn ten_thousand_idle_clients_cost_little() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let settings = settings(|settings| settings.header_timeout = Duration::from_secs(600));
    let builder = HttpServer::builder().settings(settings).shared_database("main", memory());
    let server = TestServer::of(builder.unix(&socket));
    idle::cost_little("idle_clients::child_clients", &socket, raise_file_limit(), || {
        server.get("/tables").ok(200);
    });
    server.get("/tables").ok(200);
}
