//! Which texts are numbers that can be given back.
//!
//! A number is what JSON calls a number: an optional `-`, digits without a leading zero, then
//! optionally a point with digits, and an exponent. So `007`, `+5`, `.5`, `5.`, `1_000`, `0x1f`,
//! `NaN` and `inf` are texts, and so is each minus zero (`-0`, `-0.00`), which engines don't keep.
//!
//! An **integer** has neither point nor exponent and fits an `i64`. A **float** is a number that an
//! `f64` keeps: written again with as many significant digits as the text has, 17 at most, it has
//! the same digits. `1.50`, `1e5`, `0.1` and `48.053808600000004` qualify; `9007199254740993`,
//! `1e400`, `1e-400` and more than 17 digits do not. An export writes the shortest text that means
//! the same float: `48.0538086` for the fourth.

/// The integer that `text` is, if it is one.
#[inline]
#[must_use]
pub fn integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    match digits {
        [] => return None,
        [b'0', ..] if digits.len() > 1 || negative => return None,
        _ if digits.len() > 19 => return None,
        _ => {}
    }
    // 19 digits fit a u64, so only the range with its sign must be checked.
    let mut magnitude = 0_u64;
    for &digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        magnitude = magnitude * 10 + u64::from(digit);
    }
    if negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// The float that `text` is, if it is a number that an `f64` keeps.
#[must_use]
pub fn float(text: &[u8]) -> Option<f64> {
    let digits = Digits::of(text)?;
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    digits.are_kept_by(value).then_some(value)
}

/// Whether [`float`] would return a number, for less work.
#[must_use]
pub fn is_float(text: &[u8]) -> bool {
    Digits::of(text).is_some_and(|digits| digits.are_surely_kept()) || float(text).is_some()
}

/// The integer that a JSON number represents in any notation: `5`, `5.0`, `-0.0`, `50e-1`. `None` if it has a fraction or
/// does not fit an `i64`.
#[must_use]
pub fn whole(text: &[u8]) -> Option<i64> {
    if let Some(integer) = integer(text) {
        return Some(integer);
    }
    let digits = Digits::parts(text)?;
    let zeros = usize::try_from(digits.exponent).ok().and_then(|e| e.checked_sub(digits.count));
    let zeros = match zeros {
        _ if digits.count == 0 => return Some(0),
        Some(zeros) if digits.exponent <= 19 => zeros,
        _ => return None,
    };
    // Nineteen digits are far from an i128's end.
    let all = digits.values().chain(std::iter::repeat_n(b'0', zeros));
    let magnitude = all.fold(0_i128, |sum, digit| sum * 10 + i128::from(digit - b'0'));
    i64::try_from(if digits.negative { -magnitude } else { magnitude }).ok()
}

/// The float nearest to a number, as far as that is what floats are for: fractions are rounded to
/// the nearest float. `None` for a whole number that none is, one beyond all floats, and one nearer
/// to 0 than them; and for what is no number.
#[must_use]
pub fn nearest(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
    let holds = match Digits::parts(text.as_bytes()) {
        Some(digits) if digits.count == 0 => true,
        Some(digits) if digits.is_whole() => digits.come_back_from(value),
        Some(_) => value != 0.0,
        // Rust's readers take `.5`, `5.` and `+5` too.
        None => value != 0.0 || !mantissa(text).contains(|c| matches!(c, '1'..='9')),
    };
    holds.then_some(value)
}

fn mantissa(text: &str) -> &str {
    text.split(['e', 'E']).next().unwrap_or_default()
}

/// Whether the integer is the same number as a float.
#[must_use]
pub fn fits_float(integer: i64) -> bool {
    // Up to 2^53 every integer is.
    integer.unsigned_abs() <= 1 << 53 || is_float(integer.to_string().as_bytes())
}

/// The significant digits of a number, without zeros at either end: `0.d₁d₂d₃… × 10^exponent`.
struct Digits<'a> {
    /// Digits, with at most one point among them.
    text: &'a [u8],
    count: usize,
    exponent: i32,
    negative: bool,
}

impl<'a> Digits<'a> {
    /// As [`parts`](Self::parts), for what engines keep.
    fn of(text: &'a [u8]) -> Option<Self> {
        // A negative zero has no decimal value of its own, and engines lose its sign.
        Self::parts(text).filter(|digits| digits.count > 0 || !digits.negative)
    }

