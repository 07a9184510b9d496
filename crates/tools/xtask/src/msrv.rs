//! The oldest Rust that the crates compile with: `rust-version` in Cargo.toml.
//!
//! Three checks, since a machine without a network cannot install that version: clippy's lint `incompatible_msrv`, which
//! the step `clippy` runs, rejects newer items of the standard library; this step rejects dependencies that declare a
//! newer version; and if rustup has the version installed, this step compiles with it.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cargo;
use crate::failure::{Failure, Outcome};
use crate::tree::Tree;

const VERSION: &str = env!("CARGO_PKG_RUST_VERSION");

/// Checks what the dependencies declare, and compiles with the version if it is installed.
///
/// # Errors
/// If a dependency needs a newer Rust, or the crates do not compile.
pub fn run(_: &Tree) -> Outcome {
    let text =
        cargo::output(&["metadata", "--format-version", "1", "--locked"], "run `cargo metadata`")?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| {
        Failure::new(format!("the output of `cargo metadata` is not JSON: {error}"), "run it again")
    })?;
    let newer = newer_dependencies(&metadata, VERSION);
    for name in &newer {
        println!("{name}");
    }
    if !newer.is_empty() {
        return Err(Failure::new(
            format!("dependencies that need a newer Rust than {VERSION}: {}", newer.len()),
            "use an older version of them, or raise `rust-version` in Cargo.toml and say so in the changelog",
        ));
    }
    compile()
}

/// The packages that the published crates need at run time or in build scripts, and that need a newer Rust.
fn newer_dependencies(metadata: &Value, version: &str) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|one| (text(&one["id"]), one)).collect();
    let nodes: BTreeMap<String, Value> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (text(&node["id"]), node))
        .collect();
    let members = list(&metadata["workspace_members"]);
    // `publish = false` is an empty list of registries.
    let is_published = |id: &String| packages[id]["publish"].is_null();
    let mut open: Vec<String> = members.iter().map(text).filter(is_published).collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        for dependency in list(&nodes[&id]["deps"]) {
            if list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"] != "dev") {
                open.push(text(&dependency["pkg"]));
            }
        }
    }
    let declared = |id: &String| packages[id]["rust_version"].as_str().map(parts);
    let newer = seen.iter().filter(|id| declared(id).is_some_and(|needs| needs > parts(version)));
    newer
        .map(|id| {
            format!(
                "{} needs Rust {}",
                text(&packages[id]["name"]),
                text(&packages[id]["rust_version"])
            )
        })
        .collect()
}

/// `1.90.1` as numbers.
fn parts(version: &str) -> Vec<u32> {
    let mut parts: Vec<u32> = version.split('.').map(|part| part.parse().unwrap_or(0)).collect();
    parts.resize(3, 0);
    parts
}

fn compile() -> Outcome {
    let installed =
        Command::new("rustup").args(["toolchain", "list"]).stdin(Stdio::null()).output();
    let installed = installed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let is_version = |line: &&str| {
        line.starts_with(&format!("{VERSION}.")) || line.starts_with(&format!("{VERSION}-"))
    };
    let Some(toolchain) = installed.unwrap_or_default().lines().find(is_version).map(str::to_owned)
    else {
        println!("Rust {VERSION} is not installed: compiling with it is left out");
        return Ok(());
    };
    let name = toolchain.split(' ').next().unwrap_or_default();
    let status = Command::new("rustup")
        .args([
            "run",
            name,
            "cargo",
            "check",
            "--quiet",
            "--locked",
            "--workspace",
            "--lib",
            "--bins",
        ])
        .current_dir(cargo::root())
        .env("CARGO_TARGET_DIR", cargo::root().join("target/msrv"))
        .stdin(Stdio::null())
        .status()
        .map_err(|error| cargo::not_started(&error))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(
        format!("the crates do not compile with Rust {VERSION}"),
        "do without what is newer, or raise `rust-version` in Cargo.toml and say so in the changelog",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dependencies_of_published_crates_count() {
        let metadata = serde_json::json!({
            "workspace_members": ["a", "tool"],
            "packages": [
                { "id": "a", "name": "a", "publish": null, "rust_version": "1.90" },
                { "id": "tool", "name": "tool", "publish": [], "rust_version": "1.90" },
                { "id": "b", "name": "b", "publish": null, "rust_version": "1.90.1" },
                { "id": "c", "name": "c", "publish": null, "rust_version": "1.99" },
            ],
            "resolve": { "nodes": [
                { "id": "a", "deps": [
                    { "pkg": "b", "dep_kinds": [{ "kind": null }] },
                    { "pkg": "c", "dep_kinds": [{ "kind": "dev" }] },
                ] },
                { "id": "tool", "deps": [{ "pkg": "c", "dep_kinds": [{ "kind": null }] }] },
                { "id": "b", "deps": [] },
                { "id": "c", "deps": [] },
            ] },
        });
        assert_eq!(newer_dependencies(&metadata, "1.90"), ["b needs Rust 1.90.1"]);
        assert!(newer_dependencies(&metadata, "1.91").is_empty());
    }
}
