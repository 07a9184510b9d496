//! Reading files that may be databases that this process has open.

/// A file that may be an SQLite database. Closing a plain `File` would drop the POSIX locks that this process holds on
/// the same file, and with them the protection of an open database; this type avoids that.
#[cfg(feature = "sqlite")]
pub(super) type SourceFile = bobak_sqlite::SqliteFile;
/// A plain file: without SQLite this process has no databases with locks.
#[cfg(not(feature = "sqlite"))]
pub(super) type SourceFile = std::fs::File;
