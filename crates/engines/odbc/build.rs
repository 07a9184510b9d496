//! Checks that the driver manager is installed, so that a build without it fails with a sentence, not in the linker.

use std::env;
use std::path::Path;
use std::process::Command;

const CURE: &str = "the feature `odbc` needs an ODBC driver manager: install unixODBC (Debian and Ubuntu: `apt-get \
                    install unixodbc-dev`; Fedora: `dnf install unixODBC-devel`; macOS: `brew install unixodbc`), or \
                    name the folder of libodbc in BOBAK_ODBC_LIB";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=BOBAK_ODBC_LIB");
    if let Some(folder) = env::var_os("BOBAK_ODBC_LIB") {
        println!("cargo::rustc-link-search=native={}", Path::new(&folder).display());
        return;
    }
    // Windows has its own; for another machine than this one, nothing here can be asked.
    let target = env::var("TARGET").unwrap_or_default();
    if target.contains("windows") || Ok(target) != env::var("HOST") || is_installed() {
        return;
    }
    println!("cargo::error={CURE}");
}

fn is_installed() -> bool {
    let queried = Command::new("pkg-config").args(["--exists", "odbc"]).status();
    if queried.is_ok_and(|status| status.success()) {
        return true;
    }
    let machine = format!("/usr/lib/{}-linux-gnu", env::consts::ARCH);
    let folders = ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/opt/homebrew/lib", &machine];
    let names = ["libodbc.so", "libodbc.a", "libodbc.dylib"];
    folders.iter().any(|folder| names.iter().any(|name| Path::new(folder).join(name).exists()))
}
