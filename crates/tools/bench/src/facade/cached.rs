//! Lookups of records that are kept in front of a file: see `bobak::cache::CacheOptions`.

use std::hint::black_box;
use std::path::Path;

use bobak::Db;
use bobak::cache::CacheOptions;

use super::engine::BobakEngine;
use super::lane::BobakLane;
use super::person::Person;
use crate::lane::{Answer, Engine, Failure, Lane};
use crate::workload::{Asked, Row, Rows, Task};

/// A file with a cache that holds all rows.
pub static CACHED: CachedEngine = CachedEngine;

/// See [`CACHED`].
pub struct CachedEngine;

struct CachedLane {
    db: Db,
    plain: BobakLane,
}

impl Engine for CachedEngine {
    fn name(&self) -> &'static str {
        "sqlite file cached"
    }

    fn tasks(&self) -> &'static [Task] {
        &[Task::ByOne, Task::ByOne2]
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Lane>, Failure> {
        let options = CacheOptions::new().entries(1 << 24).bytes(4 << 30);
        let url = BobakEngine::file("", "journal=wal&synchronous=full").url(folder)?;
        let db = Db::builder().record::<Person>().cache::<Person>(options).open(&url)?;
        db.create_missing_tables()?;
        Ok(Box::new(CachedLane { plain: BobakLane::new(db.clone(), "main", &[]), db }))
    }
}

impl Lane for CachedLane {
    fn fill(&mut self, rows: &[Row]) -> Result<Vec<i64>, Failure> {
        self.plain.fill(rows)
    }

    /// Asks for each row once, so that the cache has it.
    fn load(&mut self, rows: &[Row]) -> Result<(), Failure> {
        let people = self.db.table::<Person>()?;
        rows.iter().try_for_each(|row| people.require(row.id).map(drop))?;
        self.plain.load(rows)
    }

    fn run(&mut self, task: Task, asked: &Asked<'_>) -> Result<Answer, Failure> {
        let part = asked.keys.len().div_ceil(task.threads()).max(1);
        std::thread::scope(|scope| {
            let get = |first: usize, keys| {
                let people = self.db.table::<Person>();
                move || -> Result<(), Failure> {
                    let people = people?;
                    for (index, &key) in (first..).zip::<&[i64]>(keys) {
                        asked.check(index, black_box(people.require(key)?).seen())?;
                    }
                    Ok(())
                }
            };
            let parts = asked.keys.chunks(part).enumerate();
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
        Ok(Answer::Count(asked.keys.len()))
    }

    fn dump(&mut self) -> Result<Box<dyn Rows>, Failure> {
        self.plain.dump()
    }
}
