//! Queries.
//!
//! The server reads the rows that a condition may keep, by its indexes, in the order of the key; Bobak applies the rest, so
//! that every condition, order and sum means what it means on every engine.

use crate::columns::is_octets;
use crate::connection::{Connection, GivenValue, RETRY};
use crate::error::holder;
use crate::pushed::PushedCondition;
use crate::sql_text::sql_text;
use crate::texts;
use crate::values::{check_text, is_text};
use crate::writes::{compared, given};
use bobak_core::{
    Error, ErrorKind, Expr, Interrupt, Result, Row, RowLock, Select, Source, TableSchema, Type,
    Value, ValueRef,
};
use bobak_engine_common::{
    EachRow, check_texts, each_by_key, kept_type, lock_rows, rows_to_lock, run_select,
};
use std::time::{Duration, Instant};

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
    let mut pushed = PushedCondition::of(connection.names, table, select.condition.as_ref());
    if pushed.is_whole && select.columns == [Expr::Count] && select.group.is_empty() {
        let name = connection.names.quoted(table.name());
        let sql = format!("SELECT COUNT(*) FROM {name}{}", pushed.condition());
        let (limit, offset) = (select.limit.unwrap_or(1), select.offset);
        return connection.each(Some(table), &sql, &pushed.values(), None, &mut |found| {
            if limit == 0 || offset > 0 { Ok(false) } else { row(found) }
        });
    }
    let scan = |each: &mut EachRow<'_>| scan(connection, table, &mut pushed, each);
    run_select(table, select, scan, row)
}

/// Passes the rows on that may match the condition, in the order of their keys.
fn scan(
    connection: &mut Connection,
    table: &TableSchema,
    pushed: &mut PushedCondition<'_>,
    each: &mut EachRow<'_>,
) -> Result<()> {
    // The server sorts these as Bobak does. A view may have no key, and its rows then no order.
    let is_sorted = table.key().iter().all(|&place| {
        let column = table.columns().get(place);
        column.is_some_and(|column| {
            !is_text(column) && !matches!(column.ty, Type::Bytes | Type::Vector(_))
        }) || is_octets(table, place)
    });
    let first = table.key().first().filter(|&&first| kept_type(table, first) == Type::I64);
    if let (true, false, Some(&first)) = (is_sorted, pushed.names_key, first) {
        // Of 64-bit integers, Firebird's indexes have the smallest in a wrong place: it comes first here.
        let name = connection.names.column(table, first);
        pushed.texts.push(format!("{name} = {}", i64::MIN));
        let goes_on = scan_part(connection, table, pushed, true, each)?;
        pushed.texts.pop();
        pushed.texts.push(format!("{name} <> {}", i64::MIN));
        return if goes_on {
            scan_part(connection, table, pushed, true, each).map(drop)
        } else {
            Ok(())
        };
    }
    scan_part(connection, table, pushed, is_sorted, each).map(drop)
}

/// Reads rows, and returns whether more are wanted.
fn scan_part(
    connection: &mut Connection,
    table: &TableSchema,
    pushed: &PushedCondition<'_>,
    is_sorted: bool,
    each: &mut EachRow<'_>,
) -> Result<bool> {
    let names = connection.names;
    let columns = names.columns(table, 0..table.columns().len());
    let mut sql =
        format!("SELECT {columns} FROM {}{}", names.quoted(table.name()), pushed.condition());
    if is_sorted && !table.key().is_empty() {
        let key = names.columns(table, table.key().iter().copied());
        sql.push_str(&format!(" ORDER BY {key}"));
    }
    let types: Vec<Type> =
        (0..table.columns().len()).map(|place| kept_type(table, place)).collect();
    let values = pushed.values();
    each_by_key(table, is_sorted, each, |row| {
        connection.each(Some(table), &sql, &values, Some(&types), &mut |found| row(found))
    })
}

/// Reads the rows, locks each by its key, and passes those on that could be locked. All are of the transaction's moment: a
/// row that another has changed since cannot be locked.
fn run_locking(
    connection: &mut Connection,
    select: &Select,
    lock: RowLock,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let table = &select.table;
    let rows = rows_to_lock(select, |plain, row| run_plain(connection, plain, row))?;
    let sql = format!(
        "{} WITH LOCK",
        texts::get(connection.names, table, table.key().first().copied(), table.key())
    );
    lock_rows(select, rows, row, |values| match lock_row(connection, table, lock, &sql, values) {
        Err(error) if lock == RowLock::SkipLocked && is_in_the_way(&error) => Ok(false),
        locked => locked.map(|()| true),
    })
}

/// Locks a row by its key. How long a transaction waits is fixed: so another one first finds out whether the row is free.
fn lock_row(
    connection: &mut Connection,
    table: &TableSchema,
    lock: RowLock,
    sql: &str,
    values: &[Value<'static>],
) -> Result<()> {
    let value = |place: usize| values.get(place).map_or(ValueRef::Null, Value::as_ref);
    let key = table.key().iter().map(|&place| compared(table, place, value(place)));
    let key: Vec<_> = key.collect();
    let key: Vec<GivenValue<'_>> = key.iter().map(given).collect();
    let busy_timeout = match lock {
        RowLock::Wait => None,
        RowLock::WaitAtMost(time) => Some(time),
        _ => Some(Duration::ZERO),
    };
    if let Some(busy_timeout) = busy_timeout {
        wait_for_row(connection, table, busy_timeout, sql, &key)?;
    }
    connection.each(Some(table), sql, &key, None, &mut |_| Ok(true))
}

/// Waits until a row is not locked by another transaction, at most so long.
fn wait_for_row(
    connection: &mut Connection,
    table: &TableSchema,
    busy_timeout: Duration,
    sql: &str,
    key: &[GivenValue<'_>],
) -> Result<()> {
    let end = Instant::now() + busy_timeout;
    let take = |connection: &mut Connection| {
        connection.each(Some(table), sql, key, None, &mut |_| Ok(true))
    };
    let own = current_transaction(connection)?;
    while let Err(error) = connection.in_another(take) {
        if holder(&error) == Some(own) {
            break;
        }
        if !is_in_the_way(&error) {
            return Err(error);
        }
        if Instant::now() >= end {
            let message = "another transaction has locked the row";
            return Err(Error::new(ErrorKind::Busy, message).in_table(table.name().to_owned()));
        }
        Interrupt::check()?;
        std::thread::sleep(RETRY.1.min(end.saturating_duration_since(Instant::now())));
    }
    Ok(())
}

fn is_in_the_way(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Busy | ErrorKind::Serialization)
}

/// The number of the transaction that is open.
fn current_transaction(connection: &mut Connection) -> Result<i64> {
    let (sql, mut number) = ("SELECT CURRENT_TRANSACTION FROM RDB$DATABASE", 0);
    connection.each(None, sql, &[], Some(&[Type::I64]), &mut |row| {
        if let ValueRef::Int(found) = row.get(0) {
            number = found;
        }
        Ok(true)
    })?;
    Ok(number)
}
