//! Random numbers that are the same for the same seed, on every machine and in every version.

/// A source of random numbers: SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The numbers of a seed for one purpose, apart from those for others.
    pub(crate) fn of(seed: u64, purpose: &str) -> Self {
        let hash = purpose.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut random = Self(seed ^ hash);
        random.number();
        random
    }

    /// Any number.
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`; 0 if that is 0.
    pub const fn below(&mut self, limit: u64) -> u64 {
        ((self.number() as u128 * limit as u128) >> 64) as u64
    }

    /// A number from `low` to `high`, both included; `low` if `high` is less.
    pub const fn between(&mut self, low: i64, high: i64) -> i64 {
        if high <= low {
            return low;
        }
        let width = (high as i128 - low as i128 + 1) as u128;
        let step = (self.number() as u128 * width) >> 64;
        (low as i128 + step as i128) as i64
    }

    /// One of the items; `None` if there is none.
    pub fn pick<'i, T>(&mut self, items: &'i [T]) -> Option<&'i T> {
        let place = self.below(items.len() as u64);
        usize::try_from(place).ok().and_then(|place| items.get(place))
    }

    /// Whether something happens that happens so often in a hundred cases.
    pub const fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
