//! The steps of PostgreSQL's plans.

use super::PgSession;
use crate::session::query::{self, PreparedSource};
use crate::table_info::SQL;
use bobak_core::plan::{ExplainedQuery, PlanAccess, PlanStep};
use bobak_core::{Result, Row, Session, Source, Value, ValueRef};
use bobak_sql::Statement;

impl PgSession<'_> {
    pub(super) fn explain_query(
        &self,
        query: &ExplainedQuery<'_>,
    ) -> Result<Option<Vec<PlanStep>>> {
        let mut lines = Vec::new();
        let mut each = |row: &dyn Row| {
            if let ValueRef::Text(line) = row.get(0) {
                lines.push(line.to_owned());
            }
            Ok(true)
        };
        match query {
            ExplainedQuery::Source(Source::Sql { text, parameters }) => {
                let text = format!("EXPLAIN {text}");
                self.query(&Source::Sql { text: &text, parameters }, &mut each)?;
            }
            ExplainedQuery::Source(Source::Select(select)) => {
                self.explain_statement(bobak_sql::select(SQL, select), &mut each)?;
            }
            ExplainedQuery::Join(join) => match bobak_sql::join(SQL, join) {
                Some(statement) => self.explain_statement(statement, &mut each)?,
                None => return Ok(None),
            },
        }
        Ok(Some(steps(&lines)))
    }

    fn explain_statement(
        &self,
        statement: Statement<'_>,
        each: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let text = format!("EXPLAIN {}", statement.text);
        let parameters: Vec<Value<'_>> = statement.parameters;
        let mut state = self.state()?;
        state.with(|state, connection| {
            query::run_prepared(state, connection, each, |state, connection| {
                let prepared = state.prepare(connection, &text, &[])?;
                Ok(PreparedSource {
                    prepared,
                    parameters: parameters.clone(),
                    table: None,
                    may_fail: true,
                    is_short: false,
                    lock_wait: None,
                })
            })
        })
    }
}

/// The steps of a plan as text.
fn steps(lines: &[String]) -> Vec<PlanStep> {
    let mut list: Vec<(usize, PlanStep)> = Vec::new();
    for line in lines {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        let is_first = list.is_empty();
        let words = text.trim_start_matches("->").trim_start();
        let is_query =
            ["SubPlan ", "InitPlan ", "CTE "].iter().any(|start| text.starts_with(start));
        if is_first || text.starts_with("->") || is_query {
            list.push((if is_first { 0 } else { indent + 1 }, step(words)));
        } else if let Some((_, step)) = list.last_mut().filter(|_| indent > 0) {
            if step.index.is_some() && text.starts_with("Index Cond:") {
                step.access = Some(PlanAccess::Search);
            }
            step.text.push_str("; ");
            step.text.push_str(text);
        }
    }
    PlanStep::tree(list)
}

/// A step such as `Index Scan using by_city on city t0  (cost=0.00..1.50 rows=50 width=44)`.
fn step(line: &str) -> PlanStep {
    let (text, cost) = line.split_once("  (cost=").unwrap_or((line, ""));
    let mut step = PlanStep::new(text);
    step.rows = cost.split_once(" rows=").and_then(|(_, rest)| {
        let digits = rest.split(' ').next()?;
        digits.parse().ok()
    });
    let (node, target) = text.split_once(" on ").unwrap_or((text, ""));
    let (kind, index) = node.split_once(" using ").unwrap_or((node, ""));
    step.access = match kind.trim_start_matches("Parallel ") {
        "Seq Scan"
        | "Index Scan"
        | "Index Only Scan"
        | "Index Scan Backward"
        | "Index Only Scan Backward"
        | "Sample Scan" => Some(PlanAccess::Scan),
        "Bitmap Heap Scan" | "Tid Scan" | "Tid Range Scan" => Some(PlanAccess::Search),
        "Bitmap Index Scan" => {
            step.index = Some(unquoted(target).to_owned());
            None
        }
        _ => None,
    };
    if step.access.is_some() {
        step.table = Some(unquoted(target).to_owned());
        step.index = Some(unquoted(index).to_owned()).filter(|index| !index.is_empty());
    }
    step
}

/// The last name of a text, without quotes.
fn unquoted(text: &str) -> &str {
    match text.strip_suffix('"') {
        Some(quoted) => quoted.rsplit_once('"').map_or(quoted, |(_, name)| name),
        None => text.rsplit(' ').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_read() {
        let text = "Sort  (cost=8.18..8.19 rows=1 width=16)
  Sort Key: t0.total
  ->  Nested Loop  (cost=0.15..8.17 rows=1 width=16)
        ->  Seq Scan on \"my orders\" t0  (cost=0.00..1.05 rows=7 width=8)
              Filter: (city = 'Bern'::text)
        ->  Index Scan using customer_pkey on customer t1  (cost=0.15..8.17 rows=1 width=40)
              Index Cond: (id = t0.customer)
JIT:
  Functions: 4";
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let steps = steps(&lines);
        let [sort] = &steps[..] else { panic!("{steps:?}") };
        let [nested] = &sort.steps[..] else { panic!("{sort:?}") };
        let [orders, customer] = &nested.steps[..] else { panic!("{nested:?}") };
        assert_eq!((orders.table.as_deref(), orders.rows), (Some("t0"), Some(7)));
        assert_eq!(orders.access, Some(PlanAccess::Scan));
        assert!(orders.text.ends_with("; Filter: (city = 'Bern'::text)"), "{}", orders.text);
        assert_eq!(customer.index.as_deref(), Some("customer_pkey"));
        assert_eq!(customer.access, Some(PlanAccess::Search));
    }
}
