//! SQL text of programs.

use crate::connection::{Connection, OracleParameter};
use crate::driver::OracleBind;
use crate::values::parameter;
use bobak_core::{Parameter, Result};
use bobak_sql::token::{SqlSyntax, SqlTokenKind};
use bobak_sql::{only_reads, reject_control, rewrite_statement};

/// Texts in single quotes, names in double quotes.
const SYNTAX: SqlSyntax = SqlSyntax::Postgres;

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
    let binds = values.iter().map(|(ty, value)| parameter(*ty, *value));
    let binds: Vec<OracleBind<'_>> = binds.collect::<Result<_>>()?;
    connection.run(None, &text, &[binds], None).map(|done| done.count)
}

/// SQL text as the server takes it: with parameters that have numbers, and without a semicolon.
pub(crate) fn sql_text<'p>(
    text: &str,
    parameters: &'p [Parameter<'p>],
) -> Result<(String, Vec<OracleParameter<'p>>)> {
    let text =
        rewrite_statement(SYNTAX, text, parameters.len(), |token, _, count| match token.kind {
            SqlTokenKind::Parameter if token.text == "?" => Some(format!(":{}", count + 1)),
            _ => (token.text == ";").then(String::new),
        })?;
    let values = parameters.iter().map(|parameter| (parameter.ty, parameter.value.as_ref()));
    Ok((text, values.collect()))
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
        let parameters = [Parameter::from(1), Parameter::from("x")];
        let (text, values) =
            sql_text("select 'é', '?' from \"a?b\" where c = ? and d = ?;", &parameters).unwrap();
        assert_eq!(text, "select 'é', '?' from \"a?b\" where c = :1 and d = :2");
        assert_eq!(values.len(), 2);
        assert!(sql_text("select ?", &[]).is_err());
        assert!(sql_text("select 1; select 2", &[]).is_err());
        assert!(check("  COMMIT").is_err() && check("select 1").unwrap());
    }
}
