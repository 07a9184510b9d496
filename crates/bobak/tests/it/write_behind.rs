//! Tables in memory that are written to another database a moment later.

use crate::engines::{on_mariadb, on_postgres};
use bobak::prelude::*;
use bobak::replication::WriteBehind;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Two of a pair are written in one transaction.
#[derive(Record, Debug, Clone, PartialEq)]
struct Visit {
    id: i64,
    #[record(max = 40)]
    page: String,
    pair: i64,
    spent: Currency,
    #[record(created_at)]
    made: Timestamp,
    #[record(version)]
    version: i64,
}

const NEVER: Duration = Duration::from_secs(3_600);

fn memory() -> Db {
    let db = Db::builder().record::<Visit>().open("memory:").unwrap();
    db.create_missing_tables().unwrap();
    db
}

fn begin(fast: &Db, target: &Db) -> WriteBehind {
    fast.write_behind(target, &["visit"], NEVER).unwrap()
}

fn visit(page: &str, pair: i64) -> Visit {
    let made = Timestamp::default();
    Visit {
        id: 0,
        page: page.to_owned(),
        pair,
        spent: Currency::from_scaled(pair),
        made,
        version: 0,
    }
}

/// Writes, updates and deletes; returns the rows.
fn work(db: &Db, seed: i64) -> Vec<Visit> {
    let visits = db.table::<Visit>().unwrap();
    let ids: Vec<_> = (0..20).map(|n| visits.insert(&visit("new", seed + n)).unwrap()).collect();
    visits.set_where(Visit::ID.ge(ids[10]), [Visit::PAGE.set("changed")]).unwrap();
    visits.delete(ids[3]).unwrap();
    let mut first = visits.require(ids[0]).unwrap();
    first.page = format!("page {seed}");
    visits.update(&mut first).unwrap();
    visits.list(Query::all()).unwrap()
}

fn restarts(url: &str) {
    let target = Db::open(url).unwrap();
    let mut rows = Vec::new();
    for round in 0..3 {
        let fast = memory();
        let writer = begin(&fast, &target);
        assert_eq!(fast.table::<Visit>().unwrap().list(Query::all()).unwrap(), rows);
        work(&fast, round * 100);
        writer.flush().unwrap();
        assert_eq!(
            target.table::<Visit>().unwrap().count(Query::all()).unwrap(),
            19 * (round + 1) as u64
        );
        rows = work(&fast, round * 100 + 50);
        // The second half of a round is deleted, so that the next begins with the same number of rows.
        fast.table::<Visit>().unwrap().delete_where(Visit::PAIR.ge(round * 100 + 50)).unwrap();
        rows.retain(|visit| visit.pair < round * 100 + 50);
        assert!(writer.status().unwrap().waiting > 0);
        writer.stop().unwrap();
        assert_eq!(target.table::<Visit>().unwrap().list(Query::all()).unwrap(), rows);
    }
}

#[test]
fn a_restart_finds_the_rows_that_were_written() {
    let folder = tempfile::tempdir().unwrap();
    restarts("sqlite::memory:");
    restarts(&format!("sqlite:{}", folder.path().join("a.db").display()));
    on_postgres(restarts);
    on_mariadb(restarts);
}

#[test]
fn the_log_does_not_grow_and_dropping_writes_what_is_left() {
    let (fast, target) = (memory(), Db::open("sqlite::memory:").unwrap());
    let writer = begin(&fast, &target);
    work(&fast, 1);
    writer.flush().unwrap();
    let last = fast.changes().unwrap().last_id().unwrap();
    let left = fast.changes().unwrap().since(last).page().unwrap();
    assert!(left.changes.is_empty());
    assert_eq!(fast.changes().unwrap().page().unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(writer.status().unwrap().waiting, 0);
    let rows = work(&fast, 100);
    drop(writer);
    assert_eq!(target.table::<Visit>().unwrap().list(Query::all()).unwrap(), rows);
}

#[test]
fn changes_are_written_after_the_interval() {
    let (fast, target) = (memory(), Db::open("sqlite::memory:").unwrap());
    let writer = fast.write_behind(&target, &["visit"], Duration::from_millis(5)).unwrap();
    let rows = work(&fast, 1);
    while writer.status().unwrap().waiting > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(target.table::<Visit>().unwrap().list(Query::all()).unwrap(), rows);
}

#[test]
fn rows_of_a_table_that_exists_are_read_first() {
    let target = Db::builder().record::<Visit>().open("sqlite::memory:").unwrap();
    target.create_missing_tables().unwrap();
    target.table().unwrap().insert(&Visit { id: 7, ..visit("/", 1) }).unwrap();
    let fast = memory();
    let writer = begin(&fast, &target);
    let visits = fast.table::<Visit>().unwrap();
    assert_eq!(visits.require(7).unwrap().page, "/");
    assert_eq!(visits.insert(&visit("/a", 2)).unwrap(), 8);
    writer.stop().unwrap();
    let pages = "SELECT group_concat(page) FROM (SELECT page FROM visit ORDER BY id)";
    assert_eq!(target.sql::<String>(pages, ()).unwrap(), ["/,/a"]);
}

#[test]
fn a_target_that_fails_gets_the_changes_later() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}?busy_timeout=1", folder.path().join("a.db").display());
    let (fast, target, other) = (memory(), Db::open(&url).unwrap(), Db::open(&url).unwrap());
    let writer = begin(&fast, &target);
    let rows = work(&fast, 1);
    let transaction = other.begin().unwrap();
    let error = writer.flush().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(writer.status().unwrap().waiting > 0);
    transaction.rollback().unwrap();
    writer.flush().unwrap();
    assert_eq!(writer.status().unwrap().error, None);
    assert_eq!(target.table::<Visit>().unwrap().list(Query::all()).unwrap(), rows);
}

