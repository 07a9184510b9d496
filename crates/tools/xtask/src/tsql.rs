//! The statements that the SQL Server engine sends, parsed by a parser that Bobak has no part in: no SQL Server can be
//! installed to run them.

use std::process::{Command, Stdio};

use crate::cargo;
use crate::clients::{ClientFolder, make_venv, pip};
use crate::failure::{Failure, Outcome};
use crate::tree::Tree;

/// The parser, of Python's index.
const PARSER: &str = "sqlglot==30.30.0";

/// Parses each line of its input. The parser knows neither INSERT BULK, which is a part of the protocol, nor the named
/// arguments of EXEC; what it does not know of the others it must not pass on as a mere command.
const PROGRAM: &str = r#"
import sys
import sqlglot
from sqlglot import exp

count = 0
for line in sys.stdin:
    if line.startswith(("INSERT BULK", "IF EXISTS")):
        continue
    for statement in sqlglot.parse(line, dialect="tsql", error_level=sqlglot.ErrorLevel.RAISE):
        is_known = not isinstance(statement, exp.Command) or statement.this == "SET"
        assert is_known, f"not understood: {line}"
        count += 1
print(f"{count} statements are T-SQL")
assert count > 40
"#;

/// Parses the statements. In CI, the parser is installed; elsewhere the step is left out if Python has no `venv`.
///
/// # Errors
/// If a statement is none of T-SQL.
pub fn run(_: &Tree) -> Outcome {
    let folder = ClientFolder::of("python");
    if let Err(failure) = make_venv(&folder).and_then(|()| pip(&folder, &[PARSER])) {
        if std::env::var_os("CI").is_some() {
            return Err(failure);
        }
        println!("{PARSER} cannot be installed: the statements are not parsed");
        return Ok(());
    }
    let example = ["run", "--quiet", "-p", "bobak-mssql", "--example", "statements"];
    let statements = cargo::output(&example, "see what the compiler says")?;
    let failed = |what: String| Failure::new(what, "see what the parser says above");
    let mut parser = Command::new(folder.tool("python"));
    let mut parser = parser
        .args(["-c", PROGRAM])
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("Python does not start: {error}")))?;
    if let Some(mut input) = parser.stdin.take() {
        // A parser that stops early says why.
        let _ = std::io::Write::write_all(&mut input, statements.as_bytes());
    }
    match parser.wait() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(failed("a statement for SQL Server is not T-SQL".to_owned())),
    }
}
