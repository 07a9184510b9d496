//! Measures peak memory.

use peak_alloc::PeakAlloc;
use std::sync::{Mutex, PoisonError};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The peak of bytes that `work` allocates, beyond those allocated before.
pub(crate) fn peak(work: impl FnOnce()) -> usize {
    // Two at a time would measure each other.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    work();
    MEMORY.peak_usage().saturating_sub(before)
}
