//! What an engine's backup takes and returns.

use crate::Result;
use std::fmt;
use std::path::Path;

/// A request for a backup. See [`Engine::backup`](crate::Engine::backup).
pub struct BackupJob<'a> {
    /// The file to write: it does not exist, or is empty.
    pub file: &'a Path,
    /// The path to which the caller will rename the file. `Misuse` if that is the database's own
    /// file.
    pub target: &'a Path,
    /// Whether to pause between steps, so that other sessions keep their speed. If `false`, the
    /// backup runs as fast as it can.
    pub pauses: bool,
    /// Called several times a second with the progress; its error cancels the backup.
    pub watch: &'a mut dyn FnMut(BackupProgress) -> Result<()>,
}

/// The format of an engine's backups. See [`Engine::backup_format`](crate::Engine::backup_format).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupFormat {
    /// The scheme of the URL that opens such a file as a database: `sqlite`.
    pub scheme: &'static str,
    /// The ending of the names of such files, without a dot: `db`.
    pub extension: &'static str,
}

/// The progress of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupProgress {
    /// The current phase.
    pub phase: BackupPhase,
    /// How many bytes of the database this phase has processed.
    pub done: u64,
    /// How many bytes there are in total; the number grows while other sessions write.
    pub of: u64,
}

/// A phase of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackupPhase {
    /// Copies the database.
    Copy,
    /// Reads the copy back and verifies it.
    Check,
    /// Compresses the copy.
    Compress,
}

/// The content of a backup file that was written or verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupContent {
    /// The tables and their numbers of rows, sorted by name.
    pub tables: Vec<(String, u64)>,
    /// Whether these numbers were compared with the database at the moment of the backup.
    pub compared: bool,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The tables that could be verified only in part. Empty unless the database uses collations or
    /// functions that other programs define.
    pub unverified: Vec<UnverifiedTable>,
}

/// A table that could be verified only in part.
///
/// Its pages, its number of rows and the number of its indexes' entries were verified. It was not
/// verified that each row is found in each index, nor that computed columns have valid values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnverifiedTable {
    /// The table's name.
    pub table: String,
    /// What a complete verification needs.
    pub needs: MissingExtension,
}

/// A collation or function that a table's definition uses and only another program defines.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissingExtension {
    /// A collation, by name.
    Collation(String),
    /// A function, by name.
    Function(String),
}

impl fmt::Display for MissingExtension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Collation(name) => write!(f, "the collation {name}"),
            Self::Function(name) => write!(f, "the function {name}"),
        }
    }
}

impl fmt::Display for UnverifiedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, needs } = self;
        write!(
            f,
            "whether the indexes and computed columns of table {table} fit its rows, which \
             requires {needs} of another program"
        )
    }
}

impl BackupContent {
    /// The number of rows of all tables.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|(_, rows)| rows).sum()
    }
}
