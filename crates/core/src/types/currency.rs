//! Exact money: an integer with four decimals.

use crate::{Error, ErrorKind, Field, Result, Type, Value, ValueRef};
use std::fmt;
use std::str::FromStr;

/// An amount of money with four decimals, exact on every engine: stored as the amount times 10,000 in an
/// `i64`, so up to ±922,337,203,685,477.5807.
///
/// The operators `+`, `-`, `*` and [`sum`](Iterator::sum) panic at an overflow; the `try_` methods return an error.
/// SQL sums integers, so its sums are exact too.
///
/// ```
/// use bobak_core::Currency;
/// let price: Currency = "19.99".parse()?;
/// let total = price * 3 + Currency::from_units(5)?;
/// assert_eq!(total.to_string(), "64.97");
/// assert!(Currency::MAX.try_add(price).is_err());
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency(i64);

impl Currency {
    /// The stored integer of one unit: 10,000.
    pub const SCALE: i64 = 10_000;
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// The largest amount: 922,337,203,685,477.5807.
    pub const MAX: Self = Self(i64::MAX);
    /// The smallest amount: −922,337,203,685,477.5808.
    pub const MIN: Self = Self(i64::MIN);

    /// The amount with this stored integer: `from_scaled(12_345)` is 1.2345.
    #[inline]
    #[must_use]
    pub const fn from_scaled(scaled: i64) -> Self {
        Self(scaled)
    }

    /// The stored integer: the amount times 10,000.
    #[inline]
    #[must_use]
    pub const fn scaled(self) -> i64 {
        self.0
    }

    /// An amount of whole units.
    ///
    /// # Errors
    /// `OutOfRange` from 922,337,203,685,478 units on.
    pub fn from_units(units: i64) -> Result<Self> {
        units.checked_mul(Self::SCALE).map(Self).ok_or_else(overflow)
    }

    /// The amount nearest to a float; ties round away from zero.
    ///
    /// # Errors
    /// `OutOfRange` if the float is not finite or too large.
    pub fn from_f64(units: f64) -> Result<Self> {
        let scaled = (units * Self::SCALE as f64).round();
        // Both bounds are powers of two, exact as floats; NaN fails the comparison.
        if scaled >= i64::MIN as f64 && scaled < -(i64::MIN as f64) {
            Ok(Self(scaled as i64))
        } else {
            Err(overflow())
        }
    }

    /// The amount as a float: exact up to about 900 thousand million units, then rounded.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / Self::SCALE as f64
    }

    /// The sum.
    ///
    /// # Errors
    /// `OutOfRange` at an overflow.
    #[inline]
    pub fn try_add(self, other: Self) -> Result<Self> {
        self.0.checked_add(other.0).map(Self).ok_or_else(overflow)
    }

    /// The difference.
    ///
    /// # Errors
    /// `OutOfRange` at an overflow.
    #[inline]
    pub fn try_sub(self, other: Self) -> Result<Self> {
        self.0.checked_sub(other.0).map(Self).ok_or_else(overflow)
    }

    /// The amount times an integer.
    ///
    /// # Errors
    /// `OutOfRange` at an overflow.
    #[inline]
    pub fn try_mul(self, times: i64) -> Result<Self> {
        self.0.checked_mul(times).map(Self).ok_or_else(overflow)
    }

    /// The amount times `numerator / denominator`, rounded to the nearest; ties round away from zero. 19 % of
    /// a price is `price.try_scale(19, 100)`.
    ///
    /// # Errors
    /// `OutOfRange` if the result overflows or the denominator is 0.
    pub fn try_scale(self, numerator: i64, denominator: i64) -> Result<Self> {
        if denominator == 0 {
            return Err(Error::new(ErrorKind::OutOfRange, "an amount cannot be divided by 0"));
        }
        let product = i128::from(self.0) * i128::from(numerator);
        let divisor = i128::from(denominator);
        let (quotient, rest) = (product / divisor, product % divisor);
        let away = if (product < 0) == (divisor < 0) { 1 } else { -1 };
        let rounded = quotient + if rest.abs() * 2 >= divisor.abs() { away } else { 0 };
        i64::try_from(rounded).map(Self).map_err(|_| overflow())
    }

    /// The sum of many amounts. It overflows only if the result does, not if a partial sum does.
    ///
    /// # Errors
    /// `OutOfRange` at an overflow of the result.
    pub fn try_sum(amounts: impl IntoIterator<Item = Self>) -> Result<Self> {
        let sum: i128 = amounts.into_iter().map(|amount| i128::from(amount.0)).sum();
        i64::try_from(sum).map(Self).map_err(|_| overflow())
    }
}

