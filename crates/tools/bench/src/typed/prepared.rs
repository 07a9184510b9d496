//! Typed operations through queries that Bobak has prepared.

use std::path::Path;

use bobak::query::{Assignment, Filter, JoinQuery, Placeholder, PreparedQuery};
use bobak::{Db, Query};

use super::contender::{TypedTarget, open};
use super::data::{Account, Owner};
use crate::contender::Failure;
use crate::workload::Task;

/// The tasks that have a query or an update.
pub(super) const PREPARED_TASKS: &[Task] =
    &[Task::TypedSet, Task::TypedCount, Task::TypedSum, Task::TypedFilter, Task::SmallJoin];

/// A query with the key of an owner.
type ByOwner<Q> = PreparedQuery<Placeholder<i64>, Q>;

/// An account's key and its new amount, and the update.
type SetAmount = PreparedQuery<
    (Placeholder<i64>, Placeholder<i64>),
    (Filter<Account>, [Assignment<Account>; 1]),
>;

/// The database with its queries.
pub(super) struct PreparedQueries {
    db: Db,
    accounts: ByOwner<Query<Account>>,
    sum: ByOwner<JoinQuery<(), Option<i64>>>,
    joined: ByOwner<JoinQuery<(), (i64, String, i64)>>,
    set: SetAmount,
}

fn of_owner(owner: Placeholder<i64>) -> Query<Account> {
    Query::filter(Account::OWNER_ID.eq(owner))
}

impl TypedTarget for PreparedQueries {
    fn open(file: &Path) -> Result<Self, Failure> {
        let sum = |owner| of_owner(owner).select(Account::AMOUNT.sum());
        let joined = |owner| {
            let accounts = of_owner(owner).join(Account::OWNER).order_by(Account::ID.asc());
            accounts.select((Account::ID, Owner::NAME, Account::AMOUNT))
        };
        Ok(Self {
            db: open(file)?,
            accounts: PreparedQuery::new(of_owner),
            sum: PreparedQuery::new(sum),
            joined: PreparedQuery::new(joined),
            set: PreparedQuery::new(|(id, amount)| {
                (Account::ID.eq(id), [Account::AMOUNT.set(amount)])
            }),
        })
    }

    fn calls(&mut self, task: Task, keys: &[i64], _: i64) -> Result<i64, Failure> {
        let mut sum = 0;
        if task == Task::TypedSet {
            let transaction = self.db.begin()?;
            let accounts = transaction.table::<Account>()?;
            for &key in keys {
                sum += self.set.set(&accounts, (key, key))?.cast_signed();
            }
            transaction.commit()?;
            return Ok(sum);
        }
        let accounts = self.db.table::<Account>()?;
        for &key in keys {
            sum += match task {
                Task::TypedCount => self.accounts.count(&accounts, key)?.cast_signed(),
                Task::TypedSum => self.sum.first(&self.db, key)?.flatten().unwrap_or_default(),
                Task::TypedFilter => {
                    let found = self.accounts.list(&accounts, key)?;
                    found.iter().map(|account| account.amount).sum()
                }
                _ => self.joined.list(&self.db, key)?.iter().map(|(_, _, amount)| amount).sum(),
            };
        }
        Ok(sum)
    }
}
