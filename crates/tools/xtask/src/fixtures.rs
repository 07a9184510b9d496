//! The files that this version makes, kept for later versions to open.

use crate::cargo;
use crate::failure::{Failure, Outcome};

/// Where they are, by version.
const FOLDER: &str = "crates/tools/testkit/tests/fixtures";

/// Makes them, unless they are there: what a release has written is never written again.
///
/// # Errors
/// If those of this version already exist, or can't be made.
pub fn run() -> Outcome {
    let folder = cargo::root().join(FOLDER).join(env!("CARGO_PKG_VERSION"));
    if folder.exists() {
        return Err(Failure::new(
            format!("the files of version {} already exist", env!("CARGO_PKG_VERSION")),
            format!("leave them as they are; only before the release, delete {}", folder.display()),
        ));
    }
    let folder_text = folder.to_string_lossy();
    for arguments in [
        &["-p", "bobak-testkit", "--test", "it", "--", "fixtures::make"][..],
        &["-p", "bobak", "--test", "it", "--", "backup::fixtures::make_fixtures"],
        &["-p", "bobak", "--test", "it", "--", "archive::make_fixtures"],
        &["-p", "bobak", "--test", "it", "--", "encryption::fixtures::make_fixtures"],
        &[
            "-p",
            "bobak",
            "--features",
            "sqlcipher",
            "--test",
            "it",
            "--",
            "encryption::fixtures::make_fixtures",
        ],
    ] {
        cargo::run_with(
            &[("BOBAK_FIXTURES", &folder_text)],
            &[&["test"], arguments, &["--exact", "--ignored"]].concat(),
            "see the output above",
        )?;
    }
    println!("made {folder_text}: commit it");
    Ok(())
}
