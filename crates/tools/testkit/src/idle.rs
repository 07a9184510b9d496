//! Ten thousand clients that say nothing, held by a child process: one process may not have as many files.
//!
//! A test binary has two tests for it: one that is the child, which calls [`hold`], and one that calls [`cost_little`] with
//! the child's name.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// How the child is told where the server listens.
const SOCKET: &str = "BOBAK_IDLE_SOCKET";
/// How many clients there are.
const CLIENTS: usize = 10_000;
/// How many files the tests beside this one may have open.
const OTHERS: u64 = 2_000;
/// What one of them may cost, in bytes: far more than it does, since other tests run beside it.
const EACH: usize = 64 << 10;

/// What the child does: connects as often as there are clients, and keeps them until the parent has seen enough. Does
/// nothing in a process that is no such child.
///
/// # Panics
/// Where the parent can't be told.
pub fn hold<C>(connect: impl Fn(&Path) -> C) {
    let Some(socket) = std::env::var_os(SOCKET) else { return };
    let clients: Vec<C> = (0..CLIENTS).map(|_| connect(Path::new(&socket))).collect();
    println!("\nready {}", clients.len());
    // The end of its input, too, says that the parent has seen enough.
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// Has the test named `child` hold clients of the server at `socket`, looks at what memory they cost here, and calls
/// `meanwhile`. `files` is how many files a process may have open; where they are too few nothing is done.
///
/// # Panics
/// Where they cost too much, or don't come.
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

/// Bytes of memory that this process has.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or_default() * 4_096
}
