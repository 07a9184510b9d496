//! Cached records are never older than the last acknowledged write.

mod side_effects;

use crate::engines::{Person, person};
use bobak::cache::{CacheOptions, CacheStats};
use bobak::changes::{Keep, TrackOptions};
use bobak::prelude::*;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

const FILE: &str = "BOBAK_TEST_CACHE_FILE";

pub fn open(url: &str, options: CacheOptions) -> Db {
    let db = Db::builder().cache::<Person>(options).open(url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

fn stats(db: &Db) -> CacheStats {
    db.cache_stats::<Person>().unwrap()
}

#[test]
fn every_write_removes_the_cached_row() {
    for url in ["memory:", "sqlite::memory:"] {
        let db = open(url, CacheOptions::new());
        let people = db.table::<Person>().unwrap();
        let id = people.insert(&person("ada", 1)).unwrap();
        let name = || people.get(id).unwrap().map(|person| person.name);
        type Write<'a> = Box<dyn Fn(&str) + 'a>;
        let renamed = |name: &str| Person { id, ..person(name, 1) };
        let writes: Vec<Write<'_>> = vec![
            Box::new(|name| people.update(&renamed(name)).unwrap()),
            Box::new(|name| assert_eq!(people.upsert(&renamed(name)).unwrap(), id)),
            Box::new(|name| assert_eq!(people.insert_or_replace(&renamed(name)).unwrap(), id)),
            Box::new(|name| assert!(people.set(id, [Person::NAME.set(name)]).unwrap())),
            Box::new(|name| {
                let all = Person::ID.ge(0);
                assert_eq!(people.set_where(all, [Person::NAME.set(name)]).unwrap(), 1);
            }),
            Box::new(|name| {
                let mut batch = db.batch(BatchOptions::new());
                batch.update(&renamed(name)).unwrap();
                batch.finish().unwrap();
            }),
            Box::new(|name| {
                let transaction = db.begin().unwrap();
                let inside = transaction.table::<Person>().unwrap();
                inside.update(&renamed(name)).unwrap();
                assert_eq!(inside.get(id).unwrap().unwrap().name, name);
                transaction.commit().unwrap();
            }),
        ];
        for (number, write) in writes.iter().enumerate() {
            let (_, before) = (name(), stats(&db).hits);
            name();
            assert_eq!(stats(&db).hits, before + 1, "{url} {number}: it was cached");
            write(&format!("name {number}"));
            assert_eq!(name(), Some(format!("name {number}")), "{url} {number}");
        }
        people.delete(id).unwrap();
        assert_eq!(name(), None);
    }
}

#[test]
fn sql_empties_the_cache() {
    let db = open("sqlite::memory:", CacheOptions::new());
    let people = db.table::<Person>().unwrap();
    let id = people.insert(&person("ada", 1)).unwrap();
    people.get(id).unwrap();
    db.execute("UPDATE person SET name = 'bob'", ()).unwrap();
    assert_eq!(people.require(id).unwrap().name, "bob");
    assert_eq!(stats(&db).entries, 1);
    let names: Vec<String> = db.sql("SELECT name FROM person", ()).unwrap();
    assert_eq!((names, stats(&db).entries), (vec!["bob".to_owned()], 1));
}

#[test]
fn rolled_back_rows_are_never_cached() {
    let db = open("sqlite::memory:", CacheOptions::new());
    let people = db.table::<Person>().unwrap();
    let id = people.insert(&person("ada", 1)).unwrap();
    people.get(id).unwrap();
    {
        let transaction = db.begin().unwrap();
        let inside = transaction.table::<Person>().unwrap();
        inside.update(&Person { id, ..person("bob", 1) }).unwrap();
        assert_eq!(inside.require(id).unwrap().name, "bob");
    }
    assert_eq!(people.require(id).unwrap().name, "ada");
}

/// Rows that SQL writes to an attached engine inside a transaction are read from the engine until the transaction ends.
#[test]
fn rows_written_by_sql_in_an_open_transaction_are_not_cached() {
    let (_folder, main) = file();
    for attached in ["memory:", "sqlite::memory:"] {
        let builder = Db::builder().attach("other", attached).record_on::<Person>("other");
        let db = builder.cache::<Person>(CacheOptions::new()).open(&main).unwrap();
        db.create_missing_tables().unwrap();
        let people = db.table::<Person>().unwrap();
        let id = people.insert(&person("ada", 1)).unwrap();
        let age = || people.require(id).unwrap().age;
        for (number, commits) in [(2, true), (3, false)] {
            let transaction = db.begin().unwrap();
            let sql = "UPDATE other.person SET age = ?";
            assert_eq!(transaction.execute(sql, (number,)).unwrap(), 1);
            // Whatever other threads read meanwhile, or if they time out, is not cached.
            let _ = std::thread::scope(|scope| scope.spawn(|| people.get(id)).join()).unwrap();
            if commits { transaction.commit() } else { transaction.rollback() }.unwrap();
            assert_eq!(age(), 2, "{attached}");
        }
        let hits = stats(&db).hits;
        assert_eq!((age(), stats(&db).hits), (2, hits + 1), "it is cached again");
    }
}

/// Engines treat both zeros as one key.
#[test]
fn zeros_of_both_signs_are_one_key() {
    #[derive(Record, Debug, PartialEq)]
    struct Spot {
        #[record(key)]
        x: f64,
        #[record(key)]
        y: i64,
        count: i64,
    }
    for url in ["memory:", "sqlite::memory:"] {
        let db = Db::builder().record::<Spot>().cache::<Spot>(CacheOptions::new());
        let db = db.open(url).unwrap();
        db.create_missing_tables().unwrap();
        let spots = db.table::<Spot>().unwrap();
        spots.insert(&Spot { x: 0.0, y: 1, count: 1 }).unwrap();
        for x in [0.0, -0.0] {
            assert_eq!(spots.require((x, 1)).unwrap().count, 1, "{url}");
        }
        spots.update(&Spot { x: 0.0, y: 1, count: 2 }).unwrap();
        assert_eq!(spots.require((-0.0, 1)).unwrap().count, 2, "{url}");
        assert!(spots.delete((-0.0, 1)).unwrap());
        assert_eq!(spots.get((0.0, 1)).unwrap(), None, "{url}");
    }
}

#[test]
fn the_cache_is_bounded_in_entries_bytes_and_time() {
    let fill = |options: CacheOptions| {
        let db = open("memory:", options);
        let people = db.table::<Person>().unwrap();
        for number in 0..1_000 {
            let id = people.insert(&person(&format!("p{number}"), 1)).unwrap();
            people.get(id).unwrap();
        }
        stats(&db).entries
    };
    assert!(fill(CacheOptions::new()) == 1_000);
    assert!(fill(CacheOptions::new().entries(100)) <= 100);
    assert!(fill(CacheOptions::new().bytes(10_000)) <= 200);

    let db = open("memory:", CacheOptions::new().time_to_live(Duration::ZERO));
    let people = db.table::<Person>().unwrap();
    let id = people.insert(&person("ada", 1)).unwrap();
    for _ in 0..3 {
        people.get(id).unwrap();
    }
    assert_eq!((stats(&db).hits, stats(&db).entries), (0, 1), "it is too old at once");

    let db = open("memory:", CacheOptions::new().time_to_live(Duration::MAX));
    let people = db.table::<Person>().unwrap();
    let id = people.insert(&person("ada", 1)).unwrap();
    for _ in 0..3 {
        people.get(id).unwrap();
    }
    assert_eq!(stats(&db).hits, 2, "no time limit");
}

/// If a table is not tracked, writes of another handle become visible after the time to live.
#[test]
fn a_record_is_read_again_after_its_time_to_live() {
    let (_folder, url) = file();
    let time = Duration::from_millis(300);
    let db = open(&url, CacheOptions::new().time_to_live(time));
    let other = Db::builder().record::<Person>().open(&url).unwrap();
    let people = db.table::<Person>().unwrap();
    let id = people.insert(&person("ada", 1)).unwrap();
    let begun = Instant::now();
    people.get(id).unwrap();
    other.table::<Person>().unwrap().set(id, [Person::AGE.set(2)]).unwrap();
    let seen = people.require(id).unwrap().age;
    // If the machine stood still in between, the time is over already.
    assert!(seen == 1 || begun.elapsed() >= time);
    std::thread::sleep(time);
    assert_eq!(people.require(id).unwrap().age, 2);
}

#[test]
fn queries_fill_the_cache() {
    for url in ["memory:", "sqlite::memory:"] {
        let db = open(url, CacheOptions::new());
        let people = db.table::<Person>().unwrap();
        let mut batch = db.batch(BatchOptions::new());
        (0..1_200).for_each(|n| batch.insert(&person(&format!("p{n}"), 1)).unwrap());
        batch.finish().unwrap();
        let entries = || stats(&db).entries;
        people.count(Query::all()).unwrap();
        people.select(Query::all(), (Person::NAME,)).unwrap();
        assert_eq!(people.iter(Query::all()).unwrap().count(), 1_200);
        assert_eq!(entries(), 0, "{url}: these queries return no whole records");
        assert_eq!(people.list(Query::all().limit(10)).unwrap().len(), 10);
        assert_eq!(entries(), 10);
        let hits = stats(&db).hits;
        let first = people.first(Query::all()).unwrap().unwrap();
        assert_eq!(people.require(first.id).unwrap(), first);
        assert_eq!(stats(&db).hits, hits + 1);
        assert_eq!(people.list(Query::all()).unwrap().len(), 1_200);
        assert_eq!(entries(), 1_000, "the first thousand");
        // A row that is written between two rows of the query is not cached in its old state.
        let write = || people.set_where(Person::ID.gt(0), [Person::AGE.set(2)]).map(drop);
        write().unwrap();
        assert_eq!(entries(), 0);
        let transaction = db.begin().unwrap();
        transaction.table::<Person>().unwrap().list(Query::all()).unwrap();
        transaction.commit().unwrap();
        assert_eq!(entries(), 0, "what a transaction sees is its own");
    }
}

/// Readers list and get while a writer counts up. A list caches nothing older than what was written before it began.
#[test]
fn lists_cache_no_stale_rows() {
    let (_folder, url) = file();
    let db = open(&format!("{url}?synchronous=off"), CacheOptions::new());
    let people = db.table::<Person>().unwrap();
    let id = people.insert(&person("ada", 0)).unwrap();
    let list = || assert_eq!(db.table::<Person>().unwrap().list(Query::all()).unwrap().len(), 1);
    count_up(&db, id, 500, list, |number| people.set(id, [Person::AGE.set(number)]).unwrap());
}

/// Keys of several columns, and of types other than integers.
#[test]
fn rows_with_keys_of_any_type_are_cached() {
    #[derive(Record, Clone, Debug, PartialEq)]
    struct Bay {
        #[record(key)]
        row: String,
        #[record(key)]
        number: i32,
        occupied: bool,
    }
    #[derive(Record, Clone, Debug, PartialEq)]
    struct Token {
        id: Uuid,
        name: String,
    }
    let builder = Db::builder().record::<Bay>().record::<Token>();
    let options = CacheOptions::new;
    let db = builder.cache::<Bay>(options()).cache::<Token>(options()).open("memory:").unwrap();
    db.create_missing_tables().unwrap();
    let (bays, tokens) = (db.table::<Bay>().unwrap(), db.table::<Token>().unwrap());
    let bay = Bay { row: "a".into(), number: 1, occupied: false };
    bays.insert(&bay).unwrap();
    bays.insert(&Bay { number: 11, ..bay.clone() }).unwrap();
    let id = tokens.insert(&Token { id: Uuid::nil(), name: "x".into() }).unwrap();
    for _ in 0..2 {
        assert_eq!(bays.get(("a".to_owned(), 1)).unwrap().as_ref(), Some(&bay));
        assert_eq!(tokens.require(id).unwrap().name, "x");
    }
    bays.update(&Bay { occupied: true, ..bay }).unwrap();
    tokens.update(&Token { id, name: "y".into() }).unwrap();
    assert!(bays.get(("a".to_owned(), 1)).unwrap().unwrap().occupied);
    assert_eq!(tokens.require(id).unwrap().name, "y");
    assert_eq!(db.cache_stats::<Bay>().unwrap().hits, 1);
    assert_eq!(db.cache_stats::<Token>().unwrap().hits, 1);
}

/// Readers never see a number decrease while a writer counts up.
#[test]
fn readers_never_see_an_older_value() {
    for url in ["memory:", "sqlite::memory:"] {
        let db = open(url, CacheOptions::new());
        let people = db.table::<Person>().unwrap();
        let id = people.insert(&person("ada", 0)).unwrap();
        count_up(
            &db,
            id,
            2_000,
            || {},
            |number| people.set(id, [Person::AGE.set(number)]).unwrap(),
        );
    }
}

/// Counts a record's number up by `write`, while three threads read it through the cache, each time after `before`. None
/// of them misses an acknowledged write.
fn count_up(db: &Db, id: i64, most: i32, before: impl Fn() + Sync, write: impl Fn(i32) -> bool) {
    let (written, done) = (AtomicI32::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let people = db.table::<Person>().unwrap();
                while !done.load(Ordering::SeqCst) {
                    before();
                    let least = written.load(Ordering::SeqCst);
                    let seen = people.require(id).unwrap().age;
                    assert!(seen >= least, "{seen} after {least} was written");
                }
            });
        }
        for number in 1..=most {
            assert!(write(number));
            written.store(number, Ordering::SeqCst);
        }
        done.store(true, Ordering::SeqCst);
    });
}

