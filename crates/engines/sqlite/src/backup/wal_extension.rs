//! Extends the write-ahead log during a backup.
//! | While a backup reads a snapshot, the log cannot start over, so it grows. File systems record
//! newly allocated blocks at the next sync, which makes a synced commit two to five times as slow
//! as one over existing blocks. So the backup extends the log in advance, for many commits at
//! once.

use crate::open::beside;
use crate::session::database::Database;
use crate::settings::Synchronous;
use bobak_core::Result;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};

/// The log is extended if less than `NEAR` bytes of it are unused.
const NEAR: u64 = 1 << 20;
const STRETCH: usize = 2 << 20;

/// The log's file.
#[derive(Debug)]
pub(crate) struct WalExtension {
    file: File,
    page_size: u64,
}

impl WalExtension {
    /// `None` if commits do not wait for the disk, or the log is not a file of the operating
    /// system.
    pub(crate) fn of(inner: &Database, page_size: u64) -> Option<Self> {
        let settings = inner.settings();
        let synced = matches!(settings.synchronous, Synchronous::Full | Synchronous::Extra);
        if !synced || settings.vfs.is_some() || settings.is_read_only() {
            return None;
        }
        // SQLite resolves links, and keeps the log next to the actual file.
        let database = settings.path.as_deref()?.canonicalize().ok()?;
        let file = OpenOptions::new().write(true).open(beside(&database, "-wal")).ok()?;
        Some(Self { file, page_size })
    }

    /// Extends the log if its end is near.
    /// | # Errors
    /// `Full`; `Busy`.
    pub(crate) fn make(&mut self, inner: &Database) -> Result<()> {
        let room = self.length()?.saturating_sub(inner.log().used(self.page_size));
        if room >= NEAR {
            return Ok(());
        }
        let mut pooled = inner.write()?;
        pooled.buffer_cursors();
        // Now no process writes to the log, so nothing past its end is in use.
        pooled.run("BEGIN IMMEDIATE")?;
        let made = self.write_zeros();
        pooled.run("COMMIT")?;
        drop(pooled);
        // Zeros are not a valid page, so readers stop before them.
        made.and_then(|()| self.file.sync_data()).map_err(failed)
    }

    fn length(&self) -> Result<u64> {
        self.file.metadata().map(|metadata| metadata.len()).map_err(failed)
    }

    fn write_zeros(&mut self) -> std::io::Result<()> {
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(&vec![0; STRETCH])
    }
}

fn failed(error: std::io::Error) -> bobak_core::Error {
    bobak_core::Error::io("extend the write-ahead log", error)
}
