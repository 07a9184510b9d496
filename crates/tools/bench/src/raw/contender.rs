//! The raw contenders: each task as a loop of prepared statements.

use std::hint::black_box;
use std::path::Path;

use super::connection::Connection;
use super::mode::{self, Mode};
use super::sql;
use super::statement::Statement;
use crate::contender::{Contender, Engine, Failure, TaskResult};
use crate::slow;
use crate::workload::{CheckedFields, Expectation, ROWS_PER_COMMIT, Row, Rows, Task, View, now};
use bobak_fault_vfs::Disk;

/// The raw contenders, one for each mode.
pub static ENGINES: &[RawEngine] = &[
    RawEngine(Mode::FILE_FULL),
    RawEngine(Mode::FILE_OFF),
    RawEngine(Mode::FILE_OFF_EXCLUSIVE),
    #[cfg(feature = "sqlcipher")]
    RawEngine(Mode::ENCRYPTED),
    #[cfg(feature = "sqlcipher")]
    RawEngine(Mode::ENCRYPTED_WAL),
    RawEngine(Mode::WAL_FULL),
    RawEngine(Mode::WAL_NORMAL),
    RawEngine(Mode::SLOW),
    RawEngine(Mode::MEMORY),
];

const TASKS: [Task; 11] = [
    Task::Direct,
    Task::Batch,
    Task::Trans,
    Task::BatchTrans,
    Task::ByOne,
    Task::AllVirtual,
    Task::AllDirect,
    Task::AllBorrowed,
    Task::Update,
    Task::Delete,
    Task::Upsert,
];

/// The raw contender of one mode; compared with itself if it is measured alone.
pub struct RawEngine(Mode);

struct RawContender {
    connection: Connection,
    rows: Vec<Row>,
    /// After the connection, whose files are on it.
    _disk: Option<Disk>,
}

impl Engine for RawEngine {
    fn name(&self) -> &'static str {
        self.0.name
    }

    fn tasks(&self) -> &'static [Task] {
        if self.0.slow { &[Task::Direct] } else { &TASKS }
    }

    fn syncs_each_row(&self, task: Task) -> bool {
        self.0.syncs_each_row(task)
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        ENGINES.iter().find(|engine| engine.0.name == self.0.name).map(|raw| raw as &dyn Engine)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure> {
        let disk = self.0.slow.then(slow::disk).transpose()?;
        let connection = self.0.open(folder, disk.as_ref())?;
        connection.execute(sql::CREATE)?;
        Ok(Box::new(RawContender { connection, rows: Vec::new(), _disk: disk }))
    }
}

impl Contender for RawContender {
    fn fill(&mut self, rows: &[Row]) -> Result<Vec<i64>, Failure> {
        in_transaction(&self.connection, || insert(&self.connection, rows))
    }

    fn load(&mut self, rows: &[Row]) -> Result<(), Failure> {
        self.rows = rows.to_vec();
        Ok(())
    }

    fn run(&mut self, task: Task, expected: &Expectation<'_>) -> Result<TaskResult, Failure> {
        let Self { connection, rows, .. } = self;
        match task {
            Task::Direct => insert(connection, rows).map(TaskResult::Keys),
            Task::Trans | Task::BatchTrans => {
                in_transaction(connection, || insert(connection, rows)).map(TaskResult::Keys)
            }
            Task::Batch => insert_cut(connection, rows).map(TaskResult::Keys),
            Task::ByOne => get_each(connection, expected),
            Task::AllDirect | Task::AllVirtual => read_all(connection),
            Task::AllBorrowed => touch_all(connection, expected),
            Task::Update => write_cut(connection, sql::UPDATE, rows, update),
            Task::Delete => write_cut(connection, sql::DELETE, rows, delete),
            Task::Upsert => write_cut(connection, sql::UPSERT, rows, upsert),
            _ => Err(Failure::new("the raw contender does not support this")),
        }
    }

    fn dump(&mut self) -> Result<Box<dyn Rows>, Failure> {
        let mut all = self.connection.prepare(sql::ALL)?;
        let mut rows = Vec::new();
        while all.step()? {
            rows.push(owned(&all)?);
        }
        Ok(Box::new(rows))
    }

    fn write_endless(&mut self, rows: &mut dyn Iterator<Item = Row>) -> Result<(), Failure> {
        let mut part = Vec::with_capacity(ROWS_PER_COMMIT);
        loop {
            part.clear();
            part.extend(rows.take(ROWS_PER_COMMIT));
            if part.is_empty() {
                return Ok(());
            }
            in_transaction(&self.connection, || insert(&self.connection, &part))?;
        }
    }

