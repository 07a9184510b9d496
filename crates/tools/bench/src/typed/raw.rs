//! Typed operations by hand: the C API, each statement prepared once.

use std::hint::black_box;
use std::path::Path;

use super::contender::{TypedContender, TypedTarget};
use super::data::{Account, SETTINGS, TASKS, account, sql, writes};
use crate::contender::{Contender, Engine, Failure};
use crate::raw::{Connection, Statement};
use crate::workload::Task;

pub(crate) static RAW_SQLITE: RawSqlite = RawSqlite;

/// See [`RAW_SQLITE`].
pub(crate) struct RawSqlite;

impl Engine for RawSqlite {
    fn name(&self) -> &'static str {
        "raw typed sqlite"
    }

    fn tasks(&self) -> &'static [Task] {
        TASKS
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        Some(&RAW_SQLITE)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure> {
        Ok(Box::new(TypedContender::<Connection>::new(folder)))
    }
}

impl TypedTarget for Connection {
    fn open(file: &Path) -> Result<Self, Failure> {
        let connection = Self::open(Some(file), None)?;
        connection.execute(SETTINGS)?;
        Ok(connection)
    }

    fn calls(&mut self, task: Task, keys: &[i64], owners: i64) -> Result<i64, Failure> {
        if !writes(task) {
            let mut statement = self.prepare(sql(task))?;
            return keys.iter().map(|&key| read(&mut statement, task, key)).sum();
        }
        self.execute("BEGIN IMMEDIATE")?;
        let changed: Vec<_> = keys.iter().map(|&key| changed(task, key, owners)).collect();
        let mut sum = 0;
        let mut statement = self.prepare(sql(task))?;
        for account in &changed {
            write(&mut statement, task, account)?;
            sum += self.changes();
        }
        drop(statement);
        self.execute("COMMIT")?;
        Ok(sum)
    }
}

/// Reads into owned records, as a program keeps them; returns the sum of their amounts.
fn read(statement: &mut Statement<'_, '_>, task: Task, key: i64) -> Result<i64, Failure> {
    statement.bind_i64(1, key)?;
    let mut sum = 0;
    let (mut accounts, mut lines) = (Vec::new(), Vec::new());
    while statement.step()? {
        match task {
            Task::TypedCount | Task::TypedSum => sum += statement.i64(0),
            Task::SmallJoin => {
                lines.push((statement.i64(0), statement.text(1)?.to_owned(), statement.i64(2)));
            }
            _ => accounts.push(Account {
                id: statement.i64(0),
                owner_id: statement.i64(1),
                name: statement.text(2)?.to_owned(),
                amount: statement.i64(3),
            }),
        }
    }
    statement.reset()?;
    sum += black_box(accounts).iter().map(|account| account.amount).sum::<i64>();
    Ok(sum + black_box(lines).iter().map(|(_, _, amount)| amount).sum::<i64>())
}

/// The account of a call that writes: of most, only the key counts.
fn changed(task: Task, id: i64, owners: i64) -> Account {
    match task {
        Task::TypedUpdate => account(id, owners),
        _ => Account { id, owner_id: 0, name: String::new(), amount: 0 },
    }
}

fn write<'t>(
    statement: &mut Statement<'_, 't>,
    task: Task,
    account: &'t Account,
) -> Result<(), Failure> {
    statement.bind_i64(1, account.id)?;
    match task {
        Task::TypedSet => statement.bind_i64(2, account.id)?,
        Task::TypedUpdate => {
            statement.bind_i64(2, account.owner_id)?;
            statement.bind_text(3, &account.name)?;
            statement.bind_i64(4, account.amount)?;
        }
        _ => {}
    }
    statement.execute()
}
