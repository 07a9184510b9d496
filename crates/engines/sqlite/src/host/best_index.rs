//! Which conditions go to the engine, and what that costs: the answer to SQLite's planner.

use super::plan::{Offset, Plan, Term, Test};
use crate::ffi::{Constraint, Costs, IndexInfo, codes};
use bobak_core::{Collation, Estimate, Order, Result, Storage, TableSchema};

/// How many rows a table has of which nobody knows.
const UNKNOWN_ROWS: u64 = 10_000;

/// Chooses the plan, and tells SQLite of it; `false` where memory has run out.
pub(crate) fn choose(
    table: &TableSchema,
    number: i32,
    estimate: Estimate,
    info: &mut IndexInfo<'_>,
) -> Result<bool> {
    let constraints = info.constraints();
    let mut plan = Plan::default();
    let mut taken = Vec::new();
    for (number, constraint) in constraints.iter().enumerate() {
        if let Some(term) = term(table, info, number, *constraint) {
            if term.test == Test::In {
                info.take_list(number);
            }
            info.take(number, plan.terms.len(), false);
            plan.terms.push(term);
            taken.push(number);
        }
    }
    take_order(table, info, &mut plan);
    take_limit(table, info, &mut plan, &constraints, taken.len());
    take_columns(table, info, &mut plan);
    let costs = costs(table, estimate, &plan);
    Ok(info.answer(number, &plan.to_text(), costs))
}

/// The condition as the engine gets it, where it can.
fn term(
    table: &TableSchema,
    info: &IndexInfo<'_>,
    number: usize,
    constraint: Constraint,
) -> Option<Term> {
    let place = place(table, constraint.column)?;
    let column = table.columns().get(place)?;
    let is_list = || info.is_list(number);
    let test = test(constraint, is_list).filter(|_| constraint.usable)?;
    let term = Term { column: place, test };
    match test {
        // No value of the column is compared.
        Test::IsNull | Test::NotNull => return Some(term),
        Test::Like | Test::Glob => return (column.storage == Storage::Text).then_some(term),
        _ => {}
    }
    if column.storage == Storage::Any {
        return None;
    }
    let same = column.storage != Storage::Text
        || info.collation(number).eq_ignore_ascii_case(collation_name(column.collation));
    same.then_some(term)
}

/// The name of a collation on the host's connections.
pub(crate) const fn collation_name(collation: Collation) -> &'static str {
    match collation {
        Collation::Binary => "BINARY",
        Collation::NoCase => "NOCASE",
        Collation::UnicodeNoCase => "BOBAK_UNICODE_NOCASE",
    }
}

fn test(constraint: Constraint, is_list: impl FnOnce() -> bool) -> Option<Test> {
    Some(match constraint.operator {
        codes::SQLITE_INDEX_CONSTRAINT_EQ if is_list() => Test::In,
        codes::SQLITE_INDEX_CONSTRAINT_EQ => Test::Equal,
        codes::SQLITE_INDEX_CONSTRAINT_NE => Test::NotEqual,
        codes::SQLITE_INDEX_CONSTRAINT_LT => Test::Less,
        codes::SQLITE_INDEX_CONSTRAINT_LE => Test::LessOrEqual,
        codes::SQLITE_INDEX_CONSTRAINT_GT => Test::Greater,
        codes::SQLITE_INDEX_CONSTRAINT_GE => Test::GreaterOrEqual,
        codes::SQLITE_INDEX_CONSTRAINT_IS => Test::Is,
        codes::SQLITE_INDEX_CONSTRAINT_ISNOT => Test::IsNot,
        codes::SQLITE_INDEX_CONSTRAINT_ISNULL => Test::IsNull,
        codes::SQLITE_INDEX_CONSTRAINT_ISNOTNULL => Test::NotNull,
        codes::SQLITE_INDEX_CONSTRAINT_LIKE => Test::Like,
        codes::SQLITE_INDEX_CONSTRAINT_GLOB => Test::Glob,
        _ => return None,
    })
}

/// The place of a column; the rowid is the key.
fn place(table: &TableSchema, column: Option<usize>) -> Option<usize> {
    match column {
        Some(place) => (place < table.columns().len()).then_some(place),
        None if table.has_integer_key() => table.key().first().copied(),
        None => None,
    }
}

fn take_order(table: &TableSchema, info: &mut IndexInfo<'_>, plan: &mut Plan) {
    let step = |step: crate::ffi::OrderStep| {
        let column = place(table, step.column)?;
        Some(Order { column, descending: step.descending })
    };
    let steps = info.order();
    let order: Option<Vec<Order>> = steps.into_iter().map(step).collect();
    if let Some(order) = order
        && !order.is_empty()
    {
        plan.order = order;
        info.keep_order();
    }
}

