//! The engines that a URL opens, in the modes that are measured.

use std::path::Path;

use bobak::Db;

use super::lane::BobakLane;
use super::person::Person;
use crate::lane::{Engine, Failure, Lane};
use crate::raw;
use crate::workload::Task;

/// The engines, in the order of the report's rows.
pub static ENGINES: [BobakEngine; 7] = [
    BobakEngine::file("sqlite file full", "journal=delete&synchronous=full"),
    BobakEngine::file("sqlite file off", "journal=delete&synchronous=off"),
    BobakEngine::file(
        "sqlite file off exclusive",
        "journal=delete&synchronous=off&locking=exclusive",
    ),
    BobakEngine::file("sqlite file wal full", "journal=wal&synchronous=full"),
    BobakEngine::file("sqlite file wal normal", "journal=wal&synchronous=normal"),
    BobakEngine { name: "sqlite memory", place: Place::Url("sqlite::memory:"), sqlite: true },
    BobakEngine { name: "memory static", place: Place::Url("memory:"), sqlite: false },
];

const TASKS: [Task; 13] = [
    Task::Direct,
    Task::Batch,
    Task::Trans,
    Task::BatchTrans,
    Task::ByOne,
    Task::AllDirect,
    Task::AllBorrowed,
    Task::Update,
    Task::Delete,
    Task::Upsert,
    Task::Direct4,
    Task::Direct16,
    Task::Direct64,
];

/// Threads are measured where they have a disk to wait for.
fn tasks_of(synced: bool) -> &'static [Task] {
    if synced { &TASKS } else { TASKS.split_at(TASKS.len() - 3).0 }
}

/// One engine in one mode.
pub struct BobakEngine {
    name: &'static str,
    place: Place,
    sqlite: bool,
}

enum Place {
    /// A file in the run's folder, with these settings.
    File(&'static str),
    /// Nowhere on the disk.
    Url(&'static str),
}

impl BobakEngine {
    pub(super) const fn file(name: &'static str, settings: &'static str) -> Self {
        Self { name, place: Place::File(settings), sqlite: true }
    }

    pub(super) fn url(&self, folder: &Path) -> Result<String, Failure> {
        match self.place {
            Place::Url(url) => Ok(url.to_owned()),
            Place::File(settings) => {
                let file = folder.join("bobak.db");
                let file = file
                    .to_str()
                    .ok_or_else(|| Failure::new("the folder's name is not UTF-8"))?
                    .replace('%', "%25")
                    .replace('?', "%3F");
                Ok(format!("sqlite:{file}?{settings}"))
            }
        }
    }
}

impl Engine for BobakEngine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tasks(&self) -> &'static [Task] {
        tasks_of(self.syncs_each_row(Task::Direct))
    }

    fn syncs_each_row(&self, task: Task) -> bool {
        self.raw().is_some_and(|raw| raw.syncs_each_row(task))
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        let mode = |engine: &&raw::RawEngine| engine.name().strip_prefix("raw ") == Some(self.name);
        raw::ENGINES.iter().find(mode).map(|raw| raw as &dyn Engine)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Lane>, Failure> {
        let db = Db::builder().record::<Person>().open(&self.url(folder)?)?;
        db.create_missing_tables()?;
        let settings: &[_] = if self.sqlite { &raw::SETTINGS } else { &[] };
        Ok(Box::new(BobakLane::new(db, settings)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_of_sqlite_is_held_against_its_raw_lane() {
        for engine in &ENGINES {
            let raw = engine.raw().map(Engine::name);
            let wanted = engine.sqlite.then(|| format!("raw {}", engine.name));
            assert_eq!(raw, wanted.as_deref());
        }
        assert!(ENGINES[0].syncs_each_row(Task::Direct));
        assert!(!ENGINES[6].syncs_each_row(Task::Direct));
    }

    #[test]
    fn a_folder_may_have_any_name() {
        let folder = tempfile::tempdir().expect("there is a folder for temporary files");
        let folder = folder.path().join("50% of what?");
        std::fs::create_dir(&folder).expect("the name is free");
        ENGINES[1].open(&folder).expect("it is empty");
        assert!(folder.join("bobak.db").exists());
    }
}
