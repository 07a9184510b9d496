//! Hits and misses, counted without threads waiting for each other.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The number of counters. Threads are assigned to them round-robin.
const STRIPES: usize = 16;

/// Counters of a cache. A single counter raised by all threads would move between CPU caches with each hit, which takes
/// longer than the rest of the lookup.
#[derive(Debug, Default)]
pub(super) struct HitCounters([CounterStripe; STRIPES]);

/// Two cache lines, since processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct CounterStripe {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl HitCounters {
    #[inline]
    pub fn hit(&self) {
        self.own().hits.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    pub fn miss(&self) {
        self.own().misses.fetch_add(1, Ordering::Relaxed);
    }

    /// Hits and misses of all threads.
    pub fn sums(&self) -> (u64, u64) {
        let sum = |count: fn(&CounterStripe) -> &AtomicU64| {
            self.0.iter().map(|stripe| count(stripe).load(Ordering::Relaxed)).sum()
        };
        (sum(|stripe| &stripe.hits), sum(|stripe| &stripe.misses))
    }

    #[inline]
    fn own(&self) -> &CounterStripe {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static PLACE: usize = THREADS.fetch_add(1, Ordering::Relaxed) % STRIPES;
        }
        // A thread that is ending no longer has its thread-local value.
        &self.0[PLACE.try_with(|place| *place).unwrap_or(0)]
    }
}
