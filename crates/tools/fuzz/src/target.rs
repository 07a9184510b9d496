//! A target: a decoder with what must hold.

use crate::meter;

/// A decoder, or a few related ones, and the properties that must hold.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it decodes.
    pub about: &'static str,
    /// The length of the longest input, in bytes.
    pub longest: usize,
    /// How many bytes of memory it may take for each byte of input, beyond 16 MiB.
    pub factor: usize,
    /// Decodes bytes; panics if a property does not hold.
    pub run: fn(&[u8]),
    /// Well-formed inputs to start with.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// The memory that any target may take: buffers of a fixed size, an engine, a connection.
const BASE: usize = 16 << 20;

impl Target {
    /// Runs it on an input, and checks the memory that it took.
    ///
    /// # Panics
    /// If a property does not hold.
    pub fn check(&self, input: &[u8]) {
        if input.len() > self.longest {
            return;
        }
        let taken = meter::peak(|| (self.run)(input));
        let most = BASE + self.factor * input.len();
        assert!(taken <= most, "{taken} bytes of memory for an input of {}", input.len());
    }

    /// Seeds repeated up to the longest input, to find decoders whose time is not linear.
    #[must_use]
    pub fn long_seeds(&self) -> Vec<Vec<u8>> {
        let seeds = (self.seeds)().into_iter().filter(|seed| !seed.is_empty());
        seeds.map(|seed| seed.iter().copied().cycle().take(self.longest).collect()).collect()
    }
}
