//! The records, what is stored, and the SQL that the contenders have in common.

use bobak::{BatchOptions, Db, Record};

use crate::contender::Failure;
use crate::workload::Task;

#[derive(Record, Clone, Debug, PartialEq)]
pub(super) struct Owner {
    pub id: i64,
    pub name: String,
}

#[derive(Record, Clone, Debug, PartialEq)]
pub(super) struct Account {
    pub id: i64,
    #[record(references = Owner, index)]
    pub owner_id: i64,
    pub name: String,
    pub amount: i64,
}

/// So many accounts has each owner.
pub(super) const ACCOUNTS: i64 = 5;

/// What each contender is measured by.
pub(super) const TASKS: &[Task] = &[
    Task::TypedGet,
    Task::TypedSet,
    Task::TypedUpdate,
    Task::TypedDelete,
    Task::TypedCount,
    Task::TypedSum,
    Task::TypedFilter,
    Task::SmallJoin,
];

/// The settings of a connection that is opened by hand: those that Bobak has there.
pub(super) const SETTINGS: &str = "PRAGMA locking_mode = exclusive; PRAGMA journal_mode = delete; \
    PRAGMA synchronous = off; PRAGMA foreign_keys = on;";

/// The statement of a task.
pub(super) const fn sql(task: Task) -> &'static str {
    match task {
        Task::TypedGet => "SELECT id, owner_id, name, amount FROM account WHERE id = ?1",
        Task::TypedSet => "UPDATE account SET amount = ?2 WHERE id = ?1",
        Task::TypedUpdate => {
            "UPDATE account SET owner_id = ?2, name = ?3, amount = ?4 WHERE id = ?1"
        }
        Task::TypedDelete => "DELETE FROM account WHERE id = ?1",
        Task::TypedCount => "SELECT count(*) FROM account WHERE owner_id = ?1",
        Task::TypedSum => "SELECT sum(amount) FROM account WHERE owner_id = ?1",
        Task::TypedFilter => {
            "SELECT id, owner_id, name, amount FROM account WHERE owner_id = ?1 ORDER BY id"
        }
        _ => {
            "SELECT a.id, o.name, a.amount FROM account a JOIN owner o ON o.id = a.owner_id \
             WHERE a.owner_id = ?1 ORDER BY a.id"
        }
    }
}

/// Whether the task writes: all of its calls are in one transaction.
pub(super) const fn writes(task: Task) -> bool {
    matches!(task, Task::TypedSet | Task::TypedUpdate | Task::TypedDelete)
}

/// The account with this key, among so many owners.
pub(super) fn account(id: i64, owners: i64) -> Account {
    Account { id, owner_id: id % owners + 1, name: format!("Account {id}"), amount: id % 1_000 }
}

/// Stores so many owners and their accounts.
pub(super) fn store(db: &Db, owners: i64) -> Result<(), Failure> {
    db.create_missing_tables()?;
    let mut batch = db.batch(BatchOptions::new().keep_outcomes(false));
    for id in 1..=owners {
        batch.insert(&Owner { id, name: format!("Owner {id}") })?;
    }
    for id in 1..=owners * ACCOUNTS {
        batch.insert(&account(id, owners))?;
    }
    batch.finish()?;
    Ok(())
}

/// The arguments of a task's calls: keys of accounts or of owners, in no order.
pub(super) fn keys(task: Task, calls: usize, owners: i64) -> Vec<i64> {
    let by_account = writes(task) || task == Task::TypedGet;
    let keys = if by_account { owners * ACCOUNTS } else { owners };
    // A prime that divides no number of keys that is smaller.
    (0..calls as i64).map(|call| call.wrapping_mul(2_147_483_647).rem_euclid(keys) + 1).collect()
}

/// What the calls of a task must add up to.
pub(super) fn expected(task: Task, keys: &[i64], owners: i64) -> i64 {
    if writes(task) {
        return keys.len() as i64;
    }
    if task == Task::TypedGet {
        return keys.iter().map(|&id| account(id, owners).amount).sum();
    }
    let mut amounts = vec![0; owners as usize + 1];
    for id in 1..=owners * ACCOUNTS {
        if let Some(amount) = amounts.get_mut((id % owners + 1) as usize) {
            *amount += id % 1_000;
        }
    }
    match task {
        Task::TypedCount => ACCOUNTS * keys.len() as i64,
        _ => keys.iter().filter_map(|&owner| amounts.get(owner as usize)).sum(),
    }
}
