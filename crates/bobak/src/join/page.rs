//! Pages of joins: the next one begins behind the last row of the one before, in any order.

use super::run;
use crate::handle::SessionSource;
use crate::query::{Page, PageRequest, PageToken};
use crate::shape::in_snapshot;
use bobak_core::join::{JoinExpr, JoinOrder};
use bobak_core::statements::CallSite;
use bobak_core::{Error, ErrorKind, Join, JoinQuery, Result, Type, Value, ValueRef, no_place};

#[track_caller]
pub(super) fn page<L, R>(
    source: &SessionSource<'_>,
    query: &JoinQuery<L, R>,
    request: &PageRequest,
) -> Result<Page<R>> {
    let _at = CallSite::enter();
    let mut join = query.to_join()?;
    let is_combined = join.tables.iter().any(|table| table.rows.is_some());
    if is_combined && !join.is_grouped() {
        let message = "rows of combined queries may be equal, which have no pages: group them";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    if join.depends_on_all_rows() {
        // What a page leaves out belongs to groups, windows and limits, too.
        join = join.into_rows()?;
    }
    in_snapshot(source, |source| {
        let total = request.with_total.then(|| count(source, &join)).transpose()?;
        Ok(Page { total, ..read(source, query, join, request)? })
    })
}

fn read<L, R>(
    source: &SessionSource<'_>,
    query: &JoinQuery<L, R>,
    mut join: Join,
    request: &PageRequest,
) -> Result<Page<R>> {
    // One more row tells whether there is a next page.
    join.limit = Some(request.size.saturating_add(1));
    let selected = join.columns.len();
    join.columns.extend(join.order.iter().map(|step| step.expr.clone()));
    if let Some(token) = &request.after {
        let values = token.values(join.order.len(), |place, value| check(&join, place, value))?;
        join = join.after_row(&values)?;
    }
    let size = usize::try_from(request.size).unwrap_or(usize::MAX);
    let (mut items, mut last, mut has_next) = (Vec::new(), None, false);
    run(source, &join, &mut |row| {
        has_next = items.len() == size;
        if has_next {
            return Ok(false);
        }
        items.push(query.read(row)?);
        if items.len() == size {
            let values = (selected..join.columns.len()).map(|place| Value::from(row.get(place)));
            let values: Vec<_> = values.collect();
            last = Some(place_of(&join, &values)?);
        }
        Ok(true)
    })?;
    Ok(Page { items, next: last.filter(|_| has_next), total: None })
}

/// The place behind a row.
///
/// # Errors
/// As [`bobak_core::no_place`].
fn place_of(join: &Join, values: &[Value<'_>]) -> Result<PageToken> {
    let named = |step: &JoinOrder| match step.expr {
        JoinExpr::Column(column) => join.column(column).map_or("", |column| &column.name),
        _ => "an expression",
    };
    for (place, (step, value)) in join.order.iter().zip(values).enumerate() {
        if check(join, place, value.as_ref()).is_err()
            || value.is_null() && join.is_of_key(&step.expr)
        {
            let row = join.order.iter().zip(values);
            let row = row.map(|(step, value)| (named(step), value.as_ref()));
            return Err(no_place(named(step), row));
        }
    }
    PageToken::of_values(values)
}

/// Checks a value of a token against the order.
fn check(join: &Join, place: usize, value: ValueRef<'_>) -> Result<()> {
    let Some(step) = join.order.get(place) else { return Ok(()) };
    match (&step.expr, value) {
        // A left join may lack the record.
        (_, ValueRef::Null) => Ok(()),
        (JoinExpr::Column(column), value) => match join.column(*column) {
            Some(column) => column.check_stored(value),
            None => Ok(()),
        },
        (expr, value) => {
            let (fits, wanted) = match expr.ty(join) {
                Type::F64 => (matches!(value, ValueRef::Float(_)), "a float"),
                Type::Text => (matches!(value, ValueRef::Text(_)), "a text"),
                _ => (matches!(value, ValueRef::Int(_)), "a number"),
            };
            if fits { Ok(()) } else { Err(Error::mismatch(wanted, value)) }
        }
    }
}

/// The number of rows.
fn count(source: &SessionSource<'_>, join: &Join) -> Result<u64> {
    let mut count = 0;
    run(source, &join.count()?, &mut |row| {
        if let ValueRef::Int(rows) = row.get(0) {
            count = rows.unsigned_abs();
        }
        Ok(true)
    })?;
    Ok(count)
}
