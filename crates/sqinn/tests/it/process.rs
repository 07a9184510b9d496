//! The program itself: started, spoken to through pipes, left alone.

use crate::support::*;
use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_bobak-sqinn");

struct Program {
    child: Child,
    input: Option<ChildStdin>,
    answers: Answers<BufReader<ChildStdout>>,
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
        let answers = Answers::new(BufReader::new(child.stdout.take().unwrap()));
        Self { input: child.stdin.take(), child, answers }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn exec(&mut self, sql: &str) -> Option<String> {
        self.send(&run(sql));
        self.answers.exec().unwrap().error
    }

    fn query(&mut self, sql: &str, columns: &[u8]) -> Vec<Vec<V>> {
        self.send(&query(sql, &[], columns));
        self.answers.query(columns.len()).unwrap().rows
    }

    /// Closes the input; the exit status, and what was written to standard error.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let status = self.child.wait().unwrap();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (status.code(), said)
    }
}

fn output(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

#[test]
fn a_client_is_served_until_it_is_done() {
    let mut program = Program::start(&["-db", ":memory:"]);
    assert_eq!(program.exec("CREATE TABLE t(a)"), None);
    // One byte at a time, as a slow client would.
    for byte in exec("INSERT INTO t VALUES(?)", &[vec![text("slow")], vec![V::Blob(vec![])]]) {
        program.send(&[byte]);
    }
    assert_eq!(program.answers.exec().unwrap().error, None);
    assert_eq!(
        program.query("SELECT a FROM t", &[5]),
        [[V::Blob(b"slow".into())], [V::Blob(vec![])]]
    );
    program.send(&quit());
    assert_eq!(program.answers.exec().unwrap().error, None);
    assert_eq!(program.end(), (Some(0), String::new()));
}

#[test]
fn many_requests_may_come_at_once() {
    let mut program = Program::start(&[]);
    let requests: Vec<u8> =
        (0..500).flat_map(|n| query("SELECT ?", &[V::Int32(n)], &[1])).collect();
    program.send(&requests);
    for n in 0..500 {
        assert_eq!(program.answers.query(1).unwrap().rows, [[V::Int32(n)]]);
    }
    assert_eq!(program.end().0, Some(0));
}

#[test]
fn an_input_that_ends_ends_the_program() {
    assert_eq!(Program::start(&[]).end(), (Some(0), String::new()));
    let mut cut = Program::start(&[]);
    cut.send(&run("SELECT 1")[..10]);
    let (status, said) = cut.end();
    assert_eq!(status, Some(1));
    assert!(said.contains("ended within a request"), "{said}");
    let mut wrong = Program::start(&[]);
    wrong.send(&frame(&[77]));
    assert_eq!(
        wrong.answers.exec().unwrap().error.unwrap(),
        "malformed request: there is no request 77"
    );
    assert_eq!(wrong.end().0, Some(1));
}

#[test]
fn a_client_that_vanishes_leaves_no_half_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    let arguments = ["-db", file.to_str().unwrap()];
    let mut program = Program::start(&arguments);
    for sql in ["CREATE TABLE t(a)", "INSERT INTO t VALUES(1)", "BEGIN", "INSERT INTO t VALUES(2)"]
    {
        assert_eq!(program.exec(sql), None);
    }
    // It does not wait for the answer, which is long.
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    program.send(&query(rows, &[], &[2]));
    let Program { mut child, input, answers } = program;
    drop((input, answers));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut program = Program::start(&arguments);
    assert_eq!(program.query("SELECT a FROM t", &[1]), [[V::Int32(1)]]);
    program.end();
}

#[test]
fn a_database_that_cannot_be_opened_is_said_in_each_answer() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Program::start(&["-db", folder.path().to_str().unwrap()]);
    let error = program.exec("SELECT 1").unwrap();
    assert!(error.contains("unable to open database file"), "{error}");
    program.send(&query("SELECT 1", &[], &[1]));
    assert_eq!(program.answers.query(1).unwrap().error, Some(error));
    program.send(&quit());
    assert_eq!(program.answers.exec().unwrap().error, None);
    assert_eq!(program.end().0, Some(0));
}

#[test]
fn the_log_tells_what_went_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.log");
    let mut program =
        Program::start(&["-loglevel", "2", "-logstderr", "-logfile", file.to_str().unwrap()]);
    program.exec("nonsense");
    program.send(&quit());
    let (_, said) = program.end();
    for part in ["begins", "exec 1", "nonsense", "syntax error", "done"] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), said);
}

#[test]
fn words_are_answered() {
    let said = |arguments: &[&str]| String::from_utf8(output(arguments).stdout).unwrap();
    assert_eq!(said(&["version"]), format!("bobak-sqinn v{}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(said(&["sqlite"]), format!("{}\n", bobak_sqlite::raw::version()));
    assert_eq!(said(&["test"]), "test ok\n");
    assert!(said(&["help"]).contains("-logstderr"));
    assert_eq!(said(&[]), said(&["help"]));
    let wrong = output(&["run", "-dv", "a.db"]);
    assert_eq!((wrong.status.code(), wrong.stdout.len()), (Some(2), 0));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("there is no option -dv"));
}

#[test]
fn a_statement_that_nobody_waits_for_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("left.db");
    let mut program = Program::start(&["-db", file.to_str().unwrap()]);
    assert_eq!(program.exec("CREATE TABLE t(a)"), None);
    let endless = "INSERT INTO t WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n)
                   SELECT max(i) FROM n";
    program.send(&run(endless));
    let Program { mut child, input, answers } = program;
    drop((input, answers));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut next = Program::start(&["-db", file.to_str().unwrap()]);
    assert_eq!(next.exec("INSERT INTO t VALUES(1)"), None, "nobody has it locked");
    assert_eq!(next.query("SELECT count(*) FROM t", &[1]), [[V::Int32(1)]]);
    assert_eq!(next.end().0, Some(0));
}
