//! Durable inserts where each sync takes a millisecond.

use std::path::Path;

use bobak::Db;
use bobak::engine::sqlite::Sqlite;

use super::contender::BobakContender;
use super::person::Person;
use crate::contender::{Contender, Engine, Failure, TaskResult};
use crate::workload::{Expectation, Row, Rows, Task};
use crate::{raw, slow};
use bobak_fault_vfs::Disk;

/// The engine's name.
const NAME: &str = "sqlite disk 1 ms wal full";

/// A file, with the default settings, on a [slow disk](slow::disk).
pub static SLOW: SlowEngine = SlowEngine;

/// See [`SLOW`].
pub struct SlowEngine;

struct SlowContender {
    plain: BobakContender,
    /// After the database, whose files are on it.
    _disk: Disk,
}

impl Engine for SlowEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn tasks(&self) -> &'static [Task] {
        &[Task::Direct, Task::Direct4, Task::Direct16, Task::Direct64]
    }

    fn syncs_each_row(&self, _: Task) -> bool {
        true
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        let own = |engine: &&raw::RawEngine| engine.name().strip_prefix("raw ") == Some(NAME);
        raw::ENGINES.iter().find(own).map(|raw| raw as &dyn Engine)
    }

    fn open(&self, _: &Path) -> Result<Box<dyn Contender>, Failure> {
        let disk = slow::disk()?;
        let engine = Sqlite::builder().vfs(disk.vfs()).open("bobak.db")?;
        let db = Db::builder().record::<Person>().open_engine(engine)?;
        db.create_missing_tables()?;
        Ok(Box::new(SlowContender {
            plain: BobakContender::new(db, "main", &raw::SETTINGS),
            _disk: disk,
        }))
    }
}

impl Contender for SlowContender {
    fn fill(&mut self, rows: &[Row]) -> Result<Vec<i64>, Failure> {
        self.plain.fill(rows)
    }

    fn load(&mut self, rows: &[Row]) -> Result<(), Failure> {
        self.plain.load(rows)
    }

    fn run(&mut self, task: Task, expected: &Expectation<'_>) -> Result<TaskResult, Failure> {
        self.plain.run(task, expected)
    }

    fn dump(&mut self) -> Result<Box<dyn Rows>, Failure> {
        self.plain.dump()
    }

    fn settings(&mut self) -> Result<Vec<(String, String)>, Failure> {
        self.plain.settings()
    }
}
