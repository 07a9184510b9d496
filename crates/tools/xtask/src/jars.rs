//! Programs in Java: databases on which the statements for Oracle run, and readers of Access files. Their jars are named to the
//! tests by environment variables.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::failure::{Failure, Outcome};
use crate::packages;

/// A jar of Maven's repository.
struct Jar {
    /// Where tests look for it.
    variable: &'static str,
    artifact: &'static str,
    file: &'static str,
}

const JARS: [Jar; 6] = [
    Jar {
        variable: "BOBAK_TEST_H2",
        artifact: "com.h2database:h2:2.5.252",
        file: "h2-2.5.252.jar",
    },
    Jar {
        variable: "BOBAK_TEST_HSQLDB",
        artifact: "org.hsqldb:hsqldb:2.7.4",
        file: "hsqldb-2.7.4.jar",
    },
    Jar {
        variable: "BOBAK_TEST_JACKCESS",
        artifact: "com.healthmarketscience.jackcess:jackcess:4.0.8",
        file: "jackcess-4.0.8.jar",
    },
    Jar {
        variable: "BOBAK_TEST_UCANACCESS",
        artifact: "net.sf.ucanaccess:ucanaccess:5.0.1",
        file: "ucanaccess-5.0.1.jar",
    },
    // What Jackcess needs.
    Jar {
        variable: "BOBAK_TEST_COMMONS_LANG",
        artifact: "org.apache.commons:commons-lang3:3.17.0",
        file: "commons-lang3-3.17.0.jar",
    },
    Jar {
        variable: "BOBAK_TEST_COMMONS_LOGGING",
        artifact: "commons-logging:commons-logging:1.3.4",
        file: "commons-logging-1.3.4.jar",
    },
];

const CURE: &str = "install Java and Maven (Debian: `apt-get install default-jdk-headless maven mdbtools`), name the jars in \
                    BOBAK_TEST_H2 and its like, or leave their tests out with `cargo xtask test --no-servers`";

/// Fetches the jars that are not named already into the target folder; returns the variables and the paths.
///
/// # Errors
/// If Java or Maven are missing and cannot be installed, or a jar cannot be fetched.
pub fn fetch() -> Outcome<Vec<(&'static str, PathBuf)>> {
    let folder = cargo::target().join("jars");
    // It reads Access files, too, and is no jar.
    packages::need("mdb-export", "mdbtools", CURE)?;
    let missing = JARS.iter().filter(|jar| env::var_os(jar.variable).is_none());
    let missing: Vec<&Jar> = missing.collect();
    if !missing.is_empty() {
        packages::need("javac", "default-jdk-headless", CURE)?;
    }
    let fetched = missing.into_iter().map(|jar| {
        let path = folder.join(jar.file);
        if !path.exists() {
            fetch_jar(jar, &folder)?;
        }
        Ok((jar.variable, path))
    });
    fetched.collect()
}

fn fetch_jar(jar: &Jar, folder: &Path) -> Outcome {
    packages::need("mvn", "maven", CURE)?;
    println!("fetching {}", jar.artifact);
    let copied = Command::new("mvn")
        .args(["--quiet", "--batch-mode", "dependency:copy"])
        .arg(format!("-Dartifact={}", jar.artifact))
        .arg(format!("-DoutputDirectory={}", folder.display()))
        .status();
    if copied.is_ok_and(|status| status.success()) && folder.join(jar.file).exists() {
        return Ok(());
    }
    Err(Failure::new(format!("{} could not be fetched", jar.artifact), CURE))
}
