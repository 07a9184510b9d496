//! Waiting for the other side: awake at first, where it has been quick before.
//!
//! To sleep until the next message comes and to be woken by it takes several times as long as a
//! small request does. So both sides look for it a while before they sleep; and no longer do where
//! it did not come meanwhile, until it has come soon again.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long is looked before one sleeps.
const AWAKE: Duration = Duration::from_micros(50);
/// A message that came within this time would have been worth it.
const SOON: Duration = Duration::from_micros(100);

/// How many threads of the process are looking.
static LOOKING: AtomicUsize = AtomicUsize::new(0);

/// One who waits for messages of one connection.
#[derive(Debug, Default)]
pub struct AdaptiveSpin {
    quick: bool,
}

/// One of those who look.
struct Looking;

impl AdaptiveSpin {
    /// Whether looking may pay.
    #[inline]
    #[must_use]
    pub const fn is_worthwhile(&self) -> bool {
        self.quick
    }

    /// Looks again and again until something is there; `None` where it is time to sleep. At most
    /// one thread for each two processors does, and it steps back for any other that has work.
    ///
    /// # Errors
    /// Those of `look`.
    pub fn spin_until<R, E>(
        &mut self,
        mut look: impl FnMut() -> Result<Option<R>, E>,
    ) -> Result<Option<R>, E> {
        let Some(_looking) = Looking::begin().filter(|_| self.quick) else {
            return Ok(None);
        };
        let begun = Instant::now();
        loop {
            let found = look()?;
            if found.is_some() {
                return Ok(found);
            }
            if begun.elapsed() >= AWAKE {
                self.quick = false;
                return Ok(None);
            }
            std::thread::yield_now();
        }
    }

    /// Notes that a message came after so long a time, asleep or not.
    #[inline]
    pub fn record_wait(&mut self, time: Duration) {
        self.quick = time < SOON;
    }
}

impl Looking {
    fn begin() -> Option<Self> {
        static MOST: OnceLock<usize> = OnceLock::new();
        let most = *MOST.get_or_init(|| {
            std::thread::available_parallelism()
                .map_or(1, |processors| (processors.get() / 2).max(1))
        });
        let looking = Self;
        (LOOKING.fetch_add(1, Ordering::Relaxed) < most).then_some(looking)
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        LOOKING.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_only_where_it_paid_before() {
        let mut spin = AdaptiveSpin::default();
        let mut looks = 0;
        let mut nothing = || -> Result<Option<()>, ()> {
            looks += 1;
            Ok(None)
        };
        assert_eq!(spin.spin_until(&mut nothing), Ok(None));
        spin.record_wait(Duration::from_micros(5));
        assert_eq!(spin.spin_until(&mut nothing), Ok(None));
        assert!(!spin.is_worthwhile(), "it did not come");
        assert_eq!(spin.spin_until(&mut nothing), Ok(None));
        assert!(looks > 0);
        spin.record_wait(Duration::from_millis(5));
        assert!(!spin.is_worthwhile());
        spin.record_wait(Duration::ZERO);
        assert_eq!(spin.spin_until(|| Ok::<_, ()>(Some(7))), Ok(Some(7)));
        assert!(spin.is_worthwhile());
        assert_eq!(spin.spin_until(|| Err::<Option<()>, _>("broken")), Err("broken"));
        assert_eq!(LOOKING.load(Ordering::Relaxed), 0);
    }
}
