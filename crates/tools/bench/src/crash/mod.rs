//! What is left after a crash: what each way of keeping a database promises, tried out.
//!
//! Three crashes are tried. A **killed** process is a child of this one, which writes to a real file
//! or server, says which commits were acknowledged, and is killed at some moment. A killed **server**
//! is a real one too, of this run alone, which is started again. A **power cut** is simulated below
//! SQLite, on a disk in memory that loses writes which no sync has covered.
//!
//! Files in the order a reader meets them: `store` (the ways of keeping a database, and what they
//! promise), `kill`, `together`, `power`, `report`.

mod kill;
mod power;
mod report;
mod store;
mod together;

use std::path::PathBuf;
use std::process::Command;

use self::store::Crash;
use crate::contender::Failure;
use crate::report::Machine;

pub use kill::write_until_killed;
pub use report::{CrashReport, CrashRow};
pub use store::{STORES, Store, parse};

/// What to crash, and how often.
pub struct CrashOptions<'a> {
    /// The stores, in the order of the report; from names by [`parse`].
    pub stores: Vec<&'static Store>,
    /// How often a process is killed, at least 1.
    pub kills: u64,
    /// How many random programs are cut off from power, three times each, at least 1.
    pub cuts: u64,
    /// Where files are made and removed again; the system's folder for temporary files by default.
    pub folder: Option<PathBuf>,
    /// The process that is killed: it calls [`write_until_killed`] with the store's name and place
    /// that its arguments end with.
    pub writer: &'a dyn Fn() -> Command,
}

/// Crashes everything. Calls `progress` with the next test, and how far it is.
///
/// # Errors
/// If a folder cannot be created or a process cannot be started. Broken guarantees are in the report.
pub fn crash(
    options: &CrashOptions<'_>,
    progress: &mut dyn FnMut(&str, u64, u64),
) -> Result<CrashReport, Failure> {
    let folder = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let (kills, cuts) = (options.kills.max(1), options.cuts.max(1));
    let mut report = CrashReport {
        bobak: env!("CARGO_PKG_VERSION").to_owned(),
        sqlite: crate::raw::library().0,
        machine: Machine::here(&folder),
        crashes: Vec::new(),
    };
    let count = |crash| if crash == Crash::PowerCut { cuts } else { kills };
    let crashes = || options.stores.iter().flat_map(|store| store.crashes());
    let total = crashes().map(|&crash| count(crash)).sum();
    let mut done = 0;
    for &store in &options.stores {
        // A server runs as long as it is crashed.
        let _held = store.hold().transpose()?;
        for &crash in store.crashes() {
            let mut tell = |more: u64| {
                progress(store.name(), done, total);
                done += more;
            };
            report.crashes.push(match crash {
                Crash::PowerCut => power::row(store, cuts, &mut tell)?,
                _ => kill::row(store, crash, kills, &folder, options.writer, &mut tell)?,
            });
        }
    }
    progress("done", total, total);
    Ok(report)
}
