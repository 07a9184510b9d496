//! How each store is opened: with a short busy timeout, since some cases wait for its end.

use bobak_core::statements::{MonitorOptions, StatementMonitor};
use bobak_core::{Engine, Error, MonitoredEngine, Result};
use bobak_kv::{Durability, Kv};
use bobak_memory::Memory;
use bobak_sqlite::{JournalMode, LockingMode, Sqlite, SqliteBuilder, Synchronous};
use bobak_testkit::{DirectCalls, Fixture, RequiredMethods, RowByRow, TrackedEngine};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

const BUSY: Duration = Duration::from_millis(200);

fn folder() -> Result<TempDir> {
    TempDir::new().map_err(|error| Error::io("make a folder", error))
}

pub fn memory() -> Result<Fixture> {
    Ok(Fixture::volatile(Memory::builder().busy_timeout(BUSY).open()?))
}

/// With a snapshot, which is read when it is opened again.
pub fn memory_with_snapshot() -> Result<Fixture> {
    let folder = folder()?;
    Fixture::persistent(move || {
        let path = folder.path().join("test.snapshot");
        let memory = Memory::builder().busy_timeout(BUSY).snapshot(path).open()?;
        Ok(Box::new(memory) as Box<dyn Engine>)
    })
}

/// A file, with settings; without waiting for the disk, which no case asks for.
fn file(settings: impl Fn(SqliteBuilder) -> SqliteBuilder + 'static) -> Result<Fixture> {
    let folder = folder()?;
    Fixture::persistent(move || {
        let builder = Sqlite::builder().synchronous(Synchronous::Off).busy_timeout(BUSY);
        let sqlite = settings(builder).open(folder.path().join("test.db"))?;
        Ok(Box::new(sqlite) as Box<dyn Engine>)
    })
}

pub fn sqlite_wal() -> Result<Fixture> {
    file(|builder| builder.journal_mode(JournalMode::Wal))
}

pub fn sqlite_delete() -> Result<Fixture> {
    file(|builder| builder.journal_mode(JournalMode::Delete))
}

pub fn sqlite_exclusive() -> Result<Fixture> {
    file(|builder| builder.locking(LockingMode::Exclusive))
}

pub fn sqlite_exclusive_delete() -> Result<Fixture> {
    file(|builder| builder.locking(LockingMode::Exclusive).journal_mode(JournalMode::Delete))
}

pub fn sqlite_memory() -> Result<Fixture> {
    Ok(Fixture::volatile(Sqlite::builder().busy_timeout(BUSY).open_memory()?))
}

/// A file of redb; without waiting for the disk, which no case asks for.
pub fn kv() -> Result<Fixture> {
    let folder = folder()?;
    Fixture::persistent(move || {
        let builder = Kv::builder().busy_timeout(BUSY).durability(Durability::OnFlush);
        Ok(Box::new(builder.open(folder.path().join("test.kv"))?) as Box<dyn Engine>)
    })
}

/// Any of them with no more than the required methods of the contract.
pub fn required_methods(fresh: fn() -> Result<Fixture>) -> impl Fn() -> Result<Fixture> {
    move || fresh()?.wrapped(|engine| Box::new(RequiredMethods::new(engine)))
}

/// Any of them with batches that are sent row by row.
pub fn row_by_row(fresh: fn() -> Result<Fixture>) -> impl Fn() -> Result<Fixture> {
    move || fresh()?.wrapped(|engine| Box::new(RowByRow::new(engine)))
}

/// Any of them with single operations that are sent past the session.
pub fn direct_calls(fresh: fn() -> Result<Fixture>) -> impl Fn() -> Result<Fixture> {
    move || fresh()?.wrapped(|engine| Box::new(DirectCalls::new(engine)))
}

/// Any of them with a monitor, and a timeout that no call reaches.
pub fn monitored(fresh: fn() -> Result<Fixture>) -> impl Fn() -> Result<Fixture> {
    move || {
        fresh()?.wrapped(|engine| {
            let options = MonitorOptions::new().timeout(Duration::from_secs(600));
            let monitor = StatementMonitor::new(options);
            Box::new(MonitoredEngine::new(Arc::from(engine), monitor))
        })
    }
}

/// Any of them with all tables tracked.
pub fn tracking(fresh: fn() -> Result<Fixture>) -> impl Fn() -> Result<Fixture> {
    move || fresh()?.wrapped(|engine| Box::new(TrackedEngine::new(engine)))
}
