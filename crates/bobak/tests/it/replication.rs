//! Databases that replicate others.

use crate::engines::{Note, Person, note, person};
use bobak::DbBuilder;
use bobak::changes::{Keep, TrackOptions};
use bobak::prelude::*;
use bobak::replication::Replica;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

fn tracked() -> DbBuilder {
    crate::change_capture::tracked()
}

fn source() -> Db {
    let db = tracked().open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    db
}

/// Replicates all pending changes.
fn catch_up(replica: &mut Replica) {
    while replica.step(Duration::ZERO).unwrap().changes > 0 {}
}

/// Makes some changes of every kind, different ones for each seed.
pub fn disturb(db: &Db, seed: i64) {
    let (people, notes) = (db.table::<Person>().unwrap(), db.table::<Note>().unwrap());
    let name = |n: i64| format!("n{seed}-{n}");
    let ids: Vec<_> = (0..6).map(|n| people.insert(&person(&name(n), 1)).unwrap()).collect();
    for &id in &ids {
        notes.insert(&note(id, "text")).unwrap();
    }
    people.set_where(Person::ID.ge(ids[2]), [Person::AGE.add(seed as i32)]).unwrap();
    // Two rows swap their unique values.
    let swapped = db.transaction(|transaction| {
        let people = transaction.table::<Person>()?;
        people.set(ids[0], [Person::EMAIL.set(None::<String>)])?;
        people.set(ids[1], [Person::EMAIL.set(Some(format!("{}@example.org", name(0))))])?;
        people.set(ids[0], [Person::EMAIL.set(Some(format!("{}@example.org", name(1))))])
    });
    swapped.unwrap();
    people.delete(ids[3]).unwrap();
    let last = people.require(ids[5]).unwrap();
    people.insert_or_replace(&Person { id: 0, ..last }).unwrap();
    let undone = db.transaction(|transaction| {
        transaction.table::<Person>()?.delete(ids[4])?;
        Err::<(), _>(Error::new(ErrorKind::Misuse, "never mind"))
    });
    undone.unwrap_err();
}

#[test]
fn a_replica_has_the_rows_of_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}", folder.path().join("replica.db").display());
    let mut targets = vec!["memory:".to_owned(), "sqlite::memory:".to_owned(), file];
    let servers = ["BOBAK_TEST_POSTGRES", "BOBAK_TEST_MARIADB"];
    let with_servers = servers.iter().all(|name| std::env::var_os(name).is_some())
        && cfg!(all(feature = "mysql", feature = "postgres"));
    let running = with_servers.then(|| {
        let servers =
            (bobak_servers::Postgres::start().unwrap(), bobak_servers::MariaDb::start().unwrap());
        targets.extend([servers.0.url(), servers.1.url()]);
        servers
    });
    for url in &targets {
        let db = source();
        disturb(&db, 1);
        let target = Db::open(url).unwrap();
        let mut replica = db.replicate_to(&target, &[]).unwrap();
        assert_eq!(replica.step(Duration::ZERO).unwrap_err().kind(), ErrorKind::Misuse);
        replica.begin(|_| {}).unwrap();
        replica.check().unwrap();
        for seed in 2..8 {
            disturb(&db, seed);
            catch_up(&mut replica);
        }
        disturb(&db, 99);
        let checked = replica.check().unwrap();
        let names: Vec<_> = checked.tables.iter().map(|table| table.table.as_str()).collect();
        assert_eq!(names, ["note", "person"], "{url}");
        assert_eq!(Some(checked.position), replica.position());
        // Another replica on the same target continues where this one stopped.
        drop(replica);
        disturb(&db, 100);
        let mut replica = db.replicate_to(&target, &[]).unwrap();
        assert_eq!(replica.position(), Some(checked.position), "{url}");
        assert_eq!(replica.begin(|_| {}).unwrap(), checked.position, "nothing to do");
        replica.check().unwrap();
        // A write to the target by anybody else is found.
        target
            .table::<Person>()
            .unwrap()
            .set_where(Person::ID.ge(0), [Person::AGE.add(1)])
            .unwrap();
        let error = replica.check().unwrap_err();
        assert_eq!((error.kind(), error.table()), (ErrorKind::Conflict, Some("person")), "{url}");
    }
    // The source may be a server.
    if let Some((postgres, mariadb)) = running {
        for url in [postgres.url(), mariadb.url()] {
            let db = Db::builder().track::<Counter>(TrackOptions::new()).open(&url).unwrap();
            db.create_missing_tables().unwrap();
            let counters = db.table::<Counter>().unwrap();
            for value in 0..20 {
                counters.insert(&Counter { id: 0, value }).unwrap();
            }
            let target = Db::open("memory:").unwrap();
            let mut replica = db.replicate_to(&target, &[]).unwrap();
            replica.begin(|_| {}).unwrap();
            db.execute("DELETE FROM counter WHERE value < 5", ()).unwrap();
            assert_eq!(replica.check().unwrap().tables[0].rows, 15, "{url}");
        }
    }
}

