//! Lookups of records that are kept in front of a file: see `bobak::cache::CacheOptions`.

use std::hint::black_box;
use std::path::Path;

use bobak::Db;
use bobak::cache::CacheOptions;

use super::contender::BobakContender;
use super::engine::BobakEngine;
use super::person::Person;
use crate::contender::{Contender, Engine, Failure, TaskResult};
use crate::workload::{Expectation, Row, Rows, Task};

/// A file with a cache that holds all rows.
pub static CACHED: CachedEngine = CachedEngine;

/// See [`CACHED`].
pub struct CachedEngine;

struct CachedContender {
    db: Db,
    plain: BobakContender,
}

impl Engine for CachedEngine {
    fn name(&self) -> &'static str {
        "sqlite file cached"
    }

    fn tasks(&self) -> &'static [Task] {
        &[Task::ByOne, Task::ByOne2]
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure> {
        let options = CacheOptions::new().entries(1 << 24).bytes(4 << 30);
        let url = BobakEngine::file("", "journal_mode=wal&synchronous=full").url(folder)?;
        let db = Db::builder().record::<Person>().cache::<Person>(options).open(&url)?;
        db.create_missing_tables()?;
        Ok(Box::new(CachedContender { plain: BobakContender::new(db.clone(), "main", &[]), db }))
    }
}

impl Contender for CachedContender {
    fn fill(&mut self, rows: &[Row]) -> Result<Vec<i64>, Failure> {
        self.plain.fill(rows)
    }

    /// Asks for each row once, so that the cache has it.
    fn load(&mut self, rows: &[Row]) -> Result<(), Failure> {
        let people = self.db.table::<Person>()?;
        rows.iter().try_for_each(|row| people.require(row.id).map(drop))?;
        self.plain.load(rows)
    }

    fn run(&mut self, task: Task, expected: &Expectation<'_>) -> Result<TaskResult, Failure> {
        let part = expected.keys.len().div_ceil(task.threads()).max(1);
        std::thread::scope(|scope| {
            let get = |first: usize, keys| {
                let people = self.db.table::<Person>();
                move || -> Result<(), Failure> {
                    let people = people?;
                    for (index, &key) in (first..).zip::<&[i64]>(keys) {
                        expected.check(index, black_box(people.require(key)?).seen())?;
                    }
                    Ok(())
                }
            };
            let parts = expected.keys.chunks(part).enumerate();
            let mut parts = parts.map(|(number, keys)| get(number * part, keys));
            let own = parts.next();
            let running: Vec<_> = parts.map(|part| scope.spawn(part)).collect();
            // This thread is one of them: did it only wait, two new ones would begin on one processor.
            own.map_or(Ok(()), |part| part())?;
            let done = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().map_err(|_| Failure::new("a thread panicked"))?
            };
            running.into_iter().try_for_each(done)
        })?;
        Ok(TaskResult::Count(expected.keys.len()))
    }

    fn dump(&mut self) -> Result<Box<dyn Rows>, Failure> {
        self.plain.dump()
    }
}
