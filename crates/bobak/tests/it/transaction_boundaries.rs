//! Replays end between transactions, whatever moment or change is the target.

use crate::archive::{last_file, ship};
use bobak::archive::Archive;
use bobak::backup::BackupOptions;
use bobak::changes::TrackOptions;
use bobak::prelude::*;
use bobak::restore::{RecoveryTarget, ReplayOptions, ReplayReport, RestoreOptions};
use std::path::PathBuf;
use std::time::Duration;

struct Place {
    folder: tempfile::TempDir,
    db: Db,
}

/// Two tables, so that neither change log is complete alone.
const TABLES: [&str; 2] = ["account", "booking"];

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("app.db").display());
        let db = Db::open(&url).unwrap();
        for table in TABLES {
            let text = format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY, n INTEGER)");
            db.execute(&text, ()).unwrap();
            db.track_table(table, TrackOptions::new()).unwrap();
        }
        db.backup(folder.path().join("backup.db"), &BackupOptions::new(), |_| Ok(())).unwrap();
        Self { folder, db }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn archive(&self) -> Archive {
        self.db.archive_to(self.path("changes")).unwrap()
    }

    /// Runs `pairs` transactions, each of which inserts a pair of rows with a pause before each row.
    fn pairs(&self, pairs: i64, pause: Duration) {
        self.db
            .transaction(|db| {
                for n in 0..pairs {
                    std::thread::sleep(pause);
                    for table in TABLES {
                        db.execute(&format!("INSERT INTO {table} (n) VALUES (?)"), (n,))?;
                    }
                }
                Ok(())
            })
            .unwrap();
    }

    fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        std::thread::sleep(Duration::from_millis(3));
        now
    }

    fn try_replay(&self, options: impl Into<ReplayOptions>) -> Result<(ReplayReport, Db), Error> {
        let url = format!("sqlite:{}", self.path("again.db").display());
        let options =
            RestoreOptions::new().overwrite(true).changes(self.path("changes"), options.into());
        let report = Db::restore(self.path("backup.db"), &url, &options)?;
        Ok((report.replayed.unwrap(), Db::open(&url)?))
    }

    /// The report of a replay, and how many rows each table has afterwards.
    fn replay(&self, options: impl Into<ReplayOptions>) -> (ReplayReport, [i64; 2]) {
        let (made, again) = self.try_replay(options).unwrap();
        assert_eq!(again.changes().unwrap().last_id().unwrap(), made.position);
        (made, counts(&again))
    }
}

fn counts(db: &Db) -> [i64; 2] {
    TABLES.map(|table| db.sql(&format!("SELECT count(*) FROM {table}"), ()).unwrap()[0])
}

#[test]
fn a_transaction_open_at_the_moment_is_whole_or_absent() {
    let place = Place::new();
    let mut archive = place.archive();
    place.pairs(1, Duration::ZERO);
    ship(&mut archive);
    let mut moments = vec![place.now()];
    place.pairs(4, Duration::from_millis(5));
    ship(&mut archive);
    moments.push(place.now());
    place.pairs(1, Duration::ZERO);
    ship(&mut archive);
    let inside: Vec<_> = place.db.changes().unwrap().since(2).iter().map(|c| c.unwrap()).collect();
    assert_eq!(inside.len(), 10);
    // The moments of all changes but those of the last pair, which are equal.
    for change in &inside[..6] {
        let (made, rows) = place.replay(RecoveryTarget::Moment(change.at));
        assert_eq!((rows, made.position, made.whole, made.is_end), ([1, 1], 2, true, false));
        assert!(made.left_out > 0 && made.at.is_some_and(|at| at <= moments[0]), "{made:?}");
        assert!(made.read.is_some_and(|read| read < moments[0]), "{made:?}");
    }
    for (moment, expected) in moments.iter().zip([2, 10]) {
        let (made, rows) = place.replay(RecoveryTarget::Moment(*moment));
        assert_eq!((made.position, made.left_out, made.whole), (expected, 0, true));
        assert_eq!(rows, [expected as i64 / 2; 2]);
        assert!(made.at.is_some_and(|at| at <= *moment));
    }
    // Part of a transaction is replayed only on request.
    let (made, rows) =
        place.replay(ReplayOptions::new(RecoveryTarget::Moment(inside[2].at)).partial(true));
    assert_eq!((rows, made.position, made.whole, made.left_out), ([3, 3], 6, false, 0));
    // A change number that is not a boundary is rejected, and the error names the nearest boundaries.
    let rejected = place.try_replay(RecoveryTarget::Change(5)).err().unwrap();
    assert_eq!(rejected.kind(), ErrorKind::OutOfRange, "{rejected}");
    assert!(rejected.message().contains("name 2 before it, or 10 after it"), "{rejected}");
    assert_eq!(place.replay(RecoveryTarget::Change(10)).1, [5, 5]);
    let (made, rows) = place.replay(ReplayOptions::new(RecoveryTarget::Change(5)).partial(true));
    assert_eq!((rows, made.position, made.whole), ([3, 2], 5, false));
    let (made, rows) = place.replay(RecoveryTarget::End);
    assert_eq!((rows, made.whole, made.is_end, made.left_out), ([6, 6], true, true, 0));
}

