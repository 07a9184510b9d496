//! Backups of a running database to a file, and checking such files.
//!
//! The engine writes its own form ([`Engine::backup`](bobak_core::Engine::backup)). This module compresses that file if asked to, appends a
//! trailer with a checksum and the row counts, verifies the result, and renames it into place. `docs/backup.md` is the
//! contract and describes the formats byte by byte.

#[cfg(feature = "encryption")]
mod change_key;
mod checksum;
#[cfg(feature = "compress")]
mod compressed;
mod file_name;
mod file_type;
mod options;
mod plain;
mod report;
mod source_file;
mod staged;
mod trailer;
mod verify;
mod write;

pub use bobak_core::{BackupPhase, BackupProgress, MissingExtension, UnverifiedTable};
#[cfg(feature = "encryption")]
pub use change_key::change_key;
pub use file_name::{backup_file_name, is_backup_of};
pub use file_type::FileType;
pub use options::{BackupOptions, Compression};
pub use report::{BackupReport, Checksum};
pub use verify::{check, check_for};
pub use write::{backup, backup_to, clear_abandoned};

pub(crate) use staged::StagedCopy;
pub(crate) use verify::{check_with, other_engine, unpack};
pub(crate) use write::reject_existing;
