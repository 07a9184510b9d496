//! SQL text of programs.

use crate::dialect::OracleStatements;
use bobak_core::{Result, TableSchema};
use bobak_engine_common::StatementDialect;
use bobak_sql::token::{SqlSyntax, SqlTokenKind};
use bobak_sql::{only_reads, reject_control, rewrite_empty_lists, rewrite_statement};

/// Texts in single quotes, names in double quotes.
const SYNTAX: SqlSyntax = SqlSyntax::Postgres;
/// No rows, of a type that compares with every other.
const NO_ROWS: &str = "SELECT NULL FROM DUAL WHERE 1 = 0";

/// SQL text as the server takes it: with parameters that have numbers, with subqueries for lists without values, and without a
/// semicolon.
///
/// # Errors
/// As [`rewrite_statement`].
pub(crate) fn sql_text(text: &str, parameters: usize) -> Result<String> {
    let text = rewrite_empty_lists(SYNTAX, text, NO_ROWS);
    rewrite_statement(SYNTAX, &text, parameters, |token, _, count| match token.kind {
        SqlTokenKind::Parameter if token.text == "?" => Some(format!(":{}", count + 1)),
        _ => (token.text == ";").then(String::new),
    })
}

/// A query with lists without values, for tests that parse it.
///
/// # Errors
/// None.
pub(crate) fn sample(table: &TableSchema) -> Result<String> {
    let key = OracleStatements.columns(table, table.key().iter().copied().take(1));
    let name = OracleStatements.quoted(table.name());
    let lists = format!("{key} IN (NULL) IS TRUE OR {key} NOT IN (NULL) IS NOT FALSE");
    sql_text(&format!("SELECT {key} FROM {name} WHERE {lists}"), 0)
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
