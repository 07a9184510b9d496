//! `bobak user` and `bobak token`: passwords from pipes and at a terminal, and expiry.
#![allow(clippy::unwrap_used, reason = "helpers of tests may stop at what they did not expect")]

use crate::program::Program;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Stdio};

#[test]
fn password_from_pipe_needs_no_prompt() {
    let program = Program::new();
    let run = program.run_with_input(&["user", "ada", "--role", "admin"], b"secret\nmore\n");
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(run.out.starts_with("user ada $argon2id$") && run.out.ends_with(" roles admin\n"));
    for input in [&b""[..], b"\n", b"\xff\n"] {
        let run = program.run_with_input(&["user", "ada"], input);
        assert_eq!((run.code, run.out.as_str()), (1, ""), "{}", run.err);
        assert!(run.err.contains("password"), "{}", run.err);
    }
}

#[test]
fn unusable_user_name_is_rejected() {
    let program = Program::new();
    program.fails(2, "expected letters, digits, _ - . @ +", &["user", "a:b"]);
    program.ok(&["token", "till:1"]);
}

#[test]
fn invalid_expiry_is_rejected() {
    let program = Program::new();
    let ends = |time| ["token", "till", "--role", "admin", "--expires", time];
    for time in ["never", "2027-02-30", "2027-01-31T12:00:00"] {
        program.fails(2, ": expected a date", &ends(time));
    }
    let mut lines = String::new();
    for time in ["9999-12-31", "2027-01-31", "2027-01-31 12:00:00+01:00"] {
        lines += &program.ok(&ends(time)).replace("till", &format!("till-{}", lines.len()));
    }
    program.file("access", lines);
    program.ok(&["permissions", "list", "access"]);
}

/// Starts the program with a pseudo-terminal as its standard input.
fn at_a_terminal() -> (Child, File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let path = std::ffi::OsStr::from_bytes(name.as_bytes());
    let terminal = File::options().read(true).write(true).open(path).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_bobak"))
        .args(["user", "ada", "--quiet"])
        .stdin(Stdio::from(terminal.try_clone().unwrap()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    (child, File::from(ours), terminal)
}

/// Types two lines, each after its prompt. Returns the program's output and what the terminal showed.
fn types(first: &str, second: &str) -> (bool, String, String, String) {
    let (mut child, mut ours, terminal) = at_a_terminal();
    let mut questions = child.stderr.take().unwrap();
    for line in [first, second] {
        let mut byte = [0];
        while byte != [b':'] && questions.read(&mut byte).unwrap() > 0 {}
        ours.write_all(line.as_bytes()).unwrap();
    }
    let mut said = String::new();
    questions.read_to_string(&mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(tcgetattr(&terminal).unwrap().local_modes.contains(LocalModes::ECHO), "it shows again");
    drop(terminal);
    let mut shown = Vec::new();
    // Reading a closed pseudo-terminal ends with an error.
    let _ = ours.read_to_end(&mut shown);
    let out = String::from_utf8(output.stdout).unwrap();
    (output.status.success(), out, said, String::from_utf8_lossy(&shown).into_owned())
}

#[test]
fn terminal_prompts_twice_without_echo() {
    let (done, out, said, shown) = types("secret\n", "secret\n");
    assert!(done && out.starts_with("user ada $argon2id$"), "{out} {said}");
    assert!(!shown.contains("secret"), "{shown}");
    let (done, out, said, shown) = types("secret\n", "sacred\n");
    assert!(!done && out.is_empty() && said.contains("do not match"), "{out} {said}");
    assert!(!shown.contains("s"), "{shown}");
}
