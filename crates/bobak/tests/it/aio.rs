//! The async API, with and without a runtime.

use crate::engines::{Note, Person, Place, note, on_each, person};
use bobak::aio::{AsyncDb, DbFuture, Workers};
use bobak::engine::memory::Memory;
use bobak::prelude::*;
use bobak_testkit::FaultyEngine;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap()
}

fn people(place: &Place) -> AsyncDb {
    AsyncDb::new(place.people()).unwrap()
}

/// Polls all of them until each has its result.
async fn all<R>(futures: Vec<DbFuture<R>>) -> Vec<R> {
    let mut futures: Vec<_> = futures.into_iter().map(|future| (Some(future), None)).collect();
    std::future::poll_fn(move |context| {
        for (future, result) in &mut futures {
            if let Some(waiting) = future
                && let Poll::Ready(done) = Pin::new(waiting).poll(context)
            {
                (*future, *result) = (None, Some(done));
            }
        }
        if futures.iter().any(|(future, _)| future.is_some()) {
            return Poll::Pending;
        }
        Poll::Ready(futures.iter_mut().filter_map(|(_, result)| result.take()).collect())
    })
    .await
}

#[test]
fn tables_have_async_methods() {
    on_each(|place| {
        let db = people(place);
        runtime().block_on(async {
            let people = db.table::<Person>();
            let id = people.insert(person("ada", 36)).await.unwrap();
            let mut ada = people.require(id).await.unwrap();
            assert_eq!(ada, Person { id, ..person("ada", 36) });
            ada.age = 37;
            people.update(ada.clone()).await.unwrap();
            assert_eq!(people.get(id).await.unwrap(), Some(ada));
            assert_eq!(people.insert_or_ignore(person("ADA", 1)).await.unwrap(), None);
            assert_eq!(people.upsert(Person { id, ..person("ada", 40) }).await.unwrap(), id);
            assert!(people.set(id, [Person::AGE.add(1)]).await.unwrap());
            assert_eq!(people.value(Query::all(), Person::AGE.max()).await.unwrap(), Some(41));
            let more = vec![person("bob", 1), person("eve", 2)];
            let report = people.insert_all(more, BatchOptions::new()).await.unwrap();
            assert_eq!(report.generated_key(0), Some(2_i64));
            assert_eq!(people.count(Person::AGE.lt(10)).await.unwrap(), 2);
            let found = people.get_many(vec![3, 9]).await.unwrap();
            assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
            let adults = (Person::NAME, Person::AGE);
            let names = people.select(Person::AGE.gt(1), adults).await.unwrap();
            assert_eq!(names, [("ada".to_owned(), 41), ("eve".to_owned(), 2)]);
            assert!(people.delete(2).await.unwrap() && !people.delete(2).await.unwrap());
            assert_eq!(people.delete_where(Person::AGE.gt(40)).await.unwrap(), 1);
            let note = db.table::<Note>().insert(note(3, "hers")).await.unwrap();
            assert_eq!(note.get_version_num(), 7);
            assert!(db.table::<Note>().exists(note).await.unwrap());
            let missing = people.update(Person { id: 99, ..person("dan", 1) }).await.unwrap_err();
            assert_eq!((missing.kind(), missing.table()), (ErrorKind::NotFound, Some("person")));
        });
    });
}

#[test]
fn records_are_returned_as_they_are_stored() {
    on_each(|place| {
        let db = people(place);
        runtime().block_on(async {
            let ada = db.table::<Person>().insert_record(person("ada", 36)).await.unwrap();
            assert_eq!(ada.id, 1);
            let notes = db.table::<Note>();
            let mut first = notes.insert_record(note(ada.id, "a")).await.unwrap();
            assert_eq!(notes.get(first.id).await.unwrap(), Some(first.clone()));
            for text in ["b", "c"] {
                first.text = text.into();
                first = notes.update_record(first).await.unwrap();
                assert_eq!(notes.require(first.id).await.unwrap(), first);
            }
            assert_eq!(first.version, 2);
            let stale = Note { version: 1, ..first.clone() };
            let error = notes.delete_record(stale).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
            notes.delete_record(first.clone()).await.unwrap();
            let error = notes.delete_record(first).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        });
    });
}