impl fmt::Display for Currency {
    /// Two decimals, or four if needed: `19.90`, `0.0001`, `-3.00`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.unsigned_abs();
        let (units, rest) = (magnitude / 10_000, magnitude % 10_000);
        let text = if rest % 100 == 0 {
            format!("{units}.{:02}", rest / 100)
        } else {
            format!("{units}.{rest:04}")
        };
        f.pad_integral(self.0 >= 0, "", &text)
    }
}

impl FromStr for Currency {
    type Err = Error;

    /// Parses `-12`, `12.3`, `+12.3456`, `.5`. Rejects more than four decimals unless the rest is zero, so
    /// nothing is rounded silently.
    fn from_str(text: &str) -> Result<Self> {
        let bad = || Error::new(ErrorKind::Mismatch, format!("'{text}' is not an amount"));
        let (sign, digits) = match text.as_bytes() {
            [b'-', ..] => (-1, &text[1..]),
            [b'+', ..] => (1, &text[1..]),
            _ => (1, text),
        };
        let (units, decimals) = digits.split_once('.').unwrap_or((digits, ""));
        if units.is_empty() && decimals.is_empty()
            || !units.bytes().chain(decimals.bytes()).all(|b| b.is_ascii_digit())
            || decimals.bytes().skip(4).any(|b| b != b'0')
        {
            return Err(bad());
        }
        let places = decimals.bytes().chain(std::iter::repeat(b'0')).take(4);
        let mut scaled: i64 = 0;
        for digit in units.bytes().chain(places) {
            // Accumulates with the sign, because the magnitude of MIN does not fit.
            scaled = scaled
                .checked_mul(10)
                .and_then(|s| s.checked_add(sign * i64::from(digit - b'0')))
                .ok_or_else(overflow)?;
        }
        Ok(Self(scaled))
    }
}

impl Field for Currency {
    const TYPE: Type = Type::Currency;

    #[inline]
    fn to_value(&self) -> Result<Value<'_>> {
        Ok(Value::Int(self.0))
    }

    #[inline]
    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        match value {
            ValueRef::Int(scaled) => Ok(Self(scaled)),
            _ => Err(Error::mismatch("an amount (integer, times 10,000)", value)),
        }
    }
}

#[cold]
fn overflow() -> Error {
    Error::new(ErrorKind::OutOfRange, "the amount is beyond ±922337203685477.5807")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsing_the_text_form_returns_the_amount() {
        for (text, scaled, shown) in [
            ("0", 0, "0.00"),
            ("-0.0001", -1, "-0.0001"),
            ("12.3", 123_000, "12.30"),
            (".5", 5_000, "0.50"),
            ("+7.", 70_000, "7.00"),
            ("1.23450", 12_345, "1.2345"),
            ("922337203685477.5807", i64::MAX, "922337203685477.5807"),
            ("-922337203685477.5808", i64::MIN, "-922337203685477.5808"),
        ] {
            let amount: Currency = text.parse().unwrap();
            assert_eq!(amount.scaled(), scaled, "{text}");
            assert_eq!(amount.to_string(), shown);
            assert_eq!(shown.parse::<Currency>().unwrap(), amount);
        }
        for bad in ["", ".", "-", "1,5", "1.23456", "0x1", "1e3", "--1", "922337203685477.5808"] {
            assert!(bad.parse::<Currency>().is_err(), "{bad}");
        }
    }

    #[test]
    fn overflow_is_an_error_and_ties_round_away_from_zero() {
        let cent = Currency::from_scaled(100);
        assert_eq!(Currency::MAX.try_add(cent).unwrap_err().kind(), ErrorKind::OutOfRange);
        assert!(Currency::MIN.try_mul(-1).is_err());
        assert!(Currency::from_f64(f64::NAN).is_err() && Currency::from_f64(1e15).is_err());
        assert_eq!(Currency::from_f64(-0.00005).unwrap().scaled(), -1);
        assert_eq!(cent.try_scale(1, 200).unwrap().scaled(), 1);
        assert_eq!(cent.try_scale(-1, 200).unwrap().scaled(), -1);
        assert_eq!(Currency::from_scaled(-3).try_scale(1, -2).unwrap().scaled(), 2);
        assert!(cent.try_scale(1, 0).is_err());
        let all = [Currency::MAX, Currency::MAX, Currency::MIN, Currency::MIN, cent];
        assert_eq!(Currency::try_sum(all).unwrap().scaled(), 98);
    }
}
