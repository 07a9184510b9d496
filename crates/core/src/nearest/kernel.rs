//! The distance of a stored vector: one pass over its bytes, in a fixed order of additions, so that every engine computes
//! the same number.

use super::{Metric, Nearest};
use crate::types::vector_numbers;
use std::ops::RangeInclusive;

/// Additions that do not depend on each other: the compiler makes vector instructions of them.
const PARTS: usize = 16;
/// Sums of squares in this range neither overflow as `f32` nor lose digits.
const PLAIN: RangeInclusive<f64> = 1e-30..=1e30;

/// A vector from which distances are measured.
pub(crate) struct Kernel<'n> {
    metric: Metric,
    to: &'n [f32],
    /// The sum of its squares.
    squares: f64,
}

impl<'n> Kernel<'n> {
    pub fn new(nearest: &'n Nearest) -> Self {
        let squares = nearest.to.iter().map(|y| f64::from(*y) * f64::from(*y)).sum();
        Self { metric: nearest.metric, to: &nearest.to, squares }
    }

    /// The distance of a stored vector, which has as many numbers.
    #[inline]
    pub fn distance(&self, stored: &[u8]) -> f64 {
        match self.metric {
            Metric::Cosine => self.cosine(stored),
            Metric::Euclidean => {
                let [squares] = self.sums(stored, |[sum], x, y| [sum + (x - y) * (x - y)]);
                let squares = f64::from(squares);
                let is_plain = PLAIN.contains(&squares);
                let exact = || self.exact_sum(stored, |x, y| (x - y) * (x - y));
                if is_plain { squares } else { exact() }.sqrt()
            }
            Metric::Dot => {
                let [product] = self.sums(stored, |[sum], x, y| [sum + x * y]);
                match product.is_finite() {
                    true => -f64::from(product),
                    false => -self.exact_sum(stored, |x, y| x * y),
                }
            }
        }
    }

    fn cosine(&self, stored: &[u8]) -> f64 {
        let [product, squares] =
            self.sums(stored, |[product, squares], x, y| [product + x * y, squares + x * x]);
        let (mut product, mut squares) = (f64::from(product), f64::from(squares));
        if !(PLAIN.contains(&squares) && PLAIN.contains(&self.squares)) {
            product = self.exact_sum(stored, |x, y| x * y);
            squares = self.exact_sum(stored, |x, _| x * x);
        }
        // A vector of zeros has no direction: it is as near as one at a right angle.
        if squares == 0.0 { 1.0 } else { 1.0 - product / (squares.sqrt() * self.squares.sqrt()) }
    }

    /// Sums over the pairs of numbers.
    #[inline]
    fn sums<const S: usize>(
        &self,
        stored: &[u8],
        add: impl Fn([f32; S], f32, f32) -> [f32; S],
    ) -> [f32; S] {
        let mut parts = [[0.0; S]; PARTS];
        let (blocks, rest) = stored.as_chunks::<4>().0.as_chunks::<PARTS>();
        let (own_blocks, own_rest) = self.to.as_chunks::<PARTS>();
        for (block, own) in blocks.iter().zip(own_blocks) {
            for ((part, x), y) in parts.iter_mut().zip(block).zip(own) {
                *part = add(*part, f32::from_le_bytes(*x), *y);
            }
        }
        for ((part, x), y) in parts.iter_mut().zip(rest).zip(own_rest) {
            *part = add(*part, f32::from_le_bytes(*x), *y);
        }
        let mut sums = [0.0; S];
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(sum, one)| *sum += one);
        }
        sums
    }

    /// A sum that neither overflows nor vanishes.
    #[cold]
    fn exact_sum(&self, stored: &[u8], term: impl Fn(f64, f64) -> f64) -> f64 {
        let pairs = vector_numbers(stored).zip(self.to);
        pairs.map(|(x, y)| term(f64::from(x), f64::from(*y))).sum()
    }
}
