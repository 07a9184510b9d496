//! The log, for troubleshooting: in a file, on standard error, or off.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

/// How much is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Nothing.
    #[default]
    Off,
    /// Start, end and errors.
    Info,
    /// All requests as well.
    Debug,
}

/// A log. Lines that can't be written are lost.
#[derive(Debug, Default)]
pub struct Log {
    level: LogLevel,
    file: Option<RefCell<File>>,
    stderr: bool,
}

impl Log {
    /// A log that appends to a file, writes to standard error, or both.
    ///
    /// # Errors
    /// If the file can't be opened.
    pub fn new(level: LogLevel, file: Option<&OsStr>, stderr: bool) -> io::Result<Self> {
        let open = |name| OpenOptions::new().append(true).create(true).open(name);
        let file = match file {
            Some(name) if level > LogLevel::Off => Some(RefCell::new(open(name)?)),
            _ => None,
        };
        Ok(Self { level, file, stderr })
    }

    /// Logs what matters to an operator.
    pub fn info<D: Display>(&self, line: impl FnOnce() -> D) {
        if self.level >= LogLevel::Info {
            self.write("info", &line());
        }
    }

    /// Logs details.
    #[inline]
    pub fn debug<D: Display>(&self, line: impl FnOnce() -> D) {
        if self.level >= LogLevel::Debug {
            self.write("debug", &line());
        }
    }

    #[cold]
    fn write(&self, level: &str, line: &dyn Display) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let line = format!("{}.{:03} {level} {line}\n", now.as_secs(), now.subsec_millis());
        if let Some(file) = &self.file {
            let _ = file.borrow_mut().write_all(line.as_bytes());
        }
        if self.stderr {
            let _ = io::stderr().write_all(line.as_bytes());
        }
    }
}