/// SQLite names a limit only where one table is read, and every condition is one that the table
/// could take. It must be a bound on what is kept in the end, so all of them must be taken.
fn take_limit(
    table: &TableSchema,
    info: &mut IndexInfo<'_>,
    plan: &mut Plan,
    constraints: &[Constraint],
    taken: usize,
) {
    let find = |operator: i32| constraints.iter().position(|c| c.operator == operator && c.usable);
    let limit = find(codes::SQLITE_INDEX_CONSTRAINT_LIMIT);
    let offset = find(codes::SQLITE_INDEX_CONSTRAINT_OFFSET);
    let bounds = usize::from(limit.is_some()) + usize::from(offset.is_some());
    let wants_order = !info.order().is_empty();
    if taken + bounds < constraints.len() || (wants_order && plan.order.is_empty()) {
        return;
    }
    let mut argument = plan.terms.len();
    if let Some(limit) = limit {
        info.take(limit, argument, false);
        plan.limit = true;
        argument += 1;
    }
    if let Some(offset) = offset {
        let exact = plan.terms.iter().all(|term| is_exact(table, *term));
        info.take(offset, argument, exact);
        plan.offset = if exact { Offset::Engine } else { Offset::Host };
    }
}

/// Whether a condition keeps just what SQLite would keep, whatever its value is. A comparison of
/// texts may turn them into numbers first; a bound of a row value is wider than what it stands for.
fn is_exact(table: &TableSchema, term: Term) -> bool {
    match term.test {
        Test::IsNull | Test::NotNull => true,
        Test::Like | Test::Glob | Test::LessOrEqual | Test::GreaterOrEqual => false,
        _ => table.columns().get(term.column).is_some_and(|c| c.storage != Storage::Text),
    }
}

/// Those that the query reads, and the key's: updates find their row by it.
fn take_columns(table: &TableSchema, info: &IndexInfo<'_>, plan: &mut Plan) {
    let count = table.columns().len();
    plan.columns =
        (0..count).filter(|place| info.reads(*place) || table.key().contains(place)).collect();
}

fn costs(table: &TableSchema, estimate: Estimate, plan: &Plan) -> Costs {
    let all = estimate.rows.unwrap_or(UNKNOWN_ROWS).max(1) as f64;
    let points = |column: &usize| {
        plan.terms.iter().any(|t| t.column == *column && matches!(t.test, Test::Equal | Test::Is))
    };
    let indexes = || table.indexes().iter().map(|index| &index.columns[..]);
    let unique = table.indexes().iter().filter(|index| index.unique);
    let is_one = std::iter::once(table.key())
        .chain(unique.map(|index| &index.columns[..]))
        .any(|columns| columns.iter().all(points));
    // A NULL may be there many times.
    let is_key = table.key().iter().all(points);
    let rows = if is_one { 1.0 } else { (all * selectivity(plan)).max(1.0) };
    let bounded = |column: &usize| {
        plan.terms.iter().any(|term| term.column == *column && term.test != Test::NotEqual)
    };
    let indexed = std::iter::once(table.key())
        .chain(indexes())
        .any(|columns| columns.first().is_some_and(bounded));
    let looked_at = if indexed { rows } else { all };
    let (call, row) = (f64::from(estimate.call), f64::from(estimate.row));
    let run = call + looked_at * 0.5 + rows * (row + 1.0);
    // Where the same columns are asked for over and over, all rows are fetched once.
    let looked_up = 4.0 + rows + all * (row + 1.0) * 0.01;
    let is_lookup = plan.terms.iter().any(|term| term.test == Test::Equal);
    let cost = if is_lookup { run.min(looked_up) } else { run };
    Costs { cost, rows: rows as u64, unique: is_key }
}

/// About which part of the rows the conditions keep.
fn selectivity(plan: &Plan) -> f64 {
    let part = |term: &Term| match term.test {
        Test::Equal | Test::Is | Test::Glob => 0.1,
        Test::In | Test::Like => 0.2,
        Test::IsNull => 0.1,
        Test::Less | Test::LessOrEqual | Test::Greater | Test::GreaterOrEqual => 0.35,
        Test::NotEqual | Test::IsNot | Test::NotNull => 0.9,
    };
    plan.terms.iter().map(part).product()
}

impl Plan {
    /// Whether the columns that are to equal a value are asked for one value at a time.
    pub(crate) fn is_lookup(&self) -> bool {
        !self.limit
            && self.offset == Offset::None
            && self.terms.iter().any(|term| term.test == Test::Equal)
    }
}
