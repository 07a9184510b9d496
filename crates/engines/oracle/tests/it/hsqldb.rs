//! The statements for some tables, on HSQLDB with Oracle's syntax, if `BOBAK_TEST_HSQLDB` names its jar.

use crate::peer::compiled;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

#[allow(dead_code, reason = "the example prints more")]
#[path = "../../examples/oracle_statements.rs"]
mod example;

/// What HSQLDB has not, of what these statements have.
const MISSING: [&str; 5] = [
    " RETURNING ",                  // DML returns keys through JDBC only
    " FOR UPDATE WAIT ",            // it waits as long as the session says
    " FOR UPDATE SKIP LOCKED",      // nor does it skip rows
    "CREATE UNIQUE INDEX \"bobak_", // an index is of columns, never of expressions
    "\"ID\" IN (SELECT NULL FROM",  // a NULL of a subquery is a text
];

#[test]
fn hsqldb_takes_the_statements_that_it_has() {
    let Some(jar) = std::env::var_os("BOBAK_TEST_HSQLDB").map(PathBuf::from) else {
        println!("skipped: BOBAK_TEST_HSQLDB names no jar of HSQLDB");
        return;
    };
    let statements = example::statements().unwrap();
    let classes = compiled("hsqldb", &jar, &["Statements.java"]);
    let path = std::env::join_paths([classes, jar]).unwrap();
    let mut java = Command::new("java")
        .args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"])
        .arg(path)
        .arg("Statements")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    java.stdin.take().unwrap().write_all(statements.join("\n").as_bytes()).unwrap();
    let output = java.wait_with_output().unwrap();
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_missing = |statement: &str| MISSING.iter().any(|part| statement.contains(part));
    for line in lines.lines().filter(|line| line.starts_with("REJECTED")) {
        assert!(line.split('\t').nth(1).is_some_and(is_missing), "{line}");
    }
    let taken = statements.iter().filter(|statement| !is_missing(statement)).count();
    assert!(lines.contains(&format!("TAKEN\t{taken}")), "{lines}");
    assert!(taken > 35, "{taken} of {}", statements.len());
}
