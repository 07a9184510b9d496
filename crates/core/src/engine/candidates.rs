//! The nearest rows so far.

use std::cmp::Ordering;

/// A bounded list of rows with their distances. `by_key` compares rows at equal distances.
pub(super) struct Candidates<T, F> {
    most: usize,
    by_key: F,
    found: Vec<(f64, T)>,
    /// Rows that are farther away are not among the nearest.
    farthest: f64,
}

impl<T, F: Fn(&T, &T) -> Ordering> Candidates<T, F> {
    pub const fn new(most: usize, by_key: F) -> Self {
        Self { most, by_key, found: Vec::new(), farthest: f64::INFINITY }
    }

    /// Whether a row at this distance may be among the nearest.
    #[inline]
    pub fn may_have(&self, distance: f64) -> bool {
        distance <= self.farthest
    }

    /// Adds a row, and drops the farthest ones from time to time.
    pub fn add(&mut self, distance: f64, row: T) {
        self.found.push((distance, row));
        if self.found.len() >= self.most.saturating_mul(2).saturating_add(64) {
            self.settle();
        }
    }

    /// The nearest, in order.
    pub fn finish(mut self) -> Vec<(f64, T)> {
        self.settle();
        self.found
    }

    fn settle(&mut self) {
        let by_key = &self.by_key;
        self.found.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| by_key(&a.1, &b.1)));
        self.found.truncate(self.most);
        if self.found.len() == self.most
            && let Some((distance, _)) = self.found.last()
        {
            self.farthest = *distance;
        }
    }
}
