//! From the text of one field to the value of its column's type.

use crate::{number, time, vector};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bobak_core::{Currency, Date, DateTime, Field, Time, Timestamp, Type, Uuid, Value, ValueRef};
use serde::de::IgnoredAny;

/// Reads `text` as a value of type `ty`; borrows it if possible.
///
/// A text whose type was inferred to be `ty` is always accepted. In addition, if nothing is lost, integers may have a `+`
/// and leading zeros, booleans may be `0`, `1`, `t`, `f`, `yes`, `no` in either case, and date-times may have any ISO 8601
/// form that jiff knows. Bytes are read as base64.
///
/// # Errors
/// The reason in words, to be appended to the name of the column: `"x" is not an i64`.
#[inline]
pub fn parse(ty: Type, text: &[u8]) -> Result<Value<'_>, String> {
    let value = match ty {
        Type::I64 => number::integer(text).map(Value::Int),
        Type::F64 => std::str::from_utf8(text).ok().and_then(float).map(Value::Float),
        Type::Text => return utf8(text).map(Value::from),
        Type::Date => time::date(text).map(Value::Int),
        Type::DateTime => time::date_time(text).map(Value::Int),
        Type::Timestamp => time::timestamp(text).map(Value::Int),
        _ => None,
    };
    value.map_or_else(|| parse_generously(ty, text), Ok)
}

#[cold]
fn parse_generously(ty: Type, text: &[u8]) -> Result<Value<'_>, String> {
    let text = utf8(text)?;
    let value = match ty {
        Type::Bool => boolean(text).map(Value::from),
        Type::F32 => float(text).and_then(narrow).map(Value::Float),
        Type::Uuid => field::<Uuid>(text),
        Type::Currency => text.parse().ok().map(|amount: Currency| Value::Int(amount.scaled())),
        Type::Time => field::<Time>(text),
        Type::DateTime if !has_zone(text) => field::<DateTime>(text),
        // A date's type would cut off a time of day.
        Type::Date if text.len() <= "-009999-12-31".len() => field::<Date>(text),
        Type::Timestamp => field::<Timestamp>(text),
        Type::Bytes => BASE64.decode(text).ok().map(Value::from),
        Type::Vector(length) => vector::parse(text, length).map(Value::from),
        Type::Json => serde_json::from_str::<IgnoredAny>(text).ok().map(|_| Value::from(text)),
        Type::Any => Some(any(text)),
        _ => ty.integer_range().and_then(|(least, most)| {
            text.parse().ok().filter(|i| (least..=most).contains(i)).map(Value::Int)
        }),
    };
    value.ok_or_else(|| match ty {
        Type::Time | Type::DateTime | Type::Timestamp if is_beyond_micros(text) => {
            format!("{} has nanoseconds: write at most six decimals of a second", shown(text))
        }
        _ => format!("{} is not {}", shown(text), with_article(ty)),
    })
}

fn utf8(text: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(text).map_err(|_| {
        format!("{} is not UTF-8: convert the file first", shown(&String::from_utf8_lossy(text)))
    })
}

fn float(text: &str) -> Option<f64> {
    match text {
        // As they are written.
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ => number::nearest(text),
    }
}

/// The nearest float of half the size, where that has a place for it.
fn narrow(float: f64) -> Option<f64> {
    let narrow = float as f32;
    let fits = narrow.is_finite() == float.is_finite() && (narrow == 0.0) == (float == 0.0);
    fits.then_some(f64::from(narrow))
}

fn boolean(text: &str) -> Option<bool> {
    const WORDS: [(&str, bool); 8] = [
        ("true", true),
        ("false", false),
        ("t", true),
        ("f", false),
        ("yes", true),
        ("no", false),
        ("1", true),
        ("0", false),
    ];
    WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|(_, truth)| *truth)
}

/// Whether a date-time names a zone or an offset, which its type would drop.
fn has_zone(text: &str) -> bool {
    // A year outside of 0000 to 9999 has a sign and six digits.
    let date = if text.starts_with(['-', '+']) { "-000001-12-31" } else { "0001-12-31" };
    let clock = text.get(date.len()..).unwrap_or_default();
    clock.contains(['Z', 'z', '+', '-', '['])
}

/// Reads a type by its own text form, unless storing the value loses what the text says.
fn field<T: Field>(text: &str) -> Option<Value<'static>> {
    if is_beyond_micros(text) {
        return None;
    }
    T::from_value(ValueRef::Text(text)).ok()?.to_value().ok().map(Value::into_owned)
}

/// Whether a text has decimals after the sixth one that are not 0.
fn is_beyond_micros(text: &str) -> bool {
    let fraction = text.rsplit_once('.').map_or("", |(_, after)| after);
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let beyond = fraction.get(..digits).and_then(|digits| digits.get(6..));
    beyond.is_some_and(|digits| digits.bytes().any(|digit| digit != b'0'))
}

/// The number that the text is, where it would come back from it, or else the text.
#[must_use]
pub fn any(text: &str) -> Value<'_> {
    number::integer(text.as_bytes())
        .map(Value::Int)
        .or_else(|| number::float(text.as_bytes()).map(Value::Float))
        .unwrap_or_else(|| Value::from(text))
}

/// The text in quotes, cut after 40 characters.
fn shown(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}

