//! SQL text of programs.

use bobak_core::Result;
use bobak_sql::token::{SqlSyntax, SqlTokenKind};
use bobak_sql::{only_reads, reject_control, rewrite_statement};

/// Texts in single quotes, names in double quotes and in brackets.
const SYNTAX: SqlSyntax = SqlSyntax::Sqlite;

/// SQL text as the server takes it: with parameters that have numbers, and with texts outside ASCII as NVARCHAR, which the
/// server would otherwise convert to the code page of the database.
///
/// # Errors
/// As [`rewrite_statement`].
pub(crate) fn sql_text(text: &str, parameters: usize) -> Result<String> {
    rewrite_statement(SYNTAX, text, parameters, |token, _, count| match token.kind {
        SqlTokenKind::Parameter if token.text == "?" => Some(format!("@P{}", count + 1)),
        SqlTokenKind::Text if !token.text.is_ascii() => Some(format!("N{}", token.text)),
        _ => None,
    })
}

/// Rejects statements of a transaction or a session; returns whether the text only reads.
///
/// # Errors
/// `Misuse`.
pub(crate) fn check(text: &str) -> Result<bool> {
    const CONTROL: [&str; 8] =
        ["commit", "rollback", "save", "savepoint", "release", "begin", "set", "use"];
    reject_control(SYNTAX, text, &CONTROL)?;
    Ok(only_reads(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_get_numbers_and_texts_their_type() {
        let text = sql_text("select 'é', '?' from [a?b] where c = ? and d = ?;", 2).unwrap();
        assert_eq!(text, "select N'é', '?' from [a?b] where c = @P1 and d = @P2;");
        assert!(sql_text("select ?", 0).is_err());
        assert!(sql_text("select 1; select 2", 0).is_err());
        assert!(check("  COMMIT").is_err() && check("select 1").unwrap());
    }
}
