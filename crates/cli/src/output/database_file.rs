//! Keeps results and rejected lines from replacing a database, or a file that the command reads.

use crate::error::{Error, Result};
use bobak::engine::file_of_url;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How files of databases begin, each from the byte at the number on.
const BEGINNINGS: [(usize, &[u8]); 7] = [
    (0, b"SQLite format 3\0"),
    (0, b"bobakAE1"),
    (0, b"BOBAKMEM"),
    (0, b"BOBAKENC"),
    (0, b"redb\x1a\x0a\xa9\x0d\x0a"),
    (4, b"Standard Jet DB\0"),
    (4, b"Standard ACE DB\0"),
];

/// Rejects a file to write that is a database by its first bytes.
///
/// # Errors
/// A usage error.
pub(super) fn check(path: &Path) -> Result<()> {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(32).read_to_end(&mut start));
    let begins = |(from, bytes): &(usize, &[u8])| {
        start.get(*from..).is_some_and(|rest| rest.starts_with(bytes))
    };
    match read {
        Ok(_) if BEGINNINGS.iter().any(begins) => Err(Error::usage(format!(
            "{} is a database, which the output would replace: name another file, or delete this one first",
            path.display()
        ))),
        // Whether the output can be written there, its writer finds out.
        _ => Ok(()),
    }
}

/// Rejects a file to write that is the file of one of these databases, or one of the files that the command reads.
///
/// # Errors
/// A usage error.
pub fn check_target<'a>(
    target: Option<&Path>,
    databases: impl IntoIterator<Item = &'a str>,
    read: &[&Path],
) -> Result<()> {
    let Some(file) = target.and_then(|path| path.canonicalize().ok()) else { return Ok(()) };
    let is_file = |other: &PathBuf| other.canonicalize().is_ok_and(|other| other == file);
    let what = if databases.into_iter().filter_map(file_of_url).any(|other| is_file(&other)) {
        "the database itself"
    } else if read.iter().any(|other| is_file(&other.to_path_buf())) {
        "the file that is read"
    } else {
        return Ok(());
    };
    let shown = target.unwrap_or(&file).display();
    Err(Error::usage(format!("{shown} is {what}: name another file for the output")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_not_replaced() {
        let folder = tempfile::tempdir().expect("makes a folder");
        let path = folder.path().join("a");
        for (from, bytes) in BEGINNINGS {
            std::fs::write(&path, [&vec![0; from], bytes, b"more"].concat()).expect("writes");
            check(&path).expect_err("is a database");
        }
        for other in [&b""[..], b"id,n\n", b"SQLite format 4"] {
            std::fs::write(&path, other).expect("writes");
            check(&path).expect("is none");
        }
        check(&folder.path().join("none")).expect("is none");
    }
}
