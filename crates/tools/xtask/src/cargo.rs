//! Cargo as a child process, always at the root of the workspace.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Failure, Outcome};
use crate::packages;

/// The root of the workspace, three folders above this crate.
pub fn root() -> PathBuf {
    // Cargo sets the variable for `cargo run`; the path of the build serves a binary that was started by hand.
    let manifest =
        env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let manifest = PathBuf::from(manifest);
    manifest.ancestors().nth(3).map_or(manifest.clone(), Path::to_path_buf)
}

/// The folder of build output.
pub fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from))
}

/// The cargo that started this program, with `arguments`.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    // Set for this program by `cargo run`; inherited, they would reach build scripts and tests as if they were theirs.
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        }) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs cargo with its output on the terminal.
///
/// # Errors
/// When it cannot be started, or ends with another code than 0; `cure` then says what to do.
pub fn run(arguments: &[&str], cure: &str) -> Outcome {
    run_with(&[], arguments, cure)
}

/// As [`run`], with environment variables.
pub fn run_with(variables: &[(&str, &str)], arguments: &[&str], cure: &str) -> Outcome {
    let mut command = command(arguments);
    command.envs(variables.iter().copied()).stdin(Stdio::null());
    let status = command.status().map_err(|error| not_started(&error))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("`cargo {}` ended with {status}", arguments.join(" ")), cure))
}

/// What cargo wrote to its standard output.
///
/// # Errors
/// When it cannot be started, or ends with another code than 0: its own words are in the failure.
pub fn output(arguments: &[&str], cure: &str) -> Outcome<String> {
    let output =
        command(arguments).stdin(Stdio::null()).output().map_err(|error| not_started(&error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(
        format!(
            "`cargo {}` ended with {}:\n{}",
            arguments.join(" "),
            output.status,
            words.trim_end()
        ),
        cure,
    ))
}

/// Builds the programs and the examples of all packages, with the features that `cargo test --workspace` chooses: a
/// package by itself has others, and all below it would be compiled once more.
///
/// # Errors
/// When something does not compile.
pub fn build_programs() -> Outcome {
    let mut arguments = vec!["build", "--quiet", "--workspace", "--bins", "--examples"];
    arguments.extend(packages::without_driver_manager());
    run(&arguments, "see what the compiler says")
}

/// Where [`build_programs`] put a program, or an example as `examples/NAME`.
pub fn program(name: &str) -> PathBuf {
    target().join("debug").join(format!("{name}{}", env::consts::EXE_SUFFIX))
}

/// What a program of [`build_programs`] wrote to its standard output.
///
/// # Errors
/// When it cannot be started, or ends with another code than 0.
pub fn output_of(name: &str, arguments: &[&str]) -> Outcome<String> {
    let path = program(name);
    let failed = |what: &dyn std::fmt::Display| {
        Failure::new(format!("{} {what}", path.display()), "see what it says above")
    };
    let mut command = Command::new(&path);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| failed(&format!("did not start: {error}")))?;
    if !output.status.success() {
        return Err(failed(&format!("ended with {}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The failure of a cargo that could not even be started.
pub fn not_started(error: &std::io::Error) -> Failure {
    Failure::new(
        format!("cargo cannot be started: {error}"),
        "install Rust, and see that `cargo --version` answers",
    )
}
