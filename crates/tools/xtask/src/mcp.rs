//! The tools for language models, with the client of the protocol's own library for Python.

use crate::cargo;
use crate::clients::{ClientFolder, make_venv, pip};
use crate::failure::Outcome;
use crate::tally::Tally;

/// Where the tests are.
const FOLDER: &str = "crates/cli/tests/mcp";
/// The library of the protocol.
const LIBRARY: &str = "mcp==2.3.0";
const CURE: &str = "look above for what failed; `cargo xtask mcp` runs these tests alone";

/// Runs the tests, and adds them to `tally`.
///
/// # Errors
/// When Python's packages cannot be installed, and when a test failed.
pub fn test(tally: &mut Tally) -> Outcome {
    println!("\n== {FOLDER} ==");
    let folder = ClientFolder::at(FOLDER);
    make_venv(&folder)?;
    pip(&folder, &["pytest", LIBRARY])?;
    let words = [&*folder.tool("python"), "-B", "-m", "pytest", "-p", "no:cacheprovider"];
    folder.count(&words, CURE, tally, Tally::count_pytest)
}

/// Builds the program, and runs the tests alone.
///
/// # Errors
/// As [`test`].
pub fn run() -> Outcome {
    cargo::build_programs()?;
    test(&mut Tally::default())
}
