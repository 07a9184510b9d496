//! A small generator of random numbers: the same program for the same seed, on every machine.

use bobak_core::Capabilities;

/// SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
    /// The capabilities of both engines, from which values and tables are chosen.
    pub(crate) capabilities: Capabilities,
}

impl Random {
    pub(crate) const fn new(seed: u64, capabilities: Capabilities) -> Self {
        Self { state: seed, capabilities }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `end` - 1; 0 for an `end` of 0.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// A number from `low` to `high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True `percent` times of a hundred.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `choices`.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let place = self.below(from.len());
        from.get(place)
    }

    /// The index of one of the weights, chosen in proportion to them.
    pub fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut at = self.below(weights.iter().sum());
        for (place, weight) in weights.iter().enumerate() {
            if at < *weight {
                return place;
            }
            at -= weight;
        }
        0
    }
}
