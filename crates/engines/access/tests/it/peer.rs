//! Programs that are not Bobak's: Jackcess, whose jars `BOBAK_TEST_JACKCESS` and its kin name; UCanAccess; mdbtools.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The variables that name jars: Jackcess and what it needs, and UCanAccess with its database.
const JACKCESS: [&str; 3] =
    ["BOBAK_TEST_JACKCESS", "BOBAK_TEST_COMMONS_LANG", "BOBAK_TEST_COMMONS_LOGGING"];
const UCANACCESS: [&str; 2] = ["BOBAK_TEST_UCANACCESS", "BOBAK_TEST_HSQLDB"];

fn jars(variables: &[&str]) -> Option<String> {
    let found: Option<Vec<String>> =
        variables.iter().map(|variable| std::env::var(variable).ok()).collect();
    if found.is_none() {
        println!("skipped: {} name no jars", variables.join(", "));
    }
    found.map(|jars| jars.join(":"))
}

/// Compiles a program of `tests/java`, once for the process; returns the folder of its classes.
fn compiled(classpath: &str, program: &str) -> PathBuf {
    static COMPILED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let classes = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("access-{program}"));
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if compiled.insert(program.to_owned()) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java");
        let mut javac = Command::new("javac");
        javac.args(["-cp", classpath, "-d"]).arg(&classes);
        let status = javac.arg(source.join(format!("{program}.java"))).status();
        assert!(status.unwrap().success(), "javac");
    }
    classes
}

fn java(classpath: &str, program: &str, args: &[&str]) -> String {
    let classes = compiled(classpath, program);
    // Its start is most of its work: without the compiler that optimizes, and with one thread for garbage.
    let mut java = Command::new("java");
    java.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]);
    let output = java.arg(format!("{}:{classpath}", classes.display())).arg(program).args(args);
    let output = output.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// What Jackcess says; `None` if there is none.
pub(crate) fn jackcess(args: &[&str]) -> Option<String> {
    Some(java(&jars(&JACKCESS)?, "Jackcess", args))
}

/// The rows of an SQL query of UCanAccess; `None` if there is none.
pub(crate) fn sql(file: &Path, query: &str) -> Option<Vec<String>> {
    let classpath = format!("{}:{}", jars(&UCANACCESS)?, jars(&JACKCESS)?);
    let text = java(&classpath, "Sql", &[file.to_str().unwrap(), query]);
    Some(text.lines().map(str::to_owned).collect())
}

/// What a program of mdbtools says; `None` if there is none.
pub(crate) fn mdbtools(program: &str, args: &[&str]) -> Option<String> {
    let Ok(output) = Command::new(program).args(args).output() else {
        println!("skipped: {program} is not installed");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}
