//! Format, types and lints of each client, with the tools that its language brings or is used to.

use super::place::{Place, TSC, pip};
use crate::failure::{Failure, Outcome};

/// Of these versions: another one may format otherwise, or find more.
const PYTHON_TOOLS: &[&str] = &["ruff==0.17.6", "mypy==2.4.1"];

pub fn python(place: &Place) -> Vec<Failure> {
    if let Err(failure) = pip(place, PYTHON_TOOLS) {
        return vec![failure];
    }
    let (ruff, mypy) = (place.tool("ruff"), place.tool("mypy"));
    let cache = place.folder_for("mypy");
    failures([
        place.run(
            &[&ruff, "format", "--no-cache", "--check", "."],
            &format!("run `{ruff} format .` there"),
        ),
        place.run(&[&ruff, "check", "--no-cache", "."], "mend what it names above"),
        // How strict it is, and of what, is in pyproject.toml.
        place.run(&[&mypy, "--cache-dir", &cache], "mend what it names above"),
    ])
}

pub fn go(place: &Place) -> Vec<Failure> {
    failures([
        place.run_silent(&["gofmt", "-l", "."], "run `gofmt -w .` there"),
        place.run(&["go", "vet", "./..."], "mend what it names above"),
    ])
}

pub fn typescript(place: &Place) -> Vec<Failure> {
    failures([place.run(&["node", TSC, "--noEmit"], "mend what it names above")])
}

fn failures(outcomes: impl IntoIterator<Item = Outcome>) -> Vec<Failure> {
    outcomes.into_iter().filter_map(Result::err).collect()
}
