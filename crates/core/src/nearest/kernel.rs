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

    fn cosine(&self, stored: &[u8]) -> f64 {
        let (product, squares) = self.product_and_squares(stored);
        let (mut product, mut squares) = (f64::from(product), f64::from(squares));
        if !(PLAIN.contains(&squares) && PLAIN.contains(&self.squares)) {
            product = self.exact_sum(stored, |x, y| x * y);
            squares = self.exact_sum(stored, |x, _| x * x);
        }
        // A vector of zeros has no direction: it is as near as one at a right angle.
        if squares == 0.0 { 1.0 } else { 1.0 - product / (squares.sqrt() * self.squares.sqrt()) }
    }

    /// The sum over the pairs of numbers.
    #[inline]
    fn sum(&self, stored: &[u8], term: impl Fn(f32, f32) -> f32) -> f32 {
        let mut parts = [0.0; PARTS];
        let (blocks, rest) = stored.as_chunks::<4>().0.as_chunks::<PARTS>();
        let (own_blocks, own_rest) = self.to.as_chunks::<PARTS>();
        for (block, own) in blocks.iter().zip(own_blocks) {
            for ((part, x), y) in parts.iter_mut().zip(block).zip(own) {
                *part += term(f32::from_le_bytes(*x), *y);
            }
        }
        for ((part, x), y) in parts.iter_mut().zip(rest).zip(own_rest) {
            *part += term(f32::from_le_bytes(*x), *y);
        }
        total(parts)
    }

    /// The sum of the products, and that of the stored numbers' squares, in one pass. Each has an array of its own: the compiler
    /// makes no vector instructions of pairs.
    #[inline]
    fn product_and_squares(&self, stored: &[u8]) -> (f32, f32) {
        let (mut products, mut squares) = ([0.0; PARTS], [0.0; PARTS]);
        let (blocks, rest) = stored.as_chunks::<4>().0.as_chunks::<PARTS>();
        let (own_blocks, own_rest) = self.to.as_chunks::<PARTS>();
        let add = |place: (&mut f32, &mut f32), x: &[u8; 4], y: f32| {
            let x = f32::from_le_bytes(*x);
            *place.0 += x * y;
            *place.1 += x * x;
        };
        for (block, own) in blocks.iter().zip(own_blocks) {
            let places = products.iter_mut().zip(&mut squares);
            places.zip(block).zip(own).for_each(|((place, x), y)| add(place, x, *y));
        }
        let places = products.iter_mut().zip(&mut squares);
        places.zip(rest).zip(own_rest).for_each(|((place, x), y)| add(place, x, *y));
        (total(products), total(squares))
    }

    /// A sum that neither overflows nor vanishes.
    #[cold]
    fn exact_sum(&self, stored: &[u8], term: impl Fn(f64, f64) -> f64) -> f64 {
        let pairs = vector_numbers(stored).zip(self.to);
        pairs.map(|(x, y)| term(f64::from(x), f64::from(*y))).sum()
    }
}

/// The sum of the parts, in their order.
fn total(parts: [f32; PARTS]) -> f32 {
    parts.iter().fold(0.0, |sum, part| sum + part)
}
