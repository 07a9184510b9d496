//! What a backup contains.

use super::Compression;
use bobak_core::change_log::is_change_log_table;
use bobak_core::{BackupContent, UnverifiedTable};

/// What a backup contains.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// The tables with their row counts, by name. Every row was counted in the backup itself.
    pub tables: Vec<(String, u64)>,
    /// Whether these counts were compared with the database's at the moment of the backup or, if a backup is checked,
    /// with those noted in it. False if the database has no write-ahead log and is large: counting would block its
    /// writers.
    pub compared: bool,
    /// The size of the uncompressed database, in bytes.
    pub bytes: u64,
    /// The size of the backup, in bytes.
    pub stored: u64,
    /// How it is compressed.
    pub compression: Compression,
    /// The result of comparing its checksum.
    pub checksum: Checksum,
    /// The tables that could not be verified completely, because they use collations or functions that only another
    /// program defines: their pages and row counts were checked, but not whether their indexes match their rows.
    pub unverified: Vec<UnverifiedTable>,
}

/// The result of comparing the checksum noted in a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Checksum {
    /// Every byte is as it was written.
    Same,
    /// There is no checksum: an older version made the backup, the file is a database and not a backup, or a write to
    /// it removed the checksum. Its pages fit together; a wrong byte within a value would not be noticed.
    Missing,
    /// A plain backup was opened and written to after it was made, so its checksum no longer applies. As `Missing`.
    Outdated,
}

impl BackupReport {
    pub(super) fn new(content: BackupContent, stored: u64, compression: Compression) -> Self {
        let BackupContent { tables, compared, bytes, unverified } = content;
        let checksum = Checksum::Same;
        Self { tables, compared, bytes, stored, compression, checksum, unverified }
    }

    /// The number of rows in all tables.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|(_, rows)| rows).sum()
    }

    /// The tables without those in which Bobak itself keeps the change log.
    pub fn user_tables(&self) -> impl Iterator<Item = (&str, u64)> {
        let rows = self.tables.iter().map(|(name, rows)| (&**name, *rows));
        rows.filter(|(name, _)| !is_change_log_table(name))
    }
}
