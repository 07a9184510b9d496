//! `bobak mcp`: messages over standard input and output.
#![allow(clippy::unwrap_used, reason = "helpers of tests may stop at what they did not expect")]

use crate::program::Program;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The program in a separate process; killed on drop.
struct Tools {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Tools {
    fn start(program: &Program, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bobak"));
        command.arg("mcp").args(arguments).current_dir(program.path(""));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { input: child.stdin.take(), output, child }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn line(&mut self) -> String {
        self.output.next().expect("a line").unwrap()
    }

    fn ask(&mut self, line: &str) -> String {
        self.send(line);
        self.line()
    }

    fn call(&mut self, tool: &str, arguments: &str) -> String {
        self.ask(&format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#))
    }

    /// Ends the input. Returns the rest of the output, and the exit code.
    fn end(mut self) -> (Vec<String>, i32) {
        drop(self.input.take());
        let rest = self.output.by_ref().map(Result::unwrap).collect();
        (rest, self.child.wait().unwrap().code().unwrap())
    }
}

impl Drop for Tools {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn shop() -> Program {
    let program = Program::new();
    program.file("shop.csv", "id,city\n1,Bern\n2,Basel\n");
    assert_eq!(program.run(&["import", "shop.db", "shop.csv", "--key", "id"]).code, 0);
    program
}

#[test]
fn a_model_reads_and_changes_nothing() {
    let program = shop();
    let before = std::fs::read(program.path("shop.db")).unwrap();
    let mut tools = Tools::start(&program, &["shop.db"]);
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let response = tools.ask(hello);
    assert!(response.contains(r#""protocolVersion":"2025-06-18""#), "{response}");
    tools.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let list = tools.ask(r#"{"jsonrpc":"2.0","id":"x","method":"tools/list"}"#);
    assert!(list.contains("query_rows") && list.contains("run_sql"), "{list}");
    assert!(!list.contains("delete_rows"), "{list}");
    let rows = tools.call("query_rows", r#"{"table":"shop","filter":"city = 'Bern'"}"#);
    assert!(rows.contains("Bern") && !rows.contains("Basel"), "{rows}");
    for sql in ["DELETE FROM shop", "ATTACH 'other.db' AS o"] {
        let response = tools.call("run_sql", &format!(r#"{{"sql":"{sql}"}}"#));
        assert!(response.contains("\"isError\":true") && response.contains("Denied"), "{response}");
    }
    let response = tools.call("delete_rows", r#"{"table":"shop","filter":"id = 1"}"#);
    assert!(response.contains("there is no tool"), "{response}");
    assert_eq!(tools.end(), (vec![], 0));
    assert_eq!(std::fs::read(program.path("shop.db")).unwrap(), before);
    assert!(!program.path("other.db").exists());
}

#[test]
fn rows_are_changed_with_the_flag() {
    let program = shop();
    let mut tools = Tools::start(&program, &["shop.db", "--write"]);
    let response = tools.call("insert_rows", r#"{"table":"shop","rows":[{"id":3,"city":"Chur"}]}"#);
    assert!(response.contains("\"isError\":false"), "{response}");
    tools.call("update_rows", r#"{"table":"shop","filter":"id = 1","values":{"city":"Biel"}}"#);
    tools.call("delete_rows", r#"{"table":"shop","filter":"id = 2"}"#);
    let response = tools.call("run_sql", r#"{"sql":"DELETE FROM shop"}"#);
    assert!(response.contains("Denied"), "{response}");
    assert_eq!(tools.end().1, 0);
    let run = program.run(&["query", "shop.db", "SELECT * FROM shop", "--format", "csv"]);
    assert_eq!(run.out.replace('\r', ""), "id,city\n1,Biel\n3,Chur\n");
}

#[test]
fn a_request_is_canceled_and_others_run_beside_it() {
    let program = shop();
    let mut tools = Tools::start(&program, &["shop.db"]);
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n";
    tools.send(&format!(r#"{{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{{"name":"run_sql","arguments":{{"sql":"{endless}"}}}}}}"#));
    assert!(tools.call("list_tables", "{}").contains("shop"));
    tools.send(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow"}}"#,
    );
    let response = tools.ask(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#);
    assert_eq!(response, r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    // A canceled request has no response, and the program ends although the statement would not.
    assert_eq!(tools.end(), (vec![], 0));
}

#[test]
fn wrong_input_gets_a_response_and_the_next_message_works() {
    let program = shop();
    let mut tools = Tools::start(&program, &["shop.db"]);
    for (line, code) in [
        ("{", -32_700),
        ("[]", -32_600),
        ("\"x\"", -32_600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"nosuch"}"#, -32_601),
    ] {
        let response = tools.ask(line);
        assert!(response.contains(&format!("\"code\":{code}")), "{line}: {response}");
    }
    let response = tools.ask(&" ".repeat(17 << 20));
    assert!(response.contains("at most 16777216 bytes"), "{response}");
    tools.send("");
    assert!(tools.call("list_tables", "{}").contains("shop"));
    assert_eq!(tools.end(), (vec![], 0));
    let run = program.run(&["mcp", "nosuch.db"]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("does not exist"), "{}", run.err);
}
