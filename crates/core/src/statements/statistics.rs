//! The statistics of a shape of statements.

use super::Origin;
use crate::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

/// Times up to this one, in nanoseconds, are in the first bucket.
const SMALLEST: u64 = 256;
/// Buckets for each doubling: their bounds differ by an eighth or less.
const STEPS: usize = 8;
const DOUBLINGS: usize = 34;

/// What is known of the statements of one shape.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StatementStats {
    /// The name of the engine that ran them.
    pub engine: &'static str,
    /// The text without values, at most 4,000 characters: SQL as it was given, or an outline of a typed statement.
    pub text: Arc<str>,
    /// What they do, in lower case: `select`, `insert`, `update`, `begin`, …
    pub verb: Arc<str>,
    /// The table, if it is known.
    pub table: Option<Arc<str>>,
    /// How many ran.
    pub count: u64,
    /// How many of them failed.
    pub errors: u64,
    /// How many rows they returned or changed.
    pub rows: u64,
    /// The sum of their times. The time in which the program processes rows in a callback is included.
    pub total: Duration,
    /// The longest time.
    pub max: Duration,
    /// A time that 95 of 100 did not exceed, at most an eighth too long.
    pub p95: Duration,
    /// How long they waited for a connection of the pool, and to begin a transaction. Waiting inside of an engine's
    /// single writes is not known.
    pub waited: Duration,
    /// Where the last one came from.
    pub last_origin: Option<Origin>,
    /// Why the last one that failed did so.
    pub last_error: Option<ErrorKind>,
}

impl StatementStats {
    /// The average time.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let nanos = self.total.as_nanos() / u128::from(self.count.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// One execution.
pub(super) struct Execution {
    pub time: Duration,
    pub waited: Duration,
    pub rows: u64,
    pub error: Option<ErrorKind>,
    pub origin: Option<Origin>,
}

/// The statistics while they are collected.
pub(super) struct ShapeCounters {
    stats: StatementStats,
    /// How many executions took how long.
    buckets: Vec<u32>,
}

impl ShapeCounters {
    pub fn new(engine: &'static str, text: Arc<str>, verb: Arc<str>, table: Option<&str>) -> Self {
        let stats = StatementStats {
            engine,
            text,
            verb,
            table: table.map(Arc::from),
            count: 0,
            errors: 0,
            rows: 0,
            total: Duration::ZERO,
            max: Duration::ZERO,
            p95: Duration::ZERO,
            waited: Duration::ZERO,
            last_origin: None,
            last_error: None,
        };
        Self { stats, buckets: Vec::new() }
    }

    pub fn add(&mut self, execution: Execution) {
        let stats = &mut self.stats;
        stats.count += 1;
        stats.rows = stats.rows.saturating_add(execution.rows);
        stats.total = stats.total.saturating_add(execution.time);
        stats.waited = stats.waited.saturating_add(execution.waited);
        stats.max = stats.max.max(execution.time);
        if execution.error.is_some() {
            stats.errors += 1;
            stats.last_error = execution.error;
        }
        if execution.origin.is_some() {
            stats.last_origin = execution.origin;
        }
        if self.buckets.is_empty() {
            self.buckets = vec![0; STEPS * DOUBLINGS];
        }
        if let Some(count) = self.buckets.get_mut(bucket_of(execution.time)) {
            *count = count.saturating_add(1);
        }
    }

    /// Adds what a cursor of an execution has fetched, which took `before`, and now takes `time`.
    pub fn add_part(
        &mut self,
        before: Duration,
        time: Duration,
        rows: u64,
        error: Option<ErrorKind>,
    ) {
        let stats = &mut self.stats;
        stats.rows = stats.rows.saturating_add(rows);
        stats.total = stats.total.saturating_add(time.saturating_sub(before));
        stats.max = stats.max.max(time);
        if error.is_some() {
            stats.errors += 1;
            stats.last_error = error;
        }
        // The shape may have been forgotten meanwhile, and counted again from 0.
        let old = self.buckets.get_mut(bucket_of(before)).filter(|count| **count > 0);
        if let Some(count) = old {
            *count -= 1;
            if let Some(count) = self.buckets.get_mut(bucket_of(time)) {
                *count = count.saturating_add(1);
            }
        }
    }

    /// Adds the executions of another shape.
    pub fn merge(&mut self, other: &Self) {
        let (stats, added) = (&mut self.stats, &other.stats);
        stats.count += added.count;
        stats.errors += added.errors;
        stats.rows = stats.rows.saturating_add(added.rows);
        stats.total = stats.total.saturating_add(added.total);
        stats.waited = stats.waited.saturating_add(added.waited);
        stats.max = stats.max.max(added.max);
        stats.last_error = added.last_error.or(stats.last_error);
        self.buckets.resize(STEPS * DOUBLINGS, 0);
        for (count, added) in self.buckets.iter_mut().zip(&other.buckets) {
            *count = count.saturating_add(*added);
        }
    }

    pub fn total(&self) -> Duration {
        self.stats.total
    }

    pub fn snapshot(&self) -> StatementStats {
        StatementStats { p95: self.percentile().min(self.stats.max), ..self.stats.clone() }
    }

    fn percentile(&self) -> Duration {
        let all: u64 = self.buckets.iter().map(|count| u64::from(*count)).sum();
        let wanted = all - all / 20;
        let mut seen = 0;
        let reaches = |count: &u32| {
            seen += u64::from(*count);
            seen >= wanted
        };
        let bucket = self.buckets.iter().position(reaches).unwrap_or_default();
        Duration::from_nanos(upper_bound(bucket))
    }
}

/// The index of the bucket of a time.
fn bucket_of(time: Duration) -> usize {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    if nanos < SMALLEST {
        return 0;
    }
    let doubling = nanos.ilog2() - SMALLEST.ilog2();
    // The three bits after the first one.
    let step = (nanos >> (nanos.ilog2() - STEPS.ilog2())) as usize % STEPS;
    (doubling as usize * STEPS + step).min(STEPS * DOUBLINGS - 1)
}

/// The time that no member of a bucket exceeds, in nanoseconds.
const fn upper_bound(bucket: usize) -> u64 {
    let (doubling, step) = (bucket / STEPS, (bucket % STEPS) as u64);
    (SMALLEST << doubling) / STEPS as u64 * (STEPS as u64 + step + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_their_times() {
        let hour = 3_600_000_000_000;
        for nanos in [0, 1, 255, 256, 257, 1_000, 12_345, 999_999, 5_000_000_000, hour] {
            let bucket = bucket_of(Duration::from_nanos(nanos));
            assert!(upper_bound(bucket) >= nanos, "{nanos}");
            assert!(nanos < 256 || upper_bound(bucket) <= nanos + nanos / 8 + 1, "{nanos}");
        }
        assert_eq!(bucket_of(Duration::MAX), STEPS * DOUBLINGS - 1);
    }

    #[test]
    fn percentile_is_of_the_slow_ones() {
        let mut all = ShapeCounters::new("memory", "SELECT".into(), "select".into(), None);
        for micros in (0..100).map(|n| if n < 94 { 10 } else { 1_000 }) {
            let time = Duration::from_micros(micros);
            let (waited, error) = (Duration::ZERO, None);
            all.add(Execution { time, waited, rows: 2, error, origin: None });
        }
        let stats = all.snapshot();
        assert_eq!((stats.count, stats.rows, stats.errors), (100, 200, 0));
        assert_eq!((stats.p95, stats.max), (Duration::from_millis(1), Duration::from_millis(1)));
        assert_eq!(stats.mean(), Duration::from_nanos(69_400));
    }
}