#[test]
fn wrong_tables_are_rejected_before_anything_is_written() {
    let target = Db::open("sqlite::memory:").unwrap();
    let (fast, full) = (memory(), memory());
    let kind = |fast: &Db, target: &Db, table| {
        fast.write_behind(target, &[table], NEVER).unwrap_err().kind()
    };
    assert_eq!(kind(&fast, &target, "visits"), ErrorKind::Schema);
    assert_eq!(kind(&fast, &fast, "visit"), ErrorKind::Misuse);
    begin(&memory(), &target).stop().unwrap();
    // Both have rows.
    work(&full, 1);
    let rows = work(&fast, 2);
    let fast = memory();
    let writer = begin(&fast, &target);
    work(&fast, 2);
    writer.stop().unwrap();
    assert_eq!(kind(&full, &target, "visit"), ErrorKind::Conflict);
    assert!(!full.is_tracked("visit").unwrap());
    // A source with rows fills an empty target.
    let other = Db::open("sqlite::memory:").unwrap();
    let source = memory();
    let rows_of_source = work(&source, 2);
    begin(&source, &other).stop().unwrap();
    assert_eq!(rows_of_source.len(), rows.len());
    assert_eq!(other.table::<Visit>().unwrap().list(Query::all()).unwrap(), rows_of_source);
    // Foreign keys would act a second time.
    let referring = Db::builder().record::<ReferringVisit>().open("sqlite::memory:").unwrap();
    referring.create_missing_tables().unwrap();
    let made = Timestamp::default();
    let row = ReferringVisit {
        id: 1,
        page: "/".into(),
        pair: 1,
        spent: Currency::default(),
        made,
        version: 0,
    };
    referring.table().unwrap().insert(&row).unwrap();
    let fast = memory();
    assert_eq!(kind(&fast, &referring, "visit"), ErrorKind::Unsupported);
    assert_eq!(fast.table::<Visit>().unwrap().count(Query::all()).unwrap(), 0);
    assert!(!fast.is_tracked("visit").unwrap());
}

/// The same table, with a foreign key.
#[derive(Record)]
#[record(table = "visit")]
struct ReferringVisit {
    id: i64,
    #[record(max = 40)]
    page: String,
    #[record(references = "visit(id)")]
    pair: i64,
    spent: Currency,
    #[record(created_at)]
    made: Timestamp,
    #[record(version)]
    version: i64,
}

const FILE: &str = "BOBAK_TEST_WRITE_BEHIND_FILE";

/// Run in a process that is killed: writes pairs without end.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn write_until_killed() {
    let Ok(url) = std::env::var(FILE) else { return };
    let fast = memory();
    let target = Db::open(&url).unwrap();
    let writer = fast.write_behind(&target, &["visit"], Duration::from_millis(1)).unwrap();
    let visits = fast.table::<Visit>().unwrap();
    let before = visits.count(Query::all()).unwrap().cast_signed() / 2;
    println!("\nfound {before}");
    for pair in before.. {
        let insert = |transaction: &Transaction<'_>| {
            let visits = transaction.table::<Visit>()?;
            visits.insert(&visit("first", pair))?;
            visits.insert(&visit("second", pair)).map(drop)
        };
        fast.transaction(insert).unwrap();
        if pair % 100 == 0 {
            writer.flush().unwrap();
            println!("flushed {pair}");
        }
    }
}

#[test]
fn after_a_kill_the_target_has_a_state_of_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("a.db").display());
    let mut flushed = 0;
    for round in 0..5 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "write_behind::write_until_killed", "--ignored", "--nocapture"])
            .env(FILE, &url)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut lines =
            lines.filter(|line| line.starts_with("found") || line.starts_with("flushed"));
        let number = |line: &str| line.split_once(' ').unwrap().1.parse::<i64>().unwrap();
        let found = number(&lines.next().unwrap());
        assert!(found >= flushed, "{found} pairs after a kill, {flushed} were written");
        for _ in 0..=round {
            flushed = number(&lines.next().unwrap());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // The pairs are those of some moment: whole, and without gaps.
        let target = Db::open(&url).unwrap();
        let rows = target.table::<Visit>().unwrap().list(Query::all()).unwrap();
        assert!(rows.len() as i64 / 2 > flushed);
        for (place, row) in rows.iter().enumerate() {
            assert_eq!((row.id, row.pair), (place as i64 + 1, place as i64 / 2));
        }
        assert_eq!(rows.len() % 2, 0);
    }
}