#[derive(Record, Debug)]
struct Counter {
    id: i64,
    value: i64,
}

#[test]
fn a_replica_behind_the_position_of_its_target_is_rejected() {
    for url in ["memory:", "sqlite::memory:"] {
        let (source, target) = (source(), Db::open(url).unwrap());
        disturb(&source, 1);
        let mut lagging = source.replicate_to(&target, &[]).unwrap();
        lagging.begin(|_| {}).unwrap();
        let mut quick = source.replicate_to(&target, &[]).unwrap();
        disturb(&source, 2);
        catch_up(&mut quick);
        let rejected = lagging.step(Duration::ZERO).unwrap_err();
        assert_eq!(rejected.kind(), ErrorKind::Conflict, "{rejected}");
        disturb(&source, 3);
        catch_up(&mut quick);
        quick.check().unwrap();
        // A replica that is created again continues.
        disturb(&source, 4);
        let mut recreated = source.replicate_to(&target, &[]).unwrap();
        catch_up(&mut recreated);
        recreated.check().unwrap();
    }
}

#[test]
fn a_database_does_not_replicate_to_itself_by_another_name() {
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| format!("sqlite:{}/{name}", folder.path().display());
    let open = || Db::builder().track::<Person>(TrackOptions::new());
    let source = open().open(&url("app.db")).unwrap();
    source.create_missing_tables().unwrap();
    let itself = Db::open(&url("./app.db")).unwrap();
    let rejected = || {
        let mut replica = source.replicate_to(&itself, &[]).unwrap();
        replica.begin(|_| {}).unwrap_err().kind()
    };
    assert_eq!([rejected(), rejected()], [ErrorKind::Misuse, ErrorKind::Misuse]);
    let people = source.table::<Person>().unwrap();
    people.insert(&person("ada", 1)).unwrap();
    assert_eq!(rejected(), ErrorKind::Conflict, "it has rows");
    assert_eq!(people.count(Query::all()).unwrap(), 1);
}

#[test]
fn writers_continue_during_the_first_copy() {
    let db = source();
    (0..5).for_each(|seed| disturb(&db, seed));
    let target = Db::open("memory:").unwrap();
    let mut replica = db.replicate_to(&target, &[]).unwrap();
    let mut seed = 10;
    // Each progress report of the copy makes more changes.
    replica
        .begin(|_| {
            disturb(&db, seed);
            seed += 1;
        })
        .unwrap();
    assert!(seed > 11);
    replica.check().unwrap();
}

