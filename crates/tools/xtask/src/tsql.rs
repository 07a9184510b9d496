//! The statements that the engines of SQL Server and Oracle send, parsed by a parser that Bobak has no part in: neither server can
//! be installed to run them.

use std::process::{Command, Stdio};

use crate::cargo;
use crate::clients::{ClientFolder, make_venv, pip};
use crate::failure::{Failure, Outcome};
use crate::tree::Tree;

/// The parser, of Python's index.
const PARSER: &str = "sqlglot==30.30.0";

/// Parses each line of its input. The parser knows neither INSERT BULK, which is a part of the protocol, nor the named
/// arguments of EXEC, nor parameters that are named by a number alone; what it does not know of the others it must not pass on as a
/// mere command.
const PROGRAM: &str = r#"
import re
import sys
import sqlglot
from sqlglot import exp

dialect = sys.argv[1]
count = 0
for line in sys.stdin:
    if line.startswith(("INSERT BULK", "IF EXISTS")):
        continue
    if dialect == "oracle" and not line.startswith("COMMENT"):
        line = re.sub(r":(\d+)", r":p\1", line)
    for statement in sqlglot.parse(line, dialect=dialect, error_level=sqlglot.ErrorLevel.RAISE):
        is_known = not isinstance(statement, exp.Command) or statement.this == "SET"
        assert is_known, f"not understood: {line}"
        count += 1
print(f"{count} statements are of the dialect {dialect}")
assert count > 40
"#;

/// Parses the statements for SQL Server. In CI, the parser is installed; elsewhere the step is left out if Python has no `venv`.
///
/// # Errors
/// If a statement is none of T-SQL.
pub fn run(_: &Tree) -> Outcome {
    parse("statements", "tsql")
}

/// The same for Oracle.
///
/// # Errors
/// If a statement is none of Oracle's SQL.
pub fn run_oracle(_: &Tree) -> Outcome {
    parse("oracle_statements", "oracle")
}

fn parse(example: &str, dialect: &str) -> Outcome {
    let folder = ClientFolder::of("python");
    if let Err(failure) = make_venv(&folder).and_then(|()| pip(&folder, &[PARSER])) {
        if std::env::var_os("CI").is_some() {
            return Err(failure);
        }
        println!("{PARSER} cannot be installed: the statements are not parsed");
        return Ok(());
    }
    cargo::build_programs()?;
    let statements = cargo::output_of(&format!("examples/{example}"), &[])?;
    let failed = |what: String| Failure::new(what, "see what the parser says above");
    let mut parser = Command::new(folder.tool("python"));
    let mut parser = parser
        .args(["-c", PROGRAM, dialect])
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("Python does not start: {error}")))?;
    if let Some(mut input) = parser.stdin.take() {
        // A parser that stops early says why.
        let _ = std::io::Write::write_all(&mut input, statements.as_bytes());
    }
    match parser.wait() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(failed(format!("a statement of {example} is none of the dialect {dialect}"))),
    }
}
