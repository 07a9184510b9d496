//! Change capture through the facade: reading changes, waiting for them, history, actors, pruning.

use crate::engines::{Note, Person, note, on_each, person};
use bobak::changes::{ChangeKind, Keep, TrackOptions};
use bobak::prelude::*;
use bobak::{DbBuilder, Value};
use std::time::Duration;

pub fn tracked() -> DbBuilder {
    Db::builder()
        .track::<Person>(TrackOptions::new().history(true))
        .track::<Note>(TrackOptions::new())
}

#[test]
fn changes_of_several_tables_are_in_commit_order() {
    on_each(|place| {
        let db = place.open(tracked());
        assert_eq!(db.tracked_tables().unwrap(), ["note", "person"]);
        assert_eq!(db.create_missing_tables().unwrap(), [""; 0], "a second call does nothing");
        let (people, notes) = (db.table::<Person>().unwrap(), db.table::<Note>().unwrap());
        let ada = people.insert(&person("ada", 1)).unwrap();
        notes.insert(&note(ada, "one")).unwrap();
        people.set(ada, [Person::AGE.add(1)]).unwrap();
        notes.insert(&note(ada, "two")).unwrap();
        people.delete(ada).unwrap();

        let changes: Vec<_> = db.changes().unwrap().iter().map(Result::unwrap).collect();
        let summary: Vec<_> =
            changes.iter().map(|c| (c.id, c.table.name().to_owned(), c.kind.name())).collect();
        let expected = ["person insert", "note insert", "person update", "note insert"];
        for ((id, table, kind), (number, expected)) in summary.iter().zip((1..).zip(expected)) {
            assert_eq!((*id, format!("{table} {kind}").as_str()), (number, expected));
        }
        // The person and both notes, in the order that the engine chooses.
        assert_eq!(changes.len(), 7, "{summary:?}");
        assert!(changes.iter().skip(4).all(|c| c.kind == ChangeKind::Delete && c.after.is_none()));
        assert_eq!(changes[2].before_as::<Person>().unwrap().unwrap().age, 1);
        assert_eq!(changes[2].after_as::<Person>().unwrap().unwrap().age, 2);
        assert_eq!(changes[2].key(), [Value::Int(ada)]);

        // Small pages of one table, each starting where the last one ended.
        let mut pages = db.changes().unwrap().table::<Note>().limit(1);
        let mut ids = Vec::new();
        loop {
            let page = pages.next_page().unwrap();
            ids.extend(page.changes.iter().map(|change| change.id));
            if page.changes.is_empty() {
                assert_eq!(page.next, 7, "it knows that nothing of others is left");
                break;
            }
        }
        assert_eq!((ids.len(), &ids[..2]), (4, &[2, 4][..]));
        assert_eq!(db.changes().unwrap().last_id().unwrap(), 7);
    });
}

#[test]
fn a_waiting_reader_is_woken() {
    on_each(|place| {
        let db = place.open(tracked());
        let none = db.changes().unwrap().wait(Duration::from_millis(20)).unwrap();
        assert_eq!((none.changes.len(), none.next), (0, 0));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                db.changes().unwrap().table::<Person>().wait(Duration::from_secs(60)).unwrap()
            });
            db.table().unwrap().insert(&person("ada", 1)).unwrap();
            let page = waiting.join().unwrap();
            assert_eq!((page.changes.len(), page.next), (1, 1));
        });
    });
}

