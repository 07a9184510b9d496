//! SQL text of programs.

use crate::connection::{Connection, GivenValue};
use bobak_core::{Error, ErrorKind, Parameter, Result, Type, ValueRef};
use bobak_sql::first_word;
use bobak_sql::token::{SqlSyntax, SqlToken, SqlTokenKind, SqlTokenizer};

/// Standard SQL: texts in single quotes, names in double quotes.
const SYNTAX: SqlSyntax = SqlSyntax::Sqlite;
/// Runs SQL text that returns no rows.
///
/// # Errors
/// As [`Session::execute`](bobak_core::Session::execute).
pub(crate) fn execute(
    connection: &mut Connection,
    text: &str,
    parameters: &[Parameter<'_>],
) -> Result<u64> {
    let (text, values) = sql_text(text, parameters)?;
    connection.run(None, &text, &values, &|error, _| error)
}

/// SQL text as the server takes it: parameters with their types, which it would otherwise have to guess; a SELECT without
/// FROM from the table with one row; and no semicolon.
pub(crate) fn sql_text<'p>(
    text: &str,
    parameters: &'p [Parameter<'p>],
) -> Result<(String, Vec<GivenValue<'p>>)> {
    let (mut sent, mut from, mut count, mut end) = (String::new(), 0, 0, None);
    let tokens: Vec<SqlToken<'_>> = SqlTokenizer::new(SYNTAX, text).significant().collect();
    for (at, token) in tokens.iter().enumerate() {
        if end.is_some() {
            return Err(Error::new(ErrorKind::Syntax, "there is more than one statement"));
        }
        let mut put = |written: &str| {
            sent.push_str(text.get(from..token.start).unwrap_or_default());
            sent.push_str(written);
            from = token.start + token.text.len();
        };
        match token.kind {
            SqlTokenKind::Parameter => {
                let cast = |parameter| format!("CAST(? AS {})", cast_of(parameter));
                put(&parameters.get(count).map_or("?".into(), cast));
                count += 1;
            }
            _ if token.text == ";" => end = Some(token.start),
            SqlTokenKind::Word if is_column_at(token, tokens.get(at + 1)) => put("\"AT\""),
            _ => {}
        }
    }
    sent.push_str(text.get(from..end.unwrap_or(text.len())).unwrap_or_default());
    if count != parameters.len() {
        return Err(Error::wrong_number(ErrorKind::Misuse, parameters.len(), count, "parameter"));
    }
    let has = |word: &str| tokens.iter().any(|token| token.is_word(word));
    if tokens.first().is_some_and(|first| first.is_word("select")) && !has("from") {
        sent.push_str(" FROM RDB$DATABASE");
    }
    let values = parameters.iter().map(|parameter| (parameter.ty, parameter.value.as_ref()));
    Ok((sent, values.collect()))
}

/// Whether a word is the name `at`, which is reserved only before TIME ZONE and LOCAL.
fn is_column_at(token: &SqlToken<'_>, next: Option<&SqlToken<'_>>) -> bool {
    let is_zone = next.is_some_and(|next| next.is_word("time") || next.is_word("local"));
    token.is_word("at") && !is_zone
}

/// The type of a parameter of SQL text.
fn cast_of(parameter: &Parameter<'_>) -> String {
    match (parameter.ty, parameter.value.as_ref()) {
        (Type::Currency, _) => "NUMERIC(18, 4)".to_owned(),
        (Type::Date, ValueRef::Int(_)) => "DATE".to_owned(),
        (Type::Bool, ValueRef::Int(_)) => "BOOLEAN".to_owned(),
        (Type::Decimal, ValueRef::Text(text)) => {
            let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            format!("NUMERIC(18, {})", decimals.min(18))
        }
        (_, ValueRef::Null) => "VARCHAR(1)".to_owned(),
        (_, ValueRef::Int(_)) => "BIGINT".to_owned(),
        (_, ValueRef::Float(_)) => "DOUBLE PRECISION".to_owned(),
        (_, ValueRef::Text(text)) if text.len() > 8_000 => "BLOB SUB_TYPE TEXT".to_owned(),
        (_, ValueRef::Bytes(bytes)) if bytes.len() > 8_000 => "BLOB SUB_TYPE BINARY".to_owned(),
        (_, ValueRef::Text(text)) => {
            format!(
                "VARCHAR({}) CHARACTER SET UTF8",
                text.chars().count().max(1).next_power_of_two()
            )
        }
        (_, ValueRef::Bytes(bytes)) => {
            format!("VARCHAR({}) CHARACTER SET OCTETS", bytes.len().max(1).next_power_of_two())
        }
    }
}

/// Rejects statements of a transaction as text: the connection is shared with others.
///
/// # Errors
/// `Misuse`.
pub(crate) fn reject_control(text: &str) -> Result<()> {
    let word = first_word(SYNTAX, text).to_ascii_lowercase();
    match word.as_str() {
        "commit" | "rollback" | "savepoint" | "release" | "set" => {
            let message = format!(
                "{word} cannot be given as SQL, because the connection is shared: use the \
                 transaction's methods"
            );
            Err(Error::new(ErrorKind::Misuse, message))
        }
        _ => Ok(()),
    }
}
