//! A process that ends without dropping its server: the guard ends the server and removes its folder.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use bobak_servers::Postgres;

const NOTE: &str = "BOBAK_SERVERS_ABANDON";

/// What the test below runs in a process of its own; nothing without the variable.
#[test]
fn abandon() {
    let Some(note) = env::var_os(NOTE) else { return };
    let server = Postgres::start().unwrap();
    let folder = server.socket().parent().unwrap().display().to_string();
    fs::write(note, format!("{} {folder}", server.pid().unwrap())).unwrap();
    std::process::abort();
}

#[test]
fn a_server_does_not_outlive_the_process_that_started_it() {
    if !crate::wanted("BOBAK_TEST_POSTGRES") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let note = place.path().join("note");
    let status = Command::new(env::current_exe().unwrap())
        .args(["--exact", "abandoned::abandon"])
        .env(NOTE, &note)
        .status()
        .unwrap();
    assert!(!status.success(), "it did not abort");
    let text = fs::read_to_string(&note).unwrap();
    let (pid, folder) = text.split_once(' ').unwrap();
    let gone = || !Path::new(folder).exists() && !is_running(pid);
    for _ in 0..600 {
        if gone() {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("process {pid} or {folder} is still there after a minute");
}

/// A process that nobody has waited for is as good as gone.
fn is_running(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
