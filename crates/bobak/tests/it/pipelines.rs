//! Pipelines: writes whose results are fetched later.

use crate::engines::{Note, Person, note, on_each, person};
use bobak::engine::memory::Memory;
use bobak::pipeline::PipelineOptions;
use bobak::prelude::*;
use bobak::schema::Type;
use bobak::{Pipeline, ValueRef};
use bobak_testkit::FaultyEngine;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

fn options() -> PipelineOptions {
    PipelineOptions::new()
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn writes_happen_in_order_and_each_ticket_gets_its_own_result() {
    on_each(|place| {
        let db = place.people();
        let pipeline = db.pipeline(options());
        let mut tickets = Vec::new();
        for number in 0..500 {
            // Every tenth has the name of its predecessor.
            let name = if number % 10 == 9 { number - 1 } else { number };
            tickets.push(pipeline.insert(&person(&format!("p{name}"), number)).unwrap());
        }
        let mut last = 0;
        for (number, ticket) in tickets.into_iter().enumerate() {
            match ticket.wait() {
                Ok(key) => {
                    assert!(key > last && number % 10 != 9, "{key} at {number}");
                    last = key;
                }
                Err(error) => {
                    assert_eq!((error.kind(), number % 10), (ErrorKind::Duplicate, 9), "{error}");
                    assert_eq!((error.table(), error.row()), (Some("person"), None));
                }
            }
        }
        let people = db.table::<Person>().unwrap();
        assert_eq!(people.count(Query::all()).unwrap(), 450);

        let changed = Person { id: 1, ..person("changed", 5) };
        let update = pipeline.update(&changed).unwrap();
        let missing = pipeline.update(&Person { id: 9_999, ..changed.clone() }).unwrap();
        let upsert = pipeline.upsert(&Person { id: 2, ..person("upserted", 5) }).unwrap();
        // The row of this address keeps its key.
        let other = Person { id: 77_777, name: "by address".into(), ..people.require(4).unwrap() };
        let found = pipeline.upsert_on(Person::EMAIL, &other).unwrap();
        let new = pipeline.upsert_on(Person::EMAIL, &person("new address", 5)).unwrap();
        assert!(pipeline.upsert_on(Person::NAME, &other).is_err());
        let gone = pipeline.delete::<Person>(3).unwrap();
        let none = pipeline.delete::<Person>(3).unwrap();
        let made = pipeline.insert(&note(1, "hers")).unwrap();
        update.wait().unwrap();
        assert_eq!(missing.wait().unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(upsert.wait().unwrap(), 2);
        assert_eq!(found.wait().unwrap(), Some(4));
        assert_eq!(people.require(4).unwrap().name, "by address");
        let key = new.wait().unwrap().unwrap();
        assert_eq!(people.require(key).unwrap().name, "new address");
        assert_eq!((gone.wait().unwrap(), none.wait().unwrap()), (true, false));
        assert_eq!(people.require(1).unwrap().name, "changed");
        let stored = db.table::<Note>().unwrap().require(made.wait().unwrap()).unwrap();
        assert!(stored.created > Timestamp::UNIX_EPOCH);
    });
}

#[test]
fn tickets_are_futures() {
    on_each(|place| {
        let db = place.people();
        let pipeline = db.pipeline(options());
        let keys: Vec<i64> = block_on(async {
            let inserts = (0..50).map(|n| pipeline.insert(&person(&format!("p{n}"), n)).unwrap());
            let mut keys = Vec::new();
            for ticket in inserts.collect::<Vec<_>>() {
                keys.push(ticket.await.unwrap());
            }
            keys
        });
        assert_eq!(keys, (1..=50).collect::<Vec<_>>());
        let mut ticket = pipeline.insert(&person("again", 1)).unwrap();
        assert_eq!(block_on(&mut ticket).unwrap(), 51);
        assert_eq!(ticket.wait().unwrap_err().kind(), ErrorKind::Misuse, "fetched before");
    });
}

#[test]
fn writes_without_a_waiter_are_written_and_their_error_is_kept() {
    on_each(|place| {
        let db = place.people();
        let pipeline = db.pipeline(options());
        for name in ["ada", "bob", "ada", "bob"] {
            drop(pipeline.insert(&person(name, 1)).unwrap());
        }
        assert_eq!(pipeline.flush().unwrap_err().kind(), ErrorKind::Duplicate);
        pipeline.flush().expect("told once");
        for number in 0..100 {
            drop(pipeline.insert(&person(&format!("p{number}"), 1)).unwrap());
        }
        drop(pipeline);
        assert_eq!(db.table::<Person>().unwrap().count(Query::all()).unwrap(), 102);
    });
}

#[test]
fn threads_share_a_pipeline() {
    on_each(|place| {
        let db = place.people();
        let pipeline: &Pipeline = &db.pipeline(options().rows(7));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    let mut last = 0;
                    for number in 0..100 {
                        let record = person(&format!("t{thread}-{number}"), number);
                        let ticket = pipeline.insert(&record).unwrap();
                        if number % 5 == 0 {
                            let key = ticket.wait().unwrap();
                            assert!(key > last);
                            last = key;
                        }
                    }
                });
            }
        });
        pipeline.flush().unwrap();
        assert_eq!(db.table::<Person>().unwrap().count(Query::all()).unwrap(), 400);
    });
}

