//! Ten thousand clients that say nothing, held by a child process: one process may not have as many files.

use crate::doors::{memory, serving};
use crate::raw::welcomed;
use bobak_core::Engine;
use bobak_remote::Remote;
use bobak_server::raise_file_limit;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

/// How the child is told what to do.
const SOCKET: &str = "BOBAK_IDLE_SOCKET";
const CLIENTS: usize = 10_000;
/// How many files the tests beside this one may have open.
const OTHERS: u64 = 2_000;
/// What one of them may cost, in bytes: far more than it does, since other tests run beside it.
const EACH: usize = 64 << 10;

/// Not a test by itself: what the child does.
#[test]
fn idle_clients() {
    let Some(socket) = std::env::var_os(SOCKET) else { return };
    raise_file_limit();
    let clients: Vec<UnixStream> = (0..CLIENTS)
        .map(|_| {
            let stream = UnixStream::connect(&socket).unwrap();
            welcomed(&stream);
            stream
        })
        .collect();
    println!("\nready {}", clients.len());
    // Until the parent has seen enough.
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn ten_thousand_idle_clients_cost_little_and_harm_nobody() {
    let most = raise_file_limit();
    if most < CLIENTS as u64 + OTHERS {
        println!("not run: a process may have {most} files here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let server = serving(memory().unwrap()).unix(&socket).start().unwrap();
    let before = resident();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "idle::idle_clients", "--nocapture"])
        .env(SOCKET, &socket)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(said.any(|line| line == format!("ready {CLIENTS}")), "the clients are there");
    let taken = resident().saturating_sub(before);
    assert!(taken < CLIENTS * EACH, "{taken} bytes for {CLIENTS} clients");
    let other = Remote::builder().open_unix(&socket).unwrap();
    assert!(other.tables().unwrap().is_empty());
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert!(server.stop());
}

/// Bytes of memory that this process has.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or_default() * 4_096
}
