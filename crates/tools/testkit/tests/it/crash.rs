//! Random programs on SQLite, interrupted by a killed process and by a power cut, in each mode; and
//! on files that fail. `docs/durability.md` names these tests.
//!
//! `BOBAK_CRASH_SEEDS=1000` runs so many seeds of each, `BOBAK_CRASH_SEED=7` that one;
//! `cargo xtask crash` does it in an optimised build.

use crate::setting;
use bobak_core::{ColumnSchema, Engine, ErrorKind, Result, TableSchema, Value};
use bobak_fault_vfs::{Disk, DiskCall, Loss};
use bobak_sqlite::{JournalMode, LockingMode, Sqlite, SqliteBuilder, Synchronous};
use bobak_testkit::crash::{self, Machine, Promise, Tally, Trouble};
use bobak_testkit::{Entry, NULL, Probe, Table, row};
use std::sync::Arc;
use std::time::Duration;

/// SQLite on a disk whose power can be cut.
pub(crate) struct OnDisk {
    disk: Disk,
    builder: SqliteBuilder,
    loss: Loss,
}

impl OnDisk {
    pub(crate) fn new(seed: u64, mode: Mode, loss: Loss) -> Self {
        let disk = Disk::new(seed).unwrap();
        let builder = Sqlite::builder()
            .vfs(disk.vfs())
            .journal_mode(mode.journal)
            .synchronous(mode.synchronous)
            .locking(mode.locking)
            .busy_timeout(Duration::from_millis(50))
            // Small, so that pages are written before the commit too.
            .cache_bytes(20 * 4_096)
            .readers(1);
        Self { disk, builder, loss }
    }

    /// For several threads: syncs take long enough that others come meanwhile.
    fn for_threads(self) -> Self {
        self.disk.set_sync_delay(Duration::from_micros(500));
        self.with(|builder| builder.busy_timeout(Duration::from_secs(30)))
    }

    pub(crate) fn with(self, setting: impl FnOnce(SqliteBuilder) -> SqliteBuilder) -> Self {
        Self { builder: setting(self.builder), ..self }
    }
}

impl Machine for OnDisk {
    fn open(&self) -> Result<Box<dyn Engine>> {
        Ok(Box::new(self.builder.clone().open("test.db")?))
    }

    fn crash_at(&self, nth: u64) {
        self.disk.cut_power_at(nth, self.loss);
    }

    fn crash(&self) {
        if self.disk.is_on() {
            self.disk.cut_power(self.loss);
        }
    }

    fn is_down(&self) -> bool {
        !self.disk.is_on()
    }

    fn restart(&self) {
        self.disk.power_on();
    }
}

impl Trouble for OnDisk {
    fn begin(&self, choice: u64) {
        let (kind, nth) = (choice % 8, choice / 8 % 6);
        match usize::try_from(kind).ok().and_then(|kind| DiskCall::ALL.get(kind)) {
            Some(call) => self.disk.fail(*call, 1 + nth, choice / 64 % 3),
            None => self.disk.set_capacity(Some(self.disk.used_bytes() + nth * 3_000)),
        }
    }

    fn end(&self) {
        self.disk.clear_faults();
        self.disk.set_capacity(None);
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    journal: JournalMode,
    synchronous: Synchronous,
    locking: LockingMode,
}

const fn mode(journal: JournalMode, synchronous: Synchronous) -> Mode {
    Mode { journal, synchronous, locking: LockingMode::Normal }
}

const fn exclusive(journal: JournalMode, synchronous: Synchronous) -> Mode {
    Mode { journal, synchronous, locking: LockingMode::Exclusive }
}

pub(crate) const WAL_FULL: Mode = mode(JournalMode::Wal, Synchronous::Full);
const WAL_NORMAL: Mode = mode(JournalMode::Wal, Synchronous::Normal);
const WAL_OFF: Mode = mode(JournalMode::Wal, Synchronous::Off);
pub(crate) const WAL_FULL_EXCLUSIVE: Mode = exclusive(JournalMode::Wal, Synchronous::Full);
pub(crate) const DELETE_EXTRA: Mode = mode(JournalMode::Delete, Synchronous::Extra);
const DELETE_FULL: Mode = mode(JournalMode::Delete, Synchronous::Full);
const DELETE_NORMAL: Mode = mode(JournalMode::Delete, Synchronous::Normal);
const DELETE_OFF: Mode = mode(JournalMode::Delete, Synchronous::Off);
pub(crate) const DELETE_FULL_EXCLUSIVE: Mode = exclusive(JournalMode::Delete, Synchronous::Full);
const DELETE_OFF_EXCLUSIVE: Mode = exclusive(JournalMode::Delete, Synchronous::Off);
pub(crate) const TRUNCATE_FULL: Mode = mode(JournalMode::Truncate, Synchronous::Full);
pub(crate) const PERSIST_FULL: Mode = mode(JournalMode::Persist, Synchronous::Full);
const MEMORY_FULL: Mode = mode(JournalMode::Memory, Synchronous::Full);
const OFF_FULL: Mode = mode(JournalMode::Off, Synchronous::Full);

pub(crate) fn seeds(usual: u64) -> std::ops::RangeInclusive<u64> {
    match setting("BOBAK_CRASH_SEED") {
        Some(seed) => seed..=seed,
        None => 1..=setting("BOBAK_CRASH_SEEDS").unwrap_or(usual),
    }
}

/// Runs the programs of some seeds, each with one of the losses.
fn crashes(mode: Mode, losses: &[Loss], promise: Promise) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds(16) {
        let loss = losses[seed as usize % losses.len()];
        match crash::run(seed, &OnDisk::new(seed, mode, loss), promise) {
            Ok(more) => tally.add(more),
            Err(what) => panic!("{mode:?}, {loss:?}, {what}"),
        }
    }
    println!("{mode:?}, {losses:?}: {tally:?}");
    tally
}

