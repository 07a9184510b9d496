//! Ten thousand clients that say nothing any more, held by a child process: one process may not have as many files.

use crate::client::{Door, memory};
use crate::doors::settings;
use bobak_http::HttpServer;
use bobak_server::raise_file_limit;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

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
            let mut stream = UnixStream::connect(&socket).unwrap();
            stream.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
            let mut first = [0; 15];
            stream.read_exact(&mut first).unwrap();
            assert_eq!(&first, b"HTTP/1.1 200 OK");
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
    let settings = settings(|settings| settings.head_timeout = Duration::from_secs(600));
    let builder = HttpServer::builder().settings(settings).shared_database("main", memory());
    let door = Door::of(builder.unix(&socket));
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
    door.get("/tables").ok(200);
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
    door.get("/tables").ok(200);
}

/// Bytes of memory that this process has.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or_default() * 4_096
}
