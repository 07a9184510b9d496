//! The tokens of simple queries.

use bobak_core::Value;
use bobak_core::sql_token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};

/// A token of a simple query.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name or a keyword, as spelled.
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
    let text = text.trim();
    let text = text.strip_suffix(';').unwrap_or(text);
    SqlTokenizer::new(SqlSyntax::Sqlite, text)
        .filter(|token| token.kind != SqlTokenKind::Whitespace)
        .map(|token| convert(&token))
        .collect()
}

fn convert(token: &SqlToken<'_>) -> Option<Token> {
    if !token.is_terminated {
        return None;
    }
    match token.kind {
        SqlTokenKind::Word => {
            let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
            token.text.bytes().all(is_plain).then(|| Token::Word(token.text.to_owned()))
        }
        SqlTokenKind::QuotedName if token.text.starts_with('"') => {
            Some(Token::Name(token.unquoted().into_owned()))
        }
        SqlTokenKind::Text => Some(Token::Value(token.unquoted().into_owned().into())),
        SqlTokenKind::Number => number(token.text).map(Token::Value),
        SqlTokenKind::Parameter => (token.text == "?").then_some(Token::Parameter),
        SqlTokenKind::Operator => {
            SIGNS.iter().find(|sign| token.is_operator(sign)).map(|sign| Token::Sign(sign))
        }
        SqlTokenKind::Whitespace
        | SqlTokenKind::Comment
        | SqlTokenKind::QuotedName
        | SqlTokenKind::Blob => None,
    }
}

/// A decimal number; `None` for hexadecimal numbers, and for integers that do not fit.
fn number(text: &str) -> Option<Value<'static>> {
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok().map(Value::Int);
    }
    let is_decimal = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    if is_decimal { text.parse().ok().map(Value::Float) } else { None }
}
