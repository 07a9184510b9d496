//! Each published crate with none of its features, and with each of them alone.
//!
//! In a workspace, features that one crate turns on are on for all, which hides what a crate lacks by itself. So each
//! combination is checked by a cargo of its own, several crates at once only if none of them changes the features of what another
//! one depends on; what they share is compiled once. A feature that a crate's own source never
//! mentions only turns on features of its dependencies, which are checked there.
//!
//! All combinations take ten minutes of a processor: CI checks the crates without features, and a release all.

use std::collections::{BTreeMap, BTreeSet};

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
    let members = members::read(tree)?;
    let has_library = |member: &&Member| tree.has_file(&format!("{}/src/lib.rs", member.folder));
    let published: Vec<&Member> =
        members.iter().filter(|member| member.published).filter(has_library).collect();
    let resolved = published.iter().map(|member| Ok((member.package.as_str(), resolve(member)?)));
    let mut failed = Vec::new();
    for packages in groups(resolved.collect::<Outcome<Vec<_>>>()?) {
        if check(&packages, "").is_err() {
            failed.push(format!("{} without features", packages.join(" or ")));
        }
    }
    for member in published {
        for feature in features(member) {
            if check(&[&member.package], &feature).is_err() {
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

/// The features of a crate's dependencies, and of itself, if it is compiled alone and without features. A crate may have several
/// sets: build scripts and macros have their own.
type ResolvedFeatures = BTreeMap<String, BTreeSet<String>>;

fn resolve(member: &Member) -> Outcome<ResolvedFeatures> {
    let arguments = ["tree", "-p", &member.package, "--no-default-features", "--no-dedupe"];
    let format = ["-e", "normal,build", "--prefix", "none", "--format", "{p}|{f}"];
    let listing = cargo::output(
        &[&arguments[..], &format].concat(),
        "see that the manifests are right: `cargo tree`",
    )?;
    let mut resolved = ResolvedFeatures::new();
    for (package, features) in listing.lines().filter_map(|line| line.split_once('|')) {
        let package = package.trim_end_matches(" (proc-macro)").to_owned();
        resolved.entry(package).or_default().insert(features.to_owned());
    }
    Ok(resolved)
}

/// Packages in groups in which each dependency has the same features as with each package alone.
fn groups(packages: Vec<(&str, ResolvedFeatures)>) -> Vec<Vec<&str>> {
    let mut groups: Vec<(Vec<&str>, ResolvedFeatures)> = Vec::new();
    for (package, resolved) in packages {
        let agrees = |(_, others): &&mut (Vec<&str>, ResolvedFeatures)| {
            resolved.iter().all(|(name, features)| {
                others.get(name).is_none_or(|of_others| of_others == features)
            })
        };
        match groups.iter_mut().find(agrees) {
            Some((packages, others)) => {
                packages.push(package);
                others.extend(resolved);
            }
            None => groups.push((vec![package], resolved)),
        }
    }
    groups.into_iter().map(|(packages, _)| packages).collect()
}

/// The source of a crate, without its tests.
fn source(tree: &Tree, member: &Member) -> String {
    let folder = format!("{}/src/", member.folder);
    let files = tree.with_extension("rs").filter(|path| path.starts_with(&folder));
    files.filter_map(|path| tree.read(path).ok()).collect()
}

fn check(packages: &[&str], feature: &str) -> Outcome {
    let names = packages.join(", ");
    println!("{names} {}", if feature.is_empty() { "without features" } else { feature });
    let mut arguments = vec!["clippy", "--quiet", "--lib", "--no-default-features"];
    packages.iter().for_each(|package| arguments.extend(["-p", package]));
    arguments.extend(["--features", feature, "--", "-D", "warnings"]);
    cargo::run(&arguments, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_change_each_others_features_are_apart() {
        let resolved = |all: &[(&str, &str)]| {
            let one = |(name, features): &(&str, &str)| {
                (name.to_string(), BTreeSet::from([features.to_string()]))
            };
            all.iter().map(one).collect::<ResolvedFeatures>()
        };
        let packages = vec![
            ("core", resolved(&[("core", ""), ("uuid", "std")])),
            ("kv", resolved(&[("kv", ""), ("core", ""), ("uuid", "std"), ("redb", "")])),
            ("oracle", resolved(&[("core", ""), ("uuid", "std,v4")])),
            ("access", resolved(&[("core", ""), ("uuid", "std"), ("redb", "log")])),
            ("text", resolved(&[("uuid", "std,v4"), ("redb", "log")])),
        ];
        let expected: [&[&str]; 3] = [&["core", "kv"], &["oracle", "text"], &["access"]];
        assert_eq!(groups(packages), expected);
    }
}
