//! The files that this version makes, kept for later versions to open.

use crate::cargo;
use crate::failure::{Failure, Outcome};

/// Where they are, by version.
const FOLDER: &str = "crates/testkit/tests/fixtures";

/// Makes them, unless they are there: what a release has written is never written again.
///
/// # Errors
/// When those of this version are there already, or can't be made.
pub fn run() -> Outcome {
    let folder = cargo::root().join(FOLDER).join(env!("CARGO_PKG_VERSION"));
    if folder.exists() {
        return Err(Failure::new(
            format!("the files of version {} are there already", env!("CARGO_PKG_VERSION")),
            format!("leave them as they are; only before the release, delete {}", folder.display()),
        ));
    }
    let folder_text = folder.to_string_lossy();
    cargo::run_with(
        &[("BOBAK_FIXTURES", &folder_text)],
        &[
            "test",
            "-p",
            "bobak-testkit",
            "--test",
            "it",
            "--",
            "--exact",
            "fixtures::make",
            "--ignored",
        ],
        "see the output above",
    )?;
    println!("made {folder_text}: commit it");
    Ok(())
}
