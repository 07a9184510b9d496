//! How much memory a long value of an SQLite file takes: a process of its own, since it looks at its peak.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests: a failure names its line")]

use bobak::prelude::*;
use std::io::{self, Read};

#[derive(Record)]
struct Recording {
    id: i64,
    sound: Option<Vec<u8>>,
}

/// The most memory that this process has had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
#[cfg(target_os = "linux")]
fn a_value_of_256_mib_takes_a_few_mib() {
    const LENGTH: u64 = 256 << 20;
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}?synchronous=off", folder.path().join("app.db").display());
    let db = Db::builder().record::<Recording>().open(&url).unwrap();
    db.create_missing_tables().unwrap();
    let recordings = db.table::<Recording>().unwrap();
    let id = recordings.insert(&Recording { id: 0, sound: None }).unwrap();
    let before = peak();
    recordings.write_blob(id, Recording::SOUND, LENGTH, io::repeat(7).take(LENGTH)).unwrap();
    let mut sound = recordings.read_blob(id, Recording::SOUND).unwrap().unwrap();
    assert_eq!(io::copy(&mut sound, &mut io::sink()).unwrap(), LENGTH);
    let taken = peak() - before;
    println!("{} MiB", taken >> 20);
    assert!(taken < 48 << 20, "{} MiB for a value of 256 MiB", taken >> 20);
}
