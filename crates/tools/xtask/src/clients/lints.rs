//! Format, types and lints of each client, with the tools that its language brings or is used to.

use super::folder::{ClientFolder, TSC, pip};
use crate::failure::{Failure, Outcome};

/// Of these versions: another one may format otherwise, or find more.
const PYTHON_TOOLS: &[&str] = &["ruff==0.17.6", "mypy==2.4.1"];

pub fn python(folder: &ClientFolder) -> Vec<Failure> {
    if let Err(failure) = pip(folder, PYTHON_TOOLS) {
        return vec![failure];
    }
    let (ruff, mypy) = (folder.tool("ruff"), folder.tool("mypy"));
    let cache = folder.folder_for("mypy");
    failures([
        folder.run(
            &[&ruff, "format", "--no-cache", "--check", "."],
            &format!("run `{ruff} format .` there"),
        ),
        folder.run(&[&ruff, "check", "--no-cache", "."], "fix what it names above"),
        // How strict it is, and of what, is in pyproject.toml.
        folder.run(&[&mypy, "--cache-dir", &cache], "fix what it names above"),
    ])
}

pub fn go(folder: &ClientFolder) -> Vec<Failure> {
    failures([
        folder.run_silent(&["gofmt", "-l", "."], "run `gofmt -w .` there"),
        folder.run(&["go", "vet", "./..."], "fix what it names above"),
    ])
}

pub fn typescript(folder: &ClientFolder) -> Vec<Failure> {
    failures([folder.run(&["node", TSC, "--noEmit"], "fix what it names above")])
}

fn failures(outcomes: impl IntoIterator<Item = Outcome>) -> Vec<Failure> {
    outcomes.into_iter().filter_map(Result::err).collect()
}
