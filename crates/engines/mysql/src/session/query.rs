//! Queries, as the text and parameters that are sent.

use crate::connection::Connection;
use crate::connection::placeholders;
use crate::values::decode::BorrowedRow;
use crate::values::encode::{self, plain_all};
use bobak_core::{
    Error, ErrorKind, Join, Parameter, Result, ResultColumn, Row, RowLock, Source, TableSchema,
};
use bobak_sql::{Dialect, Statement, first_word};
use mysql::Value as Wire;
use std::borrow::Cow;
use std::sync::Arc;

/// A source as a statement.
pub(crate) struct QueryStatement<'a> {
    pub table: Option<Arc<TableSchema>>,
    pub text: Cow<'a, str>,
    pub parameters: Vec<Wire>,
    /// The result's columns, if they are those of a query over a table.
    pub columns: Option<Vec<ResultColumn>>,
}

/// The statement of a source.
pub(crate) fn statement_of<'a>(
    dialect: Dialect,
    source: &Source<'a>,
    in_transaction: bool,
) -> Result<QueryStatement<'a>> {
    match *source {
        Source::Select(select) => {
            select.check_lock(in_transaction)?;
            select.check_search("mysql", dialect == Dialect::MariaDb)?;
            if dialect == Dialect::MySql && matches!(select.lock, Some(RowLock::WaitAtMost(_))) {
                let message = "MySQL has no timeout for one query's row locks: take \
                               RowLock::NoWait, or set busy_timeout";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            let Statement { text, parameters } = bobak_sql::select(dialect, select);
            Ok(QueryStatement {
                table: Some(Arc::clone(&select.table)),
                text: text.into(),
                parameters: plain_all(&parameters),
                columns: Some(Source::select_columns(select)),
            })
        }
        Source::Sql { text, parameters } => {
            reject_control(text, in_transaction)?;
            let (text, parameters) = with_parameters(dialect, text, parameters)?;
            Ok(QueryStatement { table: None, text, parameters, columns: None })
        }
    }
}

/// The statement of a join; `None` if the server would calculate otherwise than Bobak.
pub(crate) fn join_of(dialect: Dialect, join: &Join) -> Option<QueryStatement<'static>> {
    let Statement { text, parameters } = bobak_sql::join(dialect, join)?;
    Some(QueryStatement {
        table: join.tables.first().map(|first| Arc::clone(&first.table)),
        text: text.into(),
        parameters: plain_all(&parameters),
        columns: None,
    })
}

/// Runs the statement and hands its rows out.
pub(crate) fn run(
    connection: &mut Connection,
    statement: &QueryStatement<'_>,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let parameters = statement.parameters.clone();
    let table = statement.table.as_deref();
    connection.each(table, &statement.text, parameters, &mut |cells, columns| {
        row(&BorrowedRow { cells, columns })
    })
}

/// SQL text in the server's words, whose parameters are cast to their types, and their values.
pub(crate) fn with_parameters<'a>(
    dialect: Dialect,
    text: &'a str,
    parameters: &[Parameter<'_>],
) -> Result<(Cow<'a, str>, Vec<Wire>)> {
    bobak_sql::check_value_count(parameters.len(), dialect.max_parameters())?;
    let values = parameters.iter().map(encode::parameter).collect::<Result<_>>()?;
    let casts: Vec<Option<String>> = parameters.iter().map(encode::cast).collect();
    bobak_sql::check_statement(dialect.syntax(), text)?;
    let text = bobak_sql::translate(dialect, text)?;
    if casts.iter().all(Option::is_none) {
        return Ok((text, values));
    }
    let rewritten = placeholders::with_casts(&text, &casts)
        .map_err(|error| bobak_sql::several_statements().with_source(error))?;
    Ok((rewritten.into(), values))
}

/// Rejects statements of a transaction as text: the connection is shared with others.
pub(crate) fn reject_control(text: &str, inside: bool) -> Result<()> {
    const CONTROL: [&str; 11] = [
        "begin",
        "start",
        "commit",
        "rollback",
        "savepoint",
        "release",
        "xa",
        "lock",
        "unlock",
        "use",
        "set",
    ];
    bobak_sql::reject_control(Dialect::MySql.syntax(), text, &CONTROL)?;
    match inside && changes_schema(text) {
        true => Err(schema_in_transaction()),
        false => Ok(()),
    }
}

/// Whether the statement changes the schema, at which the server commits.
pub(crate) fn changes_schema(text: &str) -> bool {
    let word = first_word(Dialect::MySql.syntax(), text);
    let words = ["create", "alter", "drop", "truncate", "rename"];
    words.iter().any(|other| word.eq_ignore_ascii_case(other))
}

#[cold]
pub(crate) fn schema_in_transaction() -> Error {
    let message =
        "this server commits at each schema change: change the schema outside a transaction";
    Error::new(ErrorKind::Unsupported, message)
}
