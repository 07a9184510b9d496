//! The program as a process: command line, pipes, disconnects.

use crate::support::*;
use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_bobak-sqinn");

struct Program {
    child: Child,
    input: Option<ChildStdin>,
    replies: Replies<BufReader<ChildStdout>>,
}

impl Program {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .arg("run")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let replies = Replies::new(BufReader::new(child.stdout.take().unwrap()));
        Self { input: child.stdin.take(), child, replies }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn exec(&mut self, sql: &str) -> Option<String> {
        self.send(&run(sql));
        self.replies.exec().unwrap().error
    }

    fn query(&mut self, sql: &str, columns: &[u8]) -> Vec<Vec<V>> {
        self.send(&query(sql, &[], columns));
        self.replies.query(columns.len()).unwrap().rows
    }

    /// Closes the input. Returns the exit status and the standard error output.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let status = self.child.wait().unwrap();
        let mut output = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut output).unwrap();
        (status.code(), output)
    }
}

fn output(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

#[test]
fn session_lasts_until_quit() {
    let mut program = Program::start(&["-db", ":memory:"]);
    assert_eq!(program.exec("CREATE TABLE t(a)"), None);
    // One byte at a time, as from a slow client.
    for byte in exec("INSERT INTO t VALUES(?)", &[vec![text("slow")], vec![V::Blob(vec![])]]) {
        program.send(&[byte]);
    }
    assert_eq!(program.replies.exec().unwrap().error, None);
    assert_eq!(
        program.query("SELECT a FROM t", &[5]),
        [[V::Blob(b"slow".into())], [V::Blob(vec![])]]
    );
    program.send(&quit());
    assert_eq!(program.replies.exec().unwrap().error, None);
    assert_eq!(program.end(), (Some(0), String::new()));
}

#[test]
fn pipelined_requests_are_served() {
    let mut program = Program::start(&[]);
    let requests: Vec<u8> =
        (0..500).flat_map(|n| query("SELECT ?", &[V::Int32(n)], &[1])).collect();
    program.send(&requests);
    for n in 0..500 {
        assert_eq!(program.replies.query(1).unwrap().rows, [[V::Int32(n)]]);
    }
    assert_eq!(program.end().0, Some(0));
}

#[test]
fn end_of_input_ends_program() {
    assert_eq!(Program::start(&[]).end(), (Some(0), String::new()));
    let mut cut = Program::start(&[]);
    cut.send(&run("SELECT 1")[..10]);
    let (status, output) = cut.end();
    assert_eq!(status, Some(1));
    assert!(output.contains("ended within a request"), "{output}");
    let mut wrong = Program::start(&[]);
    wrong.send(&frame(&[77]));
    assert_eq!(
        wrong.replies.exec().unwrap().error.unwrap(),
        "malformed request: unknown request code 77"
    );
    assert_eq!(wrong.end().0, Some(1));
}

#[test]
fn disconnect_rolls_back_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    let arguments = ["-db", file.to_str().unwrap()];
    let mut program = Program::start(&arguments);
    for sql in ["CREATE TABLE t(a)", "INSERT INTO t VALUES(1)", "BEGIN", "INSERT INTO t VALUES(2)"]
    {
        assert_eq!(program.exec(sql), None);
    }
    // The reply is endless; the client does not read it.
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    program.send(&query(rows, &[], &[2]));
    let Program { mut child, input, replies } = program;
    drop((input, replies));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut program = Program::start(&arguments);
    assert_eq!(program.query("SELECT a FROM t", &[1]), [[V::Int32(1)]]);
    program.end();
}

#[test]
fn each_reply_reports_unopened_database() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Program::start(&["-db", folder.path().to_str().unwrap()]);
    let error = program.exec("SELECT 1").unwrap();
    assert!(error.contains("unable to open database file"), "{error}");
    program.send(&query("SELECT 1", &[], &[1]));
    assert_eq!(program.replies.query(1).unwrap().error, Some(error));
    program.send(&quit());
    assert_eq!(program.replies.exec().unwrap().error, None);
    assert_eq!(program.end().0, Some(0));
}

#[test]
fn log_contains_requests_and_errors() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.log");
    let mut program =
        Program::start(&["-loglevel", "2", "-logstderr", "-logfile", file.to_str().unwrap()]);
    program.exec("nonsense");
    program.send(&quit());
    let (_, output) = program.end();
    for part in ["starts", "exec 1", "nonsense", "syntax error", "quit"] {
        assert!(output.contains(part), "{output}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), output);
}

#[test]
fn commands_print_their_output() {
    let stdout = |arguments: &[&str]| String::from_utf8(output(arguments).stdout).unwrap();
    assert_eq!(stdout(&["version"]), format!("bobak-sqinn v{}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(stdout(&["sqlite"]), format!("{}\n", bobak_sqlite::raw::version()));
    assert_eq!(stdout(&["test"]), "test ok\n");
    assert!(stdout(&["help"]).contains("-logstderr"));
    assert_eq!(stdout(&[]), stdout(&["help"]));
    let wrong = output(&["run", "-dv", "a.db"]);
    assert_eq!((wrong.status.code(), wrong.stdout.len()), (Some(2), 0));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("unknown option -dv"));
}

#[test]
fn disconnect_interrupts_statement() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("left.db");
    let mut program = Program::start(&["-db", file.to_str().unwrap()]);
    assert_eq!(program.exec("CREATE TABLE t(a)"), None);
    let endless = "INSERT INTO t WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n)
                   SELECT max(i) FROM n";
    program.send(&run(endless));
    let Program { mut child, input, replies } = program;
    drop((input, replies));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut next = Program::start(&["-db", file.to_str().unwrap()]);
    assert_eq!(next.exec("INSERT INTO t VALUES(1)"), None, "the database is not locked");
    assert_eq!(next.query("SELECT count(*) FROM t", &[1]), [[V::Int32(1)]]);
    assert_eq!(next.end().0, Some(0));
}
