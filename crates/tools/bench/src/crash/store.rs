//! The ways of keeping a database that are crashed, and what each promises.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobak_core::Engine;
use bobak_kv::Kv;
use bobak_memory::Memory;
use bobak_sqlite::{JournalMode, LockingMode, Sqlite, SqliteBuilder, Synchronous};
use bobak_testkit::crash::Promise;
use tempfile::TempDir;

use crate::contender::{Failure, KeepAlive};
use crate::facade::in_url;
use crate::facade::remote::{self, Server};
use crate::server;

/// A way of keeping a database.
#[derive(Debug)]
pub struct Store {
    name: &'static str,
    kind: StoreKind,
    killed: Promise,
    powerless: Promise,
}

#[derive(Debug)]
enum StoreKind {
    Sqlite(JournalMode, Synchronous, LockingMode),
    /// The same with so many threads that write at the same time.
    Together(JournalMode, Synchronous, usize),
    /// The memory engine, flushed after each commit.
    Snapshot,
    /// The key-value engine.
    KeyValue,
    /// A database server of our own, as durable as it is out of the box.
    Server(server::ServerKind),
    /// A file in the default mode, served through a Unix socket.
    Remote,
}

/// What happens to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crash {
    /// The process that writes is killed.
    Killed,
    /// The process that keeps the database for others is killed.
    ServerKilled,
    /// The power goes, on a simulated disk.
    PowerCut,
}

use JournalMode::{Delete, Off, Persist, Truncate, Wal};
use LockingMode::{Exclusive, Normal};
use Promise::{APrefix, AllButTheLast, Everything, Nothing};

/// All of them, in the order of the report; SQLite's as the benchmark names them.
pub static STORES: [Store; 20] = [
    sqlite("sqlite file wal full", Wal, Synchronous::Full, Normal, Everything),
    Store {
        name: "sqlite file wal full 8 threads",
        kind: StoreKind::Together(Wal, Synchronous::Full, 8),
        killed: Everything,
        powerless: Everything,
    },
    sqlite("sqlite file wal full exclusive", Wal, Synchronous::Full, Exclusive, Everything),
    sqlite("sqlite file wal normal", Wal, Synchronous::Normal, Normal, APrefix),
    sqlite("sqlite file wal off", Wal, Synchronous::Off, Normal, Nothing),
    sqlite("sqlite file extra", Delete, Synchronous::Extra, Normal, Everything),
    sqlite("sqlite file full", Delete, Synchronous::Full, Normal, AllButTheLast),
    // All but the last commit, if the drive writes in order and tears nothing.
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
        kind: StoreKind::Snapshot,
        killed: Everything,
        powerless: Everything,
    },
    Store { name: "kv", kind: StoreKind::KeyValue, killed: Everything, powerless: Everything },
    served("remote unix wal full", StoreKind::Remote),
    served("postgres", StoreKind::Server(server::ServerKind::Postgres)),
    served("mariadb", StoreKind::Server(server::ServerKind::MariaDb)),
];

const fn sqlite(
    name: &'static str,
    journal: JournalMode,
    synchronous: Synchronous,
    locking: LockingMode,
    powerless: Promise,
) -> Store {
    Store {
        name,
        kind: StoreKind::Sqlite(journal, synchronous, locking),
        killed: Everything,
        powerless,
    }
}

/// A store that acknowledges a commit has it on the disk.
const fn served(name: &'static str, kind: StoreKind) -> Store {
    Store { name, kind, killed: Everything, powerless: Everything }
}

