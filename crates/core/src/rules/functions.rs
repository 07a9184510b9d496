//! What the derive's rules call: from stored values to typed functions.

use super::Verdict;
use crate::{Error, ErrorKind, Field, Result, Value, ValueRef};
use std::fmt::Display;
use std::ops::{Bound, RangeBounds};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a function of the program. A panic becomes an error: `WHAT panicked: …`.
///
/// # Errors
/// Those of the function; `Engine` if it panics.
pub fn catch_panic<R>(what: &str, function: impl FnOnce() -> Result<R>) -> Result<R> {
    // What the function may have left half done is discarded: the caller rolls the write back.
    catch_unwind(AssertUnwindSafe(function)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let message = format!("{what} panicked: {}", text.unwrap_or("without a message"));
        Err(Error::new(ErrorKind::Engine, message))
    })
}

/// The verdict of `range = …` on a value.
///
/// # Errors
/// As [`Field::from_value`].
pub fn check_range<V: Field + PartialOrd + Display>(
    value: ValueRef<'_>,
    range: &impl RangeBounds<V>,
) -> Result<Verdict> {
    let value = V::from_value(value)?;
    if range.contains(&value) {
        return Ok(Ok(()));
    }
    let low = match range.start_bound() {
        Bound::Included(low) => format!("at least {low}"),
        Bound::Excluded(low) => format!("more than {low}"),
        Bound::Unbounded => String::new(),
    };
    let high = match range.end_bound() {
        Bound::Included(high) => format!("at most {high}"),
        Bound::Excluded(high) => format!("less than {high}"),
        Bound::Unbounded => String::new(),
    };
    let and = if low.is_empty() || high.is_empty() { "" } else { " and " };
    Ok(Err(format!("must be {low}{and}{high}, not {value}")))
}

/// The ends of a range, as stored values.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeLimits {
    /// The low end.
    pub min: Bound<Value<'static>>,
    /// The high end.
    pub max: Bound<Value<'static>>,
}

/// The ends of a range of `range = …`.
#[must_use]
pub fn range_limits<V: Field>(range: &impl RangeBounds<V>) -> RangeLimits {
    let stored = |value: &V| value.to_value().map(Value::into_owned);
    let limit = |bound: Bound<&V>| match bound {
        Bound::Included(value) => stored(value).map_or(Bound::Unbounded, Bound::Included),
        Bound::Excluded(value) => stored(value).map_or(Bound::Unbounded, Bound::Excluded),
        Bound::Unbounded => Bound::Unbounded,
    };
    RangeLimits { min: limit(range.start_bound()), max: limit(range.end_bound()) }
}

/// The verdict of a validator on a value.
///
/// # Errors
/// As [`Field::from_value`].
pub fn check_with<V: Field, E: Display>(
    value: ValueRef<'_>,
    validator: impl FnOnce(&V) -> std::result::Result<(), E>,
) -> Result<Verdict> {
    let value = V::from_value(value)?;
    Ok(validator(&value).map_err(|message| message.to_string()))
}

/// The value that a normalizer makes of another one.
///
/// # Errors
/// As [`Field::from_value`] and [`Field::to_value`].
pub fn normalize_with<V: Field>(
    value: ValueRef<'_>,
    normalizer: impl FnOnce(V) -> V,
) -> Result<Value<'static>> {
    normalizer(V::from_value(value)?).to_value().map(Value::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Currency;

    #[test]
    fn the_ends_of_ranges_are_stored_values() {
        let limits = range_limits(&(Currency::ZERO..));
        assert_eq!(limits, RangeLimits { min: Bound::Included(0.into()), max: Bound::Unbounded });
        assert_eq!(range_limits(&(..5_u8)).max, Bound::Excluded(5.into()));
    }

    #[test]
    fn ranges_say_what_they_accept() {
        let message = |verdict: Result<Verdict>| verdict.unwrap().err().unwrap_or_default();
        let int = ValueRef::Int(7);
        assert_eq!(message(check_range::<i64>(int, &(0..=7))), "");
        assert_eq!(
            message(check_range::<u8>(int, &(0..7))),
            "must be at least 0 and less than 7, not 7"
        );
        assert_eq!(message(check_range::<i64>(int, &(8..))), "must be at least 8, not 7");
        assert_eq!(message(check_range::<i64>(int, &(..=6))), "must be at most 6, not 7");
        let float = ValueRef::Float(1.5);
        assert_eq!(
            message(check_range::<f64>(float, &(0.0..=1.0))),
            "must be at least 0 and at most 1, not 1.5"
        );
        let price = ValueRef::Int(-5_000);
        let from_zero = check_range::<Currency>(price, &(Currency::ZERO..));
        assert_eq!(message(from_zero), format!("must be at least {}, not -0.50", Currency::ZERO));
    }
}
