//! Ten thousand idle clients, held by a child process because one process may not open that many files.
//!
//! A test binary needs two tests: one that runs in the child and calls [`hold`], and one that calls [`cost_little`] with
//! the child's name.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// The environment variable with the address of the server, for the child.
const SOCKET: &str = "BOBAK_IDLE_SOCKET";
/// The number of clients.
const CLIENTS: usize = 10_000;
/// The files that other tests of the same process may have open.
const OTHERS: u64 = 2_000;
/// The memory that one client may cost, in bytes: far more than measured, since other tests run at the same time.
const EACH: usize = 64 << 10;

/// The child: opens all connections and keeps them until the parent closes its standard input. Does
/// nothing in any other process.
///
/// # Panics
/// If it cannot write to the parent.
pub fn hold<C>(connect: impl Fn(&Path) -> C) {
    let Some(socket) = std::env::var_os(SOCKET) else { return };
    let clients: Vec<C> = (0..CLIENTS).map(|_| connect(Path::new(&socket))).collect();
    println!("\nready {}", clients.len());
    // A closed input, too, means that the parent is done.
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// Has the test named `child` hold clients of the server at `socket`, looks at what memory they cost here, and calls
/// `meanwhile`. `files` is how many files a process may have open; if that is too few, nothing is done.
///
/// # Panics
/// If the clients cost too much memory, or cannot connect.
pub fn cost_little(child: &str, socket: &Path, files: u64, meanwhile: impl FnOnce()) {
    if files < CLIENTS as u64 + OTHERS {
        println!("not run: a process may have {files} files here");
        return;
    }
    let before = resident();
    let program = std::env::current_exe().expect("the test's own program");
    let mut child = Command::new(program)
        .args(["--exact", child, "--nocapture"])
        .env(SOCKET, socket)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the child starts");
    let (output, input) = (child.stdout.take(), child.stdin.take());
    let (output, mut input) = output.zip(input).expect("both are pipes");
    let mut said = BufReader::new(output).lines().map_while(Result::ok);
    assert!(said.any(|line| line == format!("ready {CLIENTS}")), "the clients are there");
    let taken = resident().saturating_sub(before);
    assert!(taken < CLIENTS * EACH, "{taken} bytes for {CLIENTS} clients");
    meanwhile();
    input.write_all(b"\n").expect("the child listens");
    assert!(child.wait().expect("the child ends").success());
}

/// The resident memory of this process, in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or_default() * 4_096
}
