//! The server's `numeric`, as amounts and as digits.

use bobak_core::ValueRef;

/// An amount times 10,000 as `numeric`, whose digits are to the base of 10,000: they are the same.
pub(crate) fn encode_money(out: &mut Vec<u8>, scaled: i64) {
    let mut digits = [0_u16; 6];
    let mut rest = scaled.unsigned_abs();
    let mut first = digits.len();
    while rest > 0 {
        first -= 1;
        if let Some(digit) = digits.get_mut(first) {
            *digit = (rest % 10_000) as u16;
        }
        rest /= 10_000;
    }
    let used = digits.get(first..).unwrap_or_default();
    // The last digit is the fraction; the first one's weight is how many whole ones follow it.
    let weight = used.len() as i16 - 2;
    let kept = used.iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1);
    let used = used.get(..kept).unwrap_or_default();
    let sign: u16 = if scaled < 0 { 0x4000 } else { 0 };
    out.extend_from_slice(&(8 + 2 * used.len() as i32).to_be_bytes());
    out.extend_from_slice(&(used.len() as u16).to_be_bytes());
    out.extend_from_slice(&(if used.is_empty() { 0 } else { weight }).to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&4_u16.to_be_bytes());
    used.iter().for_each(|digit| out.extend_from_slice(&digit.to_be_bytes()));
}

/// Whether the modifier of a `numeric` says that its digits fit Bobak's money: four decimals at most, and
/// 15 digits before them. It holds both numbers, plus four.
pub(crate) const fn is_money(modifier: i32) -> bool {
    let (precision, scale) = ((modifier - 4) >> 16 & 0xffff, (modifier - 4) & 0x7ff);
    modifier >= 4 && scale <= 4 && precision - scale <= 15
}

/// The number of decimals of a `numeric` with this modifier, if its declaration has one.
pub(crate) const fn decimals(modifier: i32) -> Option<u32> {
    if modifier >= 4 { Some(((modifier - 4) & 0x7ff).unsigned_abs()) } else { None }
}

/// Whether the bytes of a [`Money`](super::value::ColumnFormat::Money) are an amount: a `numeric(19,4)` may also be NaN,
/// or beyond 64 bits.
pub(crate) fn is_amount(bytes: &[u8]) -> bool {
    // Numbers of few digits always are.
    matches!(bytes, [_, _, 0xff, 0xff, 0 | 0x40, 0, ..] | [_, _, 0, 0..=2, 0 | 0x40, 0, ..])
        || decode_money(bytes).is_some()
}

/// A `numeric`'s digits, each with its place's power of 10,000.
fn digits(bytes: &[u8]) -> Option<(bool, impl Iterator<Item = (i64, i32)>)> {
    let [_, _, w0, w1, s0, s1, _, _, rest @ ..] = bytes else { return None };
    let weight = i32::from(i16::from_be_bytes([*w0, *w1]));
    let sign = u16::from_be_bytes([*s0, *s1]);
    if !matches!(sign, 0 | 0x4000) {
        return None;
    }
    let (digits, _) = rest.as_chunks::<2>();
    let digits = digits.iter().map(|digit| i64::from(u16::from_be_bytes(*digit)));
    Some((sign != 0, digits.zip((0..).map(move |at| weight - at))))
}

/// A `numeric` times 10,000; `None` if that is not a 64-bit integer.
pub(crate) fn decode_money(bytes: &[u8]) -> Option<i64> {
    let (negative, digits) = digits(bytes)?;
    let mut total: i128 = 0;
    for (digit, power) in digits {
        let power = power + 1;
        if digit == 0 {
            continue;
        }
        let factor = 10_000_i128.checked_pow(u32::try_from(power).ok()?)?;
        total = total.checked_add(factor.checked_mul(digit.into())?)?;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

/// A `numeric` in its text form, exactly: an integer if it is whole and fits, otherwise its digits.
pub(crate) fn decode_exact(bytes: &[u8]) -> ValueRef<'_> {
    let Some(digits) = trimmed(bytes) else { return ValueRef::Null };
    digits.parse().map_or(ValueRef::Text(digits), ValueRef::Int)
}

/// The digits of a `numeric` in its text form, without zeros at the end of its decimals.
pub(crate) fn trimmed(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    Some(match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::value::tests::coded;
    use crate::protocol::value::{ColumnFormat, oid};

    #[test]
    fn money_keeps_every_digit() {
        for scaled in
            [0, 1, -1, 9_999, 10_000, -10_000, 123_456_789, 40_000_000, i64::MAX, i64::MIN]
        {
            let bytes = coded(scaled, oid::NUMERIC);
            assert_eq!(ColumnFormat::Money.decode(&bytes), ValueRef::Int(scaled), "{scaled}");
        }
    }

    #[test]
    fn numerics_are_exact() {
        use ValueRef::{Int, Text};
        for (text, exact, digits) in [
            ("7.0000", Int(7), "7"),
            ("-1.5000", Text("-1.5"), "-1.5"),
            ("100", Int(100), "100"),
            ("99999999999999999999.50", Text("99999999999999999999.5"), "99999999999999999999.5"),
            ("NaN", Text("NaN"), "NaN"),
        ] {
            assert_eq!(decode_exact(text.as_bytes()), exact);
            assert_eq!(ColumnFormat::Numeric.decode(text.as_bytes()), Text(digits));
        }
    }

    #[test]
    fn only_what_money_holds_is_money() {
        let modifier = |precision: i32, scale: i32| (precision << 16 | scale) + 4;
        for (precision, scale, format) in [
            (19, 4, ColumnFormat::Money),
            (10, 2, ColumnFormat::Money),
            (15, 0, ColumnFormat::Money),
            (30, 2, ColumnFormat::Numeric),
            (10, 5, ColumnFormat::Numeric),
            (16, 0, ColumnFormat::Numeric),
        ] {
            let found = ColumnFormat::of(oid::NUMERIC, modifier(precision, scale));
            assert_eq!(found, format, "numeric({precision},{scale})");
        }
        assert_eq!(ColumnFormat::of(oid::NUMERIC, -1), ColumnFormat::Numeric);
        for scaled in [0, 1, -5_000, 123_456_789, i64::MAX, i64::MIN] {
            assert!(is_amount(&coded(scaled, oid::NUMERIC)), "{scaled}");
        }
        assert!(!is_amount(&[0, 0, 0, 0, 0xc0, 0, 0, 0]), "NaN");
        assert!(!is_amount(&[0, 1, 0, 3, 0, 0, 0, 4, 0x03, 0x9b]), "923,000,000,000,000");
    }
}
