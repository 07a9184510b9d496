//! Ten thousand idle clients.

use crate::raw::welcomed;
use crate::transports::{memory, serving};
use bobak_core::Engine;
use bobak_remote::Remote;
use bobak_serving::raise_file_limit;
use bobak_testkit::idle;
use std::os::unix::net::UnixStream;

/// The child process's part of the test below.
#[test]
fn idle_clients() {
    raise_file_limit();
    idle::hold(|socket| {
        let stream = UnixStream::connect(socket).unwrap();
        welcomed(&stream);
        stream
    });
}

#[test]
fn ten_thousand_idle_clients_use_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let server = serving(memory().unwrap()).unix(&socket).start().unwrap();
    idle::cost_little("idle::idle_clients", &socket, raise_file_limit(), || {
        let other = Remote::builder().open_unix(&socket).unwrap();
        assert!(other.tables().unwrap().is_empty());
    });
    assert!(server.stop());
}
