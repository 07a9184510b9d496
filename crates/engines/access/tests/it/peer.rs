//! Programs that are not Bobak's: Jackcess, whose jars `BOBAK_TEST_JACKCESS` and its kin name; UCanAccess; mdbtools.

use std::path::Path;
use std::process::Command;

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

fn java(classpath: &str, source: &str, args: &[&str]) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java").join(source);
    let output =
        Command::new("java").args(["-cp", classpath]).arg(source).args(args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// What Jackcess says; `None` if there is none.
pub(crate) fn jackcess(args: &[&str]) -> Option<String> {
    Some(java(&jars(&JACKCESS)?, "Jackcess.java", args))
}

/// The rows of an SQL query of UCanAccess; `None` if there is none.
pub(crate) fn sql(file: &Path, query: &str) -> Option<Vec<String>> {
    let classpath = format!("{}:{}", jars(&UCANACCESS)?, jars(&JACKCESS)?);
    let text = java(&classpath, "Sql.java", &[file.to_str().unwrap(), query]);
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
