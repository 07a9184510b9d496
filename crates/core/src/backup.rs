//! What an engine's backup takes and gives.

use crate::Result;
use std::fmt;
use std::path::Path;

/// A backup that is asked for. See [`Engine::backup`](crate::Engine::backup).
pub struct BackupJob<'a> {
    /// The new file: nothing is there, or an empty one.
    pub file: &'a Path,
    /// Where it is to be put when it is whole. `Misuse` where that is the database's own file.
    pub place: &'a Path,
    /// Whether to make pauses, so that others get on; else it is as quick as it can be.
    pub pauses: bool,
    /// Told how far it is, several times a second; its error ends the backup.
    pub watch: &'a mut dyn FnMut(BackupStep) -> Result<()>,
}

/// How far a backup is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupStep {
    /// What is being done.
    pub phase: BackupPhase,
    /// How many bytes of the database are done.
    pub done: u64,
    /// How many there are; it grows where others write.
    pub of: u64,
}

/// What a backup is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackupPhase {
    /// The database is copied.
    Copy,
    /// The copy is read and checked.
    Check,
    /// The copy is compressed.
    Compress,
}

/// What is in a file that an engine's backup has written, or that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupContent {
    /// The tables with the numbers of their rows, by name.
    pub tables: Vec<(String, u64)>,
    /// Whether these numbers were compared with those of the database at the moment of the backup.
    pub compared: bool,
    /// The size of the file.
    pub bytes: u64,
    /// The tables that could not be verified wholly; none but where other programs' collations or functions are used.
    pub unverified: Vec<Unverified>,
}

/// A table that was verified in part only. Its pages and the numbers of its rows and of its indexes' entries were; not
/// that each row is found in each index, nor that its computed columns have values that they may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unverified {
    /// The table's name.
    pub table: String,
    /// What it would have taken.
    pub needs: Foreign,
}

/// What a table's definition uses, and only another program has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// A collation, by its name.
    Collation(String),
    /// A function, by its name.
    Function(String),
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Collation(name) => write!(f, "the collation {name}"),
            Self::Function(name) => write!(f, "the function {name}"),
        }
    }
}

impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, needs } = self;
        write!(
            f,
            "whether the indexes and computed columns of table {table} fit its rows, which takes {needs} of another program"
        )
    }
}

impl BackupContent {
    /// How many rows all tables have.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|(_, rows)| rows).sum()
    }
}
