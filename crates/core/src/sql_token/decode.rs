//! The names and values that tokens stand for.

use super::{SqlToken, SqlTokenKind};
use crate::Value;
use std::borrow::Cow;

impl<'a> SqlToken<'a> {
    /// The name, if the token is a word or a quoted name.
    #[must_use]
    pub fn name(&self) -> Option<Cow<'a, str>> {
        matches!(self.kind, SqlTokenKind::Word | SqlTokenKind::QuotedName).then(|| self.unquoted())
    }

    /// The content of a string or a quoted name, with each doubled quote as one; the text itself of
    /// other tokens. Backslash escapes are not replaced.
    #[must_use]
    pub fn unquoted(&self) -> Cow<'a, str> {
        let (SqlTokenKind::Text | SqlTokenKind::QuotedName) = self.kind else {
            return self.text.into();
        };
        let from = self.text.find(['\'', '"', '`', '[', '$']).unwrap_or_default();
        let quoted = self.text.get(from..).unwrap_or_default();
        let Some(quote) = quoted.chars().next() else { return self.text.into() };
        if quote == '$' {
            let tag = quoted.get(1..).and_then(|rest| rest.find('$')).map_or(0, |end| end + 2);
            return self.between(from + tag, if self.is_terminated { tag } else { 0 }).into();
        }
        let inside = self.between(from + 1, usize::from(self.is_terminated));
        if quote == '[' || !inside.contains(quote) {
            return inside.into();
        }
        inside.replace(&format!("{quote}{quote}"), &quote.to_string()).into()
    }

    /// The bytes that `x'00ff'` stands for; `None` if the digits are not pairs of hexadecimal digits.
    #[must_use]
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let is_hexadecimal = self.kind == SqlTokenKind::Blob
            && self.text.starts_with(['x', 'X'])
            && self.is_terminated;
        let digits = is_hexadecimal.then(|| self.between(2, 1))?;
        let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
        let digit = |byte: u8| char::from(byte).to_digit(16);
        pairs.iter().map(|&[high, low]| Some((digit(high)? << 4 | digit(low)?) as u8)).collect()
    }

    /// The value of a number: see [`number`].
    #[must_use]
    pub fn number(&self) -> Option<Value<'static>> {
        if self.kind == SqlTokenKind::Number { number(self.text) } else { None }
    }

    fn between(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..self.text.len().saturating_sub(end)).unwrap_or_default()
    }
}

/// The value of a number in SQL: an integer if it is written as one and fits in 64 bits, else a float.
/// `None` if it is malformed or not finite. As in SQLite, `0x…` are the bits of a signed integer.
#[must_use]
pub fn number(text: &str) -> Option<Value<'static>> {
    if let [b'0', b'x' | b'X', ..] = text.as_bytes() {
        let bits = u64::from_str_radix(text.get(2..)?, 16).ok()?;
        return Some(Value::Int(bits.cast_signed()));
    }
    if let Ok(integer) = text.parse() {
        return Some(Value::Int(integer));
    }
    let float = text.parse().ok().filter(|float: &f64| float.is_finite());
    float.map(Value::Float)
}