#[test]
fn the_change_log_belongs_to_the_database() {
    on_each(|place| {
        if place.url.ends_with(":memory:") || place.is_memory_engine() {
            return;
        }
        let db = place.open(tracked());
        db.table().unwrap().insert(&person("ada", 1)).unwrap();
        drop(db);
        // A program that does not know the record types writes by SQL alone.
        let db = Db::open(&place.url).unwrap();
        db.execute("UPDATE person SET age = 7", ()).unwrap();
        let email = "ada@example.org";
        let sql = "REPLACE INTO person (id, name, email, age, balance) VALUES (9, 'eve', ?, 1, 0)";
        db.execute(sql, (email,)).unwrap();
        drop(db);
        let db = Db::open(&place.url).unwrap();
        let kinds: Vec<_> = db.changes().unwrap().iter().map(|c| c.unwrap().kind.name()).collect();
        assert_eq!(kinds, ["insert", "update", "delete", "insert"]);
        assert_eq!(db.tables().unwrap().len(), 2, "the feed's tables are not listed");
    });
}

#[test]
fn history_has_actor_time_and_old_values() {
    on_each(|place| {
        let db = place.open(tracked());
        let (ann, bob) = (db.with_actor("ann").unwrap(), db.with_actor("bob").unwrap());
        let id = ann.table().unwrap().insert(&person("ada", 1)).unwrap();
        let changed = bob.transaction(|transaction| {
            let people = transaction.table::<Person>()?;
            transaction.nested(|_| people.set(id, [Person::AGE.set(2)]))?;
            people.set(id, [Person::AGE.set(3)])
        });
        assert!(changed.unwrap());
        let mut batch = ann.batch(BatchOptions::new());
        batch.update(&Person { id, ..person("ada", 4) }).unwrap();
        batch.finish().unwrap();
        ann.table::<Person>().unwrap().set_where(Person::ID.eq(id), [Person::AGE.set(5)]).unwrap();
        if !place.is_memory_engine() {
            bob.execute("UPDATE person SET age = 6", ()).unwrap();
        }
        db.table::<Person>().unwrap().delete(id).unwrap();

        let people = db.table::<Person>().unwrap();
        let history = people.history(id).unwrap();
        let ages: Vec<_> = history.iter().map(|r| r.after.as_ref().map_or(0, |p| p.age)).collect();
        let actors: Vec<_> = history.iter().map(|r| r.actor.as_deref().unwrap_or("-")).collect();
        if place.is_memory_engine() {
            assert_eq!(
                (ages, actors.join(" ").as_str()),
                (vec![1, 2, 3, 4, 5, 0], "ann bob bob ann ann -")
            );
        } else {
            assert_eq!(ages, [1, 2, 3, 4, 5, 6, 0]);
            assert_eq!(actors.join(" "), "ann bob bob ann ann bob -");
        }
        assert!(history.is_sorted_by_key(|revision| revision.at));
        assert_eq!(history[1].before, history[0].after);
        assert_eq!(people.history(99).unwrap(), []);

        assert_eq!(people.as_of(id, history[0].at).unwrap(), people_at(&history, history[0].at));
        assert_eq!(people.as_of(id, Timestamp::now()).unwrap(), None);
        assert_eq!(people.as_of(id, Timestamp::UNIX_EPOCH).unwrap(), None);
    });
}

fn people_at(history: &[bobak::changes::Revision<Person>], at: Timestamp) -> Option<Person> {
    history.iter().rfind(|revision| revision.at <= at)?.after.clone()
}

