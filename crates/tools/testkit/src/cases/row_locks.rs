//! Queries that lock the rows they read.

use super::{equal, ids, with};
use crate::{Check, Harness, NULL, Probe, Table, fails, row, same, tables};
use bobak_core::{
    Condition, ErrorKind, Expr, RowLock, Select,
    TransactionControl::{Begin, Commit, Rollback},
};
use std::time::Duration;

const AT_MOST: RowLock = RowLock::WaitAtMost(Duration::from_millis(50));

fn locking(table: &Table, condition: Option<Condition>, lock: RowLock) -> Select {
    Select { condition, lock: Some(lock), ..Select::all(table) }
}

/// A lock needs a transaction, and rows: neither groups nor counts can be locked.
pub fn a_lock_needs_a_transaction_and_rows(harness: &dyn Harness) -> Check {
    let mark = tables::mark()?;
    with(harness, &[&mark], |probe| {
        probe.insert(&mark, row![1, 0])?;
        for lock in [RowLock::Wait, RowLock::NoWait, RowLock::SkipLocked, AT_MOST] {
            let select = locking(&mark, None, lock);
            fails("outside", probe.select(&select), ErrorKind::Misuse)?;
            let open = probe.session.open(&bobak_core::Source::Select(&select));
            fails("a cursor outside", open.map(drop), ErrorKind::Misuse)?;
            probe.control(Begin)?;
            same("inside", ids(&probe.select(&select)?), vec![1])?;
            same("again", ids(&probe.select(&select)?), vec![1])?;
            let count = Select { columns: vec![Expr::Count], order: Vec::new(), ..select };
            fails("a count", probe.select(&count), ErrorKind::Unsupported)?;
            probe.insert(&mark, row![2, 0])?;
            probe.control(Rollback)?;
        }
        same("rolled back", ids(&probe.all(&mark)?), vec![1])
    })
}

/// What one transaction has locked, another one neither gets nor waits for longer than it wants, and both go on. If
/// there is one writer at a time, no row is ever locked by another.
pub fn locked_rows_are_left_to_their_transaction(harness: &dyn Harness) -> Check {
    let person = tables::person()?;
    let store = harness.fresh()?;
    let first = Probe::with_tables(store.engine(), &[&person])?;
    first.insert_all(&person, (1..=4).map(|n| row![n, format!("p{n}"), NULL, 1]))?;
    first.control(Begin)?;
    let one = |n: i64, lock| locking(&person, Some(equal(0, n)), lock);
    same("the first locks", ids(&first.select(&one(1, RowLock::Wait))?), vec![1])?;
    let rest = locking(&person, None, RowLock::SkipLocked);
    if !store.engine().capabilities().concurrent_writers {
        same("all are free", ids(&first.select(&rest)?), vec![1, 2, 3, 4])?;
        return Ok(first.control(Commit)?);
    }
    let second = Probe::new(store.engine())?;
    second.control(Begin)?;
    same("skipped", ids(&second.select(&rest)?), vec![2, 3, 4])?;
    for lock in [RowLock::NoWait, AT_MOST] {
        fails("locked", second.select(&one(1, lock)), ErrorKind::Busy)?;
        same("not locked", ids(&second.select(&one(2, lock))?), vec![2])?;
    }
    fails("the other way", first.select(&one(3, RowLock::NoWait)), ErrorKind::Busy)?;
    second.update(&person, row![2, "b", NULL, 7])?;
    first.control(Rollback)?;
    same("free again", ids(&second.select(&one(1, RowLock::NoWait))?), vec![1])?;
    second.control(Commit)?;
    same("written", ids(&first.filter(&person, equal(3, 7))?), vec![2])
}
