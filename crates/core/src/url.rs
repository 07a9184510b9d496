//! Parsing of engine URLs: `engine:place?setting=value&…`.

use crate::{Error, ErrorKind, Result};

/// Decodes percent-encoding.
///
/// ```
/// use bobak_core::url::decode;
/// assert_eq!(decode("a%3Fb%25")?, "a?b%");
/// assert!(decode("%4").is_err());
/// # Ok::<(), bobak_core::Error>(())
/// ```
///
/// # Errors
/// `Config` for a `%` without two hexadecimal digits, and for bytes that are not UTF-8.
pub fn decode(text: &str) -> Result<String> {
    if !text.contains('%') {
        return Ok(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|c| char::from(c).to_digit(16));
        let code = digit().zip(digit()).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(code.ok_or_else(|| config("a % without two hexadecimal digits"))?);
    }
    String::from_utf8(bytes).map_err(|_| config("the percent-encoded bytes are not UTF-8"))
}

/// A connection string of ODBC, `NAME=value;…`, without its password, for messages. A value in braces may have semicolons.
///
/// ```
/// use bobak_core::url::without_password;
/// assert_eq!(without_password("DSN=shop;PWD={x;1};UID=ada"), "DSN=shop;PWD=…;UID=ada");
/// ```
#[must_use]
pub fn without_password(connection_string: &str) -> String {
    let mut in_braces = false;
    let ends = |letter| {
        in_braces = if in_braces { letter != '}' } else { letter == '{' };
        letter == ';' && !in_braces
    };
    let parts = connection_string.split(ends).map(|part| match part.split_once('=') {
        Some((name, _)) if ["pwd", "password"].contains(&name.trim().to_lowercase().as_str()) => {
            format!("{name}=…")
        }
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join(";")
}

/// An error of kind `Config`.
#[must_use]
pub fn config(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_signs_are_decoded() {
        assert_eq!(decode("a%3Fb%25c%C3%A9").ok().as_deref(), Some("a?b%cé"));
        assert_eq!(decode("%FF").ok(), None);
        assert_eq!(decode("%4").ok(), None);
    }
}
