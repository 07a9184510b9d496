//! Records kept in front of an engine: never older than the last write that has returned.

use crate::engines::{Person, person};
use bobak::prelude::*;
use bobak::{CacheOptions, CacheStats};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

fn open(url: &str, options: CacheOptions) -> Db {
    let db = Db::builder().record::<Person>().cache::<Person>(options).open(url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

fn stats(db: &Db) -> CacheStats {
    db.cache_stats::<Person>().unwrap()
}

#[test]
fn every_write_makes_it_forget() {
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
            assert_eq!(stats(&db).hits, before + 1, "{url} {number}: it was kept");
            write(&format!("name {number}"));
            assert_eq!(name(), Some(format!("name {number}")), "{url} {number}");
        }
        people.delete(id).unwrap();
        assert_eq!(name(), None);
    }
}

#[test]
fn sql_makes_it_forget_everything() {
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
fn what_is_rolled_back_was_never_kept() {
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

#[test]
fn it_is_bounded_in_number_bytes_and_time() {
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
    assert!(stats(&db).entries <= 1);
}

/// Readers never see a number go back, while a writer counts up.
#[test]
fn readers_never_see_what_was_before() {
    for url in ["memory:", "sqlite::memory:"] {
        let db = open(url, CacheOptions::new());
        let people = db.table::<Person>().unwrap();
        let id = people.insert(&person("ada", 0)).unwrap();
        let (written, done) = (AtomicI64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let people = db.table::<Person>().unwrap();
                    while !done.load(Ordering::SeqCst) {
                        let least = written.load(Ordering::SeqCst);
                        let seen: i64 = people.require(id).unwrap().name.parse().unwrap_or(0);
                        assert!(seen >= least, "{seen} after {least} was written");
                    }
                });
            }
            for number in 1..=2_000 {
                people.set(id, [Person::NAME.set(number.to_string())]).unwrap();
                written.store(number, Ordering::SeqCst);
            }
            done.store(true, Ordering::SeqCst);
        });
    }
}
