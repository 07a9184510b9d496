//! The servers of this crate, started, killed and looked at from outside. Each test starts its own, where the variable
//! says that servers are required: plain `cargo test` stays free of them.

#![allow(clippy::unwrap_used)]

mod abandoned;
mod clusters;
mod firebird;
mod mariadb;
mod postgres;
mod test_database;
mod test_folder;
mod tls;

/// Whether servers are required. Prints one line if they are not.
fn wanted(variable: &str) -> bool {
    let wanted = std::env::var_os(variable).is_some();
    if !wanted {
        println!("not run: {variable} is not set (`cargo xtask test` sets it)");
    }
    wanted
}