#[test]
fn each_write_in_flight_has_its_own_result() {
    on_each(|place| {
        let db = people(place);
        let people = db.table::<Person>();
        runtime().block_on(async {
            let mut writes = Vec::new();
            for number in 0..500 {
                // Each tenth has the e-mail address of its predecessor, each eleventh is too long.
                let same = if number % 10 == 9 { number - 1 } else { number };
                let name = if number % 11 == 10 { "n".repeat(50) } else { format!("n{same}") };
                let email = Some(format!("{same}@example.org"));
                writes.push(people.insert(Person { email, ..person(&name, number) }));
            }
            let results = all(writes).await;
            for (number, result) in results.iter().enumerate() {
                let wrong = result.as_ref().err().map(|error| (error.kind(), error.row()));
                let expected = match number {
                    n if n % 11 == 10 => Some((ErrorKind::TooLong, None)),
                    // Its predecessor may be too long itself, or written later.
                    n if n % 10 >= 8 => continue,
                    _ => None,
                };
                assert_eq!(wrong, expected, "{number}: {result:?}");
            }
            let mut written: Vec<i64> = results.into_iter().flatten().collect();
            let listed = people.list(Query::all()).await.unwrap();
            assert!(
                listed.iter().all(|p| p.email == Some(format!("{}@example.org", &p.name[1..])))
            );
            written.sort_unstable();
            assert_eq!(listed.iter().map(|p| p.id).collect::<Vec<_>>(), written);
            let keys = listed.iter().map(|p| p.id);
            let deleted = all(keys.map(|key| people.delete(key)).collect()).await;
            assert!(deleted.into_iter().all(|result| result.unwrap()));
        });
    });
}

#[test]
fn concurrent_writes_get_distinct_keys_and_version_conflicts() {
    on_each(|place| {
        let db = people(place);
        runtime().block_on(async {
            let owner = db.table::<Person>().insert(person("ada", 36)).await.unwrap();
            let notes = db.table::<Note>();
            let writes = (0..50).map(|n| notes.insert(note(owner, &n.to_string()))).collect();
            let keys: Vec<Uuid> = all(writes).await.into_iter().map(Result::unwrap).collect();
            let stored = all(keys.iter().map(|key| notes.require(*key)).collect()).await;
            let stored: Vec<Note> = stored.into_iter().map(Result::unwrap).collect();
            assert!(stored.iter().enumerate().all(|(n, note)| note.text == n.to_string()));
            assert!(stored.iter().all(|note| note.created.as_microsecond() > 0));
            // Of two updates of one version, one is rejected.
            let twice = stored.iter().chain(&stored).cloned();
            let updated = all(twice.map(|note| notes.update(note)).collect()).await;
            let conflicts = updated.iter().filter_map(|r| r.as_ref().err()).map(Error::kind);
            assert_eq!(conflicts.collect::<Vec<_>>(), [ErrorKind::Conflict; 50]);
        });
    });
}

#[test]
fn transactions_batches_and_sql() {
    on_each(|place| {
        let db = people(place);
        runtime().block_on(async {
            let failed = db.transaction(|transaction| {
                let people = transaction.table::<Person>()?;
                people.insert(&person("ada", 1))?;
                people.insert(&person("ada", 2))
            });
            assert_eq!(failed.await.unwrap_err().kind(), ErrorKind::Duplicate);
            let filled = db.batch(BatchOptions::new(), |batch| {
                (0..100).try_for_each(|n| batch.insert(&person(&format!("n{n}"), n)))
            });
            assert_eq!(filled.await.unwrap().inserted, 100);
            // Writers of all kinds at once: each gets its turn.
            let many = (0..40).map(|_| {
                db.transaction(|transaction| {
                    transaction.table::<Person>()?.set(1, [Person::AGE.add(1)])
                })
            });
            assert!(all(many.collect()).await.into_iter().all(|result| result.unwrap()));
            assert_eq!(db.table::<Person>().require(1).await.unwrap().age, 40);
            if !place.is_memory_engine() {
                let sql = "SELECT count(*) FROM person WHERE age > ?";
                assert_eq!(db.sql::<i64>(sql, (50,)).await.unwrap(), [49]);
                let sql = "UPDATE person SET age = 0 WHERE age > ?";
                assert_eq!(db.execute(sql, (50,)).await.unwrap(), 49);
            }
            db.flush().await.unwrap();
        });
    });
}