/// A key that other spellings also match is removed together with all of them.
#[test]
fn all_spellings_of_a_key_are_removed() {
    #[derive(Record, Debug, PartialEq)]
    struct Word {
        #[record(key, collation = "nocase")]
        text: String,
        count: i64,
    }
    let db = Db::builder().record::<Word>().cache::<Word>(CacheOptions::new());
    let db = db.open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    let words = db.table::<Word>().unwrap();
    words.insert(&Word { text: "Ada".into(), count: 1 }).unwrap();
    assert_eq!(words.require("ADA").unwrap().count, 1);
    words.update(&Word { text: "ada".into(), count: 2 }).unwrap();
    assert_eq!(words.require("ADA").unwrap().count, 2);
}

/// Two handles on one database: one with a cache that checks the change log each time, and one that writes.
fn two_handles(url: &str) -> (Db, Db) {
    let builder = || Db::builder().track::<Person>(TrackOptions::new());
    let other = builder().open(url).unwrap();
    let options = CacheOptions::new().watch(Duration::ZERO);
    let db = builder().cache::<Person>(options).open(url).unwrap();
    db.create_missing_tables().unwrap();
    (db, other)
}

pub fn file() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("app.db").display());
    (folder, url)
}

#[test]
fn writes_of_another_handle_are_seen_through_the_change_log() {
    let (_folder, url) = file();
    let (db, other) = two_handles(&url);
    let (people, theirs) = (db.table::<Person>().unwrap(), other.table::<Person>().unwrap());
    let ada = people.insert(&person("ada", 1)).unwrap();
    let bob = people.insert(&person("bob", 1)).unwrap();
    let age = |id: i64| people.get(id).unwrap().map(|person| person.age);
    let is_cached = |id: i64| {
        age(id);
        let before = stats(&db).hits;
        age(id);
        stats(&db).hits > before
    };
    assert!(is_cached(ada) && is_cached(bob));
    theirs.set(ada, [Person::AGE.set(2)]).unwrap();
    let hits = stats(&db).hits;
    assert_eq!((age(bob), stats(&db).hits), (Some(1), hits + 1), "others stay");
    assert_eq!((age(ada), stats(&db).hits), (Some(2), hits + 1), "it was forgotten");
    assert!(is_cached(ada));
    other.execute("UPDATE person SET age = 3", ()).unwrap();
    assert_eq!((age(ada), age(bob)), (Some(3), Some(3)));
    assert!(is_cached(ada));
    // Pruned before the cache read the change.
    theirs.set(ada, [Person::AGE.set(4)]).unwrap();
    other.prune_changes(Keep::Last(0)).unwrap();
    assert_eq!(age(ada), Some(4));
    assert!(is_cached(ada));
    // More changes than the cache removes row by row.
    let mut batch = other.batch(BatchOptions::new());
    (0..1_200).for_each(|n| batch.insert(&person(&format!("p{n}"), 1)).unwrap());
    batch.finish().unwrap();
    theirs.set(bob, [Person::AGE.set(5)]).unwrap();
    assert_eq!(age(bob), Some(5));
    theirs.delete(ada).unwrap();
    assert_eq!(age(ada), None);
    assert!(is_cached(bob));
}

