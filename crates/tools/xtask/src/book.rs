//! The book, built by mdBook.
//!
//! Its links are checked with those of all Markdown files by the step `links`. That SUMMARY.md lists each page, and that
//! each program is compiled and run, are tests of the crate `bobak-book`.

use std::process::{Command, Stdio};

use crate::cargo;
use crate::failure::{Failure, Outcome};
use crate::tree::Tree;

/// Builds the book, if mdBook is installed.
///
/// # Errors
/// If mdBook fails.
pub fn run(_: &Tree) -> Outcome {
    let mdbook = |arguments: &[&str]| {
        Command::new("mdbook")
            .args(arguments)
            .current_dir(cargo::root())
            .stdin(Stdio::null())
            .status()
    };
    if mdbook(&["--version"]).is_err() {
        println!("mdbook is not installed (`cargo install mdbook`): building the book is left out");
        return Ok(());
    }
    match mdbook(&["build", "book"]) {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Failure::new("mdBook cannot build the book", "see what it says above")),
    }
}
