//! The distance of a stored vector: one pass over its bytes, in a fixed order of additions, so that every engine computes
//! the same number.

use super::{Metric, Nearest};
use crate::types::vector_numbers;
use std::ops::RangeInclusive;

/// Additions that do not depend on each other: the compiler makes vector instructions of them.
const PARTS: usize = 16;
type Block = [f32; PARTS];
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
            Metric::Cosine => {
                let (product, squares) = self.product_and_squares(stored);
                self.cosine(stored, product, squares)
            }
            Metric::Euclidean => {
                let squares = f64::from(self.sum(stored, |x, y| (x - y) * (x - y)));
                let is_plain = PLAIN.contains(&squares);
                let exact = || self.exact_sum(stored, |x, y| (x - y) * (x - y));
                if is_plain { squares } else { exact() }.sqrt()
            }
            Metric::Dot => {
                let product = self.sum(stored, |x, y| x * y);
                match product.is_finite() {
                    true => -f64::from(product),
                    false => -self.exact_sum(stored, |x, y| x * y),
                }
            }
        }
    }

    /// The sum of a stored vector's squares.
    pub fn squares(&self, stored: &[u8]) -> f32 {
        self.sum(stored, |x, _| x * x)
    }

    /// As [`distance`](Self::distance) by cosine, with the stored vector's [`squares`](Self::squares).
    #[inline]
    pub fn cosine_with(&self, stored: &[u8], squares: f32) -> f64 {
        self.cosine(stored, self.sum(stored, |x, y| x * y), squares)
    }

    #[inline]
    fn cosine(&self, stored: &[u8], product: f32, squares: f32) -> f64 {
        let (mut product, mut squares) = (f64::from(product), f64::from(squares));
        if !(PLAIN.contains(&squares) && PLAIN.contains(&self.squares)) {
            product = self.exact_sum(stored, |x, y| x * y);
            squares = self.exact_sum(stored, |x, _| x * x);
        }
        // A vector of zeros has no direction: it is as near as one at a right angle.
        if squares == 0.0 { 1.0 } else { 1.0 - product / (squares.sqrt() * self.squares.sqrt()) }
    }

    /// The sum over the pairs of numbers.
    /// | Not inlined: with other code around it, the compiler makes instructions of it that take twice the time.
    #[inline(never)]
    fn sum(&self, stored: &[u8], term: impl Fn(f32, f32) -> f32) -> f32 {
        let mut parts = [0.0; PARTS];
        self.each_block(stored, |x, y| {
            let pairs = x.iter().zip(y);
            parts.iter_mut().zip(pairs).for_each(|(part, (x, y))| *part += term(*x, *y));
        });
        total(&parts)
    }

    /// The sum of the products, and that of the stored numbers' squares, in one pass.
    #[inline(never)]
    fn product_and_squares(&self, stored: &[u8]) -> (f32, f32) {
        let (mut products, mut squares) = ([0.0; PARTS], [0.0; PARTS]);
        self.each_block(stored, |x, y| {
            products.iter_mut().zip(x.iter().zip(y)).for_each(|(part, (x, y))| *part += x * y);
            squares.iter_mut().zip(x).for_each(|(part, x)| *part += x * x);
        });
        (total_apart(&products), total_apart(&squares))
    }

    /// Passes the blocks of a stored vector with those of this one. Zeros fill the last one: they add nothing.
    #[inline]
    fn each_block(&self, stored: &[u8], mut each: impl FnMut(&Block, &Block)) {
        let (blocks, rest) = stored.as_chunks::<4>().0.as_chunks::<PARTS>();
        let (own_blocks, own_rest) = self.to.as_chunks::<PARTS>();
        for (block, own) in blocks.iter().zip(own_blocks) {
            each(&block.map(f32::from_le_bytes), own);
        }
        if !rest.is_empty() {
            let (mut last, mut own) = ([0.0; PARTS], [0.0; PARTS]);
            last.iter_mut().zip(rest).for_each(|(x, stored)| *x = f32::from_le_bytes(*stored));
            own.iter_mut().zip(own_rest).for_each(|(y, number)| *y = *number);
            each(&last, &own);
        }
    }

    /// A sum that neither overflows nor vanishes.
    #[cold]
    fn exact_sum(&self, stored: &[u8], term: impl Fn(f64, f64) -> f64) -> f64 {
        let pairs = vector_numbers(stored).zip(self.to);
        pairs.map(|(x, y)| term(f64::from(x), f64::from(*y))).sum()
    }
}

/// The sum of the parts: of halves, so that few additions wait for others.
fn total(parts: &Block) -> f32 {
    let [a, b, c, d]: [f32; 4] =
        std::array::from_fn(|at| (parts[at] + parts[at + 8]) + (parts[at + 4] + parts[at + 12]));
    (a + c) + (b + d)
}

/// As [`total`]. Not inlined: the compiler would mix the parts of two sums.
#[inline(never)]
fn total_apart(parts: &Block) -> f32 {
    total(parts)
}