#[test]
fn a_key_change_is_in_both_histories() {
    let db = tracked().open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    let people = db.table::<Person>().unwrap();
    let id = people.insert(&person("ada", 1)).unwrap();
    db.execute("UPDATE person SET id = 77", ()).unwrap();
    assert_eq!(people.history(id).unwrap().len(), 2);
    assert_eq!(people.history(77).unwrap().len(), 1);
    assert_eq!(people.as_of(id, Timestamp::now()).unwrap(), None);
    assert_eq!(people.as_of(77, Timestamp::now()).unwrap().unwrap().age, 1);
    assert_eq!(people.as_of(77, Timestamp::UNIX_EPOCH).unwrap(), None);
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Word {
    #[record(key, collation = "nocase")]
    word: String,
    #[record(key)]
    book: i64,
    count: i64,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Name {
    #[record(key, collation = "unicode_nocase")]
    name: String,
    count: i64,
}

#[test]
fn history_includes_all_keys_that_the_collation_treats_as_equal() {
    on_each(|place| {
        let options = TrackOptions::new().history(true);
        let db = place.open(Db::builder().track::<Word>(options).track::<Name>(options));
        let before = Timestamp::now();
        std::thread::sleep(Duration::from_millis(2));
        let word = |word: &str, book, count| Word { word: word.into(), book, count };
        let words = db.table::<Word>().unwrap();
        words.insert(&word("Ann", 1, 1)).unwrap();
        words.insert(&word("ann", 2, 9)).unwrap();
        let of_key = |word: &str| (word.to_owned(), 1);
        let mid = words.history(of_key("ann")).unwrap()[0].at;
        std::thread::sleep(Duration::from_millis(2));
        words.update(&word("ANN", 1, 2)).unwrap();
        for key in ["Ann", "ann", "ANN"] {
            let of = |at| words.as_of(of_key(key), at).unwrap().map(|word| word.count);
            assert_eq!(words.get(of_key(key)).unwrap().unwrap().count, 2);
            assert_eq!(words.history(of_key(key)).unwrap().len(), 2, "{key}");
            assert_eq!((of(before), of(mid), of(Timestamp::now())), (None, Some(1), Some(2)));
        }
        assert_eq!(words.history(of_key("anna")).unwrap(), []);
        let names = db.table::<Name>().unwrap();
        names.insert(&Name { name: "ÄNN".into(), count: 1 }).unwrap();
        names.delete("änn").unwrap();
        assert_eq!(names.history("Änn").unwrap().len(), 2);
        assert_eq!(names.as_of("Änn", Timestamp::now()).unwrap(), None);
    });
}

#[test]
fn a_reader_positioned_before_a_pruned_change_gets_an_error() {
    on_each(|place| {
        let db = place.open(tracked());
        let people = db.table::<Person>().unwrap();
        for n in 0..10 {
            people.insert(&person(&format!("n{n}"), n)).unwrap();
        }
        assert_eq!(db.prune_changes(Keep::Newer(Duration::from_secs(3_600))).unwrap(), 0);
        assert_eq!(db.prune_changes(Keep::Last(4)).unwrap(), 6);
        let error = db.changes().unwrap().since(5).page().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(error.message().contains("up to 6"), "{error}");
        assert_eq!(db.changes().unwrap().since(6).page().unwrap().changes.len(), 4);
        assert_eq!(db.prune_changes(Keep::Newer(Duration::ZERO)).unwrap_or(0).min(4), 4);
        people.insert(&person("last", 1)).unwrap();
        let page = db.changes().unwrap().since(10).page().unwrap();
        assert_eq!((page.changes.len(), page.next), (1, 11), "numbers go on");
        assert_eq!(db.prune_changes(Keep::Since(11)).unwrap(), 1);
        assert_eq!(db.changes().unwrap().last_id().unwrap(), 11);
    });
}

#[test]
fn reading_changes_of_an_untracked_table_is_rejected() {
    on_each(|place| {
        let db = place.people();
        let kind = |error: Error| (error.kind(), error.table().map(str::to_owned));
        assert_eq!(kind(db.changes().unwrap().page().unwrap_err()), (ErrorKind::Schema, None));
        assert_eq!(db.with_actor("ann").err().unwrap().kind(), ErrorKind::Schema);
        let error = db.table::<Person>().unwrap().history(1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema);
        db.track_table("note", TrackOptions::new()).unwrap();
        let error = db.changes().unwrap().table::<Person>().page().unwrap_err();
        assert_eq!(kind(error), (ErrorKind::Schema, Some("person".to_owned())));
        let error = db.track_table("nothing", TrackOptions::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema);
        db.untrack_table("note").unwrap();
        assert_eq!(db.tracked_tables().unwrap(), [""; 0]);
    });
}

#[test]
fn a_record_on_an_attached_engine_has_its_own_changes() {
    let db = Db::builder()
        .record::<Person>()
        .attach("cache", "memory:")
        .record_on::<Counter>("cache")
        .track::<Counter>(TrackOptions::new())
        .open("sqlite::memory:")
        .unwrap();
    db.create_missing_tables().unwrap();
    db.table().unwrap().insert(&Counter { id: 0, value: 1 }).unwrap();
    db.execute("UPDATE cache.counter SET value = 2", ()).unwrap();
    let mut changes = db.changes_on("cache").unwrap();
    assert_eq!(changes.page().unwrap().changes.len(), 2);
    assert_eq!(db.changes().unwrap().page().unwrap_err().kind(), ErrorKind::Schema);
    let ann = db.with_actor("ann").unwrap();
    ann.execute("UPDATE cache.counter SET value = 3", ()).unwrap();
    let page = changes.since(2).page().unwrap();
    assert_eq!(page.changes[0].actor.as_deref(), Some("ann"), "through the host too");
}

#[derive(Record, Debug)]
struct Counter {
    id: i64,
    value: i64,
}

#[derive(Record, Debug)]
struct Mark {
    id: i64,
    writer: i64,
}

fn counted() -> bobak::DbBuilder {
    Db::builder().track::<Counter>(TrackOptions::new()).track::<Mark>(TrackOptions::new())
}

/// Several threads write while one reads. The reader must miss no change: numbers are in commit order, and each page ends
/// at a transaction boundary.
#[test]
fn a_reader_misses_no_change_of_concurrent_writers() {
    let servers = ["BOBAK_TEST_POSTGRES", "BOBAK_TEST_MARIADB"];
    let set: Vec<_> = servers.iter().filter_map(|name| std::env::var(name).ok()).collect();
    if set.is_empty() {
        println!("without servers: BOBAK_TEST_POSTGRES and BOBAK_TEST_MARIADB are not set");
    }
    on_each(|place| misses_nothing(&place.open(counted())));
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    if set.len() == servers.len() {
        let postgres = bobak_servers::Postgres::start().unwrap();
        let mariadb = bobak_servers::MariaDb::start().unwrap();
        for url in [postgres.url(), mariadb.url()] {
            let db = counted().retries(1_000).open(&url).unwrap();
            db.create_missing_tables().unwrap();
            misses_nothing(&db);
        }
    }
}

fn misses_nothing(db: &Db) {
    const WRITERS: i64 = 4;
    const EACH: i64 = 25;
    let shared = db.table().unwrap().insert(&Counter { id: 0, value: 0 }).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                for n in 0..EACH {
                    let done = db.transaction(|transaction| {
                        let counters = transaction.table::<Counter>()?;
                        counters.set(shared, [Counter::VALUE.add(1)])?;
                        let id = writer * EACH + n + 1;
                        transaction.table::<Mark>()?.insert(&Mark { id, writer })
                    });
                    done.unwrap();
                }
            });
        }
        let mut changes = db.changes().unwrap();
        let (mut seen, mut value, mut last) = (0, 0, 0);
        while seen < 1 + 2 * WRITERS * EACH {
            let page = changes.clone().wait(Duration::from_secs(60)).unwrap();
            assert!(!page.changes.is_empty(), "{seen} were seen");
            for change in &page.changes {
                assert!(change.id > last, "{} after {last}", change.id);
                last = change.id;
                if change.kind == ChangeKind::Update {
                    let counter = change.after_as::<Counter>().unwrap().unwrap();
                    value += 1;
                    assert_eq!(counter.value, value, "each in its turn");
                }
            }
            seen += page.changes.len() as i64;
            assert!(page.is_whole() && seen % 2 == 1, "{seen} changes, of two each and a first");
            changes = changes.since(page.next);
        }
        assert_eq!(value, WRITERS * EACH);
    });
}