/// Changes committed while no archive ran have no known boundaries inside. An archive that runs late has seen some.
#[test]
fn a_backlog_has_the_boundaries_that_the_archive_saw() {
    let place = Place::new();
    let mut archive = place.archive();
    for _ in 0..700 {
        place.pairs(1, Duration::ZERO);
    }
    let middle = place.now();
    place.pairs(1, Duration::ZERO);
    // This step writes 1,000 changes, and has seen the boundary at 1,402.
    assert_eq!(archive.step(Duration::ZERO).unwrap().position, 1_000);
    place.pairs(800, Duration::ZERO);
    assert_eq!(archive.step(Duration::ZERO).unwrap().position, 2_000);
    let span = Archive::check(place.path("changes")).unwrap();
    assert_eq!((span.to, span.whole), (2_000, 1_402), "killed here: the last frame is no border");
    let (made, rows) = place.replay(RecoveryTarget::End);
    assert_eq!((rows, made.left_out, made.whole), ([701, 701], 598, true));
    let (made, rows) = place.replay(ReplayOptions::new(RecoveryTarget::End).partial(true));
    assert_eq!((rows, made.whole, made.position), ([1_000, 1_000], false, 2_000));
    // Another process continues. It does not know the boundaries that this one saw.
    drop(archive);
    let mut archive = place.archive();
    ship(&mut archive);
    let span = Archive::check(place.path("changes")).unwrap();
    assert_eq!((span.to, span.whole), (3_002, 3_002));
    assert_eq!(place.replay(RecoveryTarget::End).1, [1_501, 1_501]);
    assert_eq!(place.replay(RecoveryTarget::Change(1_402)).1, [701, 701]);
    // The moment is in a stretch without an archive: the replay ends far before it, and reports that.
    let (made, rows) = place.replay(RecoveryTarget::Moment(middle));
    assert_eq!((rows, made.position, made.left_out, made.is_end), ([0, 0], 0, 1_400, false));
    assert_eq!((made.at, made.whole), (None, true));
}

/// Replays, to any moment, a database that was written while it was archived, with transactions of more than a page: the
/// result never contains part of a transaction.
#[test]
fn no_replay_shows_part_of_a_transaction() {
    let place = Place::new();
    let mut archive = place.archive();
    let sizes = |n: i64| if n % 50 == 20 { 600 } else { 1 + n % 4 };
    let mut moments = Vec::new();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for n in 0..150 {
                place
                    .db
                    .transaction(|db| {
                        for _ in 0..sizes(n) {
                            for table in TABLES {
                                db.execute(&format!("INSERT INTO {table} (n) VALUES (?)"), (n,))?;
                            }
                        }
                        Ok(())
                    })
                    .unwrap();
            }
        });
        while !writer.is_finished() {
            archive.step(Duration::from_millis(1)).unwrap();
            moments.push(Timestamp::now());
        }
    });
    ship(&mut archive);
    let mut left_out = 0;
    for moment in moments.iter().step_by(moments.len() / 12 + 1) {
        let (made, again) = place.try_replay(RecoveryTarget::Moment(*moment)).unwrap();
        left_out += made.left_out;
        for table in TABLES {
            let text = format!("SELECT n, count(*) FROM {table} GROUP BY n ORDER BY n");
            for (n, count) in again.sql::<(i64, i64)>(&text, ()).unwrap() {
                assert_eq!(count, sizes(n), "of transaction {n}, at {moment}");
            }
        }
        let [accounts, bookings] = counts(&again);
        assert_eq!(accounts, bookings);
        assert!(again.changes().unwrap().iter().all(|change| change.unwrap().at <= *moment));
    }
    println!("{} moments, {left_out} changes left out", moments.len());
}

