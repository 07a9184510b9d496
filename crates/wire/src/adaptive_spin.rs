//! Spinning before parking.
//!
//! Waking a parked thread costs several times as much as a small request. If the last message arrived
//! within 100 µs, both ends therefore poll for up to 50 µs before they block. If nothing arrives in that
//! time, they block at once until a message has again arrived quickly. At most half of the CPUs spin, and
//! a spinning thread yields to any thread that has work.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long to poll before blocking.
const SPIN_LIMIT: Duration = Duration::from_micros(50);
/// After a message that arrived within this time, spinning is expected to pay.
const QUICK_THRESHOLD: Duration = Duration::from_micros(100);

/// How many threads of the process are spinning.
static SPINNING: AtomicUsize = AtomicUsize::new(0);

/// Decides whether the reader of one connection spins.
#[derive(Debug, Default)]
pub struct AdaptiveSpin {
    is_worthwhile: bool,
}

/// Counts a spinning thread.
struct SpinCount;

impl AdaptiveSpin {
    /// Whether spinning is expected to pay.
    #[inline]
    #[must_use]
    pub const fn is_worthwhile(&self) -> bool {
        self.is_worthwhile
    }

    /// Calls `poll` until it returns something; `None` if it is time to block.
    ///
    /// # Errors
    /// Those of `poll`.
    pub fn spin_until<R, E>(
        &mut self,
        mut poll: impl FnMut() -> Result<Option<R>, E>,
    ) -> Result<Option<R>, E> {
        let Some(_spinning) = SpinCount::begin().filter(|_| self.is_worthwhile) else {
            return Ok(None);
        };
        let start = Instant::now();
        loop {
            let found = poll()?;
            if found.is_some() {
                return Ok(found);
            }
            if start.elapsed() >= SPIN_LIMIT {
                self.is_worthwhile = false;
                return Ok(None);
            }
            std::thread::yield_now();
        }
    }

    /// Records how long the last message took to arrive.
    #[inline]
    pub fn record_wait(&mut self, time: Duration) {
        self.is_worthwhile = time < QUICK_THRESHOLD;
    }
}

impl SpinCount {
    fn begin() -> Option<Self> {
        static LIMIT: OnceLock<usize> = OnceLock::new();
        let limit = *LIMIT.get_or_init(|| {
            std::thread::available_parallelism()
                .map_or(1, |processors| (processors.get() / 2).max(1))
        });
        let spinning = Self;
        (SPINNING.fetch_add(1, Ordering::Relaxed) < limit).then_some(spinning)
    }
}

impl Drop for SpinCount {
    fn drop(&mut self) {
        SPINNING.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spinning_stops_after_a_slow_message_and_resumes_after_a_quick_one() {
        let mut spin = AdaptiveSpin::default();
        let mut polls = 0;
        let mut nothing = || -> Result<Option<()>, ()> {
            polls += 1;
            Ok(None)
        };
        assert_eq!(spin.spin_until(&mut nothing), Ok(None));
        spin.record_wait(Duration::from_micros(5));
        assert_eq!(spin.spin_until(&mut nothing), Ok(None));
        assert!(!spin.is_worthwhile(), "nothing arrived");
        assert_eq!(spin.spin_until(&mut nothing), Ok(None));
        assert!(polls > 0);
        spin.record_wait(Duration::from_millis(5));
        assert!(!spin.is_worthwhile());
        spin.record_wait(Duration::ZERO);
        assert_eq!(spin.spin_until(|| Ok::<_, ()>(Some(7))), Ok(Some(7)));
        assert!(spin.is_worthwhile());
        assert_eq!(spin.spin_until(|| Err::<Option<()>, _>("broken")), Err("broken"));
        assert_eq!(SPINNING.load(Ordering::Relaxed), 0);
    }
}
