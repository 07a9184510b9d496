//! The modes in which SQLite is measured, and the settings that each of them means.

use std::path::Path;

use super::connection::Connection;
use crate::contender::Failure;
use crate::workload::Task;
use bobak_fault_vfs::Disk;

/// SQLite in one mode. What is not said here has SQLite's default value.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// The name of the raw contender, `raw sqlite …`.
    pub name: &'static str,
    /// In a file, or in memory.
    pub file: bool,
    /// The setting `journal_mode`.
    pub journal: &'static str,
    /// The setting `synchronous`.
    pub synchronous: &'static str,
    /// The setting `locking_mode`.
    pub locking: &'static str,
    /// Whether the file is encrypted, by SQLCipher's defaults and a raw key.
    pub key: bool,
    /// Whether it is on a [slow disk](crate::slow::disk).
    pub slow: bool,
}

/// The settings on which a rate can depend; both contenders of a pair must have the same values. The checkpoint of a WAL at
/// 1,000 pages is not among them: Bobak checkpoints where SQLite would. The first [`CACHE_SETTINGS`] are others for files that
/// Bobak encrypts, which have a larger cache.
pub const SETTINGS: [&str; 13] = [
    "cache_size",
    "cache_spill",
    "journal_mode",
    "synchronous",
    "locking_mode",
    "page_size",
    "mmap_size",
    "temp_store",
    "journal_size_limit",
    "foreign_keys",
    "auto_vacuum",
    "secure_delete",
    "encoding",
];

/// How many of them are about the cache.
pub const CACHE_SETTINGS: usize = 2;

impl Mode {
    pub const FILE_FULL: Self = Self::file("raw sqlite file full", "delete", "full", "normal");
    pub const FILE_OFF: Self = Self::file("raw sqlite file off", "delete", "off", "normal");
    pub const FILE_OFF_EXCLUSIVE: Self =
        Self::file("raw sqlite file off exclusive", "delete", "off", "exclusive");
    #[cfg(feature = "sqlcipher")]
    pub const ENCRYPTED: Self = Self {
        key: true,
        ..Self::file("raw sqlite file off exclusive aes", "delete", "off", "exclusive")
    };
    #[cfg(feature = "sqlcipher")]
    pub const ENCRYPTED_WAL: Self =
        Self { key: true, ..Self::file("raw sqlite file wal full aes", "wal", "full", "normal") };
    pub const WAL_FULL: Self = Self::file("raw sqlite file wal full", "wal", "full", "normal");
    pub const SLOW: Self =
        Self { slow: true, ..Self::file("raw sqlite disk 1 ms wal full", "wal", "full", "normal") };
    pub const WAL_NORMAL: Self =
        Self::file("raw sqlite file wal normal", "wal", "normal", "normal");
    pub const MEMORY: Self =
        Self { file: false, ..Self::file("raw sqlite memory", "memory", "full", "normal") };

    const fn file(
        name: &'static str,
        journal: &'static str,
        synchronous: &'static str,
        locking: &'static str,
    ) -> Self {
        Self { name, file: true, journal, synchronous, locking, key: false, slow: false }
    }

    /// Whether each row of `task` waits for the disk.
    pub fn syncs_each_row(self, task: Task) -> bool {
        self.file && self.synchronous == "full" && task.is_direct()
    }

    /// Opens a new database in `folder`, or on a disk, with these settings.
    pub fn open(self, folder: &Path, disk: Option<&Disk>) -> Result<Connection, Failure> {
        let path = self.file.then(|| folder.join("raw.db"));
        let connection = Connection::open(path.as_deref(), disk.map(Disk::vfs))?;
        let Self { journal, synchronous, locking, .. } = self;
        if self.key {
            let key = "07".repeat(32);
            // As much cache as Bobak gives each connection to an encrypted file.
            connection
                .execute(&format!("PRAGMA key = \"x'{key}'\"; PRAGMA cache_size = -16384;"))?;
        }
        connection.execute(&format!(
            "PRAGMA locking_mode = {locking}; PRAGMA journal_mode = {journal}; \
             PRAGMA synchronous = {synchronous};"
        ))?;
        Ok(connection)
    }
}

/// Asks a connection for its settings.
pub fn settings(connection: &Connection) -> Result<Vec<(String, String)>, Failure> {
    let mut settings = Vec::with_capacity(SETTINGS.len());
    for name in SETTINGS {
        let mut statement = connection.prepare(&format!("PRAGMA {name}"))?;
        let value = if statement.step()? { statement.text(0)?.to_owned() } else { String::new() };
        settings.push((name.to_owned(), value));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_sets_what_it_names() {
        let folder = tempfile::tempdir().expect("there is a folder for temporary files");
        let connection = Mode::FILE_OFF_EXCLUSIVE.open(folder.path(), None).expect("it is empty");
        let settings = settings(&connection).expect("every setting can be asked for");
        let value = |name: &str| {
            settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
        };
        assert_eq!(value("journal_mode"), Some("delete"));
        assert_eq!(value("synchronous"), Some("0"));
        assert_eq!(value("locking_mode"), Some("exclusive"));
    }

    #[test]
    fn only_direct_inserts_with_full_sync_wait_for_the_disk() {
        assert!(Mode::WAL_FULL.syncs_each_row(Task::Direct));
        assert!(!Mode::WAL_FULL.syncs_each_row(Task::Batch));
        assert!(!Mode::WAL_NORMAL.syncs_each_row(Task::Direct));
        assert!(!Mode::MEMORY.syncs_each_row(Task::Direct));
    }
}
