//! Ten thousand clients that say nothing.

use crate::doors::{memory, serving};
use crate::raw::welcomed;
use bobak_core::Engine;
use bobak_remote::Remote;
use bobak_serving::raise_file_limit;
use bobak_testkit::idle;
use std::os::unix::net::UnixStream;

/// Not a test by itself: what the child does.
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
fn ten_thousand_idle_clients_cost_little_and_harm_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let server = serving(memory().unwrap()).unix(&socket).start().unwrap();
    idle::cost_little("idle::idle_clients", &socket, raise_file_limit(), || {
        let other = Remote::builder().open_unix(&socket).unwrap();
        assert!(other.tables().unwrap().is_empty());
    });
    assert!(server.stop());
}
