//! How many crates the first build of a program takes that depends on `bobak` with its default features.
//!
//! Every crate is compile time for each user, so the number has a limit, and the README states it: a dependency that
//! is added is a decision, taken in this file.

use std::collections::BTreeSet;

use crate::cargo;
use crate::failure::{Failure, Outcome};
use crate::tree::Tree;

/// The aim: the crates of other projects in a first build.
const LIMIT: usize = 20;

/// How many more than [`LIMIT`] there may be for now: pkg-config and vcpkg, which the build script of libsqlite3-sys
/// (0.39.1) does not compile without, though the bundled SQLite needs neither.
const ALLOWED_OVER: usize = 2;

/// One target for everybody, so that the README's figure does not depend on who counts.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Counts the crates, and holds the number against the limit and against README.md.
pub fn run(tree: &Tree) -> Outcome {
    let listing = cargo::output(
        &["tree", "-p", "bobak", "-e", "normal,build", "--prefix", "none", "--target", TARGET],
        "see that the manifests are right: `cargo tree -p bobak`",
    )?;
    let crates = distinct(&listing);
    println!("a first build takes {} crates:", crates.len());
    for name in &crates {
        println!("  {name}");
    }
    let foreign = crates.iter().filter(|name| !name.starts_with("bobak")).count();
    judge(crates.len(), foreign, LIMIT + ALLOWED_OVER, &tree.read("README.md")?)
}

/// The crates of a listing of `cargo tree --prefix none`, each once: a line is `name vVERSION` and remarks.
fn distinct(listing: &str) -> BTreeSet<String> {
    let crates = listing.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some(format!("{} {}", words.next()?, words.next()?))
    });
    crates.collect()
}

fn judge(count: usize, foreign: usize, limit: usize, readme: &str) -> Outcome {
    if foreign > limit {
        return Err(Failure::new(
            format!(
                "a first build takes {foreign} crates of other projects, and {limit} are allowed"
            ),
            "do without the new dependency or its features; if it is worth it, raise ALLOWED_OVER in \
             crates/tools/xtask/src/crates.rs with the reason",
        ));
    }
    match stated(readme) {
        Some(said) if said == count => Ok(()),
        Some(said) => Err(Failure::new(
            format!(
                "README.md says that a first build \"builds {said} crates\", but it takes {count}"
            ),
            format!("write \"builds {count} crates\" in README.md"),
        )),
        None => Err(Failure::new(
            "README.md does not say how many crates a first build takes",
            format!("add the words \"builds {count} crates\" to README.md"),
        )),
    }
}

/// The number in the phrase "builds N crates", over line ends and through bold type.
fn stated(readme: &str) -> Option<usize> {
    let plain = readme.replace('*', "");
    let words: Vec<&str> = plain.split_whitespace().collect();
    words.windows(3).find_map(|three| match three {
        ["builds", number, last] if last.starts_with("crates") => number.parse().ok(),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_counts_once_but_two_versions_count_twice() {
        let listing = "bobak v0.1.0 (/x/crates/bobak)\nsyn v2.0.1\nquote v1.0.0\n\nsyn v2.0.1 (*)\nsyn v1.0.9\n\
                       bobak-derive v0.1.0 (proc-macro) (/x/crates/derive)\n";
        assert_eq!(distinct(listing).len(), 5);
    }

    #[test]
    fn the_figure_is_found_in_running_text() {
        assert_eq!(stated("A first build\nbuilds **23\ncrates**, nothing else."), Some(23));
        assert_eq!(stated("It builds fast, crates or not; builds many crates"), None);
    }

    #[test]
    fn too_many_crates_or_a_wrong_figure_fail() {
        assert!(judge(25, 20, 20, "builds 25 crates").is_ok());
        assert!(
            judge(26, 21, 20, "builds 26 crates")
                .unwrap_err()
                .to_string()
                .contains("20 are allowed")
        );
        assert!(
            judge(24, 20, 20, "builds 25 crates")
                .unwrap_err()
                .to_string()
                .contains("\"builds 24 crates\"")
        );
        assert!(judge(24, 20, 20, "small").unwrap_err().to_string().contains("add the words"));
    }

    #[test]
    fn the_listing_of_this_workspace_is_understood() {
        let listing =
            cargo::output(&["tree", "-p", "xtask", "-e", "normal,build", "--prefix", "none"], "")
                .unwrap();
        assert!(
            distinct(&listing).iter().any(|name| name.starts_with("pulldown-cmark v0.")),
            "{listing}"
        );
    }
}
