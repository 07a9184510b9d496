//! Placeholders (`?`) in SQL text.

use bobak_sql::Dialect;
use bobak_sql::token::{SqlSyntax, SqlTokenKind, SqlTokenizer};
use mysql::Value as Wire;
use mysql::error::DriverError;

const SYNTAX: SqlSyntax = Dialect::MySql.syntax();

/// The SQL text with values in place of placeholders: for servers and proxies that do not prepare statements.
///
/// # Errors
/// If the number of values differs from that of placeholders, or there is more than one statement.
pub(crate) fn inlined(sql: &str, values: &[Wire]) -> mysql::Result<String> {
    let mut text = String::with_capacity(sql.len() + values.len() * 8);
    let (mut from, mut count) = (0, 0);
    for at in placeholders(sql)? {
        text.push_str(sql.get(from..at).unwrap_or_default());
        if let Some(value) = values.get(count) {
            push_literal(&mut text, value);
        }
        (from, count) = (at + 1, count + 1);
    }
    if count != values.len() {
        let wanted = u16::try_from(count).unwrap_or(u16::MAX);
        return Err(DriverError::MismatchedStmtParams(wanted, values.len()).into());
    }
    text.push_str(sql.get(from..).unwrap_or_default());
    Ok(text)
}

/// The SQL text with casts such as `CAST(? AS BINARY)` in place of placeholders. The driver sends bytes, texts and
/// decimal numbers alike, and the server would take all for texts.
pub(crate) fn with_casts(sql: &str, casts: &[Option<String>]) -> mysql::Result<String> {
    let mut text = String::with_capacity(sql.len() + casts.len() * 24);
    let mut from = 0;
    for (number, at) in placeholders(sql)?.into_iter().enumerate() {
        text.push_str(sql.get(from..at).unwrap_or_default());
        match casts.get(number) {
            Some(Some(ty)) => {
                text.push_str("CAST(? AS ");
                text.push_str(ty);
                text.push(')');
            }
            _ => text.push('?'),
        }
        from = at + 1;
    }
    text.push_str(sql.get(from..).unwrap_or_default());
    Ok(text)
}

/// Where the placeholders are, in bytes: not those in quotes and comments.
fn placeholders(sql: &str) -> mysql::Result<Vec<usize>> {
    let (mut found, mut has_ended) = (Vec::new(), false);
    for token in SqlTokenizer::new(SYNTAX, sql).significant() {
        if has_ended {
            return Err(two_statements());
        }
        match token.kind {
            SqlTokenKind::Parameter if token.text == "?" => found.push(token.start),
            SqlTokenKind::Operator => has_ended = token.text == ";",
            _ => {}
        }
    }
    Ok(found)
}

/// The server's own error for a prepared statement.
fn two_statements() -> mysql::Error {
    mysql::Error::MySqlError(mysql::error::MySqlError {
        state: "42000".to_owned(),
        message: "there is more than one statement".to_owned(),
        code: 1064,
    })
}

/// Appends a literal. A text is quoted only if no character has a special meaning in any SQL mode; else it is written
/// in hexadecimal digits.
fn push_literal(text: &mut String, value: &Wire) {
    use std::fmt::Write;
    let Wire::Bytes(bytes) = value else {
        let literal = match value {
            // Always with an exponent: without one it would be an exact decimal number.
            Wire::Double(float) => format!("{float:e}"),
            other => other.as_sql(true),
        };
        text.push_str(&literal);
        return;
    };
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'\'' | b'\\');
    match std::str::from_utf8(bytes) {
        Ok(word) if bytes.iter().all(plain) => {
            text.push('\'');
            text.push_str(word);
            text.push('\'');
            return;
        }
        Ok(_) => text.push_str("_utf8mb4 x'"),
        Err(_) => text.push_str("x'"),
    }
    for byte in bytes {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.push('\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_replace_placeholders() {
        let sql = "select ?, '?', \"a\\\", `?`, -- ?\n # ?\n /* ? */ ?, 'it''s?', ?;  ";
        let values = [Wire::Int(-1), Wire::Bytes("it's ü".into()), Wire::Double(0.5)];
        let text = inlined(sql, &values).unwrap();
        let expected = "select -1, '?', \"a\\\", `?`, -- ?\n # ?\n /* ? */ \
                        _utf8mb4 x'6974277320c3bc', 'it''s?', 5e-1;  ";
        assert_eq!(text, expected);
        assert!(inlined("select ?", &[]).is_err());
        assert!(inlined("select 1; select 2", &[]).is_err());
        let casts = [None, Some("BINARY".to_owned())];
        assert_eq!(with_casts("select ?, ?", &casts).unwrap(), "select ?, CAST(? AS BINARY)");
    }
}
