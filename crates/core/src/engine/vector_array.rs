//! The vectors of a table in memory, one after another.

use super::candidates::Candidates;
use crate::nearest::{Kernel, Metric, Nearest};
use crate::{Interrupt, Result};
use std::sync::OnceLock;

/// The number of vectors in a block of memory, and between two checks for an interrupt.
const BLOCK: usize = 256;

/// The vectors of a column with the integer keys of their rows. An engine that is slow at reading rows finds the nearest
/// ones in it, and reads only these.
pub struct VectorArray {
    keys: Vec<i64>,
    blocks: Vec<Vec<u8>>,
    /// The number of bytes of a vector.
    size: usize,
    /// For each vector the sum of its squares. Computed for the first query by cosine.
    squares: OnceLock<Vec<f32>>,
}

impl VectorArray {
    /// An array without vectors, for those of so many numbers.
    #[must_use]
    pub fn new(numbers: usize) -> Self {
        let size = numbers.max(1) * 4;
        Self { keys: Vec::new(), blocks: Vec::new(), size, squares: OnceLock::new() }
    }

    /// Adds a vector in its stored form. Returns `false` and leaves it out if it has another length, or if its key does not
    /// come after the one before.
    pub fn push(&mut self, key: i64, vector: &[u8]) -> bool {
        if vector.len() != self.size || self.keys.last().is_some_and(|last| *last >= key) {
            return false;
        }
        if self.keys.len().is_multiple_of(BLOCK) {
            self.blocks.push(Vec::with_capacity(BLOCK * self.size));
        }
        self.keys.push(key);
        self.blocks.last_mut().is_some_and(|block| {
            block.extend_from_slice(vector);
            true
        })
    }

    /// The number of bytes of memory that its vectors take.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.keys.len() * (self.size + size_of::<i64>() + size_of::<f32>())
    }

    /// The keys and the distances of the nearest vectors, at most so many, in the order of
    /// [`nearest_rows`](super::nearest_rows).
    ///
    /// # Errors
    /// `Interrupted`.
    pub fn nearest(&self, nearest: &Nearest, most: usize) -> Result<Vec<(i64, f64)>> {
        let kernel = Kernel::new(nearest);
        let vectors = || self.blocks.iter().flat_map(|block| block.chunks_exact(self.size));
        let squares = match nearest.metric {
            Metric::Cosine => {
                self.squares.get_or_init(|| vectors().map(|v| kernel.squares(v)).collect())
            }
            _ => [].as_slice(),
        };
        let mut candidates = Candidates::new(most, usize::cmp);
        for (number, block) in self.blocks.iter().enumerate() {
            Interrupt::check()?;
            let first = number * BLOCK;
            for (place, vector) in (first..).zip(block.chunks_exact(self.size)) {
                let distance = match squares.get(place) {
                    Some(squares) => kernel.cosine_with(vector, *squares),
                    None => kernel.distance(vector),
                };
                if candidates.may_have(distance) {
                    candidates.add(distance, place);
                }
            }
        }
        let key = |(distance, place): (f64, usize)| Some((*self.keys.get(place)?, distance));
        Ok(candidates.finish().into_iter().filter_map(key).collect())
    }
}