fn kill(mode: Mode) {
    crashes(mode, &[Loss::Nothing], Promise::Everything);
}

/// In one of the seeds that are always run something is lost: the promise is not less than it
/// could be.
fn loses(tally: Tally) {
    assert!(setting("BOBAK_CRASH_SEED").is_some() || tally.lost > 0, "{tally:?}");
}

fn damages(tally: Tally) {
    assert!(setting("BOBAK_CRASH_SEED").is_some() || tally.damaged > 0, "{tally:?}");
}

#[test]
fn killed_wal_keeps_everything() {
    [WAL_FULL, WAL_NORMAL, WAL_OFF, WAL_FULL_EXCLUSIVE].into_iter().for_each(kill);
}

#[test]
fn killed_rollback_journals_keep_everything() {
    [DELETE_EXTRA, DELETE_FULL, DELETE_NORMAL, DELETE_OFF].into_iter().for_each(kill);
    [DELETE_FULL_EXCLUSIVE, DELETE_OFF_EXCLUSIVE].into_iter().for_each(kill);
    [TRUNCATE_FULL, PERSIST_FULL].into_iter().for_each(kill);
}

#[test]
fn killed_without_a_journal_on_disk_may_be_damaged() {
    damages(crashes(MEMORY_FULL, &[Loss::Nothing], Promise::Nothing));
    damages(crashes(OFF_FULL, &[Loss::Nothing], Promise::Nothing));
}

#[test]
fn power_cut_wal_full_keeps_everything() {
    crashes(WAL_FULL, &Loss::POWER, Promise::Everything);
    crashes(WAL_FULL_EXCLUSIVE, &Loss::POWER, Promise::Everything);
}

#[test]
fn power_cut_wal_normal_loses_the_latest_commits() {
    loses(crashes(WAL_NORMAL, &Loss::POWER, Promise::APrefix));
}

#[test]
fn power_cut_wal_off_damages() {
    damages(crashes(WAL_OFF, &Loss::POWER, Promise::Nothing));
}

#[test]
fn power_cut_delete_extra_keeps_everything() {
    crashes(DELETE_EXTRA, &Loss::POWER, Promise::Everything);
}

#[test]
fn power_cut_delete_full_loses_the_last_commit() {
    loses(crashes(DELETE_FULL, &Loss::POWER, Promise::AllButTheLast));
}

#[test]
fn power_cut_delete_full_exclusive_keeps_everything() {
    crashes(DELETE_FULL_EXCLUSIVE, &Loss::POWER, Promise::Everything);
}

#[test]
fn power_cut_delete_normal_loses_the_last_commit() {
    loses(crashes(DELETE_NORMAL, &[Loss::All, Loss::Latest], Promise::AllButTheLast));
    // The journal and its head go by one sync: a page that is missing or torn there, where the head is not, may pass for
    // whole by SQLite's light sums. That is rare: seeds 368 and 191 show it.
    crashes(DELETE_NORMAL, &[Loss::Some, Loss::Torn], Promise::Nothing);
}

#[test]
fn power_cut_delete_off_damages() {
    damages(crashes(DELETE_OFF, &Loss::POWER, Promise::Nothing));
    damages(crashes(DELETE_OFF_EXCLUSIVE, &Loss::POWER, Promise::Nothing));
}

#[test]
fn power_cut_truncate_and_persist_full_keep_everything() {
    crashes(TRUNCATE_FULL, &Loss::POWER, Promise::Everything);
    crashes(PERSIST_FULL, &Loss::POWER, Promise::Everything);
}

#[test]
fn power_cut_without_a_journal_on_disk_damages() {
    damages(crashes(MEMORY_FULL, &Loss::POWER, Promise::Nothing));
    damages(crashes(OFF_FULL, &Loss::POWER, Promise::Nothing));
}

/// Several threads on one engine with group commit: each acknowledged write survives.
fn together(mode: Mode, losses: &[Loss], promise: Promise) {
    let (mut tally, mut syncs) = (Tally::default(), 0);
    for seed in seeds(24) {
        let loss = losses[seed as usize % losses.len()];
        let machine = OnDisk::new(seed, mode, loss).for_threads();
        match crash::run_together(seed, 3 + seed as usize % 6, &machine, promise) {
            Ok(more) => tally.add(more),
            Err(what) => panic!("{mode:?}, {loss:?}, {what}"),
        }
        syncs += machine.disk.calls(DiskCall::Sync);
    }
    println!("{mode:?}, {losses:?}: {tally:?}, {syncs} syncs");
    let few = setting("BOBAK_CRASH_SEED").is_some();
    assert!(few || tally.acknowledged > 500, "{tally:?}");
}

