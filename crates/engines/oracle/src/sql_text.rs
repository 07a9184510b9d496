//! SQL text of programs.

use crate::connection::{Connection, OracleParameter};
use crate::driver::OracleBind;
use crate::values::parameter;
use bobak_core::{Error, ErrorKind, Parameter, Result};
use bobak_sql::first_word;
use bobak_sql::token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};

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
    let (mut sent, mut from, mut count, mut is_over) = (String::new(), 0, 0, false);
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let tokens: Vec<SqlToken<'_>> = SqlTokenizer::new(SYNTAX, text).significant().collect();
    for token in &tokens {
        if is_over {
            return Err(Error::new(ErrorKind::Syntax, "there is more than one statement"));
        }
        match token.kind {
            SqlTokenKind::Parameter if token.text == "?" => {
                count += 1;
                sent += &format!("{}:{count}", part(from, token.start));
                from = token.start + token.text.len();
            }
            _ if token.text == ";" => {
                is_over = true;
                sent.push_str(part(from, token.start));
                from = text.len();
            }
            _ => {}
        }
    }
    sent.push_str(part(from, text.len()));
    if count != parameters.len() {
        return Err(Error::wrong_number(ErrorKind::Misuse, parameters.len(), count, "parameter"));
    }
    let values = parameters.iter().map(|parameter| (parameter.ty, parameter.value.as_ref()));
    Ok((sent, values.collect()))
}

/// Rejects statements of a transaction or a session as text: the connection is shared with others.
///
/// # Errors
/// `Misuse`.
pub(crate) fn reject_control(text: &str) -> Result<()> {
    let word = first_word(SYNTAX, text).to_ascii_lowercase();
    match word.as_str() {
        "commit" | "rollback" | "savepoint" | "set" | "lock" => {
            let message = format!(
                "{word} cannot be given as SQL, because the connection is shared: use the \
                 transaction's methods"
            );
            Err(Error::new(ErrorKind::Misuse, message))
        }
        _ => Ok(()),
    }
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
        assert!(reject_control("  COMMIT").is_err() && reject_control("select 1").is_ok());
    }
}
