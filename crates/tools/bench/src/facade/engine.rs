//! The engines that a URL opens, in the modes that are measured.

use std::path::Path;

use bobak::Db;
use bobak::statements::MonitorOptions;

use super::contender::BobakContender;
use super::person::Person;
use crate::contender::{Contender, Engine, Failure};
use crate::raw;
use crate::workload::Task;

/// The engines, in the order of the report's rows.
pub static ENGINES: [BobakEngine; 13] = [
    BobakEngine::file("sqlite file full", "journal_mode=delete&synchronous=full"),
    BobakEngine::file("sqlite file off", "journal_mode=delete&synchronous=off"),
    BobakEngine::file(
        "sqlite file off exclusive",
        "journal_mode=delete&synchronous=off&locking=exclusive",
    ),
    BobakEngine::file("sqlite file wal full", "journal_mode=wal&synchronous=full"),
    BobakEngine::file("sqlite file wal normal", "journal_mode=wal&synchronous=normal"),
    BobakEngine::memory("sqlite memory", "sqlite::memory:"),
    BobakEngine::memory("memory static", "memory:"),
    BobakEngine::memory("memory virtual", "memory:").attached(),
    BobakEngine::file("external sqlite file full", "journal_mode=delete&synchronous=full")
        .attached(),
    BobakEngine::file("external sqlite file off", "journal_mode=delete&synchronous=off").attached(),
    BobakEngine::file(
        "external sqlite file off exclusive",
        "journal_mode=delete&synchronous=off&locking=exclusive",
    )
    .attached(),
    BobakEngine::memory("external sqlite memory", "sqlite::memory:").attached(),
    BobakEngine::key_value("kv"),
];

/// The end of the names of those whose file is encrypted with AEGIS-256: they are compared with plain files.
const AEGIS: &str = " aegis256";

/// Those whose file is encrypted.
#[cfg(feature = "encryption")]
pub static ENCRYPTED: [BobakEngine; 2] = [
    BobakEngine::file(
        "sqlite file off exclusive aegis256",
        "journal_mode=delete&synchronous=off&locking=exclusive&cipher=aegis256",
    )
    .encrypted(),
    BobakEngine::file(
        "sqlite file wal full aegis256",
        "journal_mode=wal&synchronous=full&cipher=aegis256",
    )
    .encrypted(),
];

/// Those whose file is encrypted by SQLCipher.
#[cfg(feature = "sqlcipher")]
pub static SQLCIPHER: [BobakEngine; 2] = [
    BobakEngine::file(
        "sqlite file off exclusive aes",
        "journal_mode=delete&synchronous=off&locking=exclusive&cipher=sqlcipher",
    )
    .encrypted(),
    BobakEngine::file(
        "sqlite file wal full aes",
        "journal_mode=wal&synchronous=full&cipher=sqlcipher",
    )
    .encrypted(),
];

/// Those whose statements are monitored, and next to them the same engines as above: what the monitor costs.
pub static MONITORED: [BobakEngine; 2] = [
    BobakEngine::memory("monitored sqlite memory", "sqlite::memory:").monitored(),
    BobakEngine::memory("monitored memory static", "memory:").monitored(),
];

/// The name under which an engine is attached to another.
const ATTACHED: &str = "far";

const TASKS: [Task; 14] = [
    Task::AllVirtual,
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

/// Threads are measured if there is a disk to wait for, virtual tables if engines are attached.
pub(super) fn tasks_of(attached: bool, synced: bool) -> &'static [Task] {
    let (single_threaded, _) = TASKS.split_at(TASKS.len() - 3);
    match (attached, synced) {
        (true, _) => single_threaded,
        (false, true) => TASKS.get(1..).unwrap_or_default(),
        (false, false) => single_threaded.get(1..).unwrap_or_default(),
    }
}

/// One engine in one mode.
pub struct BobakEngine {
    name: &'static str,
    place: DatabaseLocation,
    sqlite: bool,
    /// Whether it is attached to a main engine, SQLite in memory, which sees its tables as virtual
    /// ones.
    attached: bool,
    /// Whether the file is encrypted.
    key: bool,
    /// Whether its statements are monitored.
    monitored: bool,
}

