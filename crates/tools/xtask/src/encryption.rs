//! The tests of files in SQLCipher's format: run by themselves, since SQLCipher takes the place of SQLite in the whole
//! build.

use std::env;
use std::path::{Path, PathBuf};

use crate::cargo_test;
use crate::failure::{Failure, Outcome};
use crate::packages;
use crate::servers::Servers;
use crate::tally::Tally;

const CURE: &str = "install OpenSSL's headers (Debian: `apt-get install libssl-dev`), or leave the tests of encryption \
                    out with `cargo xtask test --no-encryption`";

/// Runs them, and adds them to `tally`.
///
/// # Errors
/// When OpenSSL's headers are missing and can't be installed, and when a test failed.
pub fn run(tally: &mut Tally) -> Outcome {
    println!("\n== encryption ==");
    if !has_openssl() && !packages::install(&["libssl-dev"]) {
        return Err(Failure::new("OpenSSL's headers are not installed", CURE));
    }
    // Of the whole workspace, so that crates without SQLite are not compiled for other features.
    let packages = ["--workspace", "--test", "sqlcipher"].iter();
    let packages = packages.chain(packages::without_driver_manager());
    let features = ["--features", "bobak/sqlcipher,bobak-cli/sqlcipher,bobak-testkit/sqlcipher"];
    let arguments = packages.chain(&features).chain(&["--", "encryption::"]);
    let arguments: Vec<String> = arguments.map(ToString::to_string).collect();
    cargo_test::run(&Servers::none(), &arguments, tally)
}

/// Whether the compiler finds OpenSSL's headers.
fn has_openssl() -> bool {
    let given = ["OPENSSL_DIR", "OPENSSL_INCLUDE_DIR"].map(env::var_os);
    let given = given.into_iter().flatten().flat_map(|folder| {
        let folder = PathBuf::from(folder);
        [folder.join("include"), folder]
    });
    let usual = ["/usr/include", "/usr/local/include"].map(PathBuf::from);
    given.chain(usual).any(|folder| folder.join(Path::new("openssl/crypto.h")).is_file())
        || cfg!(target_os = "macos")
}