#[test]
fn tables_are_watched_from_when_they_are_tracked() {
    let (_folder, url) = file();
    let options = CacheOptions::new().watch(Duration::ZERO);
    let builder = || Db::builder().record::<Person>();
    let db = builder().cache::<Person>(options).open(&url).unwrap();
    db.create_missing_tables().unwrap();
    let other = builder().open(&url).unwrap();
    let (people, theirs) = (db.table::<Person>().unwrap(), other.table::<Person>().unwrap());
    let ada = people.insert(&person("ada", 1)).unwrap();
    let age = || people.require(ada).unwrap().age;
    age();
    theirs.set(ada, [Person::AGE.set(2)]).unwrap();
    assert_eq!(age(), 1, "no change is captured, so the record stays cached");
    db.track_table("person", TrackOptions::new()).unwrap();
    assert_eq!(age(), 2);
    theirs.set(ada, [Person::AGE.set(3)]).unwrap();
    assert_eq!(age(), 3);
    // The other handle adds a column to the table and its change log, then stops tracking.
    other.execute("ALTER TABLE person ADD COLUMN more", ()).unwrap();
    other.track_table("person", TrackOptions::new()).unwrap();
    theirs.set(ada, [Person::AGE.set(4)]).unwrap();
    assert_eq!(age(), 4);
    other.untrack_table("person").unwrap();
    theirs.set(ada, [Person::AGE.set(5)]).unwrap();
    assert_eq!(age(), 5, "what ends it is seen, and all is forgotten");
}

