//! The checks that are cargo's own work: format, clippy, documentation.

use crate::cargo;
use crate::failure::Outcome;
use crate::tree::Tree;

/// The code is formatted, that of the package outside the workspace too, whose lock file has all that it needs.
pub fn format(_: &Tree) -> Outcome {
    cargo::run(&["fmt", "--all", "--check"], "run `cargo fmt --all`")?;
    let fuzz = ["fmt", "--manifest-path", "fuzz/Cargo.toml", "--", "--check"];
    cargo::run(&fuzz, "run `cargo fmt --manifest-path fuzz/Cargo.toml`")?;
    let lock = ["tree", "--locked", "--depth", "0", "--manifest-path", "fuzz/Cargo.toml"];
    cargo::output(
        &lock,
        "run `cargo metadata --manifest-path fuzz/Cargo.toml`, and commit its Cargo.lock",
    )
    .map(drop)
}

/// Clippy has nothing to say, in tests, examples and benches too.
pub fn clippy(_: &Tree) -> Outcome {
    cargo::run(
        &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"],
        "fix what clippy names above; `cargo clippy --workspace --all-targets` shows it again",
    )
}

/// The documentation of the libraries builds without a warning, links between items included.
///
/// Libraries only: the program and the facade are both called `bobak`, and would write their pages over each other.
pub fn docs(_: &Tree) -> Outcome {
    cargo::run_with(
        &[("RUSTDOCFLAGS", "-D warnings")],
        &["doc", "--quiet", "--workspace", "--no-deps", "--lib"],
        "fix what rustdoc names above; `cargo doc --workspace --no-deps --lib` shows it again",
    )
}
