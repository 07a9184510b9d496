//! Bobak's worked example: the flights that left New York on 2013-01-01, with their airlines,
//! airports, planes and weather, in a new SQLite file.
//!
//! `cargo run --release -p flights` takes the day that is shipped here (see `data/SOURCE.md`);
//! `cargo run --release -p flights -- FOLDER` the whole data set from a folder; a second argument
//! names the database file.

mod load;
mod records;
mod story;

use bobak::{Error, ErrorKind, Result};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("flights: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let bundled = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let folder = arguments.next().map_or_else(|| PathBuf::from(bundled), PathBuf::from);
    let file = arguments.next().map_or_else(|| PathBuf::from("flights.db"), PathBuf::from);
    if file.exists() {
        let message = format!("{} already exists: move it, or name another file", file.display());
        return Err(Error::new(ErrorKind::Config, message));
    }
    story::tell(&folder, &file, &mut std::io::stdout().lock())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_day_is_printed_completely() {
        let folder = tempfile::tempdir().unwrap();
        let data = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/data"));
        let mut output = Vec::new();
        story::tell(&data, &folder.path().join("flights.db"), &mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        for expected in [
            "842 flights",
            "UA  United Air Lines Inc.",
            "every flight of the file is there",
            "nothing of it stayed",
        ] {
            assert!(output.contains(expected), "'{expected}' is not in:\n{output}");
        }
    }
}
