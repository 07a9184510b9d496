//! The examples run without failing.
//!
//! Plain `cargo test` builds them. A test run of this target alone does not, and then there is nothing to run.

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

/// The program of an example, next to the folder of this test.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap();
    profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

#[test]
fn examples_run() {
    if EXAMPLES.iter().all(|name| !program(name).exists()) {
        println!("the examples are not built: run `cargo build -p bobak --examples` first");
        return;
    }
    for name in EXAMPLES {
        let output = Command::new(program(name)).output().unwrap();
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
