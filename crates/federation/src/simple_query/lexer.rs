//! The tokens of simple queries.

use bobak_core::Value;

/// A token of an SQL text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// An unquoted name or a keyword, as spelled.
    Word(String),
    /// A quoted name.
    Name(String),
    /// A number or a text.
    Value(Value<'static>),
    /// `?`
    Parameter,
    /// `=`, `<=`, `(`, …
    Sign(&'static str),
}

const SIGNS: [&str; 15] =
    ["<>", "<=", ">=", "==", "!=", "<", ">", "=", "(", ")", ",", ".", "*", "-", "+"];

/// The tokens of a text; `None` if it contains anything that simple queries do not.
pub(super) fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, after) = match first {
            'x' | 'X' if rest.get(1..2) == Some("'") => return None,
            'a'..='z' | 'A'..='Z' | '_' => {
                let (word, after) = split_while(rest, |c| c.is_ascii_alphanumeric() || c == '_')?;
                // Non-ASCII letters belong to the name too.
                if after.starts_with(|c: char| !c.is_ascii() || c == '$') {
                    return None;
                }
                (Token::Word(word.to_owned()), after)
            }
            '"' | '\'' => {
                let (inner, after) = quoted(rest, first)?;
                let token =
                    if first == '"' { Token::Name(inner) } else { Token::Value(inner.into()) };
                (token, after)
            }
            '0'..='9' | '.' if is_number(rest) => number(rest)?,
            '?' => {
                let after = rest.get(1..)?;
                if after.starts_with(|c: char| c.is_ascii_digit()) {
                    return None;
                }
                (Token::Parameter, after)
            }
            ';' if rest.get(1..)?.trim().is_empty() => return Some(tokens),
            _ => {
                if rest.starts_with("--") {
                    return None;
                }
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign))?;
                (Token::Sign(sign), rest.get(sign.len()..)?)
            }
        };
        tokens.push(token);
        rest = after.trim_start();
    }
    Some(tokens)
}

fn split_while(text: &str, mut keep: impl FnMut(char) -> bool) -> Option<(&str, &str)> {
    text.split_at_checked(text.find(|c| !keep(c)).unwrap_or(text.len()))
}

/// The content of a quoted text, in which the quote is escaped by doubling.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut inner = String::new();
    let mut rest = text.get(1..)?;
    loop {
        let end = rest.find(quote)?;
        inner.push_str(rest.get(..end)?);
        rest = rest.get(end + 1..)?;
        match rest.strip_prefix(quote) {
            Some(after) => {
                inner.push(quote);
                rest = after;
            }
            None => return Some((inner, rest)),
        }
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('.').unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit())
}

fn number(text: &str) -> Option<(Token, &str)> {
    let mut before = ' ';
    let (number, after) = split_while(text, |c| {
        let exponent = matches!(before, 'e' | 'E') && matches!(c, '+' | '-');
        before = c;
        exponent || c.is_ascii_alphanumeric() || c == '.' || c == '_'
    })?;
    if !number.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b)) {
        return None;
    }
    let value = if number.bytes().all(|b| b.is_ascii_digit()) {
        Value::Int(number.parse().ok()?)
    } else {
        Value::Float(number.parse().ok()?)
    };
    Some((Token::Value(value), after))
}
