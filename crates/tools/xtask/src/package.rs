//! The packages of all published crates, as `cargo publish` would upload them, and compiled from these files alone.
//!
//! `cargo package` compiles each crate by itself, which takes long. Here the packages are unpacked into one workspace
//! that is checked once: a file outside a crate's folder, or a dependency that is not published, fails there too.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cargo;
use crate::failure::{Failure, Outcome};
use crate::rust::members::{self, Member};
use crate::tree::Tree;

/// What the page of a crate on crates.io shows, and programs that choose crates read.
const METADATA: [&str; 7] =
    ["description", "keywords", "categories", "license", "repository", "rust-version", "edition"];

/// Packages all published crates, and compiles the packages.
///
/// # Errors
/// If metadata is missing, a crate cannot be packaged, or a package does not compile.
pub fn run(tree: &Tree) -> Outcome {
    let members = members::read(tree)?;
    let (published, own): (Vec<&Member>, Vec<&Member>) =
        members.iter().partition(|member| member.published);
    // Nothing is compiled yet; changes that are not committed are packaged, too.
    let mut arguments = vec!["package", "--quiet", "--workspace", "--no-verify", "--allow-dirty"];
    for member in own {
        arguments.extend(["--exclude", &member.package]);
    }
    cargo::run(
        &arguments,
        "do what cargo says above; dev-dependencies on crates of the workspace have no version",
    )?;
    let folder = unpack(&published)?;
    let manifest = folder.join("Cargo.toml").to_string_lossy().into_owned();
    println!("{} packages, compiled together:", published.len());
    cargo::run(
        &["check", "--quiet", "--workspace", "--lib", "--bins", "--manifest-path", &manifest],
        "see that each file that a crate includes lies in its own folder",
    )?;
    complete(tree, &published)
}

/// Each crate has its metadata and a README.
fn complete(tree: &Tree, published: &[&Member]) -> Outcome {
    let mut missing = Vec::new();
    for member in published {
        let manifest = tree.read(&format!("{}/Cargo.toml", member.folder))?;
        let has = |key: &str| {
            manifest.lines().any(|line| {
                line.strip_prefix(key)
                    .is_some_and(|rest| rest.starts_with(" =") || rest.starts_with(".workspace"))
            })
        };
        missing.extend(
            METADATA.iter().filter(|key| !has(key)).map(|key| format!("{}: {key}", member.package)),
        );
        if !tree.has_file(&format!("{}/README.md", member.folder)) && !has("readme") {
            missing.push(format!("{}: README.md", member.package));
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        format!("metadata is missing: {}", missing.join(", ")),
        "add it to the crate's Cargo.toml or folder",
    ))
}

/// Unpacks the packages into a workspace in which they find each other.
fn unpack(published: &[&Member]) -> Outcome<std::path::PathBuf> {
    let root = cargo::root();
    let packages = cargo::target().join("package");
    let folder = packages.join("unpacked");
    let version = env!("CARGO_PKG_VERSION");
    let wrong = |error: std::io::Error| {
        Failure::new(
            format!("the packages cannot be unpacked: {error}"),
            "see that the disk is not full",
        )
    };
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(wrong)?;
    let (mut list, mut patches) = (String::new(), String::new());
    for member in published {
        let name = format!("{}-{version}", member.package);
        untar(&packages.join(format!("{name}.crate")), &folder)?;
        list += &format!("    \"{name}\",\n");
        patches += &format!("{} = {{ path = \"{name}\" }}\n", member.package);
    }
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [\n{list}]\n\n[patch.crates-io]\n{patches}"
    );
    fs::write(folder.join("Cargo.toml"), manifest).map_err(wrong)?;
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).map_err(wrong)?;
    Ok(folder)
}

fn untar(file: &Path, folder: &Path) -> Outcome {
    // Packages have one fixed time for all files: cargo would take those of an earlier run for unchanged.
    let status = Command::new("tar")
        .arg("-xmzf")
        .arg(file)
        .arg("-C")
        .arg(folder)
        .stdin(Stdio::null())
        .status();
    if status.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    Err(Failure::new(
        format!("{} cannot be unpacked", file.display()),
        "see that `tar` is installed",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::fixture;

    #[test]
    fn missing_metadata_is_named() {
        let member = Member {
            folder: "x".into(),
            package: "bobak-x".into(),
            dependencies: Vec::new(),
            features: Vec::new(),
            published: true,
        };
        let manifest = "description = \"\"\nkeywords = []\ncategories = []\nlicense.workspace = true\n\
                        repository.workspace = true\nrust-version.workspace = true\n";
        let (_folder, tree) = fixture::tree(&[("x/Cargo.toml", manifest)]);
        let failure = complete(&tree, &[&member]).unwrap_err().to_string();
        assert!(failure.contains("bobak-x: edition, bobak-x: README.md"), "{failure}");
    }
}
