//! The ways of keeping a database that are crashed, and what each promises.

use std::path::Path;

use bobak_core::Engine;
use bobak_core::memory::Memory;
use bobak_sqlite::{JournalMode, Locking, Sqlite, SqliteBuilder, Synchronous};
use bobak_testkit::crash::Promise;

use crate::lane::Failure;

/// A way of keeping a database.
#[derive(Debug)]
pub struct Store {
    name: &'static str,
    kind: Kind,
    killed: Promise,
    powerless: Promise,
}

#[derive(Debug)]
enum Kind {
    Sqlite(JournalMode, Synchronous, Locking),
    /// The same with so many threads that write at the same time.
    Together(JournalMode, Synchronous, usize),
    /// The memory engine, flushed after each commit.
    Snapshot,
}

use JournalMode::{Delete, Off, Persist, Truncate, Wal};
use Locking::{Exclusive, Normal};
use Promise::{APrefix, AllButTheLast, Everything, Nothing};

/// All of them, in the order of the report; SQLite's as the benchmark names them.
pub static STORES: [Store; 16] = [
    sqlite("sqlite file wal full", Wal, Synchronous::Full, Normal, Everything),
    Store {
        name: "sqlite file wal full 8 threads",
        kind: Kind::Together(Wal, Synchronous::Full, 8),
        killed: Everything,
        powerless: Everything,
    },
    sqlite("sqlite file wal full exclusive", Wal, Synchronous::Full, Exclusive, Everything),
    sqlite("sqlite file wal normal", Wal, Synchronous::Normal, Normal, APrefix),
    sqlite("sqlite file wal off", Wal, Synchronous::Off, Normal, Nothing),
    sqlite("sqlite file extra", Delete, Synchronous::Extra, Normal, Everything),
    sqlite("sqlite file full", Delete, Synchronous::Full, Normal, AllButTheLast),
    // All but the last commit, if the drive does not tear what it was writing.
    sqlite("sqlite file normal", Delete, Synchronous::Normal, Normal, Nothing),
    sqlite("sqlite file truncate full", Truncate, Synchronous::Full, Normal, Everything),
    sqlite("sqlite file persist full", Persist, Synchronous::Full, Normal, Everything),
    sqlite("sqlite file full exclusive", Delete, Synchronous::Full, Exclusive, Everything),
    sqlite("sqlite file off", Delete, Synchronous::Off, Normal, Nothing),
    sqlite("sqlite file off exclusive", Delete, Synchronous::Off, Exclusive, Nothing),
    unjournaled("sqlite file journal memory", JournalMode::Memory),
    unjournaled("sqlite file journal off", Off),
    Store {
        name: "memory snapshot",
        kind: Kind::Snapshot,
        killed: Everything,
        powerless: Everything,
    },
];

const fn sqlite(
    name: &'static str,
    journal: JournalMode,
    synchronous: Synchronous,
    locking: Locking,
    powerless: Promise,
) -> Store {
    Store { name, kind: Kind::Sqlite(journal, synchronous, locking), killed: Everything, powerless }
}

/// Nothing on the disk undoes half a commit.
const fn unjournaled(name: &'static str, journal: JournalMode) -> Store {
    let kind = Kind::Sqlite(journal, Synchronous::Full, Normal);
    Store { name, kind, killed: Nothing, powerless: Nothing }
}

/// Reads a comma-separated list of names.
///
/// # Errors
/// The first name that no store has, with those that there are.
pub fn parse(names: &str) -> Result<Vec<&'static Store>, Failure> {
    names.split(',').map(|name| find(name.trim())).collect()
}

pub(super) fn find(name: &str) -> Result<&'static Store, Failure> {
    STORES.iter().find(|store| store.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let names: Vec<_> = STORES.iter().map(Store::name).collect();
        Failure::new(format!("nothing called `{name}` is crashed; there are: {}", names.join(", ")))
    })
}

impl Store {
    /// Its name in reports and options.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Whether a power cut can be simulated under it.
    pub(super) const fn has_power_cuts(&self) -> bool {
        !matches!(self.kind, Kind::Snapshot)
    }

    /// What is left when its process is killed.
    pub(super) const fn killed(&self) -> Promise {
        self.killed
    }

    /// What is left when the power goes.
    pub(super) const fn powerless(&self) -> Promise {
        self.powerless
    }

    /// Whether only a flush makes it durable.
    pub(super) const fn is_flushed(&self) -> bool {
        matches!(self.kind, Kind::Snapshot)
    }

    /// How many threads write at the same time, where that is what is tried.
    pub(super) const fn threads(&self) -> Option<usize> {
        match self.kind {
            Kind::Together(.., threads) => Some(threads),
            _ => None,
        }
    }

    /// SQLite's settings.
    pub(super) fn settings(&self) -> Option<SqliteBuilder> {
        let (journal, synchronous, locking) = match self.kind {
            Kind::Sqlite(journal, synchronous, locking) => (journal, synchronous, locking),
            Kind::Together(journal, synchronous, _) => (journal, synchronous, Normal),
            Kind::Snapshot => return None,
        };
        Some(Sqlite::builder().journal_mode(journal).synchronous(synchronous).locking(locking))
    }

    /// Opens it in a folder; the same one each time.
    ///
    /// # Errors
    /// Those of the engine.
    pub(super) fn open(&self, folder: &Path) -> bobak_core::Result<Box<dyn Engine>> {
        Ok(match self.settings() {
            Some(settings) => Box::new(settings.open(folder.join("crash.db"))?),
            None => Box::new(Memory::builder().snapshot(folder.join("crash.snapshot")).open()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_store_is_found_by_its_name() {
        for store in &STORES {
            assert_eq!(find(store.name()).expect("it is in the list").name(), store.name());
        }
        let failure = parse("memory snapshot,nosuch").expect_err("there is no such store");
        assert!(failure.to_string().starts_with("nothing called `nosuch` is crashed; there are: "));
    }
}