#[test]
fn power_cut_with_several_threads_keeps_everything() {
    for mode in [WAL_FULL, WAL_FULL_EXCLUSIVE, DELETE_EXTRA] {
        together(mode, &Loss::POWER, Promise::Everything);
    }
}

#[test]
fn power_cut_with_several_threads_wal_normal_loses_the_latest_commits() {
    together(WAL_NORMAL, &Loss::POWER, Promise::APrefix);
}

#[test]
fn killed_with_several_threads_keeps_everything() {
    together(WAL_FULL, &[Loss::Nothing], Promise::Everything);
    together(DELETE_OFF, &[Loss::Nothing], Promise::Everything);
}

/// Each failed step is undone, and nothing acknowledged is lost, whatever fails and when.
fn endures(mode: Mode, loss: Loss) {
    let mut failed = 0;
    for seed in seeds(10) {
        match crash::endure(seed, &OnDisk::new(seed, mode, loss)) {
            Ok(more) => failed += more,
            Err(what) => panic!("{mode:?}, {loss:?}, {what}"),
        }
    }
    println!("{mode:?}: {failed} steps failed");
    assert!(failed > 0);
}

#[test]
fn full_disk_and_failing_files_undo_the_step_alone() {
    for mode in [WAL_FULL, WAL_FULL_EXCLUSIVE, DELETE_EXTRA, TRUNCATE_FULL, PERSIST_FULL] {
        endures(mode, Loss::All);
    }
    for mode in [WAL_NORMAL, WAL_OFF, DELETE_OFF, DELETE_OFF_EXCLUSIVE] {
        endures(mode, Loss::Nothing);
    }
}

/// Compares the results of each thread's writes with the number of its rows in the table.
fn matches_results(
    engine: &dyn Engine,
    table: &Table,
    results: &[(i64, Result<()>)],
) -> Result<(), String> {
    let rows = Probe::new(engine).and_then(|probe| probe.all(table));
    let rows = rows.map_err(|error| format!("unreadable: {error}"))?;
    for (number, result) in results {
        let there = rows.iter().filter(|row| row.get(1) == Some(&Value::Int(*number))).count();
        let may_be = match result {
            Ok(()) => 1..=1,
            Err(error) if error.kind() == ErrorKind::Unknown => 0..=1,
            Err(_) => 0..=0,
        };
        if !may_be.contains(&there) {
            return Err(format!("{number} is there {there} times; its result was {result:?}"));
        }
    }
    Ok(())
}

/// Threads insert rows of their own, whose keys the engine gives, while one call for files fails.
fn insert_together(engine: &dyn Engine, table: &Table) -> Vec<(i64, Result<()>)> {
    let thread = |first: i64| {
        let insert = |number| {
            let entry = Entry::insert(table, row![NULL, number]);
            (number, engine.write(&entry.as_write()).map(drop))
        };
        (first..first + 4).map(insert).collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|n| scope.spawn(move || thread(n * 10))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// A failed group commit is reported correctly to each thread, and no row is stored twice.
#[test]
fn failing_files_tell_each_of_several_threads() {
    let mut unknown = 0;
    for mode in [WAL_FULL, DELETE_EXTRA, DELETE_FULL_EXCLUSIVE, TRUNCATE_FULL, PERSIST_FULL] {
        // The seed says which call fails: after so many the threads are done.
        let seeds = seeds(12).take(60);
        for (seed, call) in seeds.flat_map(|seed| DiskCall::ALL.map(|call| (seed, call))) {
            let machine = OnDisk::new(seed, mode, Loss::All).for_threads();
            let table = TableSchema::builder("results")
                .column(ColumnSchema::of::<i64>("id"))
                .column(ColumnSchema::of::<i64>("number"))
                .key(["id"]);
            let table = Arc::new(table.build().unwrap());
            let engine = machine.open().unwrap();
            bobak_testkit::create(&*engine, &[&table]).unwrap();
            machine.disk.fail(call, 1 + seed, 0);
            let results = insert_together(&*engine, &table);
            machine.disk.clear_faults();
            let what = |what| panic!("{mode:?}, {call:?}, seed {seed}: {what}");
            matches_results(&*engine, &table, &results).unwrap_or_else(what);
            machine.crash();
            drop(engine);
            machine.restart();
            matches_results(&*machine.open().unwrap(), &table, &results).unwrap_or_else(what);
            let is_unknown = |results: &Result<()>| {
                results.as_ref().is_err_and(|error| error.kind() == ErrorKind::Unknown)
            };
            unknown += results.iter().filter(|(_, results)| is_unknown(results)).count();
        }
    }
    assert!(unknown > 0);
}