enum DatabaseLocation {
    /// A file in the run's folder, with these settings.
    File(&'static str),
    /// A key-value file in the run's folder.
    KeyValue,
    /// Nowhere on the disk.
    Url(&'static str),
}

impl BobakEngine {
    pub(super) const fn file(name: &'static str, settings: &'static str) -> Self {
        Self {
            name,
            place: DatabaseLocation::File(settings),
            sqlite: true,
            attached: false,
            key: false,
            monitored: false,
        }
    }

    const fn memory(name: &'static str, url: &'static str) -> Self {
        let sqlite = url.len() > "memory:".len();
        let place = DatabaseLocation::Url(url);
        Self { name, place, sqlite, attached: false, key: false, monitored: false }
    }

    const fn key_value(name: &'static str) -> Self {
        let place = DatabaseLocation::KeyValue;
        Self { name, place, sqlite: false, attached: false, key: false, monitored: false }
    }

    const fn attached(self) -> Self {
        Self { attached: true, ..self }
    }

    const fn monitored(self) -> Self {
        Self { monitored: true, ..self }
    }

    #[cfg(feature = "encryption")]
    const fn encrypted(self) -> Self {
        Self { key: true, ..self }
    }

    /// A new database with an empty table of persons.
    pub(super) fn db(&self, folder: &Path) -> Result<Db, Failure> {
        let url = self.url(folder)?;
        let builder = match self.monitored {
            true => Db::builder().monitor(MonitorOptions::new()),
            false => Db::builder(),
        };
        let db = if self.attached {
            // Every statement by the virtual table: else that of the task would go straight.
            let builder = builder.direct(false).attach(ATTACHED, &url);
            builder.record_on::<Person>(ATTACHED).open("sqlite::memory:")?
        } else {
            builder.record::<Person>().open(&url)?
        };
        db.create_missing_tables()?;
        Ok(db)
    }

    pub(super) fn url(&self, folder: &Path) -> Result<String, Failure> {
        match self.place {
            DatabaseLocation::Url(url) => Ok(url.to_owned()),
            DatabaseLocation::KeyValue => Ok(format!("kv:{}", in_url(&folder.join("bobak.kv"))?)),
            DatabaseLocation::File(settings) => {
                let file = in_url(&folder.join("bobak.db"))?;
                if !self.key {
                    return Ok(format!("sqlite:{file}?{settings}"));
                }
                let key = folder.join("key");
                std::fs::write(&key, [7; 32])
                    .map_err(|error| Failure::new(format!("could not write a key: {error}")))?;
                Ok(format!("sqlite:{file}?{settings}&key_file={}", in_url(&key)?))
            }
        }
    }
}

/// A path as it stands in a URL.
pub(crate) fn in_url(path: &Path) -> Result<String, Failure> {
    let message = || format!("{} is not UTF-8", path.display());
    let path = path.to_str().ok_or_else(|| Failure::new(message()))?;
    Ok(path.replace('%', "%25").replace('?', "%3F").replace('&', "%26").replace(' ', "%20"))
}

impl Engine for BobakEngine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tasks(&self) -> &'static [Task] {
        if self.monitored {
            return &[Task::Direct, Task::BatchTrans, Task::ByOne, Task::AllDirect];
        }
        let synced = self.sqlite && self.syncs_each_row(Task::Direct);
        tasks_of(self.attached, synced)
    }

    fn syncs_each_row(&self, task: Task) -> bool {
        self.raw().is_some_and(|raw| raw.syncs_each_row(task))
    }

    fn raw(&self) -> Option<&'static dyn Engine> {
        if matches!(self.place, DatabaseLocation::KeyValue) {
            return Some(&raw::KEY_VALUE);
        }
        let other = self.name.strip_prefix("monitored ");
        if let Some(name) = other.or_else(|| self.name.strip_suffix(AEGIS)) {
            let is_same = |engine: &&Self| engine.name == name;
            return ENGINES.iter().find(is_same).map(|plain| plain as &dyn Engine);
        }
        let name = self.name.strip_prefix("external ").unwrap_or(self.name);
        let mode = |engine: &&raw::RawEngine| engine.name().strip_prefix("raw ") == Some(name);
        raw::ENGINES.iter().find(mode).map(|raw| raw as &dyn Engine)
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Contender>, Failure> {
        let db = self.db(folder)?;
        let settings: &[_] = match self.sqlite {
            true if self.name.ends_with(AEGIS) => raw::SETTINGS.split_at(raw::CACHE_SETTINGS).1,
            true => &raw::SETTINGS,
            false => &[],
        };
        let engine = if self.attached { ATTACHED } else { "main" };
        Ok(Box::new(BobakContender::new(db, engine, settings)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_compared_with_its_raw_driver() {
        for engine in &ENGINES {
            let raw = engine.raw().map(Engine::name);
            let name = engine.name.trim_start_matches("external ");
            let wanted = (engine.sqlite || name == "kv").then(|| format!("raw {name}"));
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
