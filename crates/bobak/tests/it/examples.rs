//! The examples build, and run without failing.

use std::path::PathBuf;
use std::process::Command;

const EXAMPLES: &[&str] = &[
    #[cfg(feature = "async")]
    "async_tokio",
    "custom_engine",
    "testing_with_memory",
    #[cfg(all(feature = "async", feature = "sqlite"))]
    "http",
    #[cfg(feature = "remote")]
    "server_and_client",
    #[cfg(feature = "sqlite")]
    "batches",
    #[cfg(all(feature = "arrow", feature = "sqlite"))]
    "columns",
    #[cfg(feature = "sqlite")]
    "conduit",
    #[cfg(feature = "sqlite")]
    "custom_type",
    #[cfg(feature = "sqlite")]
    "federation",
    #[cfg(feature = "sqlite")]
    "first_record",
    #[cfg(feature = "sqlite")]
    "queries",
    #[cfg(feature = "sqlite")]
    "replication",
    #[cfg(feature = "sqlite")]
    "transactions",
];

/// Builds the examples as they are now, unless a test of the whole workspace has done so; returns their folder.
fn build() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    // TARGET/PROFILE/deps/it
    let profile = test.ancestors().nth(2).unwrap();
    let name = match profile.file_name().unwrap().to_str() {
        Some("debug") => "dev",
        name => name.unwrap(),
    };
    if std::env::var_os("BOBAK_TEST_WORKSPACE").is_some() {
        return profile.join("examples");
    }
    let target = profile.parent().unwrap();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", "bobak", "--examples", "--profile", name])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .unwrap();
    assert!(built.success(), "the examples do not build");
    profile.join("examples")
}

#[test]
fn examples_run() {
    let folder = build();
    for name in EXAMPLES {
        let program = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let output = Command::new(program).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the example {name} failed: {text}");
    }
}

#[test]
fn every_example_is_listed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let source = include_str!("examples.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy();
        assert!(source.contains(&format!("\"{name}\"")), "{name} is not in the list");
    }
}
