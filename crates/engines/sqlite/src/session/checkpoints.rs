//! The log of a file (`-wal`) while a backup reads a snapshot of it.
//!
//! Each commit that finds a thousand pages in the log moves them to the file. Past a snapshot that
//! can't be done: they linger, and the first commit after the backup would move them all, which
//! keeps that one writer waiting for half a second. So commits leave them to the backup.
//!
//! Nor can the log be used anew meanwhile: it grows, and file systems note new blocks when they are
//! synced, which makes a synced commit two to five times as slow as one over old blocks. So the
//! backup makes the log longer ahead, for many commits at once.

use crate::ffi::WalHook;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// A log of so many pages is moved to the file, as SQLite itself has it.
const CHECKPOINT_PAGES: u32 = 1_000;

/// The head of a log, and of each page in it, in bytes.
const HEAD: u64 = 32;
const PAGE_HEAD: u64 = 24;

/// What the connection that writes tells of its log, and is told.
#[derive(Debug, Default)]
pub(crate) struct CheckpointPolicy {
    pages: AtomicU32,
    /// How many backups move it themselves.
    held: AtomicUsize,
}

/// While it is there, commits leave the log's pages where they are.
#[derive(Debug)]
pub(crate) struct CheckpointHold(Arc<CheckpointPolicy>);

impl CheckpointPolicy {
    pub(crate) fn hold(self: &Arc<Self>) -> CheckpointHold {
        self.held.fetch_add(1, Ordering::Relaxed);
        CheckpointHold(Arc::clone(self))
    }

    /// The bytes that its pages take.
    pub(crate) fn used(&self, page_size: u64) -> u64 {
        HEAD + u64::from(self.pages.load(Ordering::Relaxed)) * (PAGE_HEAD + page_size)
    }
}

impl WalHook for CheckpointPolicy {
    fn after_commit(&self, pages: u32) -> bool {
        self.pages.store(pages, Ordering::Relaxed);
        pages >= CHECKPOINT_PAGES && self.held.load(Ordering::Relaxed) == 0
    }
}

impl Drop for CheckpointHold {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::Relaxed);
    }
}
