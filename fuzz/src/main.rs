//! The fuzz targets under libFuzzer: one program for all of them, since linking it takes longer than anything else.
//!
//! `BOBAK_FUZZ` says what it does: `list` shows the targets, `seeds:NAME:FOLDER` writes a target's seeds into a folder,
//! `long:NAME:FOLDER` those that are as long as may be, `run:NAME` is for libFuzzer. `cargo xtask fuzz` knows all that.
#![no_main]

use bobak_fuzz::{TARGETS, Target, find};
use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::process::exit;
use std::sync::OnceLock;

static TARGET: OnceLock<&Target> = OnceLock::new();

fuzz_target!(
    init: begin(),
    |input: &[u8]| {
        if let Some(target) = TARGET.get() {
            target.check(input);
        }
    }
);

/// Runs the requested action and exits, or chooses the target and lets libFuzzer continue.
fn begin() {
    let request = std::env::var("BOBAK_FUZZ").unwrap_or_default();
    let mut words = request.splitn(3, ':');
    let (verb, name, folder) = (words.next(), words.next(), words.next());
    let target = name.and_then(find);
    match (verb, target, folder) {
        (Some("list"), _, _) => {
            for target in TARGETS {
                println!("{}\t{}\t{}", target.name, target.longest, target.about);
            }
            exit(0);
        }
        (Some("seeds"), Some(target), Some(folder)) => write(&(target.seeds)(), folder),
        (Some("long"), Some(target), Some(folder)) => write(&target.long_seeds(), folder),
        (Some("run"), Some(target), None) => {
            let _ = TARGET.set(target);
        }
        _ => {
            eprintln!("`{request}` names no target: use `cargo xtask fuzz`");
            exit(2);
        }
    }
}

fn write(inputs: &[Vec<u8>], folder: &str) {
    for (number, input) in inputs.iter().enumerate() {
        if let Err(error) = std::fs::write(Path::new(folder).join(format!("seed-{number}")), input)
        {
            eprintln!("{folder} can't be written: {error}");
            exit(2);
        }
    }
    exit(0);
}
