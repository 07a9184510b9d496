//! Typed operations in rusqlite, each statement prepared once.

use std::hint::black_box;
use std::path::Path;

use rusqlite::{Connection, Row, Statement, params};

use super::contender::{TypedContender, TypedTarget};
use super::data::{Account, SETTINGS, TASKS, account, sql, writes};
use crate::contender::{Contender, Engine, Failure};
use crate::workload::Task;

pub(crate) static RUSQLITE: Rusqlite = Rusqlite;

/// See [`RUSQLITE`].
pub(crate) struct Rusqlite;

impl Engine for Rusqlite {
    fn name(&self) -> &'static str {
        "rusqlite typed sqlite"
    }

    fn tasks(&self) -> &'static [Task] {
        TASKS
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        Some(&RUSQLITE)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure> {
        Ok(Box::new(TypedContender::<Connection>::new(folder)))
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl TypedTarget for Connection {
    fn open(file: &Path) -> Result<Self, Failure> {
        let connection = Self::open(file)?;
        connection.execute_batch(SETTINGS)?;
        Ok(connection)
    }

    fn calls(&mut self, task: Task, keys: &[i64], owners: i64) -> Result<i64, Failure> {
        let mut sum = 0;
        if !writes(task) {
            let mut statement = self.prepare(sql(task))?;
            for &key in keys {
                sum += read(&mut statement, task, key)?;
            }
            return Ok(sum);
        }
        self.execute_batch("BEGIN IMMEDIATE")?;
        let mut statement = self.prepare(sql(task))?;
        for &key in keys {
            sum += write(&mut statement, task, key, owners)? as i64;
        }
        drop(statement);
        self.execute_batch("COMMIT")?;
        Ok(sum)
    }
}

fn read(statement: &mut Statement<'_>, task: Task, key: i64) -> rusqlite::Result<i64> {
    match task {
        Task::TypedGet => Ok(black_box(statement.query_row([key], to_account)?).amount),
        Task::TypedCount | Task::TypedSum => statement.query_row([key], |row| row.get(0)),
        Task::TypedFilter => {
            let found: Vec<_> =
                statement.query_map([key], to_account)?.collect::<Result<_, _>>()?;
            Ok(black_box(found).iter().map(|account| account.amount).sum())
        }
        _ => {
            let line = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let found: Vec<(i64, String, i64)> =
                statement.query_map([key], line)?.collect::<Result<_, _>>()?;
            Ok(black_box(found).iter().map(|(_, _, amount)| amount).sum())
        }
    }
}

fn to_account(row: &Row<'_>) -> rusqlite::Result<Account> {
    let (id, owner_id) = (row.get(0)?, row.get(1)?);
    Ok(Account { id, owner_id, name: row.get(2)?, amount: row.get(3)? })
}

fn write(
    statement: &mut Statement<'_>,
    task: Task,
    key: i64,
    owners: i64,
) -> rusqlite::Result<usize> {
    match task {
        Task::TypedSet => statement.execute([key, key]),
        Task::TypedUpdate => {
            let Account { id, owner_id, name, amount } = account(key, owners);
            statement.execute(params![id, owner_id, name, amount])
        }
        _ => statement.execute([key]),
    }
}
