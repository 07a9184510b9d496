//! How an engine runs a query: the steps of its plan, and which index would help.

mod advice;
mod text_uses;
mod uses;

use super::source::Source;
use crate::{Join, TableSchema};
use std::fmt;
use uses::TableUse;

/// A query whose plan a caller wants.
#[derive(Clone, Copy, Debug)]
pub enum ExplainedQuery<'a> {
    /// A query over one table, or SQL text without the word `EXPLAIN`.
    Source(Source<'a>),
    /// A join.
    Join(&'a Join),
}

/// How an engine would run a query, without running it.
///
/// It displays as its steps, one a line, and the advice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryPlan {
    /// The steps, in the engine's order.
    pub steps: Vec<PlanStep>,
    /// The indexes that would help. None for a query that reads by an index, that needs all rows, or that reads a column
    /// which has an index already.
    pub advice: Vec<IndexAdvice>,
}

/// A step of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanStep {
    /// What the engine says about the step.
    pub text: String,
    /// The table that the step reads; a name of the statement alone if it is no table.
    pub table: Option<String>,
    /// How it finds the rows of the table; `None` for a step that reads no table.
    pub access: Option<PlanAccess>,
    /// The index that it uses, if the engine names it.
    pub index: Option<String>,
    /// How many rows the engine expects the step to return, if it says so.
    pub rows: Option<u64>,
    /// The steps that this step consists of, or takes its rows from.
    pub steps: Vec<PlanStep>,
}

/// How a step finds the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanAccess {
    /// It reads all rows of the table, or all entries of an index.
    Scan,
    /// It reads the rows that it needs, by a key or an index.
    Search,
}

/// An index that would help a query.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexAdvice {
    /// The sentence.
    pub message: String,
    /// The table.
    pub table: String,
    /// The columns of the index, in its order.
    pub columns: Vec<String>,
}

impl PlanStep {
    /// A step with the engine's words about it.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A step that reads a table.
    #[must_use]
    pub fn of_table(text: impl Into<String>, table: &str, access: PlanAccess) -> Self {
        let mut step = Self::new(text);
        step.table = Some(table.to_owned());
        step.access = Some(access);
        step
    }

    /// Calls `each` with the step and all steps below it.
    pub fn for_each<'s>(&'s self, each: &mut dyn FnMut(&'s Self)) {
        each(self);
        self.steps.iter().for_each(|step| step.for_each(each));
    }

    /// Builds the tree of steps from a list in which each step has its depth, and follows the step that it belongs to.
    #[must_use]
    pub fn tree(list: Vec<(usize, Self)>) -> Vec<Self> {
        let mut open: Vec<(usize, Self)> = Vec::new();
        let mut roots = Vec::new();
        let close = |open: &mut Vec<(usize, Self)>, roots: &mut Vec<Self>, depth: usize| {
            while let Some((_, done)) = open.pop_if(|(other, _)| *other >= depth) {
                match open.last_mut() {
                    Some((_, parent)) => parent.steps.push(done),
                    None => roots.push(done),
                }
            }
        };
        for (depth, step) in list {
            close(&mut open, &mut roots, depth);
            open.push((depth, step));
        }
        close(&mut open, &mut roots, 0);
        roots
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        write!(f, "{:width$}{}", "", self.text, width = depth * 2)?;
        if let Some(rows) = self.rows {
            write!(f, " ({rows} {})", if rows == 1 { "row" } else { "rows" })?;
        }
        f.write_str("\n")?;
        self.steps.iter().try_for_each(|step| step.write(f, depth + 1))
    }
}

impl fmt::Display for QueryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.iter().try_for_each(|step| step.write(f, 0))?;
        self.advice.iter().try_for_each(|advice| writeln!(f, "advice: {advice}"))
    }
}

impl fmt::Display for IndexAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl QueryPlan {
    /// A plan without advice.
    #[must_use]
    pub const fn of_steps(steps: Vec<PlanStep>) -> Self {
        Self { steps, advice: Vec::new() }
    }

    /// A plan with these steps of an engine that has these tables.
    #[must_use]
    pub fn new(
        mut steps: Vec<PlanStep>,
        query: &ExplainedQuery<'_>,
        tables: &[TableSchema],
    ) -> Self {
        let uses = match query {
            ExplainedQuery::Source(Source::Select(select)) => vec![TableUse::of_select(select)],
            ExplainedQuery::Source(Source::Sql { text, .. }) => text_uses::of_text(text, tables),
            ExplainedQuery::Join(join) => TableUse::of_join(join),
        };
        let advice = advice::advise(&mut steps, &uses, tables);
        Self { steps, advice }
    }
}

#[cfg(test)]
mod tests;
