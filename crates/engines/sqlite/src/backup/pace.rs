//! The number of pages per step of a backup, and the pauses between.

use std::time::Duration;

/// The target duration of a step: the longest time that others wait for it.
pub(super) const STEP: Duration = Duration::from_millis(4);

/// The pages of the first step, and the limits of all.
const FIRST_STEP_PAGES: u32 = 32;
const MIN_STEP_PAGES: u32 = 4;
const MAX_STEP_PAGES: u32 = 1 << 14;

/// Adapts the number of pages to the duration of the steps.
#[derive(Debug)]
pub(super) struct Pace {
    pages: u32,
    pauses: bool,
}

impl Pace {
    pub(super) fn new(pauses: bool) -> Self {
        Self { pages: FIRST_STEP_PAGES, pauses }
    }

    pub(super) fn pages(&self) -> u32 {
        self.pages
    }

    /// Copies everything that is left in one step.
    pub(super) fn hurry(&mut self) {
        self.pages = u32::MAX;
        self.pauses = false;
    }

    /// Pauses after a step, for twice its duration.
    pub(super) fn rest(&mut self, took: Duration) {
        if self.pages == u32::MAX {
            return;
        }
        if took > STEP {
            self.pages = (self.pages / 2).max(MIN_STEP_PAGES);
        } else if took < STEP / 2 {
            self.pages = (self.pages * 2).min(MAX_STEP_PAGES);
        }
        if self.pauses {
            std::thread::sleep((took * 2).clamp(Duration::from_millis(1), Duration::from_secs(1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_fitted_to_their_time() {
        let mut pace = Pace::new(false);
        for _ in 0..40 {
            pace.rest(Duration::from_micros(10));
        }
        assert_eq!(pace.pages(), MAX_STEP_PAGES);
        for _ in 0..40 {
            pace.rest(Duration::from_millis(50));
        }
        assert_eq!(pace.pages(), MIN_STEP_PAGES);
        pace.rest(Duration::from_millis(3));
        assert_eq!(pace.pages(), MIN_STEP_PAGES);
        pace.hurry();
        pace.rest(Duration::from_secs(1));
        assert_eq!(pace.pages(), u32::MAX);
    }
}
