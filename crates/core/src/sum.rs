//! Sums of numbers: exact for integers, compensated for floats.

use crate::{Error, ErrorKind, Result, Value};

/// The sum of a column's numbers, as every engine computes it.
///
/// Integers are summed exactly, so only the total must fit in 64 bits, whatever the order of the rows. From the first
/// float on the sum is a float, compensated as in SQLite (Kahan-Babuška-Neumaier): two engines that see the same rows in
/// the same order compute the same float.
///
/// All bytes zero are an empty sum, and the alignment is at most 8 bytes: a C library may keep it.
///
/// ```
/// use bobak_core::{Sum, Value};
///
/// let mut sum = Sum::default();
/// for value in [i64::MAX, 1, -2] {
///     sum.add_integer(value);
/// }
/// assert_eq!(sum.total()?, Value::Int(i64::MAX - 1));
/// sum.add_float(0.5);
/// assert_eq!(sum.count(), 4);
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    /// The lower and the upper half of the integers' sum.
    low: u64,
    high: i64,
    count: i64,
    /// The sum from the first float on, and what rounding removed from it.
    float: f64,
    lost: f64,
    inexact: bool,
}

impl Sum {
    /// How many numbers it has.
    #[must_use]
    pub const fn count(&self) -> i64 {
        self.count
    }

    /// Adds an integer.
    pub fn add_integer(&mut self, integer: i64) {
        self.count += 1;
        if self.inexact {
            return self.step_integer(integer.into());
        }
        let (low, carries) = self.low.overflowing_add(integer.cast_unsigned());
        self.low = low;
        self.high += (integer >> 63) + i64::from(carries);
    }

    /// Removes an integer that was added, for frames of windows.
    pub fn remove_integer(&mut self, integer: i64) {
        self.count -= 1;
        if self.inexact {
            return self.step_integer(-i128::from(integer));
        }
        let (low, borrows) = self.low.overflowing_sub(integer.cast_unsigned());
        self.low = low;
        self.high -= (integer >> 63) + i64::from(borrows);
    }

    /// Adds a float.
    pub fn add_float(&mut self, value: f64) {
        self.count += 1;
        if !self.inexact {
            self.inexact = true;
            self.step_integer(self.integers());
        }
        self.step(value);
    }

    /// Removes a float that was added, for frames of windows.
    pub fn remove_float(&mut self, value: f64) {
        self.count -= 1;
        self.step(-value);
    }

    /// The sum; NULL if it has no numbers, or if it is NaN, as in SQLite.
    ///
    /// # Errors
    /// `OutOfRange` if a sum of integers does not fit in 64 bits.
    pub fn total(&self) -> Result<Value<'static>> {
        if self.count == 0 {
            return Ok(Value::Null);
        }
        if self.inexact {
            let float = self.as_float();
            return Ok(if float.is_nan() { Value::Null } else { Value::Float(float) });
        }
        i64::try_from(self.integers())
            .map(Value::Int)
            .map_err(|_| Error::new(ErrorKind::OutOfRange, "the sum is more than 64 bits hold"))
    }

    /// The sum as a float.
    #[must_use]
    pub fn as_float(&self) -> f64 {
        match (self.inexact, self.lost.is_finite()) {
            (false, _) => self.integers() as f64,
            (true, true) => self.float + self.lost,
            // With an infinite value the compensation is meaningless.
            (true, false) => self.float,
        }
    }

    fn integers(&self) -> i128 {
        (i128::from(self.high) << 64) | i128::from(self.low)
    }

    fn step_integer(&mut self, integer: i128) {
        // In two steps, each of which a float represents exactly.
        let small = if integer.unsigned_abs() < 1 << 52 { 0 } else { integer % 16_384 };
        self.step((integer - small) as f64);
        if small != 0 {
            self.step(small as f64);
        }
    }

    fn step(&mut self, value: f64) {
        let sum = self.float + value;
        self.lost += if self.float.abs() > value.abs() {
            (self.float - sum) + value
        } else {
            (value - sum) + self.float
        };
        self.float = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact_in_both_directions() {
        let mut sum = Sum::default();
        let values = [i64::MAX, i64::MAX, i64::MIN, -1, 0, 1, i64::MIN, 7, i64::MIN];
        let mut exact = 0;
        for value in values {
            sum.add_integer(value);
            exact += i128::from(value);
            assert_eq!(sum.integers(), exact);
        }
        for value in values {
            sum.remove_integer(value);
            exact -= i128::from(value);
            assert_eq!(sum.integers(), exact);
        }
        assert_eq!((exact, sum.count()), (0, 0));
        assert_eq!(sum.total().unwrap(), Value::Null);
    }

    #[test]
    fn floats_are_compensated_after_large_integers() {
        let mut sum = Sum::default();
        sum.add_integer((1 << 53) + 1);
        sum.add_float(0.5);
        sum.add_float(-0.5);
        sum.add_integer(-(1 << 53));
        assert_eq!(sum.total().unwrap(), Value::Float(1.0));
        sum.add_float(f64::INFINITY);
        assert_eq!(sum.total().unwrap(), Value::Float(f64::INFINITY));
        sum.add_float(f64::NEG_INFINITY);
        assert_eq!(sum.total().unwrap(), Value::Null);
    }
}
