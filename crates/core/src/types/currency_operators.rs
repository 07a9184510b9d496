//! Operators of amounts, and their form for serde.

use super::Currency;
use crate::Result;
use serde_core::de::{self, Visitor};
use serde_core::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

/// The result of an operator, which cannot return an error.
#[track_caller]
#[allow(clippy::panic)] // As integers and `Decimal` types do; the `try_` methods return the error.
fn exact(result: Result<Currency>) -> Currency {
    match result {
        Ok(amount) => amount,
        Err(_) => panic!("an amount overflowed: use the try_ methods to handle this"),
    }
}

/// Panics if the sum overflows: [`try_add`](Currency::try_add) returns an error.
impl Add for Currency {
    type Output = Self;

    #[track_caller]
    fn add(self, other: Self) -> Self {
        exact(self.try_add(other))
    }
}

/// Panics if the difference overflows: [`try_sub`](Currency::try_sub) returns an error.
impl Sub for Currency {
    type Output = Self;

    #[track_caller]
    fn sub(self, other: Self) -> Self {
        exact(self.try_sub(other))
    }
}

/// Panics if the product overflows: [`try_mul`](Currency::try_mul) returns an error. A fraction of an amount is rounded,
/// so it has no operator: see [`try_scale`](Currency::try_scale).
impl Mul<i64> for Currency {
    type Output = Self;

    #[track_caller]
    fn mul(self, times: i64) -> Self {
        exact(self.try_mul(times))
    }
}

impl Mul<Currency> for i64 {
    type Output = Currency;

    #[track_caller]
    fn mul(self, amount: Currency) -> Currency {
        amount * self
    }
}

/// Panics for [`Currency::MIN`].
impl Neg for Currency {
    type Output = Self;

    #[track_caller]
    fn neg(self) -> Self {
        exact(self.try_mul(-1))
    }
}

impl AddAssign for Currency {
    #[track_caller]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Currency {
    #[track_caller]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

/// Panics if the result overflows: [`try_sum`](Currency::try_sum) returns an error.
impl Sum for Currency {
    #[track_caller]
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        exact(Self::try_sum(amounts))
    }
}

impl<'a> Sum<&'a Currency> for Currency {
    #[track_caller]
    fn sum<I: Iterator<Item = &'a Self>>(amounts: I) -> Self {
        amounts.copied().sum()
    }
}

/// A text such as `"19.90"`, since many programs read numbers as floats. Compact formats get the integer
/// [`scaled`](Currency::scaled).
impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_i64(self.scaled())
        }
    }
}

/// A text such as `"19.90"`, or a number, of which a float is rounded to four decimals.
impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(AmountVisitor)
        } else {
            i64::deserialize(deserializer).map(Self::from_scaled)
        }
    }
}

struct AmountVisitor;

impl Visitor<'_> for AmountVisitor {
    type Value = Currency;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an amount of money with at most four decimals")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Currency, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, units: i64) -> std::result::Result<Currency, E> {
        Currency::from_units(units).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, units: u64) -> std::result::Result<Currency, E> {
        self.visit_i64(i64::try_from(units).unwrap_or(i64::MAX))
    }

    fn visit_f64<E: de::Error>(self, units: f64) -> std::result::Result<Currency, E> {
        Currency::from_f64(units).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(text: &str) -> Currency {
        text.parse().unwrap()
    }

    #[test]
    fn operators_compute_exactly() {
        let mut total = amount("19.99") * 3 + amount("0.0001");
        total -= amount("1");
        total += 2 * amount("0.5");
        assert_eq!(total, amount("59.9701"));
        assert_eq!(-total - amount("0.0299"), amount("-60"));
        let all = [Currency::MAX, amount("1"), amount("-1")];
        assert_eq!(all.iter().sum::<Currency>(), Currency::MAX);
    }

    #[test]
    #[should_panic(expected = "an amount overflowed")]
    fn overflow_panics() {
        let _ = Currency::MAX + amount("0.0001");
    }

    #[test]
    fn serde_keeps_amounts_exact() {
        let text = serde_json::to_string(&Currency::MAX).unwrap();
        assert_eq!(text, r#""922337203685477.5807""#);
        assert_eq!(serde_json::from_str::<Currency>(&text).unwrap(), Currency::MAX);
        assert_eq!(serde_json::from_str::<Currency>("1.5").unwrap(), amount("1.5"));
        assert_eq!(serde_json::from_str::<Currency>("-3").unwrap(), amount("-3"));
        for wrong in [r#""1.00001""#, "1e30", "18446744073709551615", "true"] {
            assert!(serde_json::from_str::<Currency>(wrong).is_err(), "{wrong}");
        }
    }
}
