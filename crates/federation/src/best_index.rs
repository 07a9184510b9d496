//! The answer to SQLite's planner: which conditions go to the engine, and what that costs.

use crate::plan::{Offset, Operator, ScanPlan, Term};
use bobak_core::{
    Collation, ColumnSchema, Estimate, Order, Result, Storage, TableSchema, TextOrder,
};
use bobak_sqlite::virtual_table::{Constraint, ConstraintOperator, IndexInfo, OrderStep, PlanCost};

/// The assumed number of rows of a table whose engine gives no estimate.
const DEFAULT_ROWS: u64 = 10_000;

/// The assumed number of rows that have one value in the first column of an index: SQLite assumes the same for a
/// table without statistics.
const INDEXED_ROWS: f64 = 10.0;

/// Chooses the plan and passes it to SQLite; `false` if memory is exhausted.
pub(crate) fn choose(
    table: &TableSchema,
    number: i32,
    estimate: Estimate,
    info: &mut IndexInfo<'_>,
) -> Result<bool> {
    let constraints = info.constraints();
    let mut plan = ScanPlan::default();
    let mut taken = Vec::new();
    for (number, constraint) in constraints.iter().enumerate() {
        if let Some(term) = term(table, info, number, *constraint) {
            if term.operator == Operator::In {
                info.use_whole_list(number);
            }
            info.use_constraint(number, plan.terms.len(), false);
            plan.terms.push(term);
            taken.push(number);
        }
    }
    take_order(table, info, &mut plan);
    take_limit(table, info, &mut plan, &constraints, taken.len());
    take_columns(table, info, &mut plan);
    Ok(info.set_plan(number, &plan.to_text(), plan_cost(table, estimate, &plan)))
}

/// The condition as a term of the plan, if the engine can evaluate it.
fn term(
    table: &TableSchema,
    info: &IndexInfo<'_>,
    number: usize,
    constraint: Constraint,
) -> Option<Term> {
    let position = position(table, constraint.column)?;
    let column = table.columns().get(position)?;
    let is_list = || info.is_list(number);
    let operator = operator(constraint, is_list).filter(|_| constraint.usable)?;
    let term = Term { column: position, operator };
    match operator {
        // No value is compared.
        Operator::IsNull | Operator::NotNull => return Some(term),
        Operator::Like | Operator::Glob => {
            let is_plain =
                column.storage == Storage::Text && column.text_order == TextOrder::Collation;
            return is_plain.then_some(term);
        }
        _ => {}
    }
    if column.storage == Storage::Any {
        return None;
    }
    // The engine finds all rows with the same bytes, and perhaps others, which SQLite leaves out. What it finds
    // otherwise may not be all.
    let finds_all = matches!(operator, Operator::Equal | Operator::In | Operator::Is);
    if has_own_order(column) && !finds_all {
        return None;
    }
    let same = column.storage != Storage::Text
        || info.collation(number).eq_ignore_ascii_case(collation_name(column.collation));
    same.then_some(term)
}

/// Whether the engine compares and sorts the column's texts by rules of its own.
pub(crate) fn has_own_order(column: &ColumnSchema) -> bool {
    column.text_order == TextOrder::Engine
}

/// The name of a collation on the federation's connections.
pub(crate) const fn collation_name(collation: Collation) -> &'static str {
    match collation {
        Collation::Binary => "BINARY",
        Collation::NoCase => "NOCASE",
        Collation::UnicodeNoCase => "BOBAK_UNICODE_NOCASE",
    }
}

fn operator(constraint: Constraint, is_list: impl FnOnce() -> bool) -> Option<Operator> {
    Some(match constraint.operator {
        ConstraintOperator::Equal if is_list() => Operator::In,
        ConstraintOperator::Equal => Operator::Equal,
        ConstraintOperator::NotEqual => Operator::NotEqual,
        ConstraintOperator::Less => Operator::Less,
        ConstraintOperator::LessOrEqual => Operator::LessOrEqual,
        ConstraintOperator::Greater => Operator::Greater,
        ConstraintOperator::GreaterOrEqual => Operator::GreaterOrEqual,
        ConstraintOperator::Is => Operator::Is,
        ConstraintOperator::IsNot => Operator::IsNot,
        ConstraintOperator::IsNull => Operator::IsNull,
        ConstraintOperator::IsNotNull => Operator::NotNull,
        ConstraintOperator::Like => Operator::Like,
        ConstraintOperator::Glob => Operator::Glob,
        _ => return None,
    })
}

/// The position of a column; the rowid is the integer key.
fn position(table: &TableSchema, column: Option<usize>) -> Option<usize> {
    match column {
        Some(position) => (position < table.columns().len()).then_some(position),
        None if table.has_integer_key() => table.key().first().copied(),
        None => None,
    }
}

fn take_order(table: &TableSchema, info: &mut IndexInfo<'_>, plan: &mut ScanPlan) {
    let step = |step: OrderStep| {
        let column = position(table, step.column)?;
        table.columns().get(column).filter(|column| !has_own_order(column))?;
        Some(Order { column, descending: step.descending })
    };
    let steps = info.order();
    let order: Option<Vec<Order>> = steps.into_iter().map(step).collect();
    if let Some(order) = order
        && !order.is_empty()
    {
        plan.order = order;
        info.consume_order();
    }
}

