//! Named consumers of changes: at least once, independent of each other, and after a kill.

use crate::change_capture::tracked;
use crate::engines::{Note, Person, note, on_each, person};
use bobak::changes::{Keep, TrackOptions};
use bobak::prelude::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

const NOW: Duration = Duration::ZERO;
const URL: &str = "BOBAK_TEST_CONSUMED";

fn ids(changes: &[bobak::changes::Change]) -> Vec<u64> {
    changes.iter().map(|change| change.id).collect()
}

fn consumers_are_independent(db: &Db) {
    let people = db.table::<Person>().unwrap();
    for n in 0..3 {
        let key = people.insert(&person(&format!("p{n}"), n)).unwrap();
        db.table::<Note>().unwrap().insert(&note(key, "hello")).unwrap();
    }
    let mut mailer = db.consumer::<Person>("mailer").unwrap();
    let first = mailer.wait(NOW).unwrap();
    assert_eq!(first.len(), 3);
    assert_eq!(ids(&mailer.wait(NOW).unwrap()), ids(&first), "nothing was acknowledged");
    mailer.acknowledge(first[0].id).unwrap();
    assert_eq!(ids(&mailer.wait(NOW).unwrap()), ids(&first[1..]));

    // Another one, of both tables, gets all of them; the first one's position is still where it was.
    let mut index = db.consumer::<Person>("index").unwrap().table::<Note>().limit(2);
    assert_eq!(index.wait(NOW).unwrap().len(), 2);
    let mut tables = Vec::new();
    let done = index.run(NOW, |change| {
        tables.push(change.table.name().to_owned());
        Ok::<_, Error>(())
    });
    assert_eq!((done.unwrap(), tables.len()), (6, 6));
    let mut again = db.consumer::<Person>("mailer").unwrap();
    assert_eq!(again.position(), first[0].id);

    // A failure in the work leaves its change for the next time.
    let mut seen = Vec::new();
    let failed = again.run(NOW, |change| {
        seen.push(change.id);
        if seen.len() == 2 {
            return Err(Error::new(ErrorKind::Io, "no mail server"));
        }
        Ok(())
    });
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Io);
    assert_eq!((seen, again.position()), (ids(&first[1..]), first[1].id));
    let conflict = mailer.acknowledge(first[2].id).unwrap_err();
    assert_eq!(conflict.kind(), ErrorKind::Conflict, "the same name, elsewhere: {conflict}");
    assert_eq!(again.acknowledge(first[0].id).unwrap_err().kind(), ErrorKind::Misuse);
    again.acknowledge(first[2].id).unwrap();
    assert!(again.wait(NOW).unwrap().is_empty());

    // A rolled back change is not delivered, a committed one is.
    let transaction = db.begin().unwrap();
    transaction.table().unwrap().insert(&person("nobody", 1)).unwrap();
    transaction.rollback().unwrap();
    people.set(1, [Person::AGE.add(1)]).unwrap();
    let update = again.wait(Duration::from_secs(5)).unwrap();
    assert_eq!(update.len(), 1);
    assert_eq!(update[0].after_as::<Person>().unwrap().unwrap().name, "p0");
    positions_and_pruning(db, again);
}

