//! The text of a value, as CSV files and tables show it: the form that `bobak import` reads back.
//!
//! | type | text |
//! |---|---|
//! | integers, floats | the shortest decimal text: `42`, `0.1`, `1e300` |
//! | `bool` | `true`, `false` |
//! | `date`, `time` | `2013-01-31`, `23:59:59.5` |
//! | `datetime`, `timestamp` | `2013-01-31T23:59:59`, and RFC 3339 in UTC: `2013-01-31T23:59:59Z` |
//! | `currency` | its exact decimals: `19.99` |
//! | `uuid` | with hyphens |
//! | vectors | JSON arrays: `[0.5,-1]` |
//! | bytes | base64 (RFC 4648, with padding) |
//!
//! An integer that the column's type can't mean, a date of the year 300,000, is written as itself.

use crate::vector;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bobak_core::{Currency, Date, DateTime, Field, Time, Timestamp, Type, Uuid, ValueRef};
use std::fmt::{Display, Write};

/// Adds the text of `value` to `out`; nothing for NULL.
pub fn write(out: &mut String, ty: Type, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => {}
        ValueRef::Text(text) => out.push_str(text),
        ValueRef::Float(float) => write_float(out, float),
        ValueRef::Int(integer) => write_integer(out, ty, integer),
        ValueRef::Bytes(bytes) => match ty {
            Type::Uuid if field::<Uuid>(out, value) => {}
            Type::Vector(_) if vector::write(out, bytes) => {}
            _ => BASE64.encode_string(bytes, out),
        },
    }
}

/// Adds a decimal point to the text of a float without one: among values of any type, only that distinguishes it from
/// an integer.
pub fn mark_as_float(text: &mut String) {
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        text.push_str(".0");
    }
}

/// Whether the value's text is a number in JSON too.
#[must_use]
pub fn is_number(ty: Type, value: ValueRef<'_>) -> bool {
    match value {
        ValueRef::Float(float) => float.is_finite(),
        ValueRef::Int(_) => !has_words(ty) || ty == Type::Currency,
        _ => false,
    }
}

fn write_integer(out: &mut String, ty: Type, integer: i64) {
    let value = ValueRef::Int(integer);
    let written = has_words(ty)
        && match ty {
            Type::Bool => field::<bool>(out, value),
            Type::Date => field::<Date>(out, value),
            Type::Time => field::<Time>(out, value),
            Type::DateTime => field::<DateTime>(out, value),
            Type::Timestamp => field::<Timestamp>(out, value),
            Type::Currency => field::<Currency>(out, value),
            _ => false,
        };
    if !written {
        out.push_str(itoa::Buffer::new().format(integer));
    }
}

/// Whether the type's integers are shown as something else.
const fn has_words(ty: Type) -> bool {
    matches!(
        ty,
        Type::Bool | Type::Date | Type::Time | Type::DateTime | Type::Timestamp | Type::Currency
    )
}

fn write_float(out: &mut String, float: f64) {
    let start = out.len();
    // `Debug` is the shortest text that reads back as the same float, with an exponent where the
    // digits would be many.
    push(out, format_args!("{float:?}"));
    if out.get(start..).is_some_and(|text| text.ends_with(".0")) {
        out.truncate(out.len() - 2);
    }
}

/// Adds the type's own text form, where the value is one of the type.
fn field<T: Field + Display>(out: &mut String, value: ValueRef<'_>) -> bool {
    T::from_value(value).map(|field| push(out, field)).is_ok()
}

fn push(out: &mut String, value: impl Display) {
    write!(out, "{value}").expect("writing to a String does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;
    use bobak_core::Value;

    fn text(ty: Type, value: ValueRef<'_>) -> String {
        let mut out = String::new();
        write(&mut out, ty, value);
        out
    }

    #[test]
    fn each_type_has_its_text_and_the_import_reads_it_back() {
        for (ty, value, expected) in [
            (Type::I64, Value::Int(i64::MIN), "-9223372036854775808"),
            (Type::F64, Value::Float(1012.0), "1012"),
            (Type::F64, Value::Float(10.357019999999999), "10.357019999999999"),
            (Type::F64, Value::Float(1e300), "1e300"),
            (Type::F64, Value::Float(-5e-324), "-5e-324"),
            (Type::Bool, Value::Int(1), "true"),
            (Type::Date, Value::Int(-1), "1969-12-31"),
            (Type::Time, Value::Int(86_399_500_000), "23:59:59.5"),
            (Type::DateTime, Value::Int(-1), "1969-12-31T23:59:59.999999"),
            (Type::Timestamp, Value::Int(1_357_034_400_000_000), "2013-01-01T10:00:00Z"),
            (Type::Currency, Value::Int(199_900), "19.99"),
            (Type::Text, Value::from("Namé, \"x\""), "Namé, \"x\""),
            (Type::Bytes, Value::from(&[0_u8, 1, 255][..]), "AAH/"),
            (Type::Vector(2), Value::from(&[0, 0, 0, 0x3f, 0, 0, 0x80, 0xbf][..]), "[0.5,-1]"),
            (Type::Uuid, Value::from(&[0xab_u8; 16][..]), "abababab-abab-abab-abab-abababababab"),
        ] {
            assert_eq!(text(ty, value.as_ref()), expected, "{ty:?}");
            assert_eq!(read::parse(ty, expected.as_bytes()), Ok(value), "{ty:?}");
        }
    }

    #[test]
    fn dates_of_all_years_come_back() {
        for ty in [Type::Date, Type::DateTime, Type::Timestamp] {
            let day = if ty == Type::Date { 1 } else { 86_400_000_000 };
            let (least, most) = ty.integer_range().expect("a range");
            for value in [least, -4_000_000 * day + 1, -719_529 * day, -719_528 * day, 0, most] {
                let written = text(ty, ValueRef::Int(value));
                let read = read::parse(ty, written.as_bytes());
                assert_eq!(read, Ok(Value::Int(value)), "{ty:?} {written}");
            }
        }
        let zoned = b"-000001-12-31T23:59:59-01:00";
        assert!(read::parse(Type::DateTime, zoned).is_err(), "an offset would be lost");
    }

    #[test]
    fn what_a_type_cannot_mean_is_written_as_it_is() {
        assert_eq!(text(Type::Date, ValueRef::Int(i64::MAX)), "9223372036854775807");
        assert_eq!(text(Type::Bool, ValueRef::Int(2)), "2");
        assert_eq!(text(Type::Timestamp, ValueRef::Text("soon")), "soon");
        assert_eq!(text(Type::Uuid, ValueRef::Bytes(&[1])), "AQ==");
        assert_eq!(text(Type::I64, ValueRef::Null), "");
    }
}
