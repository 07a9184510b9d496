//! The default methods of [`Session`], built on the required ones.

pub use super::value_parts::{read_part, write_value};
use crate::{
    Assign, BulkChange, Comparison, Condition, Cursor, Error, ErrorKind, FieldSet, Interrupt,
    OnError, Outcome, Result, ResultColumn, Row, RowBuffer, Run, Select, Session, SideEffects,
    Source, TableSchema, Value, ValueRef, Verb, Write, WriteBatch, atomically,
};
use std::sync::Arc;

/// The savepoint of a batch or change inside a transaction. If a caller has a savepoint of this
/// name, the later one counts, which is this one until it is released.
const SAVEPOINT: &str = "bobak_statement";

/// [`Session::batch`] row by row.
///
/// # Errors
/// As [`Session::batch`].
pub fn batch<S: Session + ?Sized>(
    session: &S,
    batch: &WriteBatch,
    on_error: OnError,
    each: &mut dyn FnMut(Result<Outcome>),
) -> Result<()> {
    if batch.is_empty() {
        return Ok(());
    }
    atomically(session, SAVEPOINT, || {
        batch
            .runs()
            .try_for_each(|run| write_run(&run, on_error, each, &mut |write| session.write(write)))
    })
}

/// Writes the rows of one run of a batch with `write`, each by itself.
///
/// # Errors
/// With [`OnError::Stop`] the first error; with `Continue` one that concerns the whole batch, such as `Interrupted`.
pub fn write_run(
    run: &Run<'_>,
    on_error: OnError,
    each: &mut dyn FnMut(Result<Outcome>),
    write: &mut dyn FnMut(&Write<'_>) -> Result<Outcome>,
) -> Result<()> {
    let (table, verb, fields) = (run.table, run.verb, run.fields);
    for (number, row) in (run.first..).zip(run.iter()) {
        Interrupt::check()?;
        let values: Vec<Value<'_>> =
            (0..row.len()).map(|column| row.value(column).into()).collect();
        let written = write(&Write { table, verb, fields, values: &values });
        match written.map_err(|error| error.at_row(number)) {
            Err(error) if on_error == OnError::Stop || ends_batch(&error) => return Err(error),
            outcome => each(outcome),
        }
    }
    Ok(())
}

/// Whether an error concerns the whole batch, not just the row.
fn ends_batch(error: &Error) -> bool {
    error.is_retryable() || error.kind() == ErrorKind::Interrupted
}

/// [`Session::change`] by a query and single writes.
///
/// # Errors
/// As [`Session::change`].
pub fn change<S: Session + ?Sized>(session: &S, change: &BulkChange<'_>) -> Result<u64> {
    let table = change.table;
    let assign = change.assign.unwrap_or_default();
    let fields: FieldSet = assign.iter().map(Assign::column).collect();
    if table.key().iter().any(|&column| fields.contains(column)) {
        let message = "the engine cannot change keys: delete the row and insert another";
        return Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name()));
    }
    atomically(session, SAVEPOINT, || {
        let mut select = Select::all(table);
        select.condition = change.condition.cloned();
        let mut rows = RowBuffer::default();
        session.query(&Source::Select(&select), &mut |row| {
            Interrupt::check()?;
            rows.push(row).map(|()| true)
        })?;
        let mut changed = 0;
        while let Some(row) = rows.next_row()? {
            Interrupt::check()?;
            let value = |column: usize| Value::from(row.value(column));
            let outcome = if change.assign.is_some() {
                let mut values: Vec<Value<'_>> = (0..row.len()).map(value).collect();
                for step in assign {
                    if let Some(value) = values.get_mut(step.column()) {
                        *value = step.apply(table, row.value(step.column()))?;
                    }
                }
                session.write(&Write { table, verb: Verb::Update, fields, values: &values })?
            } else {
                let key: Vec<Value<'_>> = table.key().iter().map(|&column| value(column)).collect();
                let (verb, values) = (Verb::Delete, &key);
                session.write(&Write { table, verb, fields, values })?
            };
            // A row may have been deleted with one before it, by a foreign key.
            changed += u64::from(outcome != Outcome::Changed(0));
        }
        Ok(changed)
    })
}

/// [`Verb::UpsertOn`] by a query and a write, for [`Session::write`].
///
/// # Errors
/// As [`Session::write`].
pub fn upsert_on<S: Session + ?Sized>(session: &S, write: &Write<'_>) -> Result<Outcome> {
    let table = write.table;
    atomically(session, SAVEPOINT, || {
        let Some(mut row) = conflicting_row(session, write)? else {
            return session.write(&Write { verb: Verb::Insert, ..*write });
        };
        for column in write.fields.iter() {
            if let (Some(slot), Some(value)) = (row.get_mut(column), write.values.get(column)) {
                *slot = value.clone().into_owned();
            }
        }
        session.write(&Write { verb: Verb::Update, values: &row, ..*write })?;
        Ok(Outcome::of_updated(table, |at| row.get(at).map_or(ValueRef::Null, Value::as_ref)))
    })
}

