//! The steps of the server's plans.

use super::MySqlSession;
use crate::session::query::{self, QueryStatement, statement_of};
use bobak_core::plan::{ExplainedQuery, PlanAccess, PlanStep};
use bobak_core::{Result, Row, Session, Source, ValueRef};

impl MySqlSession<'_> {
    pub(super) fn explain_query(
        &self,
        query: &ExplainedQuery<'_>,
    ) -> Result<Option<Vec<PlanStep>>> {
        let mut steps = Vec::new();
        let mut each = |row: &dyn Row| {
            steps.push(step(row));
            Ok(true)
        };
        let dialect = self.engine.dialect;
        let statement = match query {
            ExplainedQuery::Source(Source::Sql { text, parameters }) => {
                let text = format!("EXPLAIN {text}");
                self.query(&Source::Sql { text: &text, parameters }, &mut each)?;
                return Ok(Some(steps));
            }
            ExplainedQuery::Source(source) => {
                statement_of(dialect, source, self.in_transaction.get())?
            }
            ExplainedQuery::Join(join) => match query::join_of(dialect, join) {
                Some(statement) => statement,
                None => return Ok(None),
            },
        };
        let text = format!("EXPLAIN {}", statement.text).into();
        self.run_query(
            &QueryStatement { text, table: None, columns: None, ..statement },
            &mut each,
        )?;
        Ok(Some(steps))
    }
}

/// A row of `EXPLAIN`: a table that the statement reads.
fn step(row: &dyn Row) -> PlanStep {
    let cell = |name: &str| {
        let is_named =
            |place: &usize| row.name(*place).is_some_and(|n| n.eq_ignore_ascii_case(name));
        let place = (0..row.len()).find(is_named)?;
        match row.get(place) {
            ValueRef::Text(text) => Some(text.to_owned()),
            ValueRef::Int(integer) => Some(integer.to_string()),
            _ => None,
        }
    };
    let (table, kind, key) = (cell("table"), cell("type"), cell("key"));
    let parts = [cell("select_type"), table.clone(), kind.clone(), key.clone(), cell("Extra")];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let mut step = PlanStep::new(parts.join(" "));
    step.access = kind.as_deref().filter(|_| table.is_some()).map(|kind| match kind {
        "ALL" | "index" => PlanAccess::Scan,
        _ => PlanAccess::Search,
    });
    step.table = table;
    step.index = key;
    step.rows = cell("rows").and_then(|rows| rows.parse().ok());
    step
}