#[test]
fn a_stream_sees_the_rows_of_its_start() {
    on_each(|place| {
        let db = people(place);
        let fill = |batch: &mut Batch<'_>| {
            (0..5_000).try_for_each(|n| batch.insert(&person(&format!("n{n}"), n)))
        };
        runtime().block_on(async {
            db.batch(BatchOptions::new(), fill).await.unwrap();
            let people = db.table::<Person>();
            let mut stream = people.stream(Person::AGE.ge(1_000));
            assert_eq!(stream.next().await.unwrap().unwrap().age, 1_000);
            people.delete_all().await.unwrap();
            let mut seen = 1;
            loop {
                let part = stream.next_chunk().await.unwrap();
                if part.is_empty() {
                    break;
                }
                assert!(part.iter().enumerate().all(|(n, p)| p.age == 1_000 + seen + n as i32));
                seen += part.len() as i32;
            }
            assert_eq!(seen, 4_000);
            assert!(stream.next().await.is_none(), "it stays at its end");
            // Dropped in the middle, or never polled.
            db.batch(BatchOptions::new(), fill).await.unwrap();
            let mut left = people.stream(Query::all());
            left.next().await.unwrap().unwrap();
            drop((left, people.stream(Query::all())));
            people.insert(person("last", 1)).await.unwrap();
        });
    });
}

#[test]
fn errors_are_returned_by_the_future() {
    let db = AsyncDb::new(Db::open("memory:").unwrap()).unwrap();
    runtime().block_on(async {
        let people = db.table::<Person>();
        let kinds = [
            people.insert(person("ada", 1)).await.unwrap_err().kind(),
            people.count(Query::all()).await.unwrap_err().kind(),
            people.stream(Query::all()).next().await.unwrap().unwrap_err().kind(),
            people.stream(Query::all()).next_chunk().await.unwrap_err().kind(),
        ];
        assert_eq!(kinds, [ErrorKind::Schema; 4]);
        let both = all(vec![people.insert(person("a", 1)), people.insert(person("b", 2))]).await;
        assert!(both.into_iter().all(|r| r.unwrap_err().kind() == ErrorKind::Schema));
        assert_eq!(AsyncDb::open("db2:x").await.unwrap_err().kind(), ErrorKind::Config);
    });
}

/// Counts its wake-ups.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn dropping_a_queued_write_cancels_it() {
    let workers = Workers::new(1).unwrap();
    let db = Db::builder().record::<Person>().open("memory:").unwrap();
    db.create_missing_tables().unwrap();
    let db = AsyncDb::with_workers(db, &workers);
    let people = db.table::<Person>();
    let (held, hold) = mpsc::channel::<()>();
    let mut context = Context::from_waker(Waker::noop());
    let mut busy = pin!(workers.run(move || hold.recv().is_err()));
    assert!(busy.as_mut().poll(&mut context).is_pending());

    let _never_polled = people.insert(person("never", 1));
    let mut cancelled = people.insert(person("cancelled", 2));
    let mut kept = people.insert(person("kept", 3));
    let mut run = db.run(|_| -> Result<(), Error> { panic!("cancelled, so never run") });
    assert!(Pin::new(&mut cancelled).poll(&mut context).is_pending());
    assert!(Pin::new(&mut kept).poll(&mut context).is_pending());
    assert!(Pin::new(&mut run).poll(&mut context).is_pending());
    drop((cancelled, run));
    drop(held);
    runtime().block_on(async {
        assert!(busy.await);
        assert_eq!(kept.await.unwrap(), 1);
        let left = people.list(Query::all()).await.unwrap();
        assert_eq!(left.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["kept"]);
    });
}