/// A killed archiver leaves a torn frame in the middle of a transaction of several pages.
#[test]
fn a_torn_long_transaction_is_not_replayed() {
    let place = Place::new();
    let mut archive = place.archive();
    place.pairs(2, Duration::ZERO);
    ship(&mut archive);
    place.pairs(1_200, Duration::ZERO);
    archive.step(Duration::ZERO).unwrap();
    archive.step(Duration::ZERO).unwrap();
    drop(archive);
    let file = last_file(&place.path("changes"));
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 7]).unwrap();
    let (made, rows) = place.replay(RecoveryTarget::End);
    assert_eq!((rows, made.position, made.left_out), ([2, 2], 4, 1_000));
    assert_eq!(place.replay(ReplayOptions::new(RecoveryTarget::End).partial(true)).1, [502, 502]);
    ship(&mut place.archive());
    let (made, rows) = place.replay(RecoveryTarget::End);
    assert_eq!((rows, made.left_out, made.whole), ([1_202, 1_202], 0, true));
}

/// A backup that is taken while the archive is behind ends with a transaction boundary that the folder does not know.
#[test]
fn the_end_of_a_backup_is_a_transaction_boundary() {
    let place = Place::new();
    let mut archive = place.archive();
    place.pairs(1, Duration::ZERO);
    place.db.backup(place.path("later.db"), &BackupOptions::new(), |_| Ok(())).unwrap();
    let moment = place.now();
    place.pairs(1, Duration::ZERO);
    ship(&mut archive);
    std::fs::rename(place.path("later.db"), place.path("backup.db")).unwrap();
    for until in [RecoveryTarget::Moment(moment), RecoveryTarget::Change(2)] {
        let (made, rows) = place.replay(until);
        assert_eq!((rows, made.changes, made.left_out, made.whole), ([1, 1], 0, 0, true));
    }
    assert_eq!(place.replay(RecoveryTarget::End).1, [2, 2]);
}

#[test]
fn a_replica_shows_no_part_of_a_long_transaction() {
    let place = Place::new();
    for url in ["memory:", "sqlite::memory:"] {
        let target = Db::open(url).unwrap();
        let mut replica = place.db.replicate_to(&target, &[]).unwrap();
        replica.begin(|_| {}).unwrap();
        place.pairs(1_200, Duration::ZERO);
        place.pairs(1, Duration::ZERO);
        let step = replica.step(Duration::ZERO).unwrap();
        assert_eq!((step.changes, step.whole), (2_402, true));
        let step = replica.step(Duration::ZERO).unwrap();
        assert_eq!((step.changes, step.whole), (0, true));
        let rows: u64 = replica.check().unwrap().tables.iter().map(|table| table.rows).sum();
        assert_eq!(rows, place.db.changes().unwrap().last_id().unwrap());
    }
}

/// After so many changes the replica commits without a boundary, and reports it.
#[test]
fn a_long_backlog_is_replicated_in_parts() {
    let place = Place::new();
    let target = Db::open("sqlite::memory:").unwrap();
    let mut replica = place.db.replicate_to(&target, &[]).unwrap();
    replica.begin(|_| {}).unwrap();
    let rows = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100500) \
                INSERT INTO account (n) SELECT i FROM n";
    place.db.execute(rows, ()).unwrap();
    for expected in [(100_000, false), (500, true), (0, true)] {
        let step = replica.step(Duration::ZERO).unwrap();
        assert_eq!((step.changes, step.whole), expected);
    }
    assert_eq!(counts(&target), counts(&place.db));
}