/// A table that SQL drops and recreates has no triggers, so its changes are not captured.
#[test]
fn a_table_recreated_by_another_handle_is_not_read_from_the_cache() {
    let (_folder, url) = file();
    let (db, other) = two_handles(&url);
    let people = db.table::<Person>().unwrap();
    let ada = people.insert(&person("ada", 1)).unwrap();
    let age = || people.require(ada).unwrap().age;
    assert_eq!((age(), age()), (1, 1));
    let plain = Db::builder().record::<Person>().open(&url).unwrap();
    plain.execute("DROP TABLE person", ()).unwrap();
    plain.create_missing_tables().unwrap();
    assert_eq!(plain.table().unwrap().insert(&person("ada", 2)).unwrap(), ada);
    assert_eq!(age(), 2);
    other.execute("UPDATE person SET age = 3", ()).unwrap();
    let hits = stats(&db).hits;
    assert_eq!((age(), age()), (3, 3));
    assert_eq!(stats(&db).hits, hits, "rows without change capture are not cached");
    // A handle that is opened only now caches nothing either.
    let options = CacheOptions::new().watch(Duration::ZERO);
    let late = Db::builder().cache::<Person>(options).open(&url).unwrap();
    let theirs = late.table::<Person>().unwrap();
    assert_eq!((theirs.require(ada).unwrap().age, theirs.require(ada).unwrap().age), (3, 3));
    assert_eq!(stats(&late).hits, 0);
    other.track_table("person", TrackOptions::new()).unwrap();
    assert_eq!((age(), age()), (3, 3));
    assert!(stats(&db).hits > hits, "it is cached again");
    other.execute("UPDATE person SET age = 4", ()).unwrap();
    assert_eq!((age(), theirs.require(ada).unwrap().age), (4, 4));
}

