//! What the memory engine says about its plans.

use crate::plan::Plan;
use crate::table::TableState;
use bobak_core::Select;
use bobak_core::plan::{PlanAccess, PlanStep};

/// How a query reads its table.
pub(super) fn step(table: &TableState, select: &Select) -> PlanStep {
    let name = table.schema.name();
    if select.search.is_some() {
        return PlanStep::of_table(format!("search the texts of {name}"), name, PlanAccess::Search);
    }
    // Groups are made in any order.
    let order = if select.is_grouped() { &[] } else { &select.order[..] };
    let plan = Plan::new(table, select.condition.as_ref(), order);
    let access = if plan.searches { PlanAccess::Search } else { PlanAccess::Scan };
    let verb = if plan.searches { "search" } else { "scan" };
    let columns = table.indexes().get(plan.index).map_or(&[][..], |index| &index.columns);
    let mut text = format!("{verb} {name} by {}", table.schema.column_names(columns));
    if plan.walk.is_none() {
        text.push_str(", sort the rows");
    }
    let mut step = PlanStep::of_table(text, name, access);
    // The first index is the key's, and has no name.
    let index = plan.index.checked_sub(1).and_then(|at| table.schema.indexes().get(at));
    step.index = index.map(|index| index.name.to_string());
    step.rows = match (&plan.path, plan.searches) {
        (crate::plan::Path::Slots(slots), _) => Some(slots.len() as u64),
        (_, false) => Some(table.len() as u64),
        _ => None,
    };
    step
}
