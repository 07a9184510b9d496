//! Requests the plan of a query from a session.

use super::plan::{ExplainedQuery, PlanStep, QueryPlan};
use super::session::Session;
use super::source::Source;
use crate::sql_token::{SqlSyntax, SqlTokenizer};
use crate::{Error, ErrorKind, Result};

impl QueryPlan {
    /// Requests the plan of a query from a session, and adds the advice; `None` if the engine does not run the join.
    ///
    /// # Errors
    /// `Misuse` for SQL text that is no statement about rows; as [`Session::explain`].
    pub fn ask(session: &dyn Session, query: &ExplainedQuery<'_>) -> Result<Option<Self>> {
        let Some(steps) = Self::ask_steps(session, query)? else { return Ok(None) };
        let tables = session.tables()?;
        Ok(Some(Self::new(steps, query, &tables)))
    }

    /// Requests the steps alone, in which a table has the name that the statement gives it.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn ask_steps(
        session: &dyn Session,
        query: &ExplainedQuery<'_>,
    ) -> Result<Option<Vec<PlanStep>>> {
        if let ExplainedQuery::Source(Source::Sql { text, .. }) = query {
            check_statement(text)?;
        }
        if let ExplainedQuery::Source(source) = query
            && source.is_nearest()
        {
            let message = "a query for the nearest rows reads all rows that its conditions leave: explain \
                           the same query without `nearest`";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        session.explain(query)
    }
}

/// Rejects a text that does not begin as a statement about rows: after the engine's word `EXPLAIN`, a word such as `ANALYZE`
/// runs what follows it.
fn check_statement(text: &str) -> Result<()> {
    const WORDS: [&str; 7] = ["select", "with", "values", "insert", "update", "delete", "replace"];
    let first = SqlTokenizer::new(SqlSyntax::Sqlite, text).significant().next();
    if first.is_some_and(|token| WORDS.iter().any(|word| token.is_word(word))) {
        return Ok(());
    }
    let message =
        "only statements that read or write rows have a plan: pass one without the word EXPLAIN";
    Err(Error::new(ErrorKind::Misuse, message))
}
