//! Extends the write-ahead log while a backup holds it.

use crate::open::beside;
use crate::session::database::Database;
use crate::settings::Synchronous;
use bobak_core::Result;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};

/// The log is made longer where less than this is left of it, in bytes, and by so much.
const NEAR: u64 = 1 << 20;
const STRETCH: usize = 2 << 20;

/// Where the log is made longer ahead.
#[derive(Debug)]
pub(crate) struct WalExtension {
    file: File,
    page_size: u64,
}

impl WalExtension {
    /// `None` where commits do not wait for the disk, or the log is no file of the system's.
    pub(crate) fn of(inner: &Database, page_size: u64) -> Option<Self> {
        let settings = inner.settings();
        let synced = matches!(settings.synchronous, Synchronous::Full | Synchronous::Extra);
        if !synced || settings.vfs.is_some() || settings.read_only {
            return None;
        }
        // SQLite follows links, and keeps the log beside the file itself.
        let database = settings.path.as_deref()?.canonicalize().ok()?;
        let file = OpenOptions::new().write(true).open(beside(&database, "-wal")).ok()?;
        Some(Self { file, page_size })
    }

    /// Makes the log longer where its end is near.
    ///
    /// # Errors
    /// A full disk; `Busy`.
    pub(crate) fn make(&mut self, inner: &Database) -> Result<()> {
        let room = self.length()?.saturating_sub(inner.log().used(self.page_size));
        if room >= NEAR {
            return Ok(());
        }
        let mut pooled = inner.write()?;
        pooled.buffer_cursors();
        // Nobody else writes to the log then, in no process: what is past its end is free.
        pooled.run("BEGIN IMMEDIATE")?;
        let made = self.write_zeros();
        pooled.run("COMMIT")?;
        drop(pooled);
        // Zeros are no page of any log: whoever reads it stops before them.
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
    bobak_core::Error::io("make the log longer", error)
}
