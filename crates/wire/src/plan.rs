//! Plans as rows: a row for each step, then one for each advice.

use crate::reader::corrupt;
use bobak_core::codec::EncodedRow;
use bobak_core::plan::{PlanAccess, PlanStep, QueryPlan};
use bobak_core::{Result, Row, RowBuffer, Value, ValueRef};

const SCAN: i64 = 0;
const SEARCH: i64 = 1;

/// The rows of a plan. `steps` are its steps as the engine returned them, in which a table has the name that the statement
/// gives it.
///
/// # Errors
/// `OutOfRange` for a row that the row codec cannot represent.
pub fn plan_rows(steps: &[PlanStep], plan: &QueryPlan) -> Result<RowBuffer> {
    let mut rows = RowBuffer::default();
    push_steps(&mut rows, steps, &plan.steps, 0)?;
    for advice in &plan.advice {
        let mut row = vec![Value::from(&*advice.table), Value::from(&*advice.message)];
        row.extend(advice.columns.iter().map(|column| Value::from(&**column)));
        rows.push(&row.as_slice())?;
    }
    Ok(rows)
}

fn push_steps(
    rows: &mut RowBuffer,
    engine: &[PlanStep],
    named: &[PlanStep],
    depth: i64,
) -> Result<()> {
    for (step, named) in engine.iter().zip(named) {
        let access = step.access.map_or(Value::Null, |access| match access {
            PlanAccess::Scan => Value::Int(SCAN),
            PlanAccess::Search => Value::Int(SEARCH),
        });
        let count = step.rows.and_then(|rows| i64::try_from(rows).ok());
        let row = [
            Value::Int(depth),
            Value::from(&*step.text),
            optional(named.table.as_deref()),
            optional(step.table.as_deref()),
            access,
            optional(step.index.as_deref()),
            count.map_or(Value::Null, Value::Int),
        ];
        rows.push(&row.as_slice())?;
        push_steps(rows, &step.steps, &named.steps, depth + 1)?;
    }
    Ok(())
}

fn optional(text: Option<&str>) -> Value<'_> {
    text.map_or(Value::Null, Value::from)
}

/// The steps in the rows of a plan, as the engine returned them.
///
/// # Errors
/// `Corrupt` for rows that are no plan; those of the iterator.
pub fn plan_steps<'a>(rows: impl Iterator<Item = Result<EncodedRow<'a>>>) -> Result<Vec<PlanStep>> {
    let mut list = Vec::new();
    for row in rows {
        let row = row?;
        let (ValueRef::Int(depth), ValueRef::Text(text)) = (row.value(0), row.value(1)) else {
            continue;
        };
        if Row::len(&row) < 7 {
            return Err(corrupt("a step of a plan is incomplete"));
        }
        let mut step = PlanStep::new(text);
        step.table = text_of(row.value(3));
        step.access = match row.value(4) {
            ValueRef::Int(SCAN) => Some(PlanAccess::Scan),
            ValueRef::Int(SEARCH) => Some(PlanAccess::Search),
            _ => None,
        };
        step.index = text_of(row.value(5));
        step.rows = match row.value(6) {
            ValueRef::Int(rows) => u64::try_from(rows).ok(),
            _ => None,
        };
        list.push((usize::try_from(depth).unwrap_or_default(), step));
    }
    Ok(PlanStep::tree(list))
}

fn text_of(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Text(text) => Some(text.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_as_they_were() {
        let mut sort = PlanStep::new("Sort");
        let mut scan = PlanStep::of_table("Seq Scan on city c", "c", PlanAccess::Scan);
        (scan.rows, scan.index) = (Some(7), Some("by_name".to_owned()));
        sort.steps = vec![scan, PlanStep::new("b")];
        let steps = vec![sort, PlanStep::new("c")];
        let mut rows = plan_rows(&steps, &QueryPlan::of_steps(steps.clone())).unwrap();
        let mut read = Vec::new();
        while let Some(row) = rows.next_row().unwrap() {
            read.push(row.as_bytes().to_vec());
        }
        let rows = read.iter().map(|bytes| EncodedRow::check(bytes));
        assert_eq!(plan_steps(rows).unwrap(), steps);
    }
}
