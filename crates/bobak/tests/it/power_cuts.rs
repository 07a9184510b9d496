//! Power cuts during what the facade does itself: writes that are not waited for, and files that are replaced.

use crate::engines::{Person, person};
use bobak::archive::Archive;
use bobak::backup::{BackupOptions, Compression};
use bobak::changes::TrackOptions;
use bobak::engine::sqlite::{Sqlite, SqliteBuilder};
use bobak::pipeline::PipelineOptions;
use bobak::prelude::*;
use bobak::restore::{RecoveryTarget, RestoreOptions};
use bobak_fault_vfs::{Disk, Loss};
use bobak_testkit::crash::files::{CrashImage, cut_at_each_step, fail_step};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

#[derive(Record, Clone, Debug, PartialEq)]
struct Item {
    id: i64,
    serial: i64,
    text: String,
}

/// A random number generator with a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }
}

/// The seeds to run: the first `BOBAK_CRASH_SEEDS`, or `BOBAK_CRASH_SEED` alone, or else the first `usual`.
fn seeds(usual: u64) -> std::ops::RangeInclusive<u64> {
    let setting = |name| std::env::var(name).ok().and_then(|text: String| text.parse().ok());
    match setting("BOBAK_CRASH_SEED") {
        Some(seed) => seed..=seed,
        None => 1..=setting("BOBAK_CRASH_SEEDS").unwrap_or(usual),
    }
}

/// The writes of one thread, to keys of its own.
struct Writer {
    number: i64,
    random: Random,
    serial: i64,
    /// The rows at the start, by key.
    rows: BTreeMap<i64, i64>,
    /// The steps since then, in order: the key, and the serial number, or `None` for a delete.
    steps: Vec<(i64, Option<i64>)>,
    /// How many of the steps were acknowledged.
    acknowledged: usize,
}

impl Writer {
    fn new(seed: u64, number: i64) -> Self {
        let random = Random(seed * 100 + number.unsigned_abs());
        let (rows, steps) = (BTreeMap::new(), Vec::new());
        Self { number, random, serial: 0, rows, steps, acknowledged: 0 }
    }

    fn next(&mut self) -> Step {
        let id = self.number * 1_000 + self.random.below(30) as i64;
        if self.random.below(5) == 0 {
            self.steps.push((id, None));
            return Step::Delete(id);
        }
        self.serial += 1;
        self.steps.push((id, Some(self.serial)));
        let text = "x".repeat(self.random.below(300) as usize);
        Step::Upsert(Item { id, serial: self.serial, text })
    }

    /// Writes without waiting for each result.
    fn pipe(&mut self, pipeline: &bobak::Pipeline, steps: usize) {
        let mut tickets = Vec::new();
        for _ in 0..steps {
            let ticket = match self.next() {
                Step::Upsert(item) => pipeline.upsert(&item).map(Waiting::Key),
                Step::Delete(id) => pipeline.delete::<Item>(id).map(Waiting::Done),
            };
            // After the power cut the table cannot be opened.
            tickets.extend(ticket.ok());
        }
        let done = tickets.into_iter().map(|ticket| match ticket {
            Waiting::Key(ticket) => ticket.wait().is_ok(),
            Waiting::Done(ticket) => ticket.wait().is_ok(),
        });
        self.acknowledged = done.take_while(|done| *done).count();
    }

    /// Waits for each write.
    fn write(&mut self, db: &Db, steps: usize) {
        let Ok(items) = db.table::<Item>() else { return };
        for _ in 0..steps {
            let done = match self.next() {
                Step::Upsert(item) => items.upsert(&item).is_ok(),
                Step::Delete(id) => items.delete(id).is_ok(),
            };
            if !done {
                return;
            }
            self.acknowledged += 1;
        }
    }

    /// Checks that `found` is the state after one of the steps, with no acknowledged step lost, and starts again from it.
    /// Returns the number of steps that survived.
    fn settle(&mut self, found: &BTreeMap<i64, i64>) -> Result<usize, String> {
        let own = self.number * 1_000..(self.number + 1) * 1_000;
        let found: BTreeMap<i64, i64> =
            found.range(own).map(|(id, serial)| (*id, *serial)).collect();
        let mut rows = self.rows.clone();
        let mut fits = self.acknowledged == 0 && rows == found;
        for (number, (id, serial)) in self.steps.iter().enumerate() {
            match serial {
                Some(serial) => rows.insert(*id, *serial),
                None => rows.remove(id),
            };
            fits |= number + 1 >= self.acknowledged && rows == found;
        }
        if !fits {
            let (done, all) = (self.acknowledged, self.steps.len());
            return Err(format!("writer {}: {done} of {all} were acknowledged", self.number));
        }
        self.rows = found;
        self.steps.clear();
        Ok(std::mem::take(&mut self.acknowledged))
    }
}

enum Step {
    Upsert(Item),
    Delete(i64),
}

enum Waiting {
    Key(bobak::pipeline::Ticket<i64>),
    Done(bobak::pipeline::Ticket<bool>),
}

