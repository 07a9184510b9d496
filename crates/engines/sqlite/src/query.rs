//! Reading: a row by its key, rows of a query one by one, SQL of the user's.

use crate::connection::Connection;
use crate::error::{misuse, translate};
use crate::write::get_statement;
use bobak_core::{Error, ErrorKind, Result, Row, Select, Source, TableSchema, Value};
use bobak_sql::{Dialect, Statement};

/// A source as SQL.
pub(crate) fn statement<'a>(source: &'a Source<'a>) -> Statement<'a> {
    match source {
        Source::Select(select) => bobak_sql::select(Dialect::Sqlite, select),
        Source::Sql { text, parameters } => Statement {
            text: (*text).to_owned(),
            parameters: parameters.iter().map(|value| Value::from(value.as_ref())).collect(),
        },
    }
}

/// The table that a source reads, where it is one.
pub(crate) fn table_of<'a>(source: &'a Source<'a>) -> Option<&'a TableSchema> {
    match source {
        Source::Select(Select { table, .. }) => Some(table),
        Source::Sql { .. } => None,
    }
}

/// Hands out the row with this key.
#[inline]
pub(crate) fn get(
    connection: &mut Connection,
    table: &TableSchema,
    key: &[Value<'_>],
    row: &mut dyn FnMut(&dyn Row) -> Result<()>,
) -> Result<bool> {
    if key.len() != table.key().len() {
        return Err(wrong_key(table, key.len()));
    }
    let id = get_statement(connection, table)?;
    let values = key.iter().map(Value::as_ref);
    let failed = |failure| translate(failure, Some(table));
    let mut rows = connection.db.rows(id, values).map_err(failed)?;
    match rows.next().map_err(failed)? {
        Some(found) => row(&found).map(|()| true),
        None => Ok(false),
    }
}

/// Hands out rows until `row` says `false`.
pub(crate) fn each_row(
    connection: &mut Connection,
    sql: &str,
    values: &[Value<'_>],
    table: Option<&TableSchema>,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let id = connection.text_statement(sql)?;
    connection.check_parameters(id, values.len())?;
    let failed = |failure| translate(failure, table);
    let values = values.iter().map(Value::as_ref);
    let mut rows = connection.db.rows(id, values).map_err(failed)?;
    while let Some(found) = rows.next().map_err(failed)? {
        if !row(&found)? {
            break;
        }
    }
    Ok(())
}

/// Refuses SQL that begins or ends transactions: the engine would not know of it.
pub(crate) fn refuse_transaction_steps(sql: &str) -> Result<()> {
    const STEPS: [&str; 6] = ["BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE"];
    let word = first_word(sql);
    if STEPS.iter().any(|step| word.eq_ignore_ascii_case(step)) {
        let message = "transactions are begun and ended by calls, not by SQL";
        return Err(misuse(message));
    }
    Ok(())
}

/// The first word of an SQL text, past white space, semicolons and comments.
fn first_word(sql: &str) -> &str {
    let mut rest = sql;
    loop {
        // As SQLite does: a vertical tab is a blank, and so is a byte order mark.
        rest = rest.trim_start_matches(|c| matches!(c, '\t'..='\r' | ' ' | ';' | '\u{feff}'));
        rest = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, after)| after)
        } else {
            let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            return rest.get(..end).unwrap_or_default();
        };
    }
}

#[cold]
fn wrong_key(table: &TableSchema, given: usize) -> Error {
    let error = Error::wrong_number(ErrorKind::Misuse, given, table.key().len(), "key column");
    error.in_table(table.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_found_behind_comments() {
        assert_eq!(first_word(" ;-- x\n/* BEGIN */ commit;"), "commit");
        assert_eq!(first_word("/* open"), "");
        assert!(refuse_transaction_steps("SELECT 1").is_ok());
        assert_eq!(first_word("\u{feff} \u{b}commit"), "commit");
        assert!(refuse_transaction_steps("/**/begin immediate").is_err());
    }
}