/// Nothing on the disk undoes half a commit.
const fn unjournaled(name: &'static str, journal: JournalMode) -> Store {
    let kind = StoreKind::Sqlite(journal, Synchronous::Full, Normal);
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

    /// What can happen to it here.
    pub(super) const fn crashes(&self) -> &'static [Crash] {
        match self.kind {
            StoreKind::Sqlite(..) | StoreKind::Together(..) => &[Crash::Killed, Crash::PowerCut],
            StoreKind::Snapshot | StoreKind::KeyValue => &[Crash::Killed],
            StoreKind::Server(_) | StoreKind::Remote => &[Crash::Killed, Crash::ServerKilled],
        }
    }

    /// Whether it can be tried: its server's programs are installed.
    #[must_use]
    pub fn is_there(&self) -> bool {
        match self.kind {
            StoreKind::Server(kind) => kind.is_there(),
            StoreKind::Remote => remote::program().is_some(),
            _ => true,
        }
    }

    /// Keeps its server running, until what this gives is dropped.
    pub(super) fn hold(&self) -> Option<Result<KeepAlive, Failure>> {
        match self.kind {
            StoreKind::Server(kind) => Some(kind.hold()),
            _ => None,
        }
    }

    /// Where it is kept, new and empty.
    ///
    /// # Errors
    /// Where a server can't be started.
    pub(super) fn home(&self, folder: &Path) -> Result<Home, Failure> {
        let folder = tempfile::tempdir_in(folder)?;
        Ok(match self.kind {
            StoreKind::Server(kind) => Home::Database(server::Home::new(kind)?),
            StoreKind::Remote => Home::Remote { server: Some(serve(folder.path())?), folder },
            _ => Home::Folder(folder),
        })
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
        matches!(self.kind, StoreKind::Snapshot)
    }

    /// The number of concurrent writers, if the store tests them.
    pub(super) const fn threads(&self) -> Option<usize> {
        match self.kind {
            StoreKind::Together(.., threads) => Some(threads),
            _ => None,
        }
    }

    /// SQLite's settings.
    pub(super) fn settings(&self) -> Option<SqliteBuilder> {
        let (journal, synchronous, locking) = match self.kind {
            StoreKind::Sqlite(journal, synchronous, locking) => (journal, synchronous, locking),
            StoreKind::Together(journal, synchronous, _) => (journal, synchronous, Normal),
            _ => return None,
        };
        Some(Sqlite::builder().journal_mode(journal).synchronous(synchronous).locking(locking))
    }

    /// Opens it where it is kept; the same one each time.
    ///
    /// # Errors
    /// Those of the engine.
    pub(super) fn open(&self, place: &Path) -> bobak_core::Result<Arc<dyn Engine>> {
        Ok(match (self.settings(), &self.kind) {
            (Some(settings), _) => Arc::new(settings.open(place.join("crash.db"))?),
            (None, StoreKind::Snapshot) => {
                Arc::new(Memory::builder().snapshot(place.join("crash.snapshot")).open()?)
            }
            (None, StoreKind::KeyValue) => Arc::new(Kv::open(place.join("crash.kv"))?),
            (None, _) => bobak::engine::open(&place.to_string_lossy())?,
        })
    }
}

/// Where a store is kept; gone with this.
pub(super) enum Home {
    Folder(TempDir),
    Database(server::Home),
    Remote { server: Option<Server>, folder: TempDir },
}

impl Home {
    /// The folder or URL that [`Store::open`] takes.
    ///
    /// # Errors
    /// If the folder's name is not UTF-8, and a URL is needed.
    pub(super) fn place(&self) -> Result<PathBuf, Failure> {
        Ok(match self {
            Self::Folder(folder) => folder.path().to_owned(),
            Self::Database(home) => home.url().into(),
            Self::Remote { folder, .. } => {
                format!("bobak+unix:{}", in_url(&socket(folder.path()))?).into()
            }
        })
    }

    /// Kills who keeps it for others.
    ///
    /// # Errors
    /// If it is another user's, or there is none.
    pub(super) fn kill_server(&mut self) -> Result<(), Failure> {
        match self {
            Self::Folder(_) => Err(Failure::new("nobody keeps it for others")),
            Self::Database(home) => home.kill_server(),
            Self::Remote { server, .. } => {
                *server = None;
                Ok(())
            }
        }
    }

    /// Restarts a server that was killed.
    ///
    /// # Errors
    /// If it does not start.
    pub(super) fn restart_server(&mut self) -> Result<(), Failure> {
        match self {
            Self::Folder(_) => Ok(()),
            Self::Database(home) => home.restart_server(),
            Self::Remote { server, folder } => {
                *server = Some(serve(folder.path())?);
                Ok(())
            }
        }
    }
}

fn serve(folder: &Path) -> Result<Server, Failure> {
    let url = format!("sqlite:{}", in_url(&folder.join("crash.db"))?);
    let socket = socket(folder);
    let listeners = ["--unix".as_ref(), socket.as_os_str()];
    Ok(remote::start(&remote::required_program()?, &url, &listeners)?.0)
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("socket")
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
