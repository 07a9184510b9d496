//! SQL text of programs.

use bobak_core::Result;
use bobak_sql::token::{SqlSyntax, SqlTokenKind};
use bobak_sql::{only_reads, reject_control, rewrite_statement};

/// Texts in single quotes, names in double quotes.
const SYNTAX: SqlSyntax = SqlSyntax::Postgres;

/// SQL text as the server takes it: with parameters that have numbers, and without a semicolon.
///
/// # Errors
/// As [`rewrite_statement`].
pub(crate) fn sql_text(text: &str, parameters: usize) -> Result<String> {
    rewrite_statement(SYNTAX, text, parameters, |token, _, count| match token.kind {
        SqlTokenKind::Parameter if token.text == "?" => Some(format!(":{}", count + 1)),
        _ => (token.text == ";").then(String::new),
    })
}

/// Rejects statements of a transaction or a session; returns whether the text only reads.
///
/// # Errors
/// `Misuse`.
pub(crate) fn check(text: &str) -> Result<bool> {
    reject_control(SYNTAX, text, &["commit", "rollback", "savepoint", "set", "lock"])?;
    Ok(only_reads(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_get_numbers() {
        let text = sql_text("select 'é', '?' from \"a?b\" where c = ? and d = ?;", 2).unwrap();
        assert_eq!(text, "select 'é', '?' from \"a?b\" where c = :1 and d = :2");
        assert!(sql_text("select ?", 0).is_err());
        assert!(sql_text("select 1; select 2", 0).is_err());
        assert!(check("  COMMIT").is_err() && check("select 1").unwrap());
    }
}
