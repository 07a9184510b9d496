//! SQL text of programs.

use bobak_core::{Parameter, Result, Type, ValueRef};
use bobak_sql::token::{SqlSyntax, SqlToken, SqlTokenKind};
use bobak_sql::{first_word, only_reads, reject_control, rewrite_statement};

/// Standard SQL: texts in single quotes, names in double quotes.
const SYNTAX: SqlSyntax = SqlSyntax::Sqlite;

/// SQL text as the server takes it: parameters with their types, which it would otherwise have to guess; a SELECT without
/// FROM from the table with one row; and no semicolon.
///
/// # Errors
/// As [`rewrite_statement`].
pub(crate) fn sql_text(text: &str, parameters: &[Parameter<'_>]) -> Result<String> {
    let mut has_from = false;
    let given = parameters.len();
    let mut sent = rewrite_statement(SYNTAX, text, given, |token, next, count| {
        has_from |= token.is_word("from");
        match token.kind {
            SqlTokenKind::Parameter => {
                let cast = |parameter| format!("CAST(? AS {})", cast_of(parameter));
                Some(parameters.get(count).map_or("?".into(), cast))
            }
            _ if token.text == ";" => Some(String::new()),
            SqlTokenKind::Word if is_column_at(token, next) => Some("\"AT\"".to_owned()),
            _ => None,
        }
    })?;
    if !has_from && first_word(SYNTAX, text).eq_ignore_ascii_case("select") {
        sent.push_str(" FROM RDB$DATABASE");
    }
    Ok(sent)
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

/// Rejects statements of a transaction or a session; returns whether the text only reads.
///
/// # Errors
/// `Misuse`.
pub(crate) fn check(text: &str) -> Result<bool> {
    reject_control(SYNTAX, text, &["commit", "rollback", "savepoint", "release", "set"])?;
    Ok(only_reads(text))
}
