//! Queries.
//!
//! The server reads the rows that a condition may keep, by its indexes, in the order of the key; Bobak applies the rest, so
//! that every condition, order and sum means what it means on every engine.

use crate::connection::{Connection, OracleParameter};
use crate::dialect::OracleStatements;
use crate::names::{columns, quoted};
use crate::sql_text::sql_text;
use crate::texts;
use crate::values::check_text;
use crate::writes::{KeyValue, key_value, typed};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Collation, Expr, Result, Row, RowLock, Select, Source, TableSchema, Type, Value, ValueRef,
};
use bobak_engine_common::{
    EachRow, PreparedCondition, ServerCondition, ServerRow, check_texts, each_by_key, encode_row,
    kept_type, lock_rows, rows_to_lock, run_select,
};
use std::time::Duration;

/// Runs a query and hands its rows out.
///
/// # Errors
/// As [`Session::query`](bobak_core::Session::query).
pub(crate) fn run(
    connection: &mut Connection,
    source: &Source<'_>,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    match *source {
        Source::Select(select) => match select.lock {
            Some(lock) => run_locking(connection, select, lock, row),
            None => run_plain(connection, select, row),
        },
        Source::Sql { text, parameters } => {
            let (text, values) = sql_text(text, parameters)?;
            connection.each(None, &text, &values, None, &mut |found| row(found))
        }
    }
}

fn run_plain(
    connection: &mut Connection,
    select: &Select,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let table = &select.table;
    check_texts(select.condition.as_ref(), &check_text)?;
    let pushed = ServerCondition::of(&OracleStatements, table, select.condition.as_ref());
    if pushed.is_whole && select.columns == [Expr::Count] && select.group.is_empty() {
        let name = quoted(table.name());
        let sql = format!("SELECT COUNT(*) FROM {name}{}", pushed.text());
        let (limit, offset) = (select.limit.unwrap_or(1), select.offset);
        return connection.each(
            Some(table),
            &sql,
            &pushed.values(),
            Some(&[Type::I64]),
            &mut |found| {
                if limit == 0 || offset > 0 { Ok(false) } else { row(found) }
            },
        );
    }
    let most = most_rows(select, &pushed);
    let scan = |each: &mut EachRow<'_>| scan(connection, table, &pushed, most, each);
    run_select(table, select, scan, row)
}

fn scan_text(
    table: &TableSchema,
    pushed: &ServerCondition<'_>,
    is_sorted: bool,
    most: Option<u64>,
) -> String {
    let shown = columns(table, 0..table.columns().len());
    let order = match is_sorted {
        true => format!(" ORDER BY {}", columns(table, table.key().iter().copied())),
        false => String::new(),
    };
    let most = most.map_or_else(String::new, |most| format!(" FETCH FIRST {most} ROWS ONLY"));
    format!("SELECT {shown} FROM {}{}{order}{most}", quoted(table.name()), pushed.text())
}

/// Whether the server sorts the values of the key as Bobak does.
fn sorts_key(table: &TableSchema) -> bool {
    table.key().iter().all(|&place| {
        let column = table.columns().get(place);
        column.is_some_and(|column| match column.ty {
            Type::Text => column.collation == Collation::Binary,
            Type::Json | Type::Decimal | Type::Any => false,
            _ => !column.is_kept_as_text(),
        })
    })
}

/// How many rows the server must send at most, if the condition is all looked at there, and their order is that of the key.
fn most_rows(select: &Select, pushed: &ServerCondition<'_>) -> Option<u64> {
    let is_plain = select.columns.iter().all(|expr| expr.column().is_some());
    let by_key = select
        .order
        .iter()
        .zip(select.table.key())
        .all(|(order, &place)| order.column == place && !order.descending);
    let is_whole = pushed.is_whole && is_plain && by_key && select.group.is_empty();
    let most = select.limit.filter(|_| is_whole && sorts_key(&select.table))?;
    most.checked_add(select.offset).filter(|most| *most <= u32::MAX.into())
}

/// Passes the rows on that may match the condition, in the order of their keys.
fn scan(
    connection: &mut Connection,
    table: &TableSchema,
    pushed: &ServerCondition<'_>,
    most: Option<u64>,
    each: &mut EachRow<'_>,
) -> Result<()> {
    let is_sorted = sorts_key(table);
    let sql = scan_text(table, pushed, is_sorted, most);
    let types: Vec<Type> =
        (0..table.columns().len()).map(|place| kept_type(table, place)).collect();
    let values = pushed.values();
    each_by_key(table, is_sorted, each, |row| {
        connection.each(Some(table), &sql, &values, Some(&types), &mut |found| row(found))
    })
    .map(drop)
}

/// Reads the rows, locks each by its key, and passes those on that could be locked and still match. In a transaction that sees
/// the moment of its beginning, one that another has changed since is an error.
fn run_locking(
    connection: &mut Connection,
    select: &Select,
    lock: RowLock,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let table = &select.table;
    let rows = rows_to_lock(select, |plain, row| run_plain(connection, plain, row))?;
    // The server waits for whole seconds; the limit of the call has the rest.
    let seconds = |time: Duration| time.as_millis().div_ceil(1_000).clamp(1, 100_000);
    let (clause, limit) = match lock {
        RowLock::Wait => {
            let time = connection.busy_timeout();
            (format!(" FOR UPDATE WAIT {}", seconds(time)), Some(time))
        }
        RowLock::WaitAtMost(time) if !time.is_zero() => {
            (format!(" FOR UPDATE WAIT {}", seconds(time)), Some(time))
        }
        RowLock::SkipLocked => (" FOR UPDATE SKIP LOCKED".to_owned(), None),
        _ => (" FOR UPDATE NOWAIT".to_owned(), None),
    };
    let sql = texts::get(table, 0..table.columns().len(), table.key(), &clause);
    let condition =
        select.condition.as_ref().map(|condition| PreparedCondition::new(condition, table));
    let lock = RowLocker { table, sql, limit, condition };
    lock_rows(select, rows, row, |values| lock.lock_row(connection, values))
}

/// How rows are locked.
struct RowLocker<'s> {
    table: &'s TableSchema,
    /// Locks a row by its key.
    sql: String,
    limit: Option<Duration>,
    condition: Option<PreparedCondition>,
}

impl RowLocker<'_> {
    /// Locks a row by its key; reads it as it is now, and returns whether it is there and still matches.
    fn lock_row(
        &self,
        connection: &mut Connection,
        values: &mut Vec<Value<'static>>,
    ) -> Result<bool> {
        let table = self.table;
        let value = |place: usize| values.get(place).map_or(ValueRef::Null, Value::as_ref);
        let key: Vec<KeyValue<'_>> =
            table.key().iter().map(|&place| key_value(table, place, value(place))).collect();
        let key: Vec<OracleParameter<'_>> = key.iter().map(typed).collect();
        let types: Vec<Type> =
            (0..table.columns().len()).map(|place| kept_type(table, place)).collect();
        let (limit, mut found) = ((self.limit, true), None);
        let mut take = |row: &ServerRow| {
            let encoded = encode_row(table, |place| row.get(place))?;
            let row = EncodedRow::new(&encoded);
            if self.condition.as_ref().is_none_or(|condition| condition.matches(table, row)) {
                found =
                    Some((0..row.len()).map(|at| Value::from(row.get(at)).into_owned()).collect());
            }
            Ok(true)
        };
        connection.each_within(Some(table), &self.sql, &key, Some(&types), limit, &mut take)?;
        Ok(found.is_some_and(|found| {
            *values = found;
            true
        }))
    }
}
