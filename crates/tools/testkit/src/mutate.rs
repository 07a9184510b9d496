//! Mutations of seeds: the same ones each time.

/// Makes mutations.
#[derive(Clone, Debug)]
pub struct Mutator(u64);

/// Numbers at the edges of what fields hold.
const EDGES: [u64; 8] = [0, 1, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 0x7fff_ffff_ffff_ffff];

impl Mutator {
    /// One that makes the mutations of this number.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Changes a few bytes of an input, or takes some of another.
    #[must_use]
    pub fn mutate(&mut self, input: &[u8], other: &[u8], longest: usize) -> Vec<u8> {
        let mut bytes = input.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            let end = (at + 1 + self.below(16)).min(bytes.len());
            match self.below(7) {
                0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = self.next() as u8),
                1 => {
                    let bit = 1 << self.below(8);
                    bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= bit);
                }
                2 => bytes.insert(at, self.next() as u8),
                3 => drop(bytes.drain(at..end)),
                4 => {
                    let edge = EDGES.get(self.below(EDGES.len())).copied().unwrap_or_default();
                    let size = 1 << self.below(4);
                    let places = bytes.iter_mut().skip(at).take(size);
                    places.zip(edge.to_le_bytes()).for_each(|(place, byte)| *place = byte);
                }
                5 => {
                    let again = bytes.get(at..end).unwrap_or_default().to_vec();
                    drop(bytes.splice(at..at, again));
                }
                _ => {
                    let from = self.below(other.len() + 1);
                    let to = (from + self.below(64)).min(other.len());
                    let part = other.get(from..to).unwrap_or_default().to_vec();
                    drop(bytes.splice(at..at, part));
                }
            }
        }
        bytes.truncate(longest);
        bytes
    }

    /// A number below `end`; 0 for an `end` of 0.
    #[must_use]
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
