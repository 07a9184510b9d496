//! Updates and deletes by a condition.

use crate::foreign;
use crate::scan::Scan;
use crate::state::State;
use crate::statement::{Done, Statement};
use crate::table::TableState;
use crate::write::{check_links, check_update, encode, raised_version};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Assign, Condition, Error, ErrorKind, Order, Result, TableSchema, Value, ValueRef,
};
use std::sync::Arc;

/// The slots of the rows that the condition keeps, by key.
pub(super) fn concerned(table: Arc<TableState>, condition: Option<&Condition>) -> Vec<u32> {
    let ascending = |&column: &usize| Order { column, descending: false };
    let by_key: Vec<Order> = table.schema.key().iter().map(ascending).collect();
    let mut scan = Scan::new(table, condition, &by_key, None);
    std::iter::from_fn(|| scan.next_slot()).collect()
}

/// Deletes rows; gives how many were there.
///
/// # Errors
/// `Constraint`; nothing is changed then.
pub(super) fn delete(state: &mut State, place: usize, slots: &[u32]) -> Result<u64> {
    Statement::run(state, |statement| {
        let mut deleted = 0;
        for &slot in slots {
            // A row may have gone with one before it.
            deleted += u64::from(foreign::delete(statement, place, slot)?);
        }
        Ok(deleted)
    })
}

/// Updates rows one after the other; gives their number.
///
/// # Errors
/// As [`Session::change`](bobak_core::Session::change); nothing is changed then.
pub(super) fn update(
    state: &mut State,
    place: usize,
    given: &TableSchema,
    slots: &[u32],
    assign: &[Assign],
) -> Result<u64> {
    let mut buffer = Vec::new();
    Statement::run(state, |statement| {
        for &slot in slots {
            let table = statement.state().table(place);
            let Some(old) = table.row(slot) else { continue };
            let new = assigned(table, old, given.version(), assign, &mut buffer)?;
            check_update(table, slot, &new)?;
            statement.replace(place, slot, &new);
        }
        // Foreign keys hold at the end of the statement, not after each row.
        let state = statement.state();
        let links = state.links(place);
        if !links.out.is_empty() || !links.into.is_empty() {
            for done in statement.done() {
                if let Done::Replaced { place, slot, old } = done
                    && let Some(new) = state.table(*place).bytes(*slot)
                {
                    check_links(state, *place, Some(old), new)?;
                }
            }
        }
        Ok(slots.len() as u64)
    })
}

/// The row with the assignments made, and its version raised.
fn assigned(
    table: &TableState,
    old: EncodedRow<'_>,
    version: Option<usize>,
    assign: &[Assign],
    buffer: &mut Vec<u8>,
) -> Result<Arc<[u8]>> {
    let version = raised_version(table, old, version)?;
    let mut sums: Vec<(usize, Value<'static>)> = Vec::new();
    for step in assign {
        if let Assign::Add { column, value } = step {
            let sum = add(&table.schema, *column, old.value(*column), value.as_ref())?;
            sums.push((*column, sum));
        }
    }
    encode(buffer, table, |column| {
        if let Some((place, version)) = version
            && place == column
        {
            return ValueRef::Int(version);
        }
        // Of several for one column the last counts.
        match assign.iter().rev().find(|step| step.column() == column) {
            Some(Assign::Set { value, .. }) => value.as_ref(),
            Some(Assign::Add { .. }) => {
                let sum = sums.iter().rev().find(|(place, _)| *place == column);
                sum.map_or(ValueRef::Null, |(_, sum)| sum.as_ref())
            }
            None => old.value(column),
        }
    })
}

/// The sum of a column's value and a number.
///
/// # Errors
/// `OutOfRange` where it does not fit the column's type, `Mismatch` for what is no number.
fn add(
    schema: &TableSchema,
    column: usize,
    value: ValueRef<'_>,
    number: ValueRef<'_>,
) -> Result<Value<'static>> {
    let column = schema.columns().get(column);
    let refuse = |error: Error| {
        let error = error.in_table(schema.name());
        match column {
            Some(column) => error.in_column(column.name.clone()),
            None => error,
        }
    };
    let (low, high) =
        column.and_then(|column| column.ty.integer_range()).unwrap_or((i64::MIN, i64::MAX));
    let float = |a: f64, b: f64| {
        let sum = a + b;
        let message = "the sum of opposite infinities is no number";
        let not_nan = (!sum.is_nan()).then_some(Value::Float(sum));
        not_nan.ok_or_else(|| refuse(Error::new(ErrorKind::OutOfRange, message)))
    };
    match (value, number) {
        (ValueRef::Null, _) | (_, ValueRef::Null) => Ok(Value::Null),
        (ValueRef::Int(a), ValueRef::Int(b)) => match a.checked_add(b) {
            Some(sum) if (low..=high).contains(&sum) => Ok(Value::Int(sum)),
            _ => {
                let message = format!("{a} + {b} does not fit the column");
                Err(refuse(Error::new(ErrorKind::OutOfRange, message)))
            }
        },
        (ValueRef::Float(a), ValueRef::Float(b)) => float(a, b),
        (ValueRef::Float(a), ValueRef::Int(b)) => float(a, b as f64),
        (ValueRef::Int(a), ValueRef::Float(b)) => float(a as f64, b),
        (ValueRef::Int(_) | ValueRef::Float(_), other) | (other, _) => {
            Err(refuse(Error::mismatch("a number to add", other)))
        }
    }
}