fn positions_and_pruning(db: &Db, mut mailer: bobak::changes::Consumer) {
    let listed = db.consumers().unwrap();
    assert_eq!(listed.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["index", "mailer"]);
    let least = listed.iter().map(|(_, position)| *position).min().unwrap();
    assert_eq!(least, mailer.position());
    assert!(db.prune_changes(Keep::Since(least)).unwrap() > 0);
    assert_eq!(mailer.wait(NOW).unwrap().len(), 1, "what is needed is kept");
    db.prune_changes(Keep::Last(0)).unwrap();
    assert_eq!(mailer.wait(NOW).unwrap_err().kind(), ErrorKind::NotFound);
    let end = db.changes().unwrap().last_id().unwrap();
    mailer.skip_to(end).unwrap();
    assert!(mailer.wait(NOW).unwrap().is_empty());
    assert!(db.remove_consumer("mailer").unwrap() && !db.remove_consumer("mailer").unwrap());
    assert_eq!(mailer.skip_to(0).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(db.consumer::<Person>("").unwrap_err().kind(), ErrorKind::TooLong);
    assert!(!db.tables().unwrap().iter().any(|table| table.name().contains("consumer")));
}

#[test]
fn on_local_engines() {
    on_each(|place| consumers_are_independent(&place.open(tracked())));
}

fn unchanged_tables_keep_nothing_from_being_pruned(db: &Db) {
    let people = db.table::<Person>().unwrap();
    let key = people.insert(&person("ada", 1)).unwrap();
    let mut mailer = db.consumer::<Person>("mailer").unwrap();
    assert_eq!(mailer.run(NOW, |_| Ok::<_, Error>(())).unwrap(), 1);
    let notes = db.table::<Note>().unwrap();
    for _ in 0..3 {
        notes.insert(&note(key, "hello")).unwrap();
    }
    // Of its own table, nothing is pruned.
    db.prune_changes(Keep::Since(3)).unwrap();
    let old = db.changes().unwrap().table::<Note>().since(1).page().unwrap_err();
    assert_eq!(old.kind(), ErrorKind::NotFound);
    assert!(mailer.wait(NOW).unwrap().is_empty());
    // It has seen that there is nothing for it, and its stored position says so.
    assert_eq!(db.consumers().unwrap(), [("mailer".to_owned(), 4)]);
    let mut again = db.consumer::<Person>("mailer").unwrap();
    people.set(key, [Person::AGE.add(1)]).unwrap();
    assert_eq!(ids(&again.wait(NOW).unwrap()), [5]);
    assert_eq!(ids(&again.wait(NOW).unwrap()), [5], "what is not acknowledged comes again");
}

fn a_table_that_is_tracked_again_has_a_gap(db: &Db) {
    let people = db.table::<Person>().unwrap();
    people.insert(&person("ada", 1)).unwrap();
    let mut mailer = db.consumer::<Person>("mailer").unwrap();
    let seen = db.changes().unwrap().page().unwrap().next;
    people.insert(&person("bob", 1)).unwrap();
    db.untrack_table("person").unwrap();
    people.insert(&person("cy", 1)).unwrap();
    db.track_table("person", TrackOptions::new()).unwrap();
    people.insert(&person("di", 1)).unwrap();
    assert_eq!(mailer.wait(NOW).unwrap_err().kind(), ErrorKind::NotFound);
    let changes = || db.changes().unwrap().table::<Person>();
    for since in [seen, seen + 1, seen + 2] {
        assert_eq!(changes().since(since).page().unwrap_err().kind(), ErrorKind::NotFound);
    }
    let first = changes().first_id().unwrap();
    assert_eq!(changes().since(first).page().unwrap().changes.len(), 1);
    mailer.skip_to(first).unwrap();
    assert_eq!(mailer.wait(NOW).unwrap().len(), 1);
}

#[test]
fn nothing_is_missed_in_silence_on_local_engines() {
    on_each(|place| a_table_that_is_tracked_again_has_a_gap(&place.open(tracked())));
    on_each(|place| unchanged_tables_keep_nothing_from_being_pruned(&place.open(tracked())));
}

#[test]
#[cfg(any(feature = "postgres", feature = "mysql"))]
fn nothing_is_missed_in_silence_on_servers() {
    crate::engines::on_servers(|url| {
        let db = Db::builder().track::<Person>(TrackOptions::new()).open(url).unwrap();
        db.create_missing_tables().unwrap();
        a_table_that_is_tracked_again_has_a_gap(&db);
    });
}

#[test]
fn untracked_tables_have_no_consumers() {
    on_each(|place| {
        let error = place.people().consumer::<Person>("mailer").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
    });
}

#[test]
#[cfg(feature = "remote")]
fn on_a_server_of_bobak() {
    crate::engines::on_bobak_server(bobak::engine::memory::Memory::new(), |url| {
        let db = tracked().open(url).unwrap();
        db.create_missing_tables().unwrap();
        consumers_are_independent(&db);
    });
}

#[derive(Record, Debug)]
struct Mail {
    id: i64,
    text: String,
}

fn mails(url: &str) -> Db {
    let options = bobak::changes::TrackOptions::new();
    let db = Db::builder().track::<Mail>(options).open(url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

/// Run in another process: prints the number of each change, waits for a byte, and acknowledges the change.
#[test]
#[ignore = "run by the tests below, in a process of its own"]
fn consume() {
    let db = mails(&std::env::var(URL).unwrap());
    let mut mailer = db.consumer::<Mail>("mailer").unwrap();
    let mut go = String::new();
    println!();
    mailer
        .run(NOW, |change| {
            println!("got {}", change.id);
            go.clear();
            std::io::stdin().read_line(&mut go).map(drop).unwrap();
            Ok::<_, Error>(())
        })
        .unwrap();
}

/// Starts the consumer in a process, lets it acknowledge some changes, kills it while it works on the next one, and returns the
/// numbers that it got.
fn consume_and_kill(url: &str, acknowledged: usize) -> Vec<u64> {
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "consumers::consume", "--ignored", "--nocapture"])
        .env(URL, url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut go = other.stdin.take().unwrap();
    let lines = BufReader::new(other.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut got = Vec::new();
    for line in lines {
        let Some(id) = line.strip_prefix("got ") else { continue };
        got.push(id.parse().unwrap());
        if got.len() > acknowledged {
            other.kill().unwrap();
            break;
        }
        go.write_all(b"\n").unwrap();
    }
    other.wait().unwrap();
    got
}

fn every_change_is_delivered(url: &str) {
    let db = mails(url);
    for n in 1..=9 {
        db.table().unwrap().insert(&Mail { id: 0, text: format!("mail {n}") }).unwrap();
    }
    assert_eq!(consume_and_kill(url, 3), [1, 2, 3, 4]);
    assert_eq!(consume_and_kill(url, 0), [4], "it was not acknowledged");
    assert_eq!(consume_and_kill(url, 4), [4, 5, 6, 7, 8]);
    assert_eq!(consume_and_kill(url, 9), [8, 9]);
    assert_eq!(consume_and_kill(url, 9), [0; 0], "all are acknowledged");
    assert_eq!(db.consumers().unwrap(), [("mailer".to_owned(), 9)]);
}

#[test]
fn a_killed_consumer_continues_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    every_change_is_delivered(&format!("sqlite:{}", folder.path().join("app.db").display()));
}

#[test]
#[cfg(all(feature = "mysql", feature = "postgres"))]
fn on_servers() {
    crate::engines::on_servers(|url| {
        every_change_is_delivered(url);
    });
}