fn items(builder: &SqliteBuilder) -> Result<Db, Error> {
    Db::builder().record::<Item>().open_engine(builder.clone().open("test.db")?)
}

/// Two threads share a pipeline while a third one writes directly. Every acknowledged write is there, and the writes were
/// done in the order of the calls.
fn run(seed: u64) -> Result<usize, String> {
    let disk = Disk::new(seed).unwrap();
    let builder = Sqlite::builder().vfs(disk.vfs()).readers(1).cache_bytes(20 * 4_096);
    let db = items(&builder).unwrap();
    db.create_missing_tables().unwrap();
    db.flush().unwrap();
    drop(db);
    disk.set_sync_delay(Duration::from_micros(200));
    let mut random = Random(seed);
    let mut writers: Vec<_> = (1..=3).map(|number| Writer::new(seed, number)).collect();
    let mut acknowledged = 0;
    for _ in 0..3 {
        let most = [20, 60, 300][random.below(3) as usize];
        disk.cut_power_at(
            1 + random.below(most),
            Loss::POWER[random.below(4) as usize % Loss::POWER.len()],
        );
        if let Ok(db) = items(&builder) {
            let pipeline = db.pipeline(PipelineOptions::new().rows(40));
            std::thread::scope(|scope| {
                let (pipeline, db) = (&pipeline, &db);
                for writer in &mut writers {
                    scope.spawn(move || match writer.number {
                        3 => writer.write(db, 30),
                        _ => writer.pipe(pipeline, 120),
                    });
                }
            });
        }
        if disk.is_on() {
            disk.cut_power(Loss::All);
        }
        disk.power_on();
        let db = items(&builder).map_err(|error| format!("it can't be opened: {error}"))?;
        let sound: Vec<String> = db.sql("PRAGMA integrity_check", ()).unwrap();
        assert_eq!(sound, ["ok"]);
        let all = db.table::<Item>().and_then(|items| items.list(Query::all())).unwrap();
        let found = all.into_iter().map(|item| (item.id, item.serial)).collect();
        for writer in &mut writers {
            acknowledged += writer.settle(&found)?;
        }
    }
    Ok(acknowledged)
}