/// SQLite offers a limit only if the query reads one table and offers every condition to it. The
/// limit counts rows that satisfy all conditions, so the plan must use all of them.
fn take_limit(
    table: &TableSchema,
    info: &mut IndexInfo<'_>,
    plan: &mut ScanPlan,
    constraints: &[Constraint],
    taken: usize,
) {
    let find = |operator: ConstraintOperator| {
        constraints.iter().position(|c| c.operator == operator && c.usable)
    };
    let limit = find(ConstraintOperator::Limit);
    let offset = find(ConstraintOperator::Offset);
    let bounds = usize::from(limit.is_some()) + usize::from(offset.is_some());
    let wants_order = !info.order().is_empty();
    let own_order = |term: &Term| table.columns().get(term.column).is_some_and(has_own_order);
    if plan.terms.iter().any(own_order) {
        // The engine may find rows that SQLite leaves out.
        return;
    }
    if taken + bounds < constraints.len() || (wants_order && plan.order.is_empty()) {
        return;
    }
    let mut argument = plan.terms.len();
    if let Some(limit) = limit {
        info.use_constraint(limit, argument, false);
        plan.limit = true;
        argument += 1;
    }
    if let Some(offset) = offset {
        let exact = plan.terms.iter().all(|term| is_exact(table, *term));
        info.use_constraint(offset, argument, exact);
        plan.offset = if exact { Offset::Engine } else { Offset::Sqlite };
    }
}

/// Whether a condition accepts exactly the rows that SQLite would, for every value. Comparing texts
/// may convert them to numbers; a row value's bound accepts more rows than the row value.
fn is_exact(table: &TableSchema, term: Term) -> bool {
    match term.operator {
        Operator::IsNull | Operator::NotNull => true,
        Operator::Like | Operator::Glob | Operator::LessOrEqual | Operator::GreaterOrEqual => false,
        _ => table.columns().get(term.column).is_some_and(|c| c.storage != Storage::Text),
    }
}

/// Reads the columns that the query needs, and the key, by which updates find their row.
fn take_columns(table: &TableSchema, info: &IndexInfo<'_>, plan: &mut ScanPlan) {
    let count = table.columns().len();
    plan.columns = (0..count)
        .filter(|position| info.reads(*position) || table.key().contains(position))
        .collect();
}

fn plan_cost(table: &TableSchema, estimate: Estimate, plan: &ScanPlan) -> PlanCost {
    let all = estimate.rows.unwrap_or(DEFAULT_ROWS).max(1) as f64;
    if table.is_view() {
        // It has no key by which SQLite could tell rows apart that satisfy both sides of an OR: conditions make it no
        // cheaper, so that SQLite never reads it once for each side.
        let cost = f64::from(estimate.call) + all * (f64::from(estimate.row) + 1.5);
        let rows = (all * selectivity(plan)).max(1.0) as u64;
        return PlanCost { cost, rows, unique: false };
    }
    let points = |column: &usize| {
        plan.terms
            .iter()
            .any(|t| t.column == *column && matches!(t.operator, Operator::Equal | Operator::Is))
    };
    let indexes = || table.indexes().iter().map(|index| &index.columns[..]);
    let unique = table.indexes().iter().filter(|index| index.unique);
    let is_one = std::iter::once(table.key())
        .chain(unique.map(|index| &index.columns[..]))
        .any(|columns| columns.iter().all(points));
    // Unique indexes can contain several NULLs; a key cannot.
    let is_key = table.key().iter().all(points);
    let by_index = std::iter::once(table.key())
        .chain(indexes())
        .any(|columns| columns.first().is_some_and(points));
    let rows = match (all * selectivity(plan)).max(1.0) {
        _ if is_one => 1.0,
        rows if by_index => rows.min(INDEXED_ROWS),
        rows => rows,
    };
    let bounded = |column: &usize| {
        plan.terms.iter().any(|term| term.column == *column && term.operator != Operator::NotEqual)
    };
    let indexed = std::iter::once(table.key())
        .chain(indexes())
        .any(|columns| columns.first().is_some_and(bounded));
    let examined = if indexed { rows } else { all };
    let (call, row) = (f64::from(estimate.call), f64::from(estimate.row));
    let run = call + examined * 0.5 + rows * (row + 1.0);
    // A table that is looked up often is read only once: see `lookup`.
    let cached = 4.0 + rows + all * (row + 1.0) * 0.01;
    let is_lookup = plan.terms.iter().any(|term| term.operator == Operator::Equal);
    let cost = if is_lookup { run.min(cached) } else { run };
    PlanCost { cost, rows: rows as u64, unique: is_key }
}

/// The estimated fraction of rows that satisfy the conditions.
fn selectivity(plan: &ScanPlan) -> f64 {
    let part = |term: &Term| match term.operator {
        Operator::Equal | Operator::Is | Operator::Glob => 0.1,
        Operator::In | Operator::Like => 0.2,
        Operator::IsNull => 0.1,
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            0.35
        }
        Operator::NotEqual | Operator::IsNot | Operator::NotNull => 0.9,
    };
    plan.terms.iter().map(part).product()
}

impl ScanPlan {
    /// Whether the plan looks rows up by the values of some columns.
    pub(crate) fn is_lookup(&self) -> bool {
        !self.limit
            && self.offset == Offset::None
            && self.terms.iter().any(|term| term.operator == Operator::Equal)
    }
}
