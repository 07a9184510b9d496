//! Which index would help a plan that reads whole tables.

use super::uses::TableUse;
use super::{IndexAdvice, PlanAccess, PlanStep};
use crate::TableSchema;

/// The most columns of an index that is advised.
const MAX_COLUMNS: usize = 3;

/// What the engines call a sort that needs all rows first. SQLite's `LAST TERM OF ORDER BY` sorts few rows at once.
const SORTS: [&str; 4] =
    ["USE TEMP B-TREE FOR ORDER BY", "Sort", "Using filesort", "sort the rows"];

/// Names the tables of the steps, and returns the indexes that would help.
pub(super) fn advise(
    steps: &mut [PlanStep],
    uses: &[TableUse],
    tables: &[TableSchema],
) -> Vec<IndexAdvice> {
    let sorts = sorts(steps);
    let scans = any(steps, |step| step.access == Some(PlanAccess::Scan));
    let mut advice = Vec::new();
    for step in steps {
        advise_step(step, uses, tables, sorts, &mut advice);
    }
    // The plan may begin with all rows of a table without filters, since no index has the filters of another.
    if advice.is_empty() && scans && uses.len() > 1 {
        for found in uses {
            let table = tables.iter().find(|table| same(table.name(), &found.table));
            let columns = found.filters();
            advice.extend(
                table.and_then(|table| for_table(table, &columns, "is not read by its filters")),
            );
        }
    }
    advice
}

fn any(steps: &[PlanStep], holds: impl Fn(&PlanStep) -> bool) -> bool {
    let mut found = false;
    steps.iter().for_each(|step| step.for_each(&mut |step| found |= holds(step)));
    found
}

fn sorts(steps: &[PlanStep]) -> bool {
    any(steps, |step| SORTS.iter().any(|sort| step.text.contains(sort)))
}

fn advise_step(
    step: &mut PlanStep,
    uses: &[TableUse],
    tables: &[TableSchema],
    sorts: bool,
    advice: &mut Vec<IndexAdvice>,
) {
    if let Some(found) = step.table.as_deref().and_then(|name| find(uses, name)) {
        // An index that SQLite makes for one run of a statement, and drops.
        let is_automatic = step.text.contains(" AUTOMATIC ");
        let table = tables.iter().find(|table| same(table.name(), &found.table));
        if let Some(table) = table.filter(|_| step.access == Some(PlanAccess::Scan) || is_automatic)
        {
            let (columns, verb) = found.wanted(table, uses, sorts, is_automatic);
            let made = for_table(table, &columns, verb);
            advice.extend(made.filter(|made| !advice.contains(made)));
        }
        step.table = Some(found.table.clone());
    }
    for part in &mut step.steps {
        advise_step(part, uses, tables, sorts, advice);
    }
}

/// The table that a statement calls so; `None` if it has two of this name.
fn find<'u>(uses: &'u [TableUse], name: &str) -> Option<&'u TableUse> {
    let mut found = uses.iter().filter(|one| same(&one.alias, name));
    let first = found.next().or_else(|| uses.iter().find(|one| same(&one.table, name)))?;
    found.all(|other| other.table == first.table).then_some(first)
}

/// The index that would serve a table's filters, or its order; `None` if there is one already.
fn for_table(table: &TableSchema, columns: &[String], verb: &str) -> Option<IndexAdvice> {
    let places: Option<Vec<_>> = columns.iter().map(|name| table.column(name).ok()).collect();
    let places = places.filter(|places| !places.is_empty() && !is_served(table, places))?;
    let names = table.column_names(&places);
    Some(IndexAdvice {
        message: format!("{} {verb}: an index on {names} may help", table.name()),
        table: table.name().to_owned(),
        columns: columns.to_vec(),
    })
}

impl TableUse {
    fn filters(&self) -> Vec<String> {
        let range = self.ranges.iter().find(|name| !self.equal.contains(name));
        self.equal.iter().chain(range).take(MAX_COLUMNS).cloned().collect()
    }

    /// The columns of the index that would serve the use, and what the plan does without it. A link to another table is
    /// wanted if that table's rows are found first: by filters, or in an index that the engine makes.
    fn wanted(
        &self,
        table: &TableSchema,
        uses: &[Self],
        sorts: bool,
        is_automatic: bool,
    ) -> (Vec<String>, &'static str) {
        let is_first = |alias: &str| {
            let other = find(uses, alias);
            is_automatic || other.is_some_and(|o| !o.equal.is_empty() || !o.ranges.is_empty())
        };
        let has_none =
            |name: &str| table.column(name).is_ok_and(|place| !is_served(table, &[place]));
        let links = self.links.iter().filter(|(name, alias)| has_none(name) && is_first(alias));
        let links = links.map(|(name, _)| name);
        let mut columns: Vec<String> = Vec::new();
        for name in links.chain(&self.equal).chain(self.ranges.first()) {
            if !columns.contains(name) && columns.len() < MAX_COLUMNS {
                columns.push(name.clone());
            }
        }
        if columns.is_empty() && sorts {
            let order = self.order.iter().take(MAX_COLUMNS).cloned().collect();
            return (order, "sorts every row");
        }
        (columns, "reads every row")
    }
}

/// Whether the key or an index begins with one of the columns.
fn is_served(table: &TableSchema, columns: &[usize]) -> bool {
    let begins = |index: &[usize]| index.first().is_some_and(|first| columns.contains(first));
    begins(table.key()) || table.indexes().iter().any(|index| begins(&index.columns))
}

pub(super) fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}
