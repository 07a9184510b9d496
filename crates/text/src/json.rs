//! Values in JSON.
//!
//! Numbers are exact: integers with all 64 bits, floats in their shortest form, money with its
//! decimals. Dates and times are strings, vectors are arrays of numbers, bytes are base64, JSON columns are the documents
//! themselves, NULL is `null`.

use crate::{vector, write};
use bobak_core::{Type, ValueRef};
use serde::de::IgnoredAny;

/// Adds `value` as JSON to `out`, on one line.
pub fn write_value(out: &mut String, ty: Type, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => out.push_str("null"),
        ValueRef::Int(integer @ (0 | 1)) if ty == Type::Bool => {
            out.push_str(if integer == 1 { "true" } else { "false" });
        }
        ValueRef::Text(document) if ty == Type::Json && is_json(document) => {
            // Line ends can only be white space here: in a JSON string they are escaped.
            out.extend(document.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }));
        }
        ValueRef::Text(digits) if ty == Type::Decimal && is_decimal(digits) => out.push_str(digits),
        ValueRef::Text(text) => write_string(out, text),
        ValueRef::Bytes(bytes) if matches!(ty, Type::Vector(_)) && vector::write(out, bytes) => {}
        _ if write::is_number(ty, value) => {
            let start = out.len();
            write::write(out, ty, value);
            let written = out.get(start..).unwrap_or_default();
            let is_float = matches!(value, ValueRef::Float(_)) && ty == Type::Any;
            // Where anything goes, only its text says that it is a float.
            if is_float && written.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
                out.push_str(".0");
            }
        }
        _ => {
            // Dates, UUIDs, base64, `inf`: nothing in them is escaped.
            out.push('"');
            write::write(out, ty, value);
            out.push('"');
        }
    }
}

/// Whether a text is a decimal number that JSON can write as a number.
fn is_decimal(digits: &str) -> bool {
    let digits = digits.strip_prefix('-').unwrap_or(digits);
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    all_digits(whole) && all_digits(decimals) && (whole == "0" || !whole.starts_with('0'))
}

/// Adds a text as a JSON string to `out`.
pub fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(is_escaped) {
        let (plain, after) = rest.split_at(at);
        out.push_str(plain);
        let mut characters = after.chars();
        match characters.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some(other) => push_code(out, other),
            None => {}
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

const fn is_escaped(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

#[cold]
fn push_code(out: &mut String, control: char) {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digit = |shift: u32| DIGITS.get((control as usize >> shift) & 15).copied().unwrap_or('0');
    out.push_str("\\u00");
    out.push(digit(4));
    out.push(digit(0));
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_among_anything_stays_one() {
        let json = |ty: Type, value: ValueRef<'_>| {
            let mut out = String::new();
            write_value(&mut out, ty, value);
            out
        };
        assert_eq!(json(Type::Any, ValueRef::Float(1.0)), "1.0");
        assert_eq!(json(Type::Any, ValueRef::Float(-2.5)), "-2.5");
        assert_eq!(json(Type::Any, ValueRef::Int(1)), "1");
        assert_eq!(json(Type::Decimal, ValueRef::Text("-0.125")), "-0.125");
        assert_eq!(json(Type::Decimal, ValueRef::Text("NaN")), "\"NaN\"");
        assert_eq!(json(Type::F64, ValueRef::Float(1.0)), "1");
    }

    #[test]
    fn strings_are_those_of_serde_json() {
        let every: String = (0..0x2ff).filter_map(char::from_u32).collect();
        for text in ["", "plain", "\"", "a\\b\"", "\u{0}\u{1f} \u{7f}", "é\n", &every] {
            let mut out = String::new();
            write_string(&mut out, text);
            assert_eq!(serde_json::from_str::<String>(&out).expect("JSON"), text);
            assert!(out.bytes().all(|byte| byte >= b' '));
        }
    }
}
