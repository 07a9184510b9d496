//! SQL text of programs.

use crate::dialect::MssqlStatements;
use bobak_core::{Result, TableSchema};
use bobak_engine_common::StatementDialect;
use bobak_sql::token::{SqlSyntax, SqlTokenKind};
use bobak_sql::{only_reads, reject_control, rewrite_empty_lists, rewrite_statement};

/// Texts in single quotes, names in double quotes and in brackets.
const SYNTAX: SqlSyntax = SqlSyntax::Sqlite;
/// No rows, of a type that compares with every other.
const NO_ROWS: &str = "SELECT CAST(NULL AS VARCHAR(1)) WHERE 1 = 0";

/// SQL text as the server takes it: with parameters that have numbers, and with texts outside ASCII as NVARCHAR, which the
/// server would otherwise convert to the code page of the database, and with subqueries for lists without values.
///
/// # Errors
/// As [`rewrite_statement`].
pub(crate) fn sql_text(text: &str, parameters: usize) -> Result<String> {
    let text = rewrite_empty_lists(SYNTAX, text, NO_ROWS);
    rewrite_statement(SYNTAX, &text, parameters, |token, _, count| match token.kind {
        SqlTokenKind::Parameter if token.text == "?" => Some(format!("@P{}", count + 1)),
        SqlTokenKind::Text if !token.text.is_ascii() => Some(format!("N{}", token.text)),
        _ => None,
    })
}

/// A query with lists without values, for tests that parse it.
///
/// # Errors
/// None.
pub(crate) fn sample(table: &TableSchema) -> Result<String> {
    let key = MssqlStatements.columns(table, table.key().iter().copied().take(1));
    let name = MssqlStatements.quoted(table.name());
    let lists = format!("{key} IN (NULL) IS TRUE OR {key} NOT IN (NULL) IS NOT FALSE");
    sql_text(&format!("SELECT {key} FROM {name} WHERE {lists}"), 0)
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
