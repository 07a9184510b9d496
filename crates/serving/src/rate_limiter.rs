//! Rate limits: a token bucket for each key, refilled over time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most buckets that are kept. Beyond it, full buckets are dropped first, then all.
const MAX_BUCKETS: usize = 100_000;

/// A token bucket for each key.
#[derive(Debug)]
pub struct RateLimiter<K> {
    /// How many tokens a bucket holds.
    capacity: f64,
    /// How many tokens a bucket gains in a second.
    rate: f64,
    buckets: Mutex<HashMap<K, Bucket>>,
}

/// The tokens of a bucket, and when they were counted.
type Bucket = (f64, Instant);

impl<K: Eq + Hash> RateLimiter<K> {
    /// Buckets of `capacity` tokens that refill within `period`.
    #[must_use]
    pub fn new(capacity: u32, period: Duration) -> Self {
        let capacity = f64::from(capacity.max(1));
        Self { capacity, rate: capacity / period.as_secs_f64(), buckets: Mutex::default() }
    }

    /// Takes a token.
    ///
    /// # Errors
    /// If the bucket is empty: how long until it holds one.
    pub fn acquire(&self, key: K) -> Result<(), Duration> {
        self.take(key, 1.0)
    }

    /// Takes a token if there is one.
    pub fn record(&self, key: K) {
        // An empty bucket stays empty: there is nothing else to record.
        let _ = self.take(key, 1.0);
    }

    /// Checks for a token without taking it.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    pub fn check(&self, key: K) -> Result<(), Duration> {
        self.take(key, 0.0)
    }

    fn take(&self, key: K, tokens: f64) -> Result<(), Duration> {
        let now = Instant::now();
        let refilled = |(level, since): &Bucket| {
            (level + now.duration_since(*since).as_secs_f64() * self.rate).min(self.capacity)
        };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_BUCKETS && !buckets.contains_key(&key) {
            buckets.retain(|_, bucket| refilled(bucket) < self.capacity);
            if buckets.len() >= MAX_BUCKETS {
                buckets.clear();
            }
        }
        let bucket = buckets.entry(key).or_insert((self.capacity, now));
        let level = refilled(bucket);
        let is_empty = level < 1.0;
        *bucket = (if is_empty { level } else { level - tokens }, now);
        if is_empty {
            return Err(Duration::from_secs_f64((1.0 - level) / self.rate));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_empties_and_refills() {
        let limiter = RateLimiter::new(2, Duration::from_millis(20));
        assert!(limiter.acquire("a").is_ok() && limiter.acquire("a").is_ok());
        let wait = limiter.acquire("a").unwrap_err();
        assert!(limiter.acquire("b").is_ok(), "each key has its own bucket");
        std::thread::sleep(wait);
        assert!(limiter.check("a").is_ok() && limiter.acquire("a").is_ok());
    }
}
