//! Reading files that may be databases.

use std::io;
use std::path::Path;

/// A file whose reading does no harm where this process has it open as a database.
#[cfg(feature = "sqlite")]
pub(crate) type Bytes = bobak_sqlite::SqliteFile;
/// A file: without SQLite this process has no databases with locks.
#[cfg(not(feature = "sqlite"))]
pub(crate) type Bytes = std::fs::File;

/// Opens a file that may be a database, to read its bytes.
///
/// # Errors
/// Those of the system's.
pub(crate) fn open(path: &Path) -> io::Result<Bytes> {
    Bytes::open(path)
}