#[test]
fn acknowledged_tickets_survive_a_power_cut() {
    let mut acknowledged = 0;
    for seed in seeds(40) {
        acknowledged += run(seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
    assert!(acknowledged > 100, "{acknowledged}");
}

fn url(path: &Path) -> String {
    format!("sqlite:{}?journal_mode=delete&synchronous=off", path.display())
}

/// A closed database with so many people.
fn people(path: &Path, number: i64) {
    let db = Db::builder().record::<Person>().open(&url(path)).unwrap();
    db.create_missing_tables().unwrap();
    for n in 0..number {
        db.table().unwrap().insert(&person(&format!("p{n}"), 1)).unwrap();
    }
}

fn count(path: &Path) -> u64 {
    let db = Db::builder().record::<Person>().open(&url(path)).unwrap();
    assert_eq!(db.sql::<String>("PRAGMA integrity_check", ()).unwrap(), ["ok"]);
    db.table::<Person>().unwrap().count(Query::all()).unwrap()
}

/// After a power cut at any step, the file has its old content or its new content, and the new one if the work was
/// acknowledged.
fn old_or_new(
    states: &[CrashImage],
    name: &str,
    old: Option<u64>,
    new: u64,
    count: impl Fn(&Path) -> u64,
) {
    assert!(states.iter().any(|left| left.done) && states.len() >= 16, "{}", states.len());
    for left in states {
        let folder = tempfile::tempdir().unwrap();
        left.lay_out(folder.path()).unwrap();
        let file = folder.path().join(name);
        let there = file.exists().then(|| count(&file));
        let fits = there == Some(new) || !left.done && there == old;
        assert!(fits, "{there:?} of {old:?} or {new} are there, {}", left.what);
    }
}

const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::Zstd, Compression::Gzip];

#[test]
#[cfg(unix)]
fn a_power_cut_during_a_backup_leaves_the_old_or_the_new_one() {
    for compression in COMPRESSIONS.iter().filter(|_| cfg!(feature = "compress")) {
        let (folder, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = source.path().join("app.db");
        people(&place, 30);
        let db = Db::builder().record::<Person>().open(&url(&place)).unwrap();
        let file = folder.path().join("backup");
        let options = BackupOptions::new().compression(*compression).overwrite(true).pauses(false);
        let take = || drop(db.backup(&file, &options, |_| Ok(())).unwrap());
        let rows = |file: &Path| Db::check_backup(file).unwrap().rows();
        let states = cut_at_each_step(folder.path(), take).unwrap();
        old_or_new(&states, "backup", None, 30, rows);
        db.table().unwrap().insert(&person("one more", 1)).unwrap();
        let states = cut_at_each_step(folder.path(), take).unwrap();
        old_or_new(&states, "backup", Some(30), 31, rows);
        let mut step = 0;
        while fail_step(step, std::io::ErrorKind::StorageFull, || {
            if let Err(error) = db.backup(&file, &options, |_| Ok(())) {
                assert_eq!(error.kind(), ErrorKind::Full, "{error}");
            }
        }) {
            assert_eq!(rows(&file), 31);
            step += 1;
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left aside");
    }
}

#[test]
#[cfg(unix)]
fn a_power_cut_during_a_restore_leaves_the_old_or_the_new_database() {
    for compression in COMPRESSIONS.iter().filter(|_| cfg!(feature = "compress")) {
        let (folder, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (backup, from) = (source.path().join("backup"), source.path().join("from.db"));
        people(&from, 20);
        let packed = BackupOptions::new().compression(*compression);
        Db::open(&url(&from)).unwrap().backup(&backup, &packed, |_| Ok(())).unwrap();
        let place = folder.path().join("app.db");
        let options = RestoreOptions::new().overwrite(true);
        let restore = || drop(Db::restore(&backup, &url(&place), &options).unwrap());
        let states = cut_at_each_step(folder.path(), restore).unwrap();
        old_or_new(&states, "app.db", None, 20, count);
        fs::remove_file(&place).unwrap();
        people(&place, 7);
        let states = cut_at_each_step(folder.path(), restore).unwrap();
        old_or_new(&states, "app.db", Some(7), 20, count);
        fs::remove_file(&place).unwrap();
        people(&place, 7);
        let kinds = [std::io::ErrorKind::StorageFull, std::io::ErrorKind::Other];
        for (kind, step) in kinds.into_iter().zip([0, 1]) {
            assert!(fail_step(step, kind, || {
                let error = Db::restore(&backup, &url(&place), &options).unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::Full | ErrorKind::Io), "{error}");
            }));
            assert_eq!(count(&place), 7);
        }
    }
}

#[test]
#[cfg(unix)]
fn an_archive_keeps_the_changes_that_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::builder().track::<Person>(TrackOptions::new()).open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    let place = folder.path().join("changes");
    fs::create_dir(&place).unwrap();
    let mut archive = db.archive_to(&place).unwrap().segment_bytes(500);
    let mut archived = 0;
    for round in 0..6 {
        for n in 0..3 {
            db.table().unwrap().insert(&person(&format!("p{round}.{n}"), 1)).unwrap();
        }
        let mut now = archived;
        let step = || now = archive.step(Duration::ZERO).unwrap().position;
        for left in cut_at_each_step(&place, step).unwrap() {
            let after = tempfile::tempdir().unwrap();
            left.lay_out(after.path()).unwrap();
            let wanted = if left.done { archived + 3 } else { archived };
            // An archive that continues there finds all acknowledged changes.
            let again = db.archive_to(after.path()).unwrap();
            assert!(again.position() >= wanted, "{} of {wanted}, {}", again.position(), left.what);
            drop(again);
            let restored = Db::builder().track::<Person>(TrackOptions::new());
            let restored = restored.open("sqlite::memory:").unwrap();
            restored.create_missing_tables().unwrap();
            let replayed = restored.replay(after.path(), RecoveryTarget::End);
            match replayed {
                Ok(replayed) => assert!(replayed.position >= wanted, "{}", left.what),
                Err(error) => assert!(wanted == 0, "{error}, {}", left.what),
            }
        }
        archived = now;
        assert_eq!(archived, (round + 1) * 3);
    }
    assert!(Archive::check(&place).unwrap().files > 2, "several files");
}

/// Whichever step fails, the folder keeps its content, and the next step archives the rest: with the archive that failed,
/// and with one that is opened again.
#[test]
fn an_archive_continues_after_a_full_disk() {
    for (segment_bytes, reopened) in [(1, false), (1 << 20, false), (500, true)] {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("changes");
        let db =
            Db::builder().track::<Person>(TrackOptions::new()).open("sqlite::memory:").unwrap();
        db.create_missing_tables().unwrap();
        let open = || db.archive_to(&place).unwrap().segment_bytes(segment_bytes);
        let mut archive = open();
        let (mut failures, mut last) = (0, 0);
        for step in 0..4 {
            for n in 0..3 {
                db.table().unwrap().insert(&person(&format!("p{step}.{n}"), 1)).unwrap();
            }
            let archived = archive.position();
            assert_eq!(archived, last);
            fail_step(step, std::io::ErrorKind::StorageFull, || {
                if let Err(error) = archive.step(Duration::ZERO) {
                    assert_eq!(error.kind(), ErrorKind::Full, "{error}");
                    assert!(error.message().contains("changes"), "{error}");
                    failures += 1;
                }
            });
            assert!(Archive::check(&place).unwrap().to >= archived);
            if reopened {
                drop(archive);
                archive = open();
            }
            while archive.step(Duration::ZERO).unwrap().changes > 0 {}
            last = db.changes().unwrap().last_id().unwrap();
            assert_eq!((archive.position(), Archive::check(&place).unwrap().to), (last, last));
        }
        assert!(failures > 0);
        drop(archive);
        let restored = Db::builder().track::<Person>(TrackOptions::new());
        let restored = restored.open("sqlite::memory:").unwrap();
        restored.create_missing_tables().unwrap();
        assert_eq!(restored.replay(&place, RecoveryTarget::End).unwrap().changes, last);
    }
}
