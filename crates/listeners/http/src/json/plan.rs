//! Plans as JSON.

use bobak_core::plan::{IndexAdvice, PlanAccess, PlanStep, QueryPlan};
use serde_json::{Value, json};

/// The plan of a query: its steps and the indexes that would help.
pub(crate) fn plan_json(plan: &QueryPlan) -> Value {
    let advice = |advice: &IndexAdvice| json!({"message": advice.message, "table": advice.table, "columns": advice.columns});
    json!({
        "steps": plan.steps.iter().map(step_json).collect::<Vec<_>>(),
        "advice": plan.advice.iter().map(advice).collect::<Vec<_>>(),
    })
}

fn step_json(step: &PlanStep) -> Value {
    let access = step.access.map(|access| match access {
        PlanAccess::Scan => "scan",
        PlanAccess::Search => "search",
    });
    json!({
        "text": step.text,
        "table": step.table,
        "access": access,
        "index": step.index,
        "rows": step.rows,
        "steps": step.steps.iter().map(step_json).collect::<Vec<_>>(),
    })
}
