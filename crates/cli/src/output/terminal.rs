//! The terminal, and output to standard output or a file.

use super::database_file;
use crate::error::{Error, Result};
use bobak::engine::AtomicFile;
use bobak::types::Timestamp;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The terminal, if there is one, and whether to write notes and progress.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    quiet: bool,
}

impl Terminal {
    /// With `quiet`, only results, errors and logs are written.
    #[must_use]
    pub const fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Writes a note, which is neither a result nor an error, to standard error.
    pub fn note(self, sentence: impl Display) {
        if !self.quiet {
            // If standard error is closed, the note is dropped.
            let _ = writeln!(io::stderr(), "{sentence}");
        }
    }

    /// Writes a line of a server's log with the time (RFC 3339) to standard error, also if `quiet` is set.
    pub fn log(self, line: impl Display) {
        let _ = writeln!(io::stderr(), "{} {line}", Timestamp::now());
    }

    /// Whether to draw progress: standard error is a terminal, and `quiet` is not set.
    #[must_use]
    pub fn draws_progress(self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// The width of the terminal on standard output; `None` if it is not a terminal.
    #[must_use]
    pub fn width(self) -> Option<usize> {
        let shown = io::stdout().is_terminal();
        let size = shown.then(terminal_size::terminal_size).flatten();
        size.map(|(width, _)| usize::from(width.0))
    }
}

/// The output for results: standard output, or a file that gets its name when it is complete.
pub enum OutputTarget {
    /// Standard output.
    Standard(BufWriter<io::Stdout>),
    /// An existing path that is not a regular file, such as a named pipe; written directly.
    Device(BufWriter<File>, PathBuf),
    /// A file that gets its name when it is complete. If the process is killed, the next output to the same name removes it.
    File(BufWriter<File>, Box<AtomicFile>),
    /// One of the others, compressed with gzip.
    Gzip(Box<GzEncoder<OutputTarget>>),
}

impl OutputTarget {
    /// The output, compressed with gzip if `is_gzip`.
    #[must_use]
    pub fn compressed(self, is_gzip: bool) -> Self {
        if is_gzip {
            Self::Gzip(Box::new(GzEncoder::new(self, Compression::default())))
        } else {
            self
        }
    }

    /// Opens the output: standard output if there is no path or the path is `-`.
    ///
    /// # Errors
    /// If the folder does not exist or is not writable; a usage error if the file is a database.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Self::Standard(BufWriter::with_capacity(64 * 1024, io::stdout())));
        };
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let file = File::options().write(true).open(path);
            let file =
                file.map_err(|error| Error::io(format_args!("open {}", path.display()), &error))?;
            return Ok(Self::Device(BufWriter::new(file), path.to_owned()));
        }
        database_file::check(path)?;
        let file = AtomicFile::create_numbered(path)?;
        let opened = File::options().write(true).open(file.path());
        let opened =
            opened.map_err(|error| Error::io(format_args!("open {}", path.display()), &error))?;
        Ok(Self::File(BufWriter::with_capacity(64 * 1024, opened), Box::new(file)))
    }

    /// Completes the output and renames the temporary file into place.
    ///
    /// # Errors
    /// If the output can't be written.
    pub fn finish(self) -> Result<()> {
        match self {
            Self::Standard(mut out) => out.flush().map_err(|error| Error::output(&error)),
            Self::Device(mut out, path) => out
                .flush()
                .map_err(|error| Error::io(format_args!("write {}", path.display()), &error)),
            Self::File(mut out, file) => {
                let path = file.target().to_owned();
                let writing = |error| Error::io(format_args!("write {}", path.display()), &error);
                out.flush().map_err(writing)?;
                file.commit().map_err(writing)
            }
            Self::Gzip(out) => out.finish().map_err(|error| Error::output(&error))?.finish(),
        }
    }
}

impl Write for OutputTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Standard(out) => out.write(bytes),
            Self::Device(out, _) => out.write(bytes),
            Self::File(out, _) => out.write(bytes),
            Self::Gzip(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Standard(out) => out.flush(),
            Self::Device(out, _) => out.flush(),
            Self::File(out, _) => out.flush(),
            Self::Gzip(out) => out.flush(),
        }
    }
}

/// Formats a number with thousands separators: `336,776`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a row count with time and rate: `336,776 rows in 0.91 s (370,083 rows/s)`.
#[must_use]
pub fn rate(rows: u64, time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let noun = if rows == 1 { "row" } else { "rows" };
    if seconds <= 0.0 {
        return format!("{} {noun}", count(rows));
    }
    // A rate beyond 2^64 rows per second is displayed as the maximum.
    let rate = (rows as f64 / seconds) as u64;
    format!("{} {noun} in {seconds:.2} s ({} rows/s)", count(rows), count(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(rate(1, Duration::from_millis(500)), "1 row in 0.50 s (2 rows/s)");
        assert_eq!(rate(10, Duration::ZERO), "10 rows");
    }

    #[test]
    fn a_file_appears_only_when_it_is_complete() {
        let folder = tempfile::tempdir().expect("makes a folder");
        let path = folder.path().join("out.csv");
        let mut output = OutputTarget::open(Some(&path)).expect("opens");
        output.write_all(b"half").expect("writes");
        drop(output);
        assert_eq!(std::fs::read_dir(folder.path()).expect("lists").count(), 0);
        let mut output = OutputTarget::open(Some(&path)).expect("opens");
        output.write_all(b"whole").expect("writes");
        output.finish().expect("finishes");
        assert_eq!(std::fs::read_to_string(&path).expect("reads"), "whole");
        let killed = folder.path().join("out.csv.1.7.new");
        std::fs::write(&killed, "half").expect("writes");
        OutputTarget::open(Some(&path)).expect("opens");
        assert!(!killed.exists());
        assert!(OutputTarget::open(Some(&folder.path().join("no/such/out.csv"))).is_err());
    }
}
