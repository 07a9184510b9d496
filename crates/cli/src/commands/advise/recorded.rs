//! The statements that a program ran.

use crate::commands::sql_files;
use crate::commands::statement_source::StatementList;
use crate::error::{Error, Result};
use bobak_sql::first_word;
use bobak_sql::token::SqlSyntax;
use std::path::Path;

/// A statement, and how often it ran.
#[derive(Clone, Debug)]
pub struct RecordedStatement {
    pub text: String,
    pub count: u64,
}

impl RecordedStatement {
    /// Whether it is about rows: neither a part of a transaction nor a look at the schema, which no index could serve.
    pub fn is_about_rows(&self) -> bool {
        let first = first_word(SqlSyntax::Sqlite, &self.text);
        let others =
            ["BEGIN", "START", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "READ"];
        !others.iter().any(|other| first.eq_ignore_ascii_case(other))
    }
}

/// Those that a server recorded. Lists of values have one value.
pub fn of_list(list: StatementList) -> Vec<RecordedStatement> {
    let statements = list.statements.into_iter();
    statements
        .map(|line| RecordedStatement { text: line.text.replace("?, …", "?"), count: line.count })
        .collect()
}

/// Those of a file: SQL, or the response of `GET /statements`.
///
/// # Errors
/// If it can't be read.
pub fn of_file(file: &Path) -> Result<Vec<RecordedStatement>> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Error::io(format_args!("read {}", file.display()), &error))?;
    if text.trim_start().starts_with('{') {
        let list = serde_json::from_str(&text).map_err(|error| {
            Error::failed(format!("{} is no list of statements: {error}", file.display()))
        })?;
        return Ok(of_list(list));
    }
    let mut found: Vec<RecordedStatement> = Vec::new();
    for statement in sql_files::statements(&text) {
        match found.iter_mut().find(|other| other.text == statement.text) {
            Some(other) => other.count += 1,
            None => found.push(RecordedStatement { text: statement.text, count: 1 }),
        }
    }
    Ok(found)
}
