//! Queries for the nearest rows, run by a query for rows.

use super::candidates::Candidates;
use crate::nearest::{Kernel, Nearest};
use crate::{
    Condition, Error, Expr, Interrupt, Result, Row, Select, Session, Source, TableSchema, Type,
    Value, ValueRef, compare_in_column,
};
use std::cmp::Ordering;

/// The number of rows between two checks for an interrupt.
const INTERRUPT_INTERVAL: u32 = 256;

/// Where the rows of the query that reads have what the nearest rows need.
struct Places {
    vector: usize,
    key: Vec<usize>,
    /// The place of each column of the result; `None` for the distance.
    columns: Vec<Option<usize>>,
}

/// A row that may be among the nearest.
struct Candidate {
    key: Vec<Value<'static>>,
    row: Vec<Value<'static>>,
}

/// Runs a query for the [nearest](Select::nearest) rows with the session's own query for rows, and passes them to `row`:
/// computes the distance of each row that the condition leaves, and keeps the nearest. What `enter` returns is held while
/// the rows are passed: it marks the session as in use, so that `row` cannot call it.
///
/// # Errors
/// As [`Select::check_nearest`] and [`Session::query`]; `Mismatch` for a stored vector of another length.
pub fn nearest_rows<S: Session + ?Sized, U>(
    session: &S,
    select: &Select,
    enter: impl FnOnce() -> Result<U>,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    select.check_nearest()?;
    let Some(nearest) = &select.nearest else { return session.query(&Source::Select(select), row) };
    let (reading, places) = reading(select, nearest);
    let most = select.limit.map_or(u64::MAX, |limit| limit.saturating_add(select.offset));
    if select.limit == Some(0) {
        return Ok(());
    }
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut candidates = Candidates::new(most, |a, b| by_key(&select.table, a, b));
    let (kernel, size) = (Kernel::new(nearest), nearest.to.len() * 4);
    let mut passed = 0_u32;
    session.query(&Source::Select(&reading), &mut |found| {
        passed = passed.wrapping_add(1);
        if passed.is_multiple_of(INTERRUPT_INTERVAL) {
            Interrupt::check()?;
        }
        let distance = match found.get(places.vector) {
            ValueRef::Bytes(bytes) if bytes.len() == size => kernel.distance(bytes),
            value => return Err(not_a_vector(value, nearest, &select.table)),
        };
        if candidates.may_have(distance) {
            candidates.add(distance, places.candidate(found, distance));
        }
        Ok(true)
    })?;
    let skipped = usize::try_from(select.offset).unwrap_or(usize::MAX);
    let _in_use = enter()?;
    for (_, candidate) in candidates.finish().into_iter().skip(skipped) {
        if !row(&candidate.row.as_slice())? {
            break;
        }
    }
    Ok(())
}

impl Places {
    fn candidate(&self, row: &dyn Row, distance: f64) -> Candidate {
        let value = |place: &Option<usize>| {
            place.map_or(Value::Float(distance), |place| row.get(place).to_owned())
        };
        let key = self.key.iter().map(|&place| row.get(place).to_owned()).collect();
        Candidate { key, row: self.columns.iter().map(value).collect() }
    }
}

fn by_key(table: &TableSchema, a: &Candidate, b: &Candidate) -> Ordering {
    let columns = table.key().iter().zip(a.key.iter().zip(&b.key));
    let compared = |(column, (a, b)): (&usize, (&Value<'_>, &Value<'_>))| {
        compare_in_column(table, *column, a.as_ref(), b.as_ref())
    };
    columns.map(compared).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// The query for the rows whose distances are computed.
fn reading(select: &Select, nearest: &Nearest) -> (Select, Places) {
    let mut reading = Select { nearest: None, limit: None, offset: 0, ..select.clone() };
    reading.order.clear();
    reading.columns.clear();
    let mut place_of = |expr: Expr| {
        reading.columns.iter().position(|other| *other == expr).unwrap_or_else(|| {
            reading.columns.push(expr);
            reading.columns.len() - 1
        })
    };
    let mut place = |expr: &Expr| (*expr != Expr::Distance).then(|| place_of(*expr));
    let columns = select.columns.iter().map(&mut place).collect();
    let vector = place_of(Expr::Column(nearest.column));
    let key = select.table.key().iter().map(|&column| place_of(Expr::Column(column))).collect();
    let is_nullable = select.table.columns().get(nearest.column).is_some_and(|c| c.nullable);
    if is_nullable {
        let has_vector = Condition::Not(Box::new(Condition::IsNull { column: nearest.column }));
        reading.condition = Some(match reading.condition {
            Some(condition) => Condition::And(vec![condition, has_vector]),
            None => has_vector,
        });
    }
    (reading, Places { vector, key, columns })
}

/// The error for a row of another program, which has something else in the column.
#[cold]
fn not_a_vector(value: ValueRef<'_>, nearest: &Nearest, table: &TableSchema) -> Error {
    let ty = Type::Vector(u16::try_from(nearest.to.len()).unwrap_or(u16::MAX));
    let column = table.columns().get(nearest.column).map(|column| column.name.clone());
    let error = Error::mismatch(&ty.to_string(), value).in_table(table.name());
    error.in_column(column.unwrap_or_default())
}