/// The row that an upsert would update: the one with the written values in the columns of
/// [`Verb::conflict_columns`].
///
/// # Errors
/// As [`Session::query`].
pub fn conflicting_row<S: Session + ?Sized>(
    session: &S,
    write: &Write<'_>,
) -> Result<Option<Vec<Value<'static>>>> {
    let columns = write.verb.conflict_columns(write.table);
    let values: Vec<ValueRef<'_>> = columns
        .iter()
        .map(|&at| write.values.get(at).map_or(ValueRef::Null, Value::as_ref))
        .collect();
    // NULL equals no other value.
    if columns.is_empty() || values.iter().any(|value| value.is_null()) {
        return Ok(None);
    }
    let mut found = None;
    select_equal(session, write.table, columns, values, &mut |row| {
        found = Some((0..row.len()).map(|at| row.get(at).to_owned()).collect());
        Ok(())
    })?;
    Ok(found)
}

/// [`Session::get`] by a query.
///
/// # Errors
/// As [`Session::get`].
pub fn get<S: Session + ?Sized>(
    session: &S,
    table: &Arc<TableSchema>,
    key: &[Value<'_>],
    row: &mut dyn FnMut(&dyn Row) -> Result<()>,
) -> Result<bool> {
    let columns = table.key();
    if key.len() != columns.len() {
        let error =
            Error::wrong_number(ErrorKind::Mismatch, key.len(), columns.len(), "key column");
        return Err(error.in_table(table.name()));
    }
    select_equal(session, table, columns, key.iter().map(Value::as_ref), row)
}

/// Passes the first row with these values in the columns to `row`; returns `false` if there is none.
fn select_equal<'v, S: Session + ?Sized>(
    session: &S,
    table: &Arc<TableSchema>,
    columns: &[usize],
    values: impl IntoIterator<Item = ValueRef<'v>>,
    row: &mut dyn FnMut(&dyn Row) -> Result<()>,
) -> Result<bool> {
    let equal = |(&column, value): (&usize, ValueRef<'_>)| Condition::Compare {
        column,
        comparison: Comparison::Equal,
        value: value.to_owned(),
    };
    let mut select = Select::all(table);
    select.condition = Some(Condition::And(columns.iter().zip(values).map(equal).collect()));
    let mut found = false;
    session.query(&Source::Select(&select), &mut |lent| {
        found = true;
        row(lent).map(|()| false)
    })?;
    Ok(found)
}

/// Whether a table has rows.
///
/// # Errors
/// As [`Session::query`].
pub fn has_rows<S: Session + ?Sized>(session: &S, table: &Arc<TableSchema>) -> Result<bool> {
    let mut select = Select::all(table);
    select.limit = Some(1);
    select.order.clear();
    let mut found = false;
    session.query(&Source::Select(&select), &mut |_| {
        found = true;
        Ok(false)
    })?;
    Ok(found)
}

/// Runs a query for the [nearest](Select::nearest) rows by the session's own query for rows; returns `false` for every
/// other query. Engines call it first in [`Session::query`]: see [`nearest_rows`](crate::engine::nearest_rows), also about
/// `enter`. Those with cursors of their own call [`open`] for such a query.
///
/// # Errors
/// As [`nearest_rows`](crate::engine::nearest_rows).
#[inline]
pub fn nearest<S: Session + ?Sized, U>(
    session: &S,
    source: &Source<'_>,
    enter: impl FnOnce() -> Result<U>,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<bool> {
    match source {
        Source::Select(select) if select.nearest.is_some() => {
            crate::engine::nearest_rows(session, select, enter, row).map(|()| true)
        }
        Source::Select(select) if select.columns.contains(&crate::Expr::Distance) => {
            select.check_nearest().map(|()| false)
        }
        _ => Ok(false),
    }
}

/// [`Session::open`] with all rows in the cursor.
///
/// # Errors
/// As [`Session::open`].
pub fn open<S: Session + ?Sized>(session: &S, source: &Source<'_>) -> Result<Cursor> {
    let (mut rows, mut columns) = (RowBuffer::default(), Vec::new());
    session.query(source, &mut |row| {
        if columns.is_empty() {
            columns = ResultColumn::of_row(row);
        }
        rows.push(row).map(|()| true)
    })?;
    if let Source::Select(select) = source {
        columns = Source::select_columns(select);
    }
    Ok(Cursor::buffered(Arc::new(columns), rows))
}

/// Rejects a replay into tables that foreign keys concern: they would act a second time. A part of
/// [`Session::begin_replay`].
///
/// # Errors
/// `Unsupported`.
pub fn reject_foreign_keys(all: &[TableSchema], replayed: &[&str]) -> Result<()> {
    let is_replayed = |name: &str| replayed.contains(&name);
    let refers = |table: &&TableSchema| {
        let keys = table.all_foreign_keys();
        keys.iter().any(|key| is_replayed(table.name()) || is_replayed(&key.table))
    };
    match all.iter().find(refers) {
        None => Ok(()),
        Some(table) => {
            let message = "the engine cannot replay changes of tables with foreign keys";
            Err(Error::new(ErrorKind::Unsupported, message).in_table(table.name().to_owned()))
        }
    }
}

/// The effects of the session's [triggers](Session::triggers), and those that an SQL query returns:
/// each row has a table's name, and `written`, `deleted` or `updated`. For engines with SQL, as
/// [`Session::side_effects`].
///
/// # Errors
/// Those of the session.
pub fn query_side_effects<S: Session + ?Sized>(session: &S, sql: &str) -> Result<SideEffects> {
    let mut effects = SideEffects::of_triggers(&session.triggers()?.unwrap_or_default());
    session.query(&Source::Sql { text: sql, parameters: &[] }, &mut |row| {
        if let (ValueRef::Text(name), ValueRef::Text(what)) = (row.get(0), row.get(1)) {
            effects.add(name, what);
        }
        Ok(true)
    })?;
    Ok(effects)
}