/// Polls futures while the only thread is held, so that their writes are one group.
fn queue_together<R>(
    workers: &Workers,
    futures: &mut [DbFuture<R>],
) -> (mpsc::Sender<()>, DbFuture<bool>) {
    let (held, hold) = mpsc::channel::<()>();
    let mut context = Context::from_waker(Waker::noop());
    let mut busy = workers.run(move || hold.recv().is_err());
    assert!(Pin::new(&mut busy).poll(&mut context).is_pending());
    for future in futures {
        assert!(Pin::new(future).poll(&mut context).is_pending());
    }
    (held, busy)
}

#[test]
fn cancelled_rows_leave_the_rest_of_their_group() {
    on_each(|place| {
        let workers = Workers::new(1).unwrap();
        let db = AsyncDb::with_workers(place.people(), &workers);
        let (people, notes) = (db.table::<Person>(), db.table::<Note>());
        let owner = runtime().block_on(people.insert(person("owner", 1))).unwrap();
        let mut writes: Vec<_> =
            (0..9).map(|n| notes.insert(note(owner, &n.to_string()))).collect();
        let held = queue_together(&workers, &mut writes);
        let kept: Vec<_> = writes
            .into_iter()
            .enumerate()
            .filter_map(|(number, write)| (number % 3 != 1).then_some(write))
            .collect();
        drop(held);
        runtime().block_on(async {
            let mut stored = Vec::new();
            for key in all(kept).await {
                stored.push(notes.require(key.unwrap()).await.unwrap());
            }
            let texts: Vec<_> = stored.iter().map(|note| note.text.as_str()).collect();
            assert_eq!(texts, ["0", "2", "3", "5", "6", "8"]);
            assert!(stored.iter().all(|note| note.created > Timestamp::UNIX_EPOCH));
            assert_eq!(notes.count(Query::all()).await.unwrap(), 6);
        });
    });
}

#[test]
fn writes_keep_their_order_around_a_transaction() {
    on_each(|place| {
        let workers = Workers::new(1).unwrap();
        let db = AsyncDb::with_workers(place.people(), &workers);
        let people = db.table::<Person>();
        let count = |before: u64| {
            db.transaction(move |transaction| {
                let counted = transaction.table::<Person>()?.count(Query::all())?;
                assert_eq!(counted, before);
                Ok(0)
            })
        };
        let mut writes = vec![people.insert(person("a", 1)), people.insert(person("b", 1))];
        writes.push(count(2));
        writes.push(people.insert(person("c", 1)));
        writes.push(count(3));
        drop(queue_together(&workers, &mut writes));
        let keys: Vec<_> =
            runtime().block_on(all(writes)).into_iter().map(Result::unwrap).collect();
        assert_eq!(keys, [1, 2, 0, 3, 0]);
    });
}

#[test]
fn a_failed_group_is_written_row_by_row() {
    for (kind, each) in [
        (ErrorKind::Constraint, None),
        (ErrorKind::Serialization, None),
        (ErrorKind::Full, Some(ErrorKind::Full)),
        (ErrorKind::Unknown, Some(ErrorKind::Unknown)),
    ] {
        let engine = FaultyEngine::new(Box::new(Memory::new()));
        let faults = engine.faults();
        let db = Db::builder().record::<Person>().open_engine(engine).unwrap();
        db.create_missing_tables().unwrap();
        let workers = Workers::new(1).unwrap();
        let people = AsyncDb::with_workers(db, &workers).table::<Person>();
        runtime().block_on(people.insert(person("first", 1))).unwrap();
        let names = ["a", "b", "a", "c"];
        let mut writes: Vec<_> = names.map(|name| people.insert(person(name, 1))).into();
        let held = queue_together(&workers, &mut writes);
        faults.fail_commit(1, kind);
        drop(held);
        let results = runtime().block_on(all(writes));
        for (number, result) in results.into_iter().enumerate() {
            let expected = if number == 2 { Some(ErrorKind::Duplicate) } else { each };
            let found = result.as_ref().err().map(Error::kind);
            assert_eq!(found, expected, "{kind:?}, row {number}: {result:?}");
        }
    }
}

