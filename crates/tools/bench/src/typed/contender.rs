//! Typed operations through Bobak.

use std::path::{Path, PathBuf};

use bobak::{Db, Query, Table};

use super::data::{ACCOUNTS, Account, Owner, TASKS, account, expected, keys, store, writes};
use super::prepared::{PREPARED_TASKS, PreparedQueries};
use super::{RAW_SQLITE, RUSQLITE};
use crate::contender::{Contender, Engine, Failure, TaskResult};
use crate::workload::{Expectation, Row, Rows, Task};

/// Ordinary and prepared queries; both with C calls, and with rusqlite.
pub(crate) static ENGINES: [TypedEngine; 4] = [
    TypedEngine { name: "typed sqlite", prepared: false, rusqlite: false },
    TypedEngine { name: "typed sqlite to rusqlite", prepared: false, rusqlite: true },
    TypedEngine { name: "prepared sqlite", prepared: true, rusqlite: false },
    TypedEngine { name: "prepared sqlite to rusqlite", prepared: true, rusqlite: true },
];

/// See [`ENGINES`].
pub(crate) struct TypedEngine {
    name: &'static str,
    prepared: bool,
    rusqlite: bool,
}

/// A database with accounts.
pub(super) trait TypedTarget {
    /// Opens the file, which has the accounts of so many owners.
    fn open(file: &Path) -> Result<Self, Failure>
    where
        Self: Sized;

    /// Makes the calls of a task; returns the number of changed rows, or the sum of what was read.
    fn calls(&mut self, task: Task, keys: &[i64], owners: i64) -> Result<i64, Failure>;
}

/// Measures a database with accounts.
pub(super) struct TypedContender<T> {
    file: PathBuf,
    target: Option<T>,
    owners: i64,
}

impl<T> TypedContender<T> {
    pub(super) fn new(folder: &Path) -> Self {
        Self { file: folder.join("accounts.db"), target: None, owners: 0 }
    }
}

/// A Bobak database for the accounts, in the mode in which SQLite itself costs the least: nothing hides what is added to it.
pub(super) fn open(file: &Path) -> Result<Db, Failure> {
    let builder = Db::builder().record::<Owner>().record::<Account>();
    let settings = "journal_mode=delete&synchronous=off&locking=exclusive";
    Ok(builder.open(&format!("sqlite:{}?{settings}", file.display()))?)
}

impl Engine for TypedEngine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tasks(&self) -> &'static [Task] {
        if self.prepared { PREPARED_TASKS } else { TASKS }
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        Some(if self.rusqlite { &RUSQLITE } else { &RAW_SQLITE })
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure> {
        Ok(match self.prepared {
            true => Box::new(TypedContender::<PreparedQueries>::new(folder)),
            false => Box::new(TypedContender::<Db>::new(folder)),
        })
    }
}

impl TypedTarget for Db {
    fn open(file: &Path) -> Result<Self, Failure> {
        open(file)
    }

    fn calls(&mut self, task: Task, keys: &[i64], owners: i64) -> Result<i64, Failure> {
        if writes(task) {
            let transaction = self.begin()?;
            let changed = write(&transaction.table::<Account>()?, task, keys, owners)?;
            transaction.commit()?;
            return Ok(changed);
        }
        let accounts = self.table::<Account>()?;
        let mut sum = 0;
        for &key in keys {
            sum += match task {
                Task::TypedGet => accounts.require(key)?.amount,
                Task::TypedCount => accounts.count(Account::OWNER_ID.eq(key))?.cast_signed(),
                Task::TypedSum => {
                    accounts.sum(Account::OWNER_ID.eq(key), Account::AMOUNT)?.unwrap_or_default()
                }
                Task::TypedFilter => {
                    let found = accounts.list(Account::OWNER_ID.eq(key))?;
                    found.iter().map(|account| account.amount).sum()
                }
                _ => joined(self, key)?.iter().map(|(_, _, amount)| amount).sum(),
            };
        }
        Ok(sum)
    }
}

fn write(
    accounts: &Table<'_, Account>,
    task: Task,
    keys: &[i64],
    owners: i64,
) -> Result<i64, Failure> {
    let mut changed = 0;
    for &key in keys {
        changed += i64::from(match task {
            Task::TypedSet => accounts.set(key, [Account::AMOUNT.set(key)])?,
            Task::TypedUpdate => accounts.update(&account(key, owners)).map(|()| true)?,
            _ => accounts.delete(key)?,
        });
    }
    Ok(changed)
}

fn joined(db: &Db, owner: i64) -> Result<Vec<(i64, String, i64)>, Failure> {
    let accounts = Query::filter(Account::OWNER_ID.eq(owner)).join(Account::OWNER);
    let columns = (Account::ID, Owner::NAME, Account::AMOUNT);
    Ok(db.list(&accounts.order_by(Account::ID.asc()).select(columns))?)
}

impl<T: TypedTarget> Contender for TypedContender<T> {
    /// Stores as many accounts as there are rows, which say nothing else here; through Bobak, so that tables and indexes are
    /// the same.
    fn fill(&mut self, rows: &[Row]) -> Result<Vec<i64>, Failure> {
        self.owners = rows.len().div_ceil(ACCOUNTS as usize) as i64;
        store(&open(&self.file)?, self.owners)?;
        self.target = Some(T::open(&self.file)?);
        Ok(rows.iter().map(|row| row.id).collect())
    }

    fn load(&mut self, _: &[Row]) -> Result<(), Failure> {
        Ok(())
    }

    fn run(&mut self, task: Task, rows: &Expectation<'_>) -> Result<TaskResult, Failure> {
        let keys = keys(task, rows.rows.len(), self.owners);
        let target = self.target.as_mut().ok_or_else(|| Failure::new("the file is empty"))?;
        let sum = target.calls(task, &keys, self.owners)?;
        if sum != expected(task, &keys, self.owners) {
            return Err(Failure::new("the calls did not read or change what was stored"));
        }
        Ok(TaskResult::Count(keys.len()))
    }

    fn dump(&mut self) -> Result<Box<dyn Rows>, Failure> {
        Err(Failure::new("there are no persons"))
    }
}