fn with_article(ty: Type) -> String {
    let article =
        if matches!(ty, Type::I8 | Type::I16 | Type::I32 | Type::I64) { "an" } else { "a" };
    match ty {
        Type::Bytes => "base64".to_owned(),
        Type::Json => "JSON".to_owned(),
        Type::Vector(length) => format!("a JSON array of {length} numbers that are an f32"),
        Type::Uuid => "a UUID".to_owned(),
        Type::Currency => "an amount of at most 4 decimals".to_owned(),
        Type::F32 | Type::F64 => format!("an {ty}", ty = ty.name()),
        _ => format!("{article} {}", ty.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(ty: Type, text: &str) -> String {
        parse(ty, text.as_bytes()).expect_err("rejected")
    }

    #[test]
    fn guessed_types_are_read_without_a_copy() {
        assert_eq!(parse(Type::I64, b"-42"), Ok(Value::Int(-42)));
        assert_eq!(parse(Type::F64, b"1012"), Ok(Value::Float(1012.0)));
        assert_eq!(parse(Type::Bool, b"true"), Ok(Value::Int(1)));
        assert_eq!(parse(Type::Date, b"1970-01-02"), Ok(Value::Int(1)));
        assert_eq!(parse(Type::Timestamp, b"1970-01-01T00:00:01Z"), Ok(Value::Int(1_000_000)));
        let text = parse(Type::Text, "Namé".as_bytes()).expect("text");
        assert!(matches!(text, Value::Text(std::borrow::Cow::Borrowed("Namé"))));
    }

    #[test]
    fn given_types_are_generous_where_nothing_is_lost() {
        assert_eq!(parse(Type::I64, b"+007"), Ok(Value::Int(7)));
        assert_eq!(parse(Type::U8, b"255"), Ok(Value::Int(255)));
        assert_eq!(parse(Type::F64, b".5"), Ok(Value::Float(0.5)));
        assert_eq!(parse(Type::F64, b"-inf"), Ok(Value::Float(f64::NEG_INFINITY)));
        assert_eq!(parse(Type::F32, b"inf"), Ok(Value::Float(f64::INFINITY)));
        assert_eq!(parse(Type::Any, b"inf"), Ok(Value::from("inf")));
        assert_eq!(rejected(Type::F32, "1e39"), "\"1e39\" is not an f32");
        assert_eq!(parse(Type::Bool, b"Yes"), Ok(Value::Int(1)));
        assert_eq!(parse(Type::DateTime, b"1970-01-01 00:00:01"), Ok(Value::Int(1_000_000)));
        assert_eq!(parse(Type::Timestamp, b"1970-01-01T01:00:00+01:00"), Ok(Value::Int(0)));
        assert_eq!(parse(Type::Timestamp, b"1970-01-01T00:00:00.000000000Z"), Ok(Value::Int(0)));
        assert_eq!(parse(Type::Bytes, b"AAH/"), Ok(Value::from(&[0_u8, 1, 255][..])));
        assert_eq!(parse(Type::Json, b"[1, 2]"), Ok(Value::from("[1, 2]")));
        assert_eq!(parse(Type::Any, b"7"), Ok(Value::Int(7)));
        assert_eq!(parse(Type::Any, b"007"), Ok(Value::from("007")));
        assert_eq!(parse(Type::Currency, b"-1.5"), Ok(Value::Int(-15_000)));
    }

    #[test]
    fn what_a_type_would_lose_is_rejected_in_words() {
        assert_eq!(rejected(Type::I64, "abc"), "\"abc\" is not an i64");
        assert_eq!(rejected(Type::U8, "256"), "\"256\" is not a u8");
        assert_eq!(rejected(Type::Bool, "maybe"), "\"maybe\" is not a bool");
        assert_eq!(
            rejected(Type::Date, "2013-01-01T10:00:00"),
            "\"2013-01-01T10:00:00\" is not a date"
        );
        let vector = "\"[1, 1e39]\" is not a JSON array of 2 numbers that are an f32";
        assert_eq!(rejected(Type::Vector(2), "[1, 1e39]"), vector);
        assert_eq!(rejected(Type::Json, "{"), "\"{\" is not JSON");
        assert!(rejected(Type::DateTime, "2013-01-01T10:00:00+01:00").contains("not a datetime"));
        let nanos = rejected(Type::Timestamp, "2013-01-01T10:00:00.1234567Z");
        assert!(nanos.ends_with("has nanoseconds: write at most six decimals of a second"));
        assert!(rejected(Type::Timestamp, "2013-01-01T10:00:00").contains("not a timestamp"));
        assert!(rejected(Type::F64, "1e400").contains("not an f64"));
        assert!(rejected(Type::F64, "NaN").contains("not an f64"));
        assert!(rejected(Type::F64, "1e-400").contains("not an f64"));
        assert!(rejected(Type::F64, "9007199254740993").contains("not an f64"));
        assert!(rejected(Type::F32, "1e-60").contains("not an f32"));
        assert!(rejected(Type::Currency, "0.00001").contains("at most 4 decimals"));
        assert!(parse(Type::Text, b"caf\xe9").expect_err("latin 1").contains("is not UTF-8"));
        assert!(rejected(Type::I64, &"x".repeat(100)).contains("…"), "a long text is cut");
    }
}