/// A statement that runs until it is interrupted.
const ENDLESS_QUERY: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";

#[test]
fn dropping_a_running_future_interrupts_it() {
    on_each(|place| {
        if place.is_memory_engine() {
            return;
        }
        let db = AsyncDb::with_workers(place.people(), &Workers::new(1).unwrap());
        ends_when_dropped(&db, |begun| db.run(move |db| for_ever(db, &begun)));
        ends_when_dropped(&db, |begun| {
            let inner = db.blocking().clone();
            db.transaction(move |transaction| {
                transaction.table::<Person>()?.insert(&person("undone", 1))?;
                begun.send(()).unwrap();
                transaction.sql::<(i64,)>(ENDLESS_QUERY, ()).map(drop)?;
                inner.table::<Person>()?.count(Query::all())
            })
        });
        // Also between two statements: the second one is rejected.
        let (held, hold) = mpsc::channel::<()>();
        let mut context = Context::from_waker(Waker::noop());
        let (begin, begun) = mpsc::channel();
        let mut two = db.transaction(move |transaction| {
            transaction.table::<Person>()?.insert(&person("undone", 1))?;
            begin.send(()).unwrap();
            assert!(hold.recv().is_err());
            transaction.table::<Person>()?.set_where(Person::AGE.eq(1), [Person::AGE.set(2)])
        });
        assert!(Pin::new(&mut two).poll(&mut context).is_pending());
        begun.recv().unwrap();
        drop((two, held));
        runtime().block_on(async {
            let people = db.table::<Person>();
            assert_eq!(people.count(Query::all()).await.unwrap(), 0);
            assert_eq!(people.insert(person("kept", 1)).await.unwrap(), 1);
        });
    });
}

fn for_ever(db: &Db, begun: &mpsc::Sender<()>) -> Result<(), Error> {
    begun.send(()).unwrap();
    db.sql::<(i64,)>(ENDLESS_QUERY, ()).map(drop)
}

/// Drops a future once its work has started, and checks that the only thread becomes free.
fn ends_when_dropped<R>(db: &AsyncDb, work: impl FnOnce(mpsc::Sender<()>) -> DbFuture<R>) {
    let mut context = Context::from_waker(Waker::noop());
    let (begin, begun) = mpsc::channel();
    let mut future = work(begin);
    assert!(Pin::new(&mut future).poll(&mut context).is_pending());
    begun.recv().unwrap();
    drop(future);
    let (done, free) = mpsc::channel();
    let mut next = db.workers().run(move || done.send(()));
    assert!(Pin::new(&mut next).poll(&mut context).is_pending());
    free.recv_timeout(Duration::from_secs(60)).expect("the thread is free");
}

#[test]
fn a_future_wakes_its_task_once() {
    let workers = Workers::new(1).unwrap();
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut future = workers.run(|| 7);
    let mut context = Context::from_waker(&waker);
    assert!(Pin::new(&mut future).poll(&mut context).is_pending());
    while count.0.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(Pin::new(&mut future).poll(&mut context), Poll::Ready(7));
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
}

#[test]
fn a_panic_is_raised_where_the_future_is_awaited() {
    let db = AsyncDb::with_workers(Db::open("memory:").unwrap(), &Workers::new(1).unwrap());
    let runtime = runtime();
    let bad = db.run(|_| -> Result<(), Error> { panic!("on purpose") });
    let caught = runtime.block_on(runtime.spawn(bad)).unwrap_err();
    assert!(caught.is_panic());
    runtime.block_on(db.run(|_| Ok(()))).expect("the thread is still there");
}

#[test]
fn worker_threads_run_in_parallel() {
    let workers = Workers::new(3).unwrap();
    let all_three = Arc::new(Barrier::new(3));
    runtime().block_on(async {
        let meet = (0..3).map(|_| {
            let barrier = Arc::clone(&all_three);
            workers.run(move || barrier.wait().is_leader())
        });
        assert_eq!(all(meet.collect()).await.into_iter().filter(|leads| *leads).count(), 1);
    });
}
