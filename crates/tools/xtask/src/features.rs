//! Each published crate with none of its features, and with each of them alone.
//!
//! In a workspace, features that one crate turns on are on for all, which hides what a crate lacks by itself. So each
//! combination is checked by a cargo of its own; what they share is compiled once. A feature that a crate's own source never
//! mentions only turns on features of its dependencies, which are checked there.
//!
//! All combinations take ten minutes of a processor: CI checks the crates without features, and a release all.

use crate::cargo;
use crate::failure::{Failure, Outcome};
use crate::rust::members::{self, Member};
use crate::tree::Tree;

/// Features that build SQLCipher, which needs OpenSSL; `cargo xtask test` compiles and tests them.
const SQLCIPHER: [&str; 2] = ["sqlcipher", "sqlcipher-vendored"];

/// Runs clippy on each library without its features.
///
/// # Errors
/// If one does not compile, or has warnings: after all have run.
pub fn run(tree: &Tree) -> Outcome {
    check_all(tree, |_| Vec::new())
}

/// Runs clippy on each library, without default features and with each feature alone.
///
/// # Errors
/// As [`run`].
pub fn run_each(tree: &Tree) -> Outcome {
    check_all(tree, |member| {
        let source = source(tree, member);
        let is_mentioned = |name: &&String| source.contains(&format!("feature = \"{name}\""));
        let features = member.features.iter().filter(is_mentioned);
        features.filter(|feature| !SQLCIPHER.contains(&feature.as_str())).cloned().collect()
    })
}

/// Each library without its features, and with each of these alone.
fn check_all(tree: &Tree, features: impl Fn(&Member) -> Vec<String>) -> Outcome {
    let mut failed = Vec::new();
    for member in members::read(tree)?.iter().filter(|member| member.published) {
        if !tree.has_file(&format!("{}/src/lib.rs", member.folder)) {
            continue;
        }
        for feature in [String::new()].into_iter().chain(features(member)) {
            if check(&member.package, &feature).is_err() {
                failed.push(format!("{} with `{feature}`", member.package));
            }
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        format!("features that do not compile alone: {}", failed.join(", ")),
        "fix what clippy names above: a `cfg` is missing, or a dependency's feature",
    ))
}

/// The source of a crate, without its tests.
fn source(tree: &Tree, member: &Member) -> String {
    let folder = format!("{}/src/", member.folder);
    let files = tree.with_extension("rs").filter(|path| path.starts_with(&folder));
    files.filter_map(|path| tree.read(path).ok()).collect()
}

fn check(package: &str, feature: &str) -> Outcome {
    println!("{package} {}", if feature.is_empty() { "without features" } else { feature });
    let arguments =
        ["clippy", "--quiet", "-p", package, "--lib", "--no-default-features", "--features"];
    cargo::run(&[&arguments[..], &[feature, "--", "-D", "warnings"]].concat(), "")
}
