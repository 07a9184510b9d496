//! The words of a rule.

use bobak_core::Value;

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name or keyword, as written.
    Word(String),
    /// A name in quotes: never a keyword.
    Name(String),
    /// A number, text or bytes.
    Literal(Value<'static>),
    /// An operator, a bracket or a comma.
    Sign(&'static str),
}

/// The longer signs come first.
const SIGNS: [&str; 17] =
    ["<=", ">=", "<>", "!=", "==", "||", "=", "<", ">", "+", "-", "*", "/", "%", "(", ")", ","];

/// Cuts a text in words.
///
/// # Errors
/// What is wrong, in words.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, after) = token(rest, first)?;
        tokens.push(token);
        rest = after.trim_start();
    }
    Ok(tokens)
}

fn token(rest: &str, first: char) -> Result<(Token, &str), String> {
    if let Some(hex) = rest.strip_prefix("x'").or_else(|| rest.strip_prefix("X'")) {
        let (digits, after) = hex.split_once('\'').ok_or("bytes without an end")?;
        return Ok((Token::Literal(Value::Bytes(from_hex(digits)?.into())), after));
    }
    match first {
        '\'' => {
            let (text, after) = quoted(rest, '\'')?;
            Ok((Token::Literal(text.into()), after))
        }
        '"' | '`' => quoted(rest, first).map(|(name, after)| (Token::Name(name), after)),
        '[' => {
            let (name, after) = rest
                .get(1..)
                .and_then(|rest| rest.split_once(']'))
                .ok_or("a name without an end")?;
            Ok((Token::Name(name.to_owned()), after))
        }
        '0'..='9' | '.' => number(rest),
        _ if first.is_alphabetic() || first == '_' => {
            let (word, after) = split(rest, |c| c.is_alphanumeric() || c == '_' || c == '$');
            Ok((Token::Word(word.to_owned()), after))
        }
        _ => SIGNS
            .iter()
            .find_map(|sign| Some((Token::Sign(sign), rest.strip_prefix(sign)?)))
            .ok_or_else(|| format!("'{first}' is not known")),
    }
}

/// What is between the quotes, two quotes being one of the text.
fn quoted(rest: &str, quote: char) -> Result<(String, &str), String> {
    let mut text = String::new();
    let mut rest = rest.get(1..).unwrap_or_default();
    loop {
        let (part, after) =
            rest.split_once(quote).ok_or_else(|| format!("there is no closing {quote}"))?;
        text.push_str(part);
        match after.strip_prefix(quote) {
            Some(more) => {
                text.push(quote);
                rest = more;
            }
            None => return Ok((text, after)),
        }
    }
}

fn number(rest: &str) -> Result<(Token, &str), String> {
    if let Some(hex) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
        let (digits, after) = split(hex, |c| c.is_ascii_alphanumeric());
        let bits = u64::from_str_radix(digits, 16).map_err(|e| format!("'0x{digits}': {e}"))?;
        return Ok((Token::Literal(Value::Int(bits.cast_signed())), after));
    }
    let (mut digits, mut after) = split(rest, |c| c.is_ascii_alphanumeric() || c == '.');
    if digits.ends_with(['e', 'E']) && after.starts_with(['+', '-']) {
        let sign = digits.len();
        let exponent = after.get(1..).unwrap_or_default();
        let length = split(exponent, |c| c.is_ascii_digit()).0.len();
        digits = rest.get(..sign + 1 + length).unwrap_or(digits);
        after = rest.get(digits.len()..).unwrap_or_default();
    }
    let bad = || format!("'{digits}' is not a number");
    let value = if digits.contains(['.', 'e', 'E']) {
        let float: f64 = digits.parse().map_err(|_| bad())?;
        if !float.is_finite() {
            return Err(bad());
        }
        Value::Float(float)
    } else {
        Value::Int(digits.parse().map_err(|_| bad())?)
    };
    Ok((Token::Literal(value), after))
}

fn from_hex(digits: &str) -> Result<Vec<u8>, String> {
    let bad = || format!("'{digits}' is not bytes in hexadecimal");
    if !digits.is_ascii() || !digits.len().is_multiple_of(2) {
        return Err(bad());
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| {
            let pair = digits.get(at..at + 2).filter(|pair| !pair.contains('+'));
            pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or_else(bad)
        })
        .collect()
}

fn split(text: &str, is_part: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text.split_at(end)
}
