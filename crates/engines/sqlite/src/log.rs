//! The log of a file (`-wal`) while a backup reads a snapshot of it.
//!
//! Each commit that finds a thousand pages in the log moves them to the file. Past a snapshot that
//! can't be done: they gather, and the first commit after the backup would move them all, which
//! keeps that one writer waiting for half a second. So commits leave them to the backup.
//!
//! Nor can the log be used anew meanwhile: it grows, and file systems note new blocks when they are
//! synced, which makes a synced commit two to five times as slow as one over old blocks. So the
//! backup makes the log longer ahead, for many commits at once.

use crate::backup::beside;
use crate::engine::Inner;
use crate::ffi::WalHook;
use crate::settings::Synchronous;
use bobak_core::Result;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// A log of so many pages is moved to the file, as SQLite itself has it.
const MOVED_AT: u32 = 1_000;

/// The log is made longer where less than this is left of it, in bytes, and by so much.
const NEAR: u64 = 1 << 20;
const STRETCH: usize = 2 << 20;

/// The head of a log, and of each page in it, in bytes.
const HEAD: u64 = 32;
const PAGE_HEAD: u64 = 24;

/// What the connection that writes tells of its log, and is told.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pages: AtomicU32,
    /// How many backups move it themselves.
    held: AtomicUsize,
}

/// While it is there, commits leave the log's pages where they are.
#[derive(Debug)]
pub(crate) struct Held(Arc<Log>);

/// Where the log is made longer ahead.
#[derive(Debug)]
pub(crate) struct Stretch {
    file: File,
    page_size: u64,
}

impl Log {
    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        self.held.fetch_add(1, Ordering::Relaxed);
        Held(Arc::clone(self))
    }

    /// The bytes that its pages take.
    fn used(&self, page_size: u64) -> u64 {
        HEAD + u64::from(self.pages.load(Ordering::Relaxed)) * (PAGE_HEAD + page_size)
    }
}

impl WalHook for Log {
    fn after_commit(&self, pages: u32) -> bool {
        self.pages.store(pages, Ordering::Relaxed);
        pages >= MOVED_AT && self.held.load(Ordering::Relaxed) == 0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Stretch {
    /// `None` where commits do not wait for the disk, or the log is no file of the system's.
    pub(crate) fn of(inner: &Inner, page_size: u64) -> Option<Self> {
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
    pub(crate) fn make(&mut self, inner: &Inner) -> Result<()> {
        let room = self.length()?.saturating_sub(inner.log().used(self.page_size));
        if room >= NEAR {
            return Ok(());
        }
        let mut lease = inner.write()?;
        lease.spill_cursors();
        // Nobody else writes to the log then, in no process: what is past its end is free.
        lease.run("BEGIN IMMEDIATE")?;
        let made = self.write_zeros();
        lease.run("COMMIT")?;
        drop(lease);
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
