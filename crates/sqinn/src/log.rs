//! What is going on, for those who look for a mistake: to a file, to standard error, or nowhere.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

/// How much is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    #[default]
    Off,
    /// Beginning, end, and what went wrong.
    Info,
    /// Every request too.
    Debug,
}

/// Writes lines; a line that can't be written is lost.
#[derive(Debug, Default)]
pub struct Log {
    level: Level,
    file: Option<RefCell<File>>,
    stderr: bool,
}

impl Log {
    /// A log to a file, at whose end it goes on, to standard error, or both.
    ///
    /// # Errors
    /// Where the file can't be opened.
    pub fn new(level: Level, file: Option<&OsStr>, stderr: bool) -> io::Result<Self> {
        let open = |name| OpenOptions::new().append(true).create(true).open(name);
        let file = match file {
            Some(name) if level > Level::Off => Some(RefCell::new(open(name)?)),
            _ => None,
        };
        Ok(Self { level, file, stderr })
    }

    /// Tells what matters to an operator.
    pub fn info<D: Display>(&self, line: impl FnOnce() -> D) {
        if self.level >= Level::Info {
            self.write("info", &line());
        }
    }

    /// Tells what happens.
    #[inline]
    pub fn debug<D: Display>(&self, line: impl FnOnce() -> D) {
        if self.level >= Level::Debug {
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
