//! The tokens of a CHECK rule, with literals as values.

use bobak_core::Value;
use bobak_core::sql_token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};

/// A token of a rule.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name or keyword, as written.
    Word(String),
    /// A quoted name: never a keyword.
    Name(String),
    /// A number, string or blob.
    Literal(Value<'static>),
    /// An operator, a bracket or a comma.
    Operator(&'static str),
}

/// The operators of rules.
const OPERATORS: [&str; 17] =
    ["<=", ">=", "<>", "!=", "==", "||", "=", "<", ">", "+", "-", "*", "/", "%", "(", ")", ","];

/// Splits a rule into tokens.
///
/// # Errors
/// A message, for a malformed literal or a token that rules do not have.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let tokens = SqlTokenizer::new(SqlSyntax::Sqlite, text);
    tokens.filter(|token| token.kind != SqlTokenKind::Whitespace).map(|t| token(&t)).collect()
}

fn token(token: &SqlToken<'_>) -> Result<Token, String> {
    if !token.is_terminated {
        return Err(format!("{} has no end", token.text));
    }
    Ok(match token.kind {
        SqlTokenKind::Word => Token::Word(token.text.to_owned()),
        SqlTokenKind::QuotedName => Token::Name(token.unquoted().into_owned()),
        SqlTokenKind::Text => Token::Literal(Value::from(token.unquoted().into_owned())),
        SqlTokenKind::Blob => {
            let bytes = token.bytes();
            let bytes = bytes.ok_or_else(|| format!("{} is no valid blob", token.text))?;
            Token::Literal(Value::Bytes(bytes.into()))
        }
        SqlTokenKind::Number => {
            // An integer beyond 64 bits would lose digits as a float.
            let is_integer = token.text.bytes().all(|byte| byte.is_ascii_digit());
            let value = token.number().filter(|v| !(is_integer && matches!(v, Value::Float(_))));
            Token::Literal(value.ok_or_else(|| format!("'{}' is not a number", token.text))?)
        }
        _ => {
            let known = OPERATORS.iter().find(|operator| token.is_operator(operator));
            Token::Operator(known.ok_or_else(|| format!("'{}' is not supported", token.text))?)
        }
    })
}
