//! Reads the bytes of a file that may be an open database.
//! | POSIX drops all of a process's locks on a file when the process closes any handle of it.
//! SQLite takes that into account for its own handles. So a file that this process may have open
//! as a database is read through SQLite.

use crate::ffi::{Connection, Failure, OpenFlags};
use crate::open::file_name;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// A file of any kind to be read byte by byte, though this process may have it open as a database:
/// closing a [`File`](std::fs::File) would drop the locks of that.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.db");
/// use bobak_sqlite::{Sqlite, SqliteFile};
/// use std::io::Read;
/// let _open = Sqlite::open(&path)?;
/// let mut first = [0; 6];
/// SqliteFile::open(&path)?.read_exact(&mut first)?;
/// assert_eq!(&first, b"SQLite");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SqliteFile {
    file: Connection,
    place: u64,
}

impl SqliteFile {
    /// Opens a file for reading.
    /// | # Errors
    /// I/O errors; `InvalidInput` if it is not a regular file, or SQLite does not accept its
    /// name.
    pub fn open(path: &Path) -> io::Result<Self> {
        let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, why);
        match fs::metadata(path)? {
            there if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            // Opening a pipe would wait for its other end.
            there if !there.is_file() => return Err(wrong("it is not a regular file")),
            _ => {}
        }
        let name = file_name(Some(path)).map_err(|error| wrong(error.message()))?;
        let flags = OpenFlags { read_only: true, create: false };
        let file = Connection::open(&name, flags, None).map_err(failed)?;
        Ok(Self { file, place: 0 })
    }
}

impl Read for SqliteFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_file(self.place, into).map_err(failed)?;
        self.place += read as u64;
        Ok(read)
    }
}

impl Seek for SqliteFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let from = |start: u64, by: i64| {
            let place = start.checked_add_signed(by);
            place.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
        };
        self.place = match to {
            SeekFrom::Start(place) => place,
            SeekFrom::Current(by) => from(self.place, by)?,
            SeekFrom::End(by) => from(self.file.file_size().map_err(failed)?, by)?,
        };
        Ok(self.place)
    }
}

fn failed(failure: Failure) -> io::Error {
    match failure.system {
        Some(number) => io::Error::from_raw_os_error(number),
        None => io::Error::other(failure.message),
    }
}
