//! The steps of SQLite's plans.

use super::SqliteSession;
use super::session_connection::AccessMode;
use bobak_core::plan::{ExplainedQuery, PlanAccess, PlanStep};
use bobak_core::{Result, Row, Session, Source, ValueRef};
use bobak_sql::{Dialect, Statement};

const EXPLAIN: &str = "EXPLAIN QUERY PLAN ";

/// A row of `EXPLAIN QUERY PLAN`.
struct PlanLine {
    id: i64,
    parent: i64,
    detail: String,
}

impl SqliteSession<'_> {
    pub(super) fn explain_query(
        &self,
        query: &ExplainedQuery<'_>,
    ) -> Result<Option<Vec<PlanStep>>> {
        let statement = match query {
            ExplainedQuery::Source(Source::Sql { text, parameters }) => {
                return self
                    .explain_text(&Source::Sql { text: &format!("{EXPLAIN}{text}"), parameters });
            }
            ExplainedQuery::Source(Source::Select(select)) => {
                bobak_sql::select(Dialect::Sqlite, select)
            }
            ExplainedQuery::Join(join) => match bobak_sql::join(Dialect::Sqlite, join) {
                Some(statement) => statement,
                None => return Ok(None),
            },
        };
        let Statement { text, parameters } = statement;
        let mut using = self.connection(AccessMode::Read)?;
        let mut lines = Vec::new();
        using.get().each_row(&format!("{EXPLAIN}{text}"), &parameters, None, &mut |row| {
            lines.push(PlanLine::read(row));
            Ok(true)
        })?;
        Ok(Some(steps(&lines, 0)))
    }

    /// As any statement of the caller: the authorizer sees what it would do.
    fn explain_text(&self, source: &Source<'_>) -> Result<Option<Vec<PlanStep>>> {
        let mut lines = Vec::new();
        self.query(source, &mut |row| {
            lines.push(PlanLine::read(row));
            Ok(true)
        })?;
        Ok(Some(steps(&lines, 0)))
    }
}

impl PlanLine {
    fn read(row: &dyn Row) -> Self {
        let integer = |at: usize| match row.get(at) {
            ValueRef::Int(integer) => integer,
            _ => 0,
        };
        let detail = match row.get(3) {
            ValueRef::Text(text) => text.to_owned(),
            _ => String::new(),
        };
        Self { id: integer(0), parent: integer(1), detail }
    }
}

/// The steps below one, each with its own. A line comes after the one that it belongs to.
fn steps(lines: &[PlanLine], parent: i64) -> Vec<PlanStep> {
    let children = lines.iter().enumerate().filter(|(_, line)| line.parent == parent);
    let steps = children.map(|(at, line)| {
        let mut found = step(&line.detail);
        found.steps = steps(lines.get(at + 1..).unwrap_or_default(), line.id);
        found
    });
    steps.collect()
}

/// A step such as `SEARCH t0 USING INDEX by_city (city=?)`.
fn step(detail: &str) -> PlanStep {
    let mut found = PlanStep::new(detail);
    let (access, rest) = match detail.split_once(' ') {
        Some(("SCAN", rest)) => (PlanAccess::Scan, rest),
        Some(("SEARCH", rest)) => (PlanAccess::Search, rest),
        _ => return found,
    };
    if rest == "CONSTANT ROW" || rest.starts_with('(') {
        return found;
    }
    let ends = [" USING ", " VIRTUAL TABLE ", " LEFT-JOIN", " EXISTS"];
    let end = ends.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
    let (table, using) = rest.split_at(end);
    found.table = Some(table.to_owned());
    found.access = Some(access);
    found.index = using.split_once("INDEX ").and_then(|(before, name)| {
        let is_named = !before.contains("AUTOMATIC") && !before.contains("VIRTUAL");
        let name = name.split(" (").next().filter(|name| is_named && !name.starts_with('('))?;
        Some(name.to_owned())
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_read() {
        let read = |detail: &str| {
            let step = step(detail);
            (step.table.unwrap_or_default(), step.access, step.index.unwrap_or_default())
        };
        let (scan, search) = (Some(PlanAccess::Scan), Some(PlanAccess::Search));
        let is = |table: &str, access, index: &str| (table.to_owned(), access, index.to_owned());
        assert_eq!(read("SCAN my table"), is("my table", scan, ""));
        assert_eq!(read("SCAN t0 USING COVERING INDEX a b"), is("t0", scan, "a b"));
        assert_eq!(read("SEARCH t USING INDEX i (a=? AND b>?)"), is("t", search, "i"));
        let by_key = "SEARCH t USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN";
        assert_eq!(read(by_key), is("t", search, ""));
        let automatic = "SEARCH t USING AUTOMATIC COVERING INDEX (a=?) LEFT-JOIN";
        assert_eq!(read(automatic), is("t", search, ""));
        assert_eq!(read("SCAN t VIRTUAL TABLE INDEX 0:M2"), is("t", scan, ""));
        assert_eq!(read("SCAN CONSTANT ROW"), is("", None, ""));
        assert_eq!(read("SCAN (subquery-1)"), is("", None, ""));
        assert_eq!(read("USE TEMP B-TREE FOR ORDER BY"), is("", None, ""));
    }
}
