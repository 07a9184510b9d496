//! How often somebody may ask: a bucket of permits each, which fills again with time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most buckets that are kept; beyond them full ones are forgotten, and then all.
const MOST: usize = 100_000;

/// RateLimiter by who they are for.
#[derive(Debug)]
pub struct RateLimiter<K> {
    /// How many permits a bucket holds.
    size: f64,
    /// How many it gets in a second.
    rate: f64,
    all: Mutex<HashMap<K, (f64, Instant)>>,
}

impl<K: Eq + Hash> RateLimiter<K> {
    /// RateLimiter of `size` permits that fill within `period`.
    #[must_use]
    pub fn new(size: u32, period: Duration) -> Self {
        let size = f64::from(size.max(1));
        Self { size, rate: size / period.as_secs_f64(), all: Mutex::default() }
    }

    /// Takes a permit.
    ///
    /// # Errors
    /// How long there is to wait for one, where there is none.
    pub fn take(&self, who: K) -> Result<(), Duration> {
        self.level(who, 1.0)
    }

    /// Takes a permit, if there is one.
    pub fn count(&self, who: K) {
        // What was refused is refused all the same.
        let _ = self.level(who, 1.0);
    }

    /// Looks whether there is a permit, without taking it.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn look(&self, who: K) -> Result<(), Duration> {
        self.level(who, 0.0)
    }

    fn level(&self, who: K, taken: f64) -> Result<(), Duration> {
        let now = Instant::now();
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST && !all.contains_key(&who) {
            all.retain(|_, (level, since)| {
                *level + now.duration_since(*since).as_secs_f64() * self.rate < self.size
            });
            if all.len() >= MOST {
                all.clear();
            }
        }
        let (level, since) = all.entry(who).or_insert((self.size, now));
        *level = (*level + now.duration_since(*since).as_secs_f64() * self.rate).min(self.size);
        *since = now;
        if *level < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - *level) / self.rate));
        }
        *level -= taken;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_runs_dry_and_fills_again() {
        let buckets = RateLimiter::new(2, Duration::from_millis(20));
        assert!(buckets.take("a").is_ok() && buckets.take("a").is_ok());
        let wait = buckets.take("a").unwrap_err();
        assert!(buckets.take("b").is_ok(), "another's is another");
        std::thread::sleep(wait);
        assert!(buckets.look("a").is_ok() && buckets.take("a").is_ok());
    }
}
