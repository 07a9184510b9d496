//! SQL text of programs.

use crate::connection::{Connection, TypedValue};
use bobak_core::{Parameter, Result};
use bobak_sql::token::{SqlSyntax, SqlTokenKind};
use bobak_sql::{only_reads, reject_control, rewrite_statement};

/// Texts in single quotes, names in double quotes and in brackets.
const SYNTAX: SqlSyntax = SqlSyntax::Sqlite;

/// Runs SQL text; returns how many rows it wrote.
///
/// # Errors
/// As [`Session::execute`](bobak_core::Session::execute).
pub(crate) fn execute(
    connection: &mut Connection,
    text: &str,
    parameters: &[Parameter<'_>],
) -> Result<u64> {
    let (text, values) = sql_text(text, parameters)?;
    let written = connection.run(None, &text, &values, &|error, _| error)?;
    // The rows of a result are counted, too.
    Ok(if connection.result_columns().is_empty() { written } else { 0 })
}

/// SQL text as the server takes it: with parameters that have numbers, and with texts outside ASCII as NVARCHAR, which the
/// server would otherwise convert to the code page of the database.
pub(crate) fn sql_text<'p>(
    text: &str,
    parameters: &'p [Parameter<'p>],
) -> Result<(String, Vec<TypedValue<'p>>)> {
    let text =
        rewrite_statement(SYNTAX, text, parameters.len(), |token, _, count| match token.kind {
            SqlTokenKind::Parameter if token.text == "?" => Some(format!("@P{}", count + 1)),
            SqlTokenKind::Text if !token.text.is_ascii() => Some(format!("N{}", token.text)),
            _ => None,
        })?;
    let values = parameters.iter().map(|parameter| (parameter.ty, parameter.value.as_ref()));
    Ok((text, values.collect()))
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
        let parameters = [Parameter::from(1), Parameter::from("x")];
        let (text, values) =
            sql_text("select 'é', '?' from [a?b] where c = ? and d = ?;", &parameters).unwrap();
        assert_eq!(text, "select N'é', '?' from [a?b] where c = @P1 and d = @P2;");
        assert_eq!(values.len(), 2);
        assert!(sql_text("select ?", &[]).is_err());
        assert!(sql_text("select 1; select 2", &[]).is_err());
        assert!(check("  COMMIT").is_err() && check("select 1").unwrap());
    }
}
