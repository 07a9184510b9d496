//! Queries, as the text and parameters that are sent.

use crate::connection::Connection;
use crate::connection::placeholders;
use crate::values::decode::BorrowedRow;
use crate::values::encode::plain_all;
use bobak_core::{Error, ErrorKind, Result, ResultColumn, Row, Source, TableSchema, Value};
use bobak_sql::{Dialect, Statement, first_word};
use std::borrow::Cow;
use std::sync::Arc;

/// A source as a statement.
pub(crate) struct QueryStatement<'a> {
    pub table: Option<Arc<TableSchema>>,
    pub text: Cow<'a, str>,
    pub parameters: Cow<'a, [Value<'a>]>,
    /// The result's columns, if they are those of a query over a table.
    pub columns: Option<Vec<ResultColumn>>,
}

/// The statement of a source.
pub(crate) fn statement_of<'a>(
    dialect: Dialect,
    source: &Source<'a>,
) -> Result<QueryStatement<'a>> {
    match *source {
        Source::Select(select) => {
            let Statement { text, parameters } = bobak_sql::select(dialect, select);
            Ok(QueryStatement {
                table: Some(Arc::clone(&select.table)),
                text: text.into(),
                parameters: parameters.into(),
                columns: Some(Source::select_columns(select)),
            })
        }
        Source::Sql { text, parameters } => {
            let values: Vec<_> = parameters.iter().map(|one| one.value.clone()).collect();
            let text = with_bytes(text, &values)?;
            Ok(QueryStatement { table: None, text, parameters: values.into(), columns: None })
        }
    }
}

/// Runs the statement and hands its rows out.
pub(crate) fn run(
    connection: &mut Connection,
    statement: &QueryStatement<'_>,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let parameters = plain_all(&statement.parameters);
    let table = statement.table.as_deref();
    connection.each(table, &statement.text, parameters, &mut |cells, columns| {
        row(&BorrowedRow { cells, columns })
    })
}

/// SQL text in which parameters that are bytes say so.
pub(crate) fn with_bytes<'a>(text: &'a str, parameters: &[Value<'_>]) -> Result<Cow<'a, str>> {
    let bytes = |(at, value): (usize, &Value<'_>)| matches!(value, Value::Bytes(_)).then_some(at);
    let bytes: Vec<usize> = parameters.iter().enumerate().filter_map(bytes).collect();
    if bytes.is_empty() {
        return Ok(text.into());
    }
    let rewritten = placeholders::with_bytes(text, &bytes);
    rewritten.map(Cow::from).map_err(|error| {
        let message = "there is more than one statement";
        Error::new(ErrorKind::Syntax, message).with_source(error)
    })
}

/// Rejects statements of a transaction as text: the connection is shared with others.
pub(crate) fn reject_control(text: &str, inside: bool) -> Result<()> {
    let word = first_word(Dialect::MySql.syntax(), text).to_ascii_lowercase();
    match word.as_str() {
        "begin" | "start" | "commit" | "rollback" | "savepoint" | "release" | "xa" | "lock"
        | "unlock" | "use" | "set" => {
            let message = format!(
                "{word} is not for SQL text: the connection is shared; use the transaction's calls"
            );
            Err(Error::new(ErrorKind::Misuse, message))
        }
        "create" | "alter" | "drop" | "truncate" | "rename" if inside => {
            Err(schema_in_transaction())
        }
        _ => Ok(()),
    }
}

#[cold]
pub(crate) fn schema_in_transaction() -> Error {
    let message = "this server commits at each change of the schema: make it outside a transaction";
    Error::new(ErrorKind::Unsupported, message)
}
