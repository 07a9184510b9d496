//! The packages of all published crates, as `cargo publish` would upload them.
//!
//! `cargo package` compiles each crate by itself, which takes long. CI looks for what makes a package fail that compiles in the
//! workspace: a file that it includes and does not have, or a dependency that is not published. A release compiles the packages,
//! unpacked into one workspace.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo;
use crate::failure::{Failure, Outcome};
use crate::rust::members::{self, Member};
use crate::tree::Tree;

/// What the page of a crate on crates.io shows, and programs that choose crates read.
const METADATA: [&str; 7] =
    ["description", "keywords", "categories", "license", "repository", "rust-version", "edition"];

/// Packages all published crates.
///
/// # Errors
/// If metadata is missing, a crate cannot be packaged, or a package lacks a file or a dependency.
pub fn run(tree: &Tree) -> Outcome {
    pack(tree).map(drop)
}

/// As [`run`], and compiles the packages.
///
/// # Errors
/// As there, and if a package does not compile.
pub fn run_compiled(tree: &Tree) -> Outcome {
    let folder = pack(tree)?;
    let manifest = folder.join("Cargo.toml").to_string_lossy().into_owned();
    cargo::run(
        &["check", "--quiet", "--workspace", "--lib", "--bins", "--manifest-path", &manifest],
        "do what rustc says above: the workspace gives a crate something that its package lacks",
    )
}

/// Packages all published crates; the folder of the unpacked packages.
fn pack(tree: &Tree) -> Outcome<PathBuf> {
    let members = members::read(tree)?;
    let (published, own): (Vec<&Member>, Vec<&Member>) =
        members.iter().partition(|member| member.published);
    unpublished_dependencies(&published, &own)?;
    // Nothing is compiled here; changes that are not committed are packaged, too.
    let mut arguments = vec!["package", "--quiet", "--workspace", "--no-verify", "--allow-dirty"];
    for member in own {
        arguments.extend(["--exclude", &member.package]);
    }
    cargo::run(
        &arguments,
        "do what cargo says above; dev-dependencies on crates of the workspace have no version",
    )?;
    let folder = unpack(&published)?;
    complete(tree, &published)?;
    let missing: Vec<_> =
        published.iter().flat_map(|member| missing_files(tree, member, &folder)).collect();
    if !missing.is_empty() {
        return Err(Failure::new(
            format!("packages lack files that they include: {}", missing.join(", ")),
            "move each file into the folder of its crate",
        ));
    }
    println!("{} packages", published.len());
    Ok(folder)
}

/// A published crate depends on published ones only.
fn unpublished_dependencies(published: &[&Member], own: &[&Member]) -> Outcome {
    let is_own = |name: &String| own.iter().any(|member| member.package == *name);
    let wrong: Vec<_> = published
        .iter()
        .flat_map(|member| member.dependencies.iter().map(|name| (&member.package, name)))
        .filter(|(_, name)| is_own(name))
        .map(|(package, name)| format!("{package}: {name}"))
        .collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        format!("published crates depend on crates that are not: {}", wrong.join(", ")),
        "publish the dependency, or move what is needed",
    ))
}

/// The files and folders that a crate's source includes, and its package lacks.
fn missing_files(tree: &Tree, member: &Member, packages: &Path) -> Vec<String> {
    let package = packages.join(format!("{}-{}", member.package, env!("CARGO_PKG_VERSION")));
    let source = format!("{}/src/", member.folder);
    let build = format!("{}/build.rs", member.folder);
    let files =
        tree.with_extension("rs").filter(|path| path.starts_with(&source) || *path == build);
    let mut missing = Vec::new();
    for file in files {
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        let text = tree.read(file).unwrap_or_default();
        for included in included(&text) {
            let path = normal(&folder.join(included));
            let is_there = |path: &Path| package.join(path).exists();
            if !path.strip_prefix(&member.folder).is_ok_and(is_there) {
                missing.push(format!("{file}: {included}"));
            }
        }
    }
    missing
}

/// The paths of `include!`, `include_str!` and `include_bytes!`; of `concat!` the first part.
fn included(source: &str) -> impl Iterator<Item = &str> {
    let calls = source.split("include").skip(1).filter_map(|rest| {
        let rest = rest.strip_prefix("_str").or(rest.strip_prefix("_bytes")).unwrap_or(rest);
        rest.strip_prefix("!(")
    });
    calls.filter_map(|rest| {
        let rest = rest.trim_start();
        let rest = rest.strip_prefix("concat!(").unwrap_or(rest).trim_start();
        rest.strip_prefix('"')?.split('"').next()
    })
}

/// The path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
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
fn unpack(published: &[&Member]) -> Outcome<PathBuf> {
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

    fn member(package: &str, dependencies: &[&str]) -> Member {
        Member {
            folder: "x".into(),
            package: package.into(),
            dependencies: dependencies.iter().map(|name| (*name).to_owned()).collect(),
            features: Vec::new(),
            published: true,
        }
    }

    #[test]
    fn a_dependency_that_is_not_published_is_named() {
        let (member, own) = (member("bobak-x", &["bobak-y", "bobak-z"]), member("bobak-z", &[]));
        let failure = unpublished_dependencies(&[&member], &[&own]).unwrap_err().to_string();
        assert!(failure.contains("bobak-x: bobak-z"), "{failure}");
        unpublished_dependencies(&[&member], &[]).unwrap();
    }

    #[test]
    fn included_files_are_in_the_package() {
        let source = "const A: &[u8] = include_bytes!(\"../data/a.bin\");\n\
                      const B: &str = include_str!(\n    \"../../shared.txt\");\n\
                      include!(concat!(\"../tables/\", $name));\n\
                      include!(concat!(env!(\"OUT_DIR\"), \"/made.rs\"));\n";
        let (folder, tree) = fixture::tree(&[("x/src/lib.rs", source)]);
        let package = folder.path().join(format!("bobak-x-{}", env!("CARGO_PKG_VERSION")));
        fs::create_dir_all(package.join("data")).unwrap();
        fs::write(package.join("data/a.bin"), "").unwrap();
        let expected = ["x/src/lib.rs: ../../shared.txt", "x/src/lib.rs: ../tables/"];
        assert_eq!(missing_files(&tree, &member("bobak-x", &[]), folder.path()), expected);
        fs::create_dir(package.join("tables")).unwrap();
        assert_eq!(missing_files(&tree, &member("bobak-x", &[]), folder.path()), expected[..1]);
    }

    #[test]
    fn missing_metadata_is_named() {
        let member = member("bobak-x", &[]);
        let manifest = "description = \"\"\nkeywords = []\ncategories = []\nlicense.workspace = true\n\
                        repository.workspace = true\nrust-version.workspace = true\n";
        let (_folder, tree) = fixture::tree(&[("x/Cargo.toml", manifest)]);
        let failure = complete(&tree, &[&member]).unwrap_err().to_string();
        assert!(failure.contains("bobak-x: edition, bobak-x: README.md"), "{failure}");
    }
}