    fn read_endless(
        &mut self,
        visit: &mut dyn FnMut(View<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut all = self.connection.prepare(sql::ALL)?;
        while all.step()? {
            visit(owned(&all)?.view())?;
        }
        Ok(())
    }

    fn settings(&mut self) -> Result<Vec<(String, String)>, Failure> {
        mode::settings(&self.connection)
    }
}

fn in_transaction<T>(
    connection: &Connection,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    connection.execute("BEGIN")?;
    let done = work()?;
    connection.execute("COMMIT")?;
    Ok(done)
}

fn insert(connection: &Connection, rows: &[Row]) -> Result<Vec<i64>, Failure> {
    let mut statement = connection.prepare(sql::INSERT)?;
    let mut keys = Vec::with_capacity(rows.len());
    for row in rows {
        keys.push(insert_one(connection, &mut statement, row)?);
    }
    Ok(keys)
}

fn insert_cut(connection: &Connection, rows: &[Row]) -> Result<Vec<i64>, Failure> {
    let mut statement = connection.prepare(sql::INSERT)?;
    let mut keys = Vec::with_capacity(rows.len());
    for part in rows.chunks(ROWS_PER_COMMIT) {
        in_transaction(connection, || {
            for row in part {
                keys.push(insert_one(connection, &mut statement, row)?);
            }
            Ok(())
        })?;
    }
    Ok(keys)
}

#[inline]
fn insert_one<'t>(
    connection: &Connection,
    statement: &mut Statement<'_, 't>,
    row: &'t Row,
) -> Result<i64, Failure> {
    let stamp = now();
    bind(statement, row, stamp)?;
    statement.bind_i64(6, stamp)?;
    statement.execute()?;
    Ok(connection.last_key())
}

/// Runs `write` for each row, with a commit each [`ROWS_PER_COMMIT`].
fn write_cut<'t>(
    connection: &Connection,
    sql: &str,
    rows: &'t [Row],
    write: impl Fn(&mut Statement<'_, 't>, &'t Row) -> Result<(), Failure>,
) -> Result<TaskResult, Failure> {
    let mut statement = connection.prepare(sql)?;
    for part in rows.chunks(ROWS_PER_COMMIT) {
        in_transaction(connection, || part.iter().try_for_each(|row| write(&mut statement, row)))?;
    }
    Ok(TaskResult::Count(rows.len()))
}

fn update<'t>(statement: &mut Statement<'_, 't>, row: &'t Row) -> Result<(), Failure> {
    bind(statement, row, now())?;
    statement.bind_i64(6, row.id)?;
    statement.execute()
}

fn delete<'t>(statement: &mut Statement<'_, 't>, row: &'t Row) -> Result<(), Failure> {
    statement.bind_i64(1, row.id)?;
    statement.execute()
}

fn upsert<'t>(statement: &mut Statement<'_, 't>, row: &'t Row) -> Result<(), Failure> {
    let stamp = now();
    bind(statement, row, stamp)?;
    statement.bind_i64(6, stamp)?;
    statement.bind_i64(7, row.id)?;
    statement.execute()
}

/// Binds what every writing statement begins with.
#[inline]
fn bind<'t>(statement: &mut Statement<'_, 't>, row: &'t Row, stamp: i64) -> Result<(), Failure> {
    statement.bind_text(1, &row.first_name)?;
    statement.bind_text(2, &row.last_name)?;
    statement.bind_i64(3, row.amount)?;
    statement.bind_i64(4, row.birth_date)?;
    statement.bind_i64(5, stamp)
}

fn get_each(connection: &Connection, expected: &Expectation<'_>) -> Result<TaskResult, Failure> {
    let mut statement = connection.prepare(sql::GET)?;
    for (index, &key) in expected.keys.iter().enumerate() {
        statement.bind_i64(1, key)?;
        if !statement.step()? {
            return Err(Failure::new(format!("no row has the key {key}")).at_row(index));
        }
        let row = black_box(owned(&statement)?);
        statement.reset()?;
        let Row { id, ref first_name, amount, last_change, .. } = row;
        expected.check(index, CheckedFields { id, first_name, amount, last_change })?;
    }
    Ok(TaskResult::Count(expected.keys.len()))
}

fn read_all(connection: &Connection) -> Result<TaskResult, Failure> {
    let mut statement = connection.prepare(sql::ALL)?;
    let mut rows = Vec::new();
    while statement.step()? {
        rows.push(owned(&statement)?);
    }
    Ok(TaskResult::Rows(Box::new(rows)))
}

fn touch_all(connection: &Connection, expected: &Expectation<'_>) -> Result<TaskResult, Failure> {
    let mut statement = connection.prepare(sql::ALL)?;
    let mut index = 0;
    while statement.step()? {
        let seen = CheckedFields {
            id: statement.i64(0),
            first_name: statement.text(1)?,
            amount: statement.i64(3),
            last_change: statement.i64(5),
        };
        black_box((statement.text(2)?, statement.i64(4), statement.i64(6)));
        expected.check(index, seen)?;
        index += 1;
    }
    Ok(TaskResult::Count(index))
}

#[inline]
fn owned(statement: &Statement<'_, '_>) -> Result<Row, Failure> {
    Ok(Row {
        id: statement.i64(0),
        first_name: statement.text(1)?.to_owned(),
        last_name: statement.text(2)?.to_owned(),
        amount: statement.i64(3),
        birth_date: statement.i64(4),
        last_change: statement.i64(5),
        created_at: statement.i64(6),
    })
}