/// The cache's process reads while another handle counts up, checking each time or with checks that collide: no
/// acknowledged write is missed.
#[test]
fn no_record_older_than_the_interval_is_returned() {
    let (_folder, url) = file();
    let (db, other) = two_handles(&format!("{url}?synchronous=off"));
    let theirs = other.table::<Person>().unwrap();
    let id = theirs.insert(&person("ada", 0)).unwrap();
    count_up(&db, id, 300, || {}, |number| theirs.set(id, [Person::AGE.set(number)]).unwrap());
}

/// Run in another process: writes once.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn write_once() {
    let db = Db::builder().record::<Person>().open(&std::env::var(FILE).unwrap()).unwrap();
    let people = db.table::<Person>().unwrap();
    people.set_where(Person::ID.ge(0), [Person::AGE.add(1)]).unwrap();
}

#[test]
fn writes_of_another_process_are_seen_within_the_interval() {
    let (_folder, url) = file();
    // The default interval.
    let builder = Db::builder().track::<Person>(TrackOptions::new());
    let db = builder.cache::<Person>(CacheOptions::new()).open(&url).unwrap();
    db.create_missing_tables().unwrap();
    let people = db.table::<Person>().unwrap();
    let id = people.insert(&person("ada", 1)).unwrap();
    assert_eq!(people.require(id).unwrap().age, 1);
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "cache::write_once", "--ignored", "--nocapture"])
        .env(FILE, &url)
        .status()
        .unwrap();
    assert!(status.success());
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(people.require(id).unwrap().age, 2);
    let hits = stats(&db).hits;
    people.get(id).unwrap();
    assert_eq!(stats(&db).hits, hits + 1, "it is cached again");
}
