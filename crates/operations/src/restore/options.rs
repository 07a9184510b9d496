//! Options of a restore and of a replay.

use crate::backup_key::BackupKey;
use bobak_core::settings::{SettingKind, SettingValue};
use bobak_core::{Result, Timestamp, settings};
use std::path::PathBuf;

settings! {
    /// How a backup is restored.
    #[derive(Clone, PartialEq, Eq)]
    pub struct RestoreOptions with pub(super) settings {
        /// Replace an existing database once the restored one is verified.
        ///
        /// Without it, the restore fails with `Conflict`.
        overwrite: bool = false;
        /// The file with the key that the backup was encrypted with: 32 bytes, or 64 hexadecimal digits.
        ///
        /// The backup of an encrypted database has the key of the database, unless another was set later.
        key_file: Option<PathBuf> = None, key = "backup_key_file", unit = "a file", default_text = "none";
        /// The file with the password that the backup was encrypted with in its first line.
        ///
        /// As `backup_key_file`.
        password_file: Option<PathBuf> = None, key = "backup_password_file", unit = "a file",
            default_text = "none";
    }
    and {
        key: BackupKey,
        changes: Option<(PathBuf, ReplayOptions)>,
    }
}

impl RestoreOptions {
    /// To a file that does not exist yet, as of the moment of the backup.
    pub fn new() -> Self {
        Self::default()
    }

    /// The key that the backup was encrypted with.
    #[cfg(feature = "encryption")]
    pub fn key(mut self, key: bobak_encryption::EncryptionKey) -> Self {
        self.key = BackupKey::from(Some(key));
        self
    }

    /// The key of the backup, read from where a setting says.
    pub(crate) fn read_key(&self) -> Result<BackupKey> {
        self.key.read(self.key_file.as_deref(), self.password_file.as_deref())
    }

    /// Replays the changes of an [`Archive`](crate::archive::Archive)'s folder before the database is renamed into
    /// place: see [`replay`](super::replay()).
    pub fn changes(
        mut self,
        folder: impl Into<PathBuf>,
        options: impl Into<ReplayOptions>,
    ) -> Self {
        self.changes = Some((folder.into(), options.into()));
        self
    }
}

/// Where a replay ends. A transaction is replayed completely or not at all, unless [`ReplayOptions::partial`] is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryTarget {
    /// After all changes, except those at the end whose transaction may not be complete in the folder.
    End,
    /// After the change with this number. Rejected if no transaction is known to end with it.
    Change(u64),
    /// After the changes made before or at this moment, except those whose transaction may have been open then. A
    /// change has the time of its statement, not of the commit.
    Moment(Timestamp),
}

/// Written as a number, as a time such as `2026-11-22T04:00:00Z`, or as an empty text for the end.
impl SettingValue for RecoveryTarget {
    const KIND: SettingKind = SettingKind::Text;

    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::End);
        }
        let change = text.parse().map(Self::Change);
        change.ok().or_else(|| text.parse().map(Self::Moment).ok())
    }

    fn show(&self) -> String {
        match self {
            Self::End => String::new(),
            Self::Change(number) => number.to_string(),
            Self::Moment(at) => at.to_string(),
        }
    }
}

settings! {
    /// Where a replay ends, and whether it may apply a part of a transaction. A [`RecoveryTarget`] converts to this.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct ReplayOptions with pub settings {
        /// Replay up to this time, or up to this change number.
        until: RecoveryTarget = RecoveryTarget::End,
            unit = "a time such as 2026-11-22T04:00:00Z, or a number",
            default_text = "the end of the archive";
        /// Replay up to exactly that change, even if that splits a transaction.
        ///
        /// Without it, [`ReplayReport::left_out`](super::ReplayReport::left_out) counts the changes left out.
        partial: bool = false;
    }
}

impl ReplayOptions {
    /// Replays complete transactions up to the target.
    pub fn new(until: RecoveryTarget) -> Self {
        Self::default().until(until)
    }
}

impl From<RecoveryTarget> for ReplayOptions {
    fn from(until: RecoveryTarget) -> Self {
        Self::new(until)
    }
}