#[test]
fn targets_with_other_schemas_or_rows_are_rejected() {
    let db = source();
    disturb(&db, 1);
    let fails = |target: &Db, tables: &[&str], kind: ErrorKind, words: &str| {
        let begun = db.replicate_to(target, tables).and_then(|mut f| f.begin(|_| {}));
        let error = begun.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    let other = |sql: &str| {
        let target = Db::open("sqlite::memory:").unwrap();
        target.execute(sql, ()).unwrap();
        target
    };
    let column = other("CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT)");
    fails(&column, &["person"], ErrorKind::Schema, "no column 'email'");
    fails(&Db::open("memory:").unwrap(), &["cat"], ErrorKind::Schema, "not tracked");
    // Targets with foreign keys, and with rows of their own.
    let target = Db::builder().record::<Person>().record::<Note>().open("memory:").unwrap();
    target.create_missing_tables().unwrap();
    fails(&target, &[], ErrorKind::Unsupported, "foreign key");
    target.table().unwrap().insert(&person("own", 1)).unwrap();
    for _ in 0..2 {
        fails(&target, &["person"], ErrorKind::Conflict, "not the replica's");
    }
    assert_eq!(target.table::<Person>().unwrap().count(Query::all()).unwrap(), 1);
    // A source without change capture, and a replica whose source changes.
    let untracked = Db::open("memory:").unwrap();
    let error = untracked.replicate_to(&target, &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
    let target = Db::open("memory:").unwrap();
    db.replicate_to(&target, &["person"]).unwrap().begin(|_| {}).unwrap();
    fails(&target, &["note"], ErrorKind::Config, "replicates person already");
    assert_eq!(db.replicate_to(&target, &[]).unwrap().tables(), ["person"]);
}

#[test]
fn a_changed_source_schema_is_detected() {
    let db = source();
    let target = Db::open("sqlite::memory:").unwrap();
    let mut replica = db.replicate_to(&target, &["person"]).unwrap();
    replica.begin(|_| {}).unwrap();
    // A new column, in the source first.
    db.execute("ALTER TABLE person ADD COLUMN shoe INTEGER", ()).unwrap();
    db.table().unwrap().insert(&person("ada", 1)).unwrap();
    let error = replica.step(Duration::ZERO).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
    assert!(error.message().contains("rack it again"), "{error}");
    // What was written to the new column before is unknown.
    db.track_table("person", TrackOptions::new()).unwrap();
    assert_eq!(replica.step(Duration::ZERO).unwrap_err().kind(), ErrorKind::NotFound);
    let target = Db::open("sqlite::memory:").unwrap();
    let mut replica = db.replicate_to(&target, &["person"]).unwrap();
    replica.begin(|_| {}).unwrap();
    replica.check().unwrap();
    // Changes that were pruned before they were replicated.
    disturb(&db, 1);
    db.prune_changes(Keep::Last(1)).unwrap();
    assert_eq!(replica.step(Duration::ZERO).unwrap_err().kind(), ErrorKind::NotFound);
    // A source restored to an older state.
    let older = source();
    let mut replica = older.replicate_to(&target, &[]).unwrap();
    assert_eq!(replica.step(Duration::ZERO).unwrap_err().kind(), ErrorKind::Conflict);
}

const FROM: &str = "BOBAK_TEST_FOLLOW_FROM";
const TO: &str = "BOBAK_TEST_FOLLOW_TO";

/// Run in a process that is killed: replicates without end.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn replicate_until_killed() {
    let open = |name| Db::open(&std::env::var(name).unwrap()).unwrap();
    let (db, target) = (open(FROM), open(TO));
    let mut replica = db.replicate_to(&target, &[]).unwrap();
    println!("\nbegun");
    replica.begin(|_| {}).unwrap();
    loop {
        println!("at {}", replica.step(Duration::from_secs(60)).unwrap().position);
    }
}

#[test]
fn a_killed_replica_continues() {
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    let (from, to) = (url("from.db"), url("to.db"));
    let db = tracked().open(&from).unwrap();
    db.create_missing_tables().unwrap();
    (0..30).for_each(|seed| disturb(&db, seed));
    for round in 0..6 {
        let mut other = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "replication::replicate_until_killed", "--ignored", "--nocapture"])
            .envs([(FROM, &from), (TO, &to)])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(other.stdout.take().unwrap()).lines();
        assert!(said.any(|line| line.unwrap() == "begun"));
        // Killed during the first copy, then after some steps.
        for step in 0..2 * round {
            disturb(&db, 1_000 * (round + 1) + step);
        }
        if round > 1 {
            assert!(said.any(|line| line.unwrap().starts_with("at ")));
        }
        other.kill().unwrap();
        other.wait().unwrap();
    }
    let target = Db::open(&to).unwrap();
    let mut replica = db.replicate_to(&target, &[]).unwrap();
    replica.begin(|_| {}).unwrap();
    let checked = replica.check().unwrap();
    assert_eq!(checked.position, db.changes().unwrap().last_id().unwrap());
}
