//! Checkpoints of the write-ahead log (`-wal`), which a backup suspends.
//! | By default, a commit that leaves a thousand pages or more in the log checkpoints it: copies
//! them to the database file. It cannot copy pages that are newer than a backup's snapshot. They
//! would accumulate, and the first commit after the backup would copy them all and take half a
//! second. So commits do not checkpoint during a backup; the backup does it at its end.

use crate::ffi::WalHook;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The number of pages in the log that triggers a checkpoint, as in SQLite itself.
const CHECKPOINT_PAGES: u32 = 1_000;

/// The sizes of the log's header and of a page header in it, in bytes.
const LOG_HEADER_LENGTH: u64 = 32;
const PAGE_HEAD: u64 = 24;

/// Decides when commits checkpoint the log. Shared with the writing connection.
#[derive(Debug, Default)]
pub(crate) struct CheckpointPolicy {
    pages: AtomicU32,
    /// The number of holds.
    held: AtomicUsize,
}

/// Suspends checkpoints by commits until it is dropped.
#[derive(Debug)]
pub(crate) struct CheckpointHold(Arc<CheckpointPolicy>);

impl CheckpointPolicy {
    pub(crate) fn hold(self: &Arc<Self>) -> CheckpointHold {
        self.held.fetch_add(1, Ordering::Relaxed);
        CheckpointHold(Arc::clone(self))
    }

    /// The size of the log's pages, in bytes.
    pub(crate) fn used(&self, page_size: u64) -> u64 {
        LOG_HEADER_LENGTH + u64::from(self.pages.load(Ordering::Relaxed)) * (PAGE_HEAD + page_size)
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