#[test]
fn a_full_pipeline_is_busy_and_continues() {
    on_each(|place| {
        let db = place.people();
        let pipeline = db.pipeline(options().rows(1).full_timeout(Duration::from_millis(20)));
        pipeline.insert(&person("first", 1)).unwrap().wait().unwrap();
        let transaction = db.begin().unwrap();
        let (mut tickets, mut number) = (Vec::new(), 0);
        let error = loop {
            match pipeline.insert(&person(&format!("p{number}"), 1)) {
                Ok(ticket) => tickets.push(ticket),
                Err(error) => break error,
            }
            number += 1;
        };
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        assert!(error.message().contains("1 writes wait"), "{error}");
        transaction.commit().unwrap();
        let written = tickets.len();
        assert!((1..=2).contains(&written), "one in line, one under way");
        tickets.into_iter().for_each(|ticket| assert!(ticket.wait().is_ok()));
        pipeline.insert(&person("late", 1)).unwrap().wait().unwrap();
    });
}

#[derive(Debug, Clone, PartialEq)]
struct Fragile(i64);

impl Field for Fragile {
    const TYPE: Type = Type::I64;

    fn to_value(&self) -> bobak::Result<Value<'_>> {
        assert!(self.0 >= 0, "no negative ones");
        self.0.to_value()
    }

    fn from_value(value: ValueRef<'_>) -> bobak::Result<Self> {
        i64::from_value(value).map(Self)
    }
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Glass {
    id: i64,
    name: String,
    fragile: Fragile,
}

#[test]
fn a_panicking_field_fails_only_its_own_write() {
    on_each(|place| {
        let db = place.open(Db::builder().record::<Glass>());
        let pipeline = db.pipeline(options());
        let glass = |number| Glass { id: 0, name: "a glass".into(), fragile: Fragile(number) };
        let before = pipeline.insert(&glass(1)).unwrap();
        let broken = glass(-1);
        let insert = AssertUnwindSafe(|| drop(pipeline.insert(&broken)));
        assert!(catch_unwind(insert).is_err());
        let after = pipeline.insert(&glass(2)).unwrap();
        assert_eq!((before.wait().unwrap(), after.wait().unwrap()), (1, 2));
        let glasses = db.table::<Glass>().unwrap().list(Query::all()).unwrap();
        assert_eq!(glasses.iter().map(|g| g.fragile.0).collect::<Vec<_>>(), [1, 2]);
    });
}

#[test]
fn a_failed_commit_fails_only_its_own_writes() {
    let engine = FaultyEngine::new(Box::new(Memory::new()));
    let faults = engine.faults();
    let db = Db::builder().record::<Person>().open_engine(engine).unwrap();
    db.create_missing_tables().unwrap();
    let pipeline = db.pipeline(options());
    let insert = |name| pipeline.insert(&person(name, 1)).unwrap().wait();
    assert_eq!(insert("ada").unwrap(), 1);
    faults.fail_commit(1, ErrorKind::Full);
    assert_eq!(insert("bob").unwrap_err().kind(), ErrorKind::Full);
    faults.fail_commit(1, ErrorKind::Serialization);
    insert("bob").expect("the conflicting row is written again");
    faults.fail_operation(1, ErrorKind::Unreachable);
    assert_eq!(insert("cas").unwrap_err().kind(), ErrorKind::Unreachable);
    insert("cas").expect("the thread goes on");
    assert_eq!(db.table::<Person>().unwrap().count(Query::all()).unwrap(), 3);
}
