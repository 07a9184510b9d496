//! Exact arithmetic of amounts with other numbers.

use bobak_core::{Error, ErrorKind, Result, ValueRef};

/// A decimal number: `digits × 10^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: i128,
    exponent: i32,
}

/// The number of decimals of an amount.
const DECIMALS: i32 = 4;

impl Decimal {
    pub(crate) const fn int(digits: i64) -> Self {
        Self { digits: digits as i128, exponent: 0 }
    }

    /// The number that the literal, or the shortest decimal text of the float, says. `None` if it
    /// is not a number of at most 19 digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (units, decimals) = number.split_once('.').unwrap_or((number, ""));
        let decimals = decimals.trim_end_matches('0');
        let digits = format!("{units}{decimals}");
        if digits.trim_start_matches(['-', '+', '0']).len() > 19 {
            return None;
        }
        let digits = if digits.is_empty() { 0 } else { digits.parse().ok()? };
        let exponent = exponent.checked_sub(i32::try_from(decimals.len()).ok()?)?;
        Some(Self { digits, exponent })
    }

    /// A number of any digits, of which those after the fifth decimal are left out: enough to round it to an amount.
    pub(crate) fn parse_rounded(digits: &str) -> Option<Self> {
        let end = digits.find('.').map_or(digits.len(), |point| point + 6);
        Self::parse(digits.get(..end).unwrap_or(digits))
    }

    /// The nearest decimal number of a value; floats count as their shortest text.
    ///
    /// # Errors
    /// `Mismatch` for other values than numbers, `OutOfRange` for infinities.
    pub(crate) fn of(value: ValueRef<'_>) -> Result<Self> {
        match value {
            ValueRef::Int(number) => Ok(Self::int(number)),
            ValueRef::Float(number) => Self::parse(&format!("{number:e}")).ok_or_else(out_of_range),
            other => Err(Error::mismatch("a number next to an amount", other)),
        }
    }

    /// The stored integer of the amount; more than four decimals are rounded, ties away from zero.
    pub(crate) fn rounded_amount(self) -> Result<i64> {
        Self { exponent: self.exponent.saturating_add(DECIMALS), ..self }.to_int()
    }

    /// The stored integer of the amount, `None` if it has more than four decimals or is too large.
    pub(crate) fn exact_amount(self) -> Option<i64> {
        let scaled = Self { exponent: self.exponent.checked_add(DECIMALS)?, ..self };
        let power =
            10_i128.checked_pow(scaled.exponent.checked_neg().map_or(0, |e| e.max(0) as u32))?;
        (scaled.digits % power == 0).then(|| scaled.to_int().ok()).flatten()
    }

    /// The product with a stored amount, rounded.
    pub(crate) fn times(self, amount: i64) -> Result<i64> {
        let digits = self.digits.checked_mul(i128::from(amount)).ok_or_else(out_of_range)?;
        Self { digits, ..self }.to_int()
    }

    /// A stored amount divided by the number, rounded; `None` if it is 0.
    pub(crate) fn divide(self, amount: i64) -> Result<Option<i64>> {
        if self.digits == 0 {
            return Ok(None);
        }
        let power = 10_i128.checked_pow(self.exponent.unsigned_abs());
        let (dividend, divisor) = (i128::from(amount), self.digits);
        let scaled = if self.exponent < 0 {
            power.and_then(|power| Some((dividend.checked_mul(power)?, divisor)))
        } else {
            // A divisor that is too large for this is larger than any amount.
            let divisor = power.and_then(|power| divisor.checked_mul(power));
            Some((dividend, divisor.unwrap_or(i128::MAX)))
        };
        let (dividend, divisor) = scaled.ok_or_else(out_of_range)?;
        i64::try_from(rounded_quotient(dividend, divisor)).map(Some).map_err(|_| out_of_range())
    }

    fn to_int(self) -> Result<i64> {
        let power = 10_i128.checked_pow(self.exponent.unsigned_abs());
        let number = match power {
            _ if self.digits == 0 => Some(0),
            Some(power) if self.exponent >= 0 => self.digits.checked_mul(power),
            Some(power) => Some(rounded_quotient(self.digits, power)),
            None => (self.exponent < 0).then_some(0),
        };
        number.and_then(|number| i64::try_from(number).ok()).ok_or_else(out_of_range)
    }
}

/// The quotient, rounded; ties away from zero.
pub(crate) fn rounded_quotient(dividend: i128, divisor: i128) -> i128 {
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    let away = if (dividend < 0) == (divisor < 0) { 1 } else { -1 };
    quotient + if rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2) { away } else { 0 }
}

#[cold]
pub(crate) fn out_of_range() -> Error {
    Error::new(ErrorKind::OutOfRange, "the amount is beyond ±922337203685477.5807")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn literals_become_stored_amounts() {
        for (text, scaled) in [
            ("5", Some(50_000)),
            ("0.50", Some(5_000)),
            (".5", Some(5_000)),
            ("5.", Some(50_000)),
            ("1e3", Some(10_000_000)),
            ("1.5E-3", Some(15)),
            ("0.00005", None),
            ("922337203685477.5807", Some(i64::MAX)),
            ("922337203685477.5808", None),
            ("922337203685477.580", Some(9_223_372_036_854_775_800)),
            ("1e40", None),
            ("0", Some(0)),
        ] {
            let parsed = Decimal::parse(text).and_then(Decimal::exact_amount);
            assert_eq!(parsed, scaled, "{text}");
        }
        assert_eq!(Decimal::parse("0x10"), None);
    }

    #[test]
    fn products_and_quotients_are_rounded_away_from_zero() {
        assert_eq!(decimal("1.19").times(100_000).unwrap(), 119_000);
        assert_eq!(decimal("0.5").times(1).unwrap(), 1);
        assert_eq!(decimal("-0.5").times(1).unwrap(), -1);
        assert_eq!(decimal("1e-30").times(i64::MAX).unwrap(), 0);
        assert!(decimal("2").times(i64::MAX).is_err());
        assert_eq!(decimal("3").divide(100_000).unwrap(), Some(33_333));
        assert_eq!(decimal("-3").divide(200_000).unwrap(), Some(-66_667));
        assert_eq!(decimal("0.5").divide(1).unwrap(), Some(2));
        assert_eq!(decimal("1e300").divide(i64::MAX).unwrap(), Some(0));
        assert_eq!(decimal("0").divide(1).unwrap(), None);
        assert!(decimal("1e-300").divide(1).is_err());
        assert_eq!(Decimal::of(ValueRef::Float(0.07)).unwrap().rounded_amount().unwrap(), 700);
        assert_eq!(Decimal::of(ValueRef::Float(-0.00005)).unwrap().rounded_amount().unwrap(), -1);
        assert!(Decimal::of(ValueRef::Float(f64::INFINITY)).is_err());
    }
}