    /// Takes a JSON number apart; `None` where the text is none.
    fn parts(text: &'a [u8]) -> Option<Self> {
        let (negative, rest) = match text {
            [b'-', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let whole = count_digits(rest);
        if whole == 0 || (whole > 1 && rest.first() == Some(&b'0')) {
            return None;
        }
        let (mantissa, after) = match rest.get(whole) {
            Some(b'.') => {
                let fraction = count_digits(rest.get(whole + 1..)?);
                if fraction == 0 {
                    return None;
                }
                rest.split_at_checked(whole + 1 + fraction)?
            }
            _ => rest.split_at_checked(whole)?,
        };
        let written = exponent(after)?;
        Self::trimmed(mantissa, whole, written, negative)
    }

    fn trimmed(mantissa: &'a [u8], whole: usize, exponent: i32, negative: bool) -> Option<Self> {
        let significant = |byte: &u8| matches!(byte, b'1'..=b'9');
        let Some(first) = mantissa.iter().position(significant) else {
            return Some(Self { text: &[], count: 0, exponent: 0, negative });
        };
        let last = mantissa.iter().rposition(significant)?;
        let text = mantissa.get(first..=last)?;
        let points = usize::from(text.contains(&b'.'));
        // Where the first digit stands: 1 for `5.2`, 0 for `0.52`, -1 for `0.052`.
        let place = if first < whole {
            i32::try_from(whole - first).ok()?
        } else {
            -i32::try_from(first - whole - 1).ok()?
        };
        let exponent = exponent.checked_add(place)?;
        Some(Self { text, count: text.len() - points, exponent, negative })
    }

    /// Fifteen decimal digits always survive an `f64` (C's `DBL_DIG`), far from its limits.
    fn are_surely_kept(&self) -> bool {
        self.count <= 15 && (-280..=300).contains(&self.exponent)
    }

    /// Whether `value`, written with as many digits, has the same digits at the same place.
    fn are_kept_by(&self, value: f64) -> bool {
        if self.are_surely_kept() {
            return true;
        }
        // From 18 digits on, no text tells more about an f64.
        self.count <= 17 && value.is_finite() && self.come_back_from(value)
    }

    /// Whether a number has no fraction.
    fn is_whole(&self) -> bool {
        usize::try_from(self.exponent).is_ok_and(|exponent| exponent >= self.count)
    }

    /// Whether a float that is finite, written with as many digits, has these.
    fn come_back_from(&self, value: f64) -> bool {
        // No f64 has more, and formats have an end too.
        if self.count > 800 {
            return false;
        }
        let written = format!("{value:.*e}", self.count.saturating_sub(1));
        Digits::of(written.as_bytes()).is_some_and(|kept| {
            kept.negative == self.negative
                && kept.exponent == self.exponent
                && kept.values().eq(self.values())
        })
    }

    fn values(&self) -> impl Iterator<Item = u8> {
        self.text.iter().copied().filter(|byte| *byte != b'.')
    }
}

#[inline]
fn count_digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The exponent at the end of a number; 0 if there is none.
fn exponent(text: &[u8]) -> Option<i32> {
    let digits = match text {
        [] => return Some(0),
        [b'e' | b'E', b'-' | b'+', digits @ ..] | [b'e' | b'E', digits @ ..] => digits,
        _ => return None,
    };
    // Beyond five digits no f64 follows, and a text it stays.
    if digits.is_empty() || digits.len() > 5 || count_digits(digits) != digits.len() {
        return None;
    }
    let magnitude = digits.iter().fold(0, |sum, digit| sum * 10 + i32::from(digit - b'0'));
    Some(if text.get(1) == Some(&b'-') { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_whose_text_comes_back() {
        for text in ["0", "7", "-7", "10", "9223372036854775807", "-9223372036854775808"] {
            assert_eq!(integer(text.as_bytes()).map(|i| i.to_string()).as_deref(), Some(text));
        }
        for text in [
            "",
            "-",
            "+5",
            "007",
            "-0",
            "00",
            "1.0",
            "1e3",
            " 1",
            "1 ",
            "1_000",
            "0x1f",
            "٣",
            "9223372036854775808",
            "-9223372036854775809",
            "99999999999999999999",
        ] {
            assert_eq!(integer(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn floats_are_those_whose_value_comes_back() {
        for text in [
            "0",
            "0.0",
            "1.5",
            "1.50",
            "-0.1",
            "10.357019999999999",
            "1e5",
            "1E+05",
            "2.5e-3",
            "1e22",
            "1e300",
            "123456789012345",
            "9007199254740992",
            "1.7976931348623157e308",
            "5e-324",
            "100000000000000000000",
            "0.1000000000000000000000",
            "41.1304722",
            "0.30000000000000004",
            "48.053808600000004",
            "0.10000000000000001",
            "-72.886806000000007",
        ] {
            assert!(is_float(text.as_bytes()), "{text:?}");
            let value = float(text.as_bytes()).expect("a float");
            assert_eq!(value, text.parse::<f64>().expect("parses"), "{text:?}");
        }
        for text in [
            "",
            "-",
            ".",
            ".5",
            "5.",
            "+1.5",
            "01.5",
            "-0",
            "-0.0",
            "-0e5",
            "1e",
            "1e+",
            "1e400",
            "-1e400",
            "1e-400",
            "9007199254740993",
            "12345678901234567",
            "0.1000000000000000055511151231257827",
            "NaN",
            "inf",
            "1.5 ",
            "1,5",
            "1e999999",
            "1.2.3",
            "0x1p3",
            "1e5x",
            "1.7976931348623159e308",
        ] {
            assert!(!is_float(text.as_bytes()), "{text:?}");
            assert_eq!(float(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn whole_numbers_are_exact_in_any_form() {
        for (text, number) in [
            ("5", 5),
            ("5.0", 5),
            ("5e0", 5),
            ("50e-1", 5),
            ("0.5E+1", 5),
            ("-0", 0),
            ("-0.00e7", 0),
            ("0.000", 0),
            ("1e18", 1_000_000_000_000_000_000),
            ("9007199254740993.0", 9_007_199_254_740_993),
            ("9223372036854775807.000", i64::MAX),
            ("-9.223372036854775808e18", i64::MIN),
        ] {
            assert_eq!(whole(text.as_bytes()), Some(number), "{text}");
        }
        for text in [
            "1.5",
            "1.00000000000000000001",
            "1e-400",
            "0.1",
            "9223372036854775808.0",
            "-9223372036854775809",
            "1e19",
            "1e400",
            "1e99999",
            "1e",
            "x",
            "",
        ] {
            assert_eq!(whole(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn floats_round_fractions_and_nothing_else() {
        let long = format!("0.1{}1", "0".repeat(2_000));
        for (text, number) in [
            ("0.1", 0.1),
            ("3.14159265358979323846", std::f64::consts::PI),
            ("1.00000000000000000001", 1.0),
            (&long, 0.1),
            ("1e300", 1e300),
            ("18446744073709551616", 18_446_744_073_709_551_616.0),
            ("9007199254740992.0", 9_007_199_254_740_992.0),
            ("-0.0", 0.0),
            ("0e5", 0.0),
            (".5", 0.5),
            ("+0.", 0.0),
            ("5e-324", 5e-324),
        ] {
            assert_eq!(nearest(text), Some(number), "{text}");
        }
        let long = format!("1{}1", "0".repeat(900));
        for text in [
            "9007199254740993.0",
            "9007199254740993",
            "100000000000000000001",
            "1e-400",
            ".1e-400",
            "1e400",
            "inf",
            "NaN",
            "x",
            &long,
        ] {
            assert_eq!(nearest(text), None, "{text}");
        }
    }

    #[test]
    fn the_short_way_agrees_with_the_long_one() {
        // A cheap pseudo-random walk over texts of up to 20 digits with points and exponents.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..50_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let digits = (state >> 8) % 10_u64.pow(1 + (state % 19) as u32);
            let text = format!("{digits}.{}e{}", (state >> 40) % 1000, (state >> 20) as i8);
            let Some(parsed) = Digits::of(text.as_bytes()) else { continue };
            let value: f64 = text.parse().expect("parses");
            let written = format!("{value:.*e}", parsed.count.max(1) - 1);
            let kept = Digits::of(written.as_bytes()).expect("a number");
            let same = kept.exponent == parsed.exponent && kept.values().eq(parsed.values());
            let expected = same && parsed.count <= 17;
            assert_eq!(is_float(text.as_bytes()), expected, "{text} is {written}");
        }
    }

    #[test]
    fn large_integers_are_floats_only_where_nothing_is_lost() {
        assert!(fits_float(0) && fits_float(-(1 << 53)) && fits_float(1 << 53));
        assert!(!fits_float((1 << 53) + 1));
        assert!(!fits_float(i64::MAX));
    }
}
