//! `cargo test`, with its results counted.

use std::io;
use std::process::{Command, Stdio};

use crate::cargo;
use crate::failure::{Failure, Outcome};
use crate::packages;
use crate::servers::Servers;
use crate::tally::Tally;

/// How many tests of a binary run at a time.
const THREADS: &str = "RUST_TEST_THREADS";

/// Runs `cargo test` with `arguments`, and adds to `tally`.
pub fn run(servers: &Servers, arguments: &[String], tally: &mut Tally) -> Outcome {
    let mut command = cargo::command(&["test"]);
    // Chosen packages would otherwise be overruled by `--workspace`.
    if !names_packages(arguments) {
        command.arg("--workspace").args(packages::without_driver_manager());
    }
    // Without it, cargo stops at the first binary with a failed test, and the sum would be of some only.
    if !arguments.iter().any(|argument| argument == "--no-fail-fast") {
        command.arg("--no-fail-fast");
    }
    set_threads(&mut command, 3);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    servers.tell(&mut command);
    let mut child = command.spawn().map_err(|error| cargo::not_started(&error))?;
    if let Some(output) = child.stdout.take() {
        tally.read(output, &mut io::stdout()).map_err(|error| {
            Failure::new(
                format!("the output of the tests broke off: {error}"),
                "run it again, with the disk not full",
            )
        })?;
    }
    let status = child.wait().map_err(|error| cargo::not_started(&error))?;
    if !status.success() {
        return Err(Failure::new(
            format!("`cargo test` ended with {status}"),
            "look above for `FAILED`, `panicked` or `error`; a binary that crashed or did not compile is not counted",
        ));
    }
    Ok(())
}

/// Sets how many tests of a binary run at a time for each core. Tests with servers wait for these most of the time.
pub fn set_threads(command: &mut Command, for_each_core: usize) {
    if std::env::var_os(THREADS).is_none() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        command.env(THREADS, (for_each_core * cores).to_string());
    }
}

/// Whether the arguments for cargo, before any `--`, choose packages.
fn names_packages(arguments: &[String]) -> bool {
    let own = arguments.iter().take_while(|argument| *argument != "--");
    own.into_iter().any(|argument| {
        (argument.starts_with("-p") && !argument.starts_with("--"))
            || argument.starts_with("--package")
            || argument.starts_with("--manifest-path")
            || argument == "--workspace"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_recognised_before_the_double_dash_only() {
        let words = |line: &str| line.split(' ').map(String::from).collect::<Vec<_>>();
        for line in [
            "-p bobak-core",
            "-pbobak-core",
            "--package bobak",
            "--package=bobak some_test",
            "--workspace",
        ] {
            assert!(names_packages(&words(line)), "{line}");
        }
        for line in ["some_test", "--lib", "some_test -- -p", "--profile release"] {
            assert!(!names_packages(&words(line)), "{line}");
        }
    }
}
