//! Debian's packages: the dependencies of tests are installed if possible.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::{Failure, Outcome};

/// Checks that `program` can be started, and installs `packages` if it cannot.
///
/// # Errors
/// When it is missing and can't be installed; `cure` then says what to do.
pub fn need(program: &str, packages: &str, cure: &str) -> Outcome {
    if runs(&["sh", "-c", &format!("command -v {program} >/dev/null")]) {
        return Ok(());
    }
    let names: Vec<&str> = packages.split(' ').collect();
    if install(&names) {
        return Ok(());
    }
    Err(Failure::new(format!("`{program}` is not installed"), cure))
}

/// Installs packages, as root or through a sudo that asks nothing; whether that went well.
pub fn install(names: &[&str]) -> bool {
    let prefix: &[&str] = match () {
        () if !Path::new("/usr/bin/apt-get").exists() => return false,
        () if runs(&["sh", "-c", "test \"$(id -u)\" = 0"]) => &[],
        () if runs(&["sudo", "-n", "true"]) => &["sudo", "-n"],
        () => return false,
    };
    println!("installing {}", names.join(", "));
    let update = [prefix, &["apt-get", "update", "-q"]].concat();
    let install =
        [prefix, &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-qy"], names];
    runs(&update) && runs(&install.concat())
}

/// As [`install`], of a server that must not start by itself: Debian's policy file says so while it is installed.
pub fn install_stopped(names: &[&str]) -> bool {
    const POLICY: &str = "/usr/sbin/policy-rc.d";
    if Path::new(POLICY).exists() {
        // The administrator's, and perhaps one that lets servers start.
        return !runs(&[POLICY, "firebird3.0", "start"]) && install(names);
    }
    let sudo: &[&str] =
        if runs(&["sh", "-c", "test \"$(id -u)\" = 0"]) { &[] } else { &["sudo", "-n"] };
    let write = format!("printf '#!/bin/sh\\nexit 101\\n' > {POLICY} && chmod 755 {POLICY}");
    let is_written = runs(&[sudo, &["sh", "-c", &write]].concat());
    let is_installed = is_written && install(names);
    runs(&[sudo, &["rm", "-f", POLICY]].concat()) && is_installed
}

/// Whether the driver manager is installed that `bobak-odbc` is linked with.
pub fn has_driver_manager() -> bool {
    let known = Command::new("pkg-config").args(["--exists", "odbc"]).status();
    env::var_os("BOBAK_ODBC_LIB").is_some()
        || cfg!(windows)
        || Path::new("/usr/include/sql.h").exists()
        || known.is_ok_and(|status| status.success())
}

/// What leaves out `bobak-odbc` if the driver manager is not installed, and says so.
pub fn without_driver_manager() -> &'static [&'static str] {
    if has_driver_manager() {
        return &[];
    }
    println!("not built: bobak-odbc, because no ODBC driver manager is installed");
    &["--exclude", "bobak-odbc"]
}

/// Whether a command ends well; what it says goes to standard error.
fn runs(words: &[&str]) -> bool {
    let Some((program, rest)) = words.split_first() else { return false };
    Command::new(program)
        .args(rest)
        .stdin(Stdio::null())
        .stdout(std::io::stderr())
        .status()
        .is_ok_and(|status| status.success())
}
