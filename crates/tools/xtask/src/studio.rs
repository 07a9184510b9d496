//! The studio in a real Chromium: its tests, and pictures of its pages. Debian's `chromium` is installed if possible.

use std::path::PathBuf;

use crate::cargo;
use crate::clients::ClientFolder;
use crate::failure::Outcome;
use crate::packages;
use crate::tally::Tally;

/// Where the tests are.
const FOLDER: &str = "crates/listeners/http/tests/studio";
const CURE: &str = "look above for what failed; `cargo xtask studio` runs these tests alone";
const MISSING: &str = "install Node 20 and Chromium (Debian: `apt-get install nodejs npm chromium`), or leave these \
                       tests out: `cargo xtask test --no-clients`";

/// Runs the tests, and adds them to `tally`.
///
/// # Errors
/// When Node or Chromium is missing and cannot be installed, and when a test failed.
pub fn test(tally: &mut Tally) -> Outcome {
    println!("\n== {FOLDER} ==");
    let words = [
        "node",
        "--test",
        "--test-reporter=tap",
        "studio.test.js",
        "schema.test.js",
        "charts.test.js",
        "admin.test.js",
        "million.test.js",
    ];
    prepare()?.count(&words, CURE, tally, Tally::count_tap)
}

/// Builds the program, and runs the tests alone.
///
/// # Errors
/// As [`test`].
pub fn run() -> Outcome {
    cargo::build_programs()?;
    test(&mut Tally::default())
}

/// Makes a picture of each page, below the target folder.
///
/// # Errors
/// As [`test`].
pub fn screenshots() -> Outcome {
    cargo::build_programs()?;
    let pictures: PathBuf = cargo::target().join("screenshots");
    prepare()?.run(&["node", "screenshots.js", &pictures.to_string_lossy()], CURE)?;
    println!("the pictures are in {}", pictures.display());
    Ok(())
}

fn prepare() -> Result<ClientFolder, crate::failure::Failure> {
    for (command, names) in [("node", "nodejs"), ("npm", "npm"), ("chromium", "chromium")] {
        packages::need(command, names, MISSING)?;
    }
    let folder = ClientFolder::at(FOLDER);
    folder.install_from_npm()?;
    Ok(folder)
}
