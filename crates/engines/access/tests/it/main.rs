//! Tests of the Access engine on files that other programs wrote or read.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod failures; // damaged, locked and foreign files
mod kills; // interrupted commits
mod peer; // programs that are not Bobak's
mod peers; // files of Bobak in their hands
mod reading; // tables, types, keys and values
mod suite; // the conformance suite
mod writing; // what is written and rejected

use std::io::Read;
use std::path::{Path, PathBuf};

const NAMES: [&str; 2] = ["v2000.mdb", "v2019.accdb"];

/// A file of `tests/files` in a folder.
fn unpacked(name: &str, folder: &Path) -> PathBuf {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/files/{name}.gz"));
    let mut bytes = Vec::new();
    let packed = std::fs::File::open(packed).unwrap();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}
