//! Statements are counted with their place in the program, and end in time, on every engine.

#![allow(clippy::cast_possible_truncation, reason = "numbers of lines")]

use crate::engines::on_each;
use bobak::engine::{Engine, TransactionControl};
use bobak::prelude::*;
use bobak::query::{PageRequest, from};
use bobak::statements::{MonitorOptions, StatementStats, with_label};
use bobak::{Deadline, Interrupt, count};
use std::io::Read;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

#[derive(Record, Debug, Clone, PartialEq)]
struct City {
    id: i64,
    #[record(unique)]
    name: String,
    people: i64,
}

#[derive(Record)]
struct Visit {
    id: i64,
    city_id: i64,
}

const SHORT: Duration = Duration::from_millis(20);

fn open(url: &str, options: MonitorOptions) -> Db {
    let db = Db::builder().record::<City>().monitor(options).open(url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

fn city(name: &str) -> City {
    City { id: 0, name: name.to_owned(), people: 1 }
}

fn statistics(db: &Db) -> Vec<StatementStats> {
    db.statements().unwrap().statistics()
}

/// Runs a call, and checks that all of its statements come from the line of the caller.
#[track_caller]
fn comes_from_here<R>(db: &Db, call: impl FnOnce() -> bobak::Result<R>) -> R {
    let line = std::panic::Location::caller().line();
    db.statements().unwrap().reset();
    let done = call().unwrap();
    let all = statistics(db);
    assert!(!all.is_empty());
    for stats in all {
        let origin = stats.last_origin.unwrap_or_else(|| panic!("no origin of {}", stats.text));
        let place = origin.place.unwrap();
        assert!(place.file().ends_with("tests/it/statements.rs"), "{origin}: {}", stats.text);
        assert_eq!(place.line(), line, "{}", stats.text);
    }
    done
}

#[test]
#[rustfmt::skip] // a call and its closure are on one line
fn statements_have_the_place_of_the_call() {
    let db = open("memory:", MonitorOptions::new());
    let cities = db.table::<City>().unwrap();
    let id = comes_from_here(&db, || cities.insert(&city("Bern")));
    comes_from_here(&db, || cities.get(id));
    comes_from_here(&db, || cities.require(id));
    comes_from_here(&db, || cities.exists(id));
    comes_from_here(&db, || cities.get_many([id, 7]));
    comes_from_here(&db, || cities.upsert_on(City::NAME, &city("Basel")));
    comes_from_here(&db, || cities.set(id, [City::PEOPLE.set(2)]));
    comes_from_here(&db, || cities.set_where(City::PEOPLE.gt(5), [City::PEOPLE.set(2)]));
    comes_from_here(&db, || cities.list(City::PEOPLE.gt(5)));
    comes_from_here(&db, || cities.first(Query::all()));
    comes_from_here(&db, || cities.count(Query::all()));
    comes_from_here(&db, || cities.iter(Query::all()).map(Iterator::count));
    comes_from_here(&db, || cities.select(Query::all(), City::NAME));
    comes_from_here(&db, || cities.delete(id));
    let mut batch = db.batch(BatchOptions::default()); batch.insert(&city("Chur")).unwrap(); comes_from_here(&db, || batch.finish());
    comes_from_here(&db, || db.transaction(|_| Ok::<_, Error>(())));
    let row = cities.first(Query::all()).unwrap().unwrap();
    comes_from_here(&db, || cities.update(&row));
    let towns = db.dynamic("city").unwrap();
    comes_from_here(&db, || towns.count(Query::all()));
    comes_from_here(&db, || towns.get((7,)));
    let db = open("sqlite::memory:", MonitorOptions::new());
    comes_from_here(&db, || db.sql::<i64>("SELECT count(*) FROM city", ()));
    comes_from_here(&db, || db.execute("DELETE FROM city", ()));
    let query = bobak::query::from::<City>().select((City::NAME, City::ID));
    comes_from_here(&db, || db.list(&query));
}

#[test]
fn statements_are_counted() {
    on_each(|place| {
        let db = open(&place.url, MonitorOptions::new());
        let cities = db.table::<City>().unwrap();
        db.statements().unwrap().reset();
        for name in ["Bern", "Basel", "Bern"] {
            let inserted = with_label("import", || cities.insert(&city(name)));
            assert_eq!(
                inserted.is_ok(),
                name != "Bern" || cities.count(Query::all()).unwrap() == 1
            );
        }
        assert_eq!(cities.iter(Query::all()).unwrap().count(), 2);
        let all = statistics(&db);
        let of = |text: &str| all.iter().find(|stats| &*stats.text == text).unwrap();
        let insert = of("INSERT INTO city");
        assert_eq!((insert.count, insert.rows, insert.errors), (3, 2, 1));
        assert_eq!(insert.last_error, Some(ErrorKind::Duplicate));
        let origin = insert.last_origin.as_ref().unwrap().to_string();
        assert!(origin.starts_with("import at ") && origin.contains("statements.rs:"), "{origin}");
        assert!(insert.max >= insert.mean() && insert.p95 <= insert.max);
        assert_eq!(of("SELECT * FROM city ORDER BY id").rows, 2, "fetched by a cursor");
    });
}

#[test]
fn attached_engines_and_joins_over_engines_are_seen() {
    let builder = Db::builder().record::<City>().attach("cache", "memory:");
    let builder = builder.record_on::<Visit>("cache");
    let db = builder.monitor(MonitorOptions::new()).open("sqlite::memory:").unwrap();
    db.create_missing_tables().unwrap();
    db.statements().unwrap().reset();
    let sql = "SELECT count(*) FROM city c JOIN cache.visit v ON v.city_id = c.id WHERE c.id > 3";
    assert_eq!(db.sql::<i64>(sql, ()).unwrap(), [0]);
    let all = statistics(&db);
    let whole = all.iter().find(|stats| stats.text.ends_with("WHERE c.id > ?")).unwrap();
    assert_eq!((whole.engine, &*whole.verb, whole.count), ("sqlite", "select", 1));
}

#[derive(Record, Clone)]
struct Photo {
    id: i64,
    data: Vec<u8>,
    size: i64,
}

/// Calls that run several statements, or call one another.
#[test]
#[rustfmt::skip] // a call and its closure are on one line
fn statements_inside_of_calls_have_the_place_of_the_call() {
    on_each(|place| {
        let db = Db::builder().record::<City>().record::<Photo>().monitor(MonitorOptions::new());
        let db = db.open(&place.url).unwrap();
        db.create_missing_tables().unwrap();
        let (cities, photos) = (db.table::<City>().unwrap(), db.table::<Photo>().unwrap());
        let id = cities.insert(&city("Bern")).unwrap();
        let more = || City::PEOPLE.set(City::PEOPLE + 1);
        let all = || from::<City>().and((City::PEOPLE + 1).gt(0));
        comes_from_here(&db, || cities.set_where(City::ID.gt(0), [more()]));
        comes_from_here(&db, || cities.insert_from((City::NAME, City::PEOPLE), &all().select((City::NAME.concat("2"), City::PEOPLE))));
        let returning = cities.returning(City::NAME);
        comes_from_here(&db, || returning.set_where(City::ID.gt(0), [more()]));
        comes_from_here(&db, || returning.set(id, [City::PEOPLE.set(5)]));
        comes_from_here(&db, || returning.insert(&city("Chur")));
        comes_from_here(&db, || returning.upsert_on(City::NAME, &city("Chur")));
        comes_from_here(&db, || returning.insert_or_ignore(&city("Chur")));
        comes_from_here(&db, || returning.delete_where(City::NAME.eq("Chur")));
        comes_from_here(&db, || cities.page::<City>(Query::all(), &(), PageRequest::size(1).with_total()));
        comes_from_here(&db, || db.page(&all().order_by(City::PEOPLE.asc()), PageRequest::size(1)));
        comes_from_here(&db, || db.list(&all().select(City::NAME.lower())));
        comes_from_here(&db, || db.list(&all().and(City::ID.is_in_query(from::<Photo>().select(Photo::SIZE)))));
        comes_from_here(&db, || cities.explain(City::PEOPLE.gt(5)));
        comes_from_here(&db, || db.explain_query(&all().group_by(City::PEOPLE).select(count::<City>())));
        comes_from_here(&db, || db.explain("SELECT name FROM city WHERE people > ?", (1,)));
        let photo = photos.insert(&Photo { id: 0, data: vec![0; 3 << 20], size: 0 }).unwrap();
        comes_from_here(&db, || photos.write_blob(photo, Photo::DATA, 3 << 20, &vec![1; 3 << 20][..]));
        comes_from_here(&db, || Ok(photos.read_blob(photo, Photo::DATA)?.unwrap().read_to_end(&mut Vec::new()).unwrap()));
        db.transaction(|transaction| {
            let cities = transaction.table::<City>()?;
            comes_from_here(&db, || cities.set_where(City::ID.gt(0), [more()]));
            comes_from_here(&db, || transaction.list(&all().select(City::NAME.lower())));
            Ok::<_, Error>(())
        }).unwrap();
    });
}

/// Passes the call if it ends in time, as one that would take a minute.
fn ends(call: impl FnOnce() -> bobak::Result<()>) {
    assert_eq!(call().unwrap_err().kind(), ErrorKind::Timeout);
}

const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n";

#[test]
fn statement_ends_at_the_timeout() {
    let db = open("sqlite::memory:", MonitorOptions::new().timeout(SHORT));
    ends(|| db.sql::<i64>(ENDLESS, ()).map(drop));
    assert_eq!(db.sql::<i64>("SELECT 1", ()).unwrap(), [1], "the next statement runs");
    let transaction = db.begin().unwrap();
    transaction.table::<City>().unwrap().insert(&city("Bern")).unwrap();
    ends(|| transaction.sql::<i64>(ENDLESS, ()).map(drop));
    transaction.commit().unwrap();
    assert_eq!(db.table::<City>().unwrap().count(Query::all()).unwrap(), 1);
    let failed = statistics(&db).into_iter().find(|stats| stats.errors > 0).unwrap();
    assert_eq!((failed.errors, failed.last_error), (2, Some(ErrorKind::Timeout)));
}

#[test]
fn reads_end_at_a_deadline() {
    on_each(|place| {
        let db = open(&place.url, MonitorOptions::new());
        let cities = db.table::<City>().unwrap();
        for name in ["a", "b", "c"] {
            cities.insert(&city(name)).unwrap();
        }
        let over = Deadline::after(Duration::ZERO);
        ends(|| over.run(|| cities.list(Query::all()).map(drop)));
        ends(|| over.run(|| cities.count(City::PEOPLE.gt(0)).map(drop)));
        ends(|| over.run(|| cities.set_where(City::PEOPLE.gt(0), [City::PEOPLE.add(1)]).map(drop)));
        assert_eq!(cities.sum(Query::all(), City::PEOPLE).unwrap(), Some(3), "nothing was set");
        let passed = Deadline::after(Duration::MAX).run(|| cities.list(Query::all()));
        assert_eq!(passed.unwrap().len(), 3);
    });
}

#[test]
fn batch_that_runs_too_long_leaves_nothing() {
    on_each(|place| {
        let db = open(&place.url, MonitorOptions::new());
        let mut batch = db.batch(BatchOptions::new().commit_every(0));
        for number in 0..2_000 {
            batch.insert(&city(&number.to_string())).unwrap();
        }
        ends(|| Deadline::after(Duration::ZERO).run(|| batch.finish().map(drop)));
        assert_eq!(db.table::<City>().unwrap().count(Query::all()).unwrap(), 0);
    });
}

#[test]
fn waiting_for_a_writer_ends_at_the_timeout() {
    on_each(|place| {
        let db = open(&place.url, MonitorOptions::new().timeout(SHORT));
        let engine = db.engine().unwrap();
        let (holds, done) = (mpsc::channel(), mpsc::channel::<()>());
        let other = std::thread::spawn(move || hold_writer(&engine, &holds.0, &done.1));
        holds.1.recv().unwrap();
        ends(|| db.begin().map(drop));
        done.0.send(()).unwrap();
        other.join().unwrap();
        db.begin().unwrap().commit().unwrap();
        let begin = statistics(&db).into_iter().find(|stats| &*stats.text == "BEGIN").unwrap();
        assert!(begin.waited >= SHORT && begin.errors == 1, "{begin:?}");
    });
}

fn hold_writer(engine: &Arc<dyn Engine>, holds: &mpsc::Sender<()>, done: &mpsc::Receiver<()>) {
    let session = engine.session().unwrap();
    session.control(TransactionControl::Begin).unwrap();
    holds.send(()).unwrap();
    done.recv().unwrap();
    session.control(TransactionControl::Rollback).unwrap();
}

#[test]
fn interrupt_counts_before_the_timeout() {
    let db = open("sqlite::memory:", MonitorOptions::new().timeout(Duration::from_secs(60)));
    let interrupt = Interrupt::new();
    let theirs = interrupt.clone();
    let other = std::thread::spawn(move || {
        std::thread::sleep(SHORT);
        theirs.interrupt();
    });
    let ended = interrupt.run(|| db.sql::<i64>(ENDLESS, ()));
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::Interrupted);
    other.join().unwrap();
}

#[test]
fn slow_statements_are_reported() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    let options = MonitorOptions::new().slow(Duration::ZERO, move |statement| {
        log.lock().unwrap().push(statement.to_string());
    });
    let db = open("memory:", options);
    lines.lock().unwrap().clear();
    db.table::<City>().unwrap().list(City::NAME.eq("secret")).unwrap();
    let line = lines.lock().unwrap().pop().unwrap();
    assert!(line.contains(" 0 rows, on memory, from "), "{line}");
    assert!(line.ends_with(": SELECT * FROM city WHERE name = ? ORDER BY id"), "{line}");
}

/// A statement of a server that sleeps for a minute ends, and the connection is of use afterwards.
#[cfg(all(feature = "mysql", feature = "postgres"))]
#[test]
fn statement_of_a_server_ends_at_the_timeout() {
    crate::engines::on_servers(|url| {
        let sleep = if url.starts_with("postgres") { "pg_sleep(60)" } else { "SLEEP(60)" };
        let db = open(url, MonitorOptions::new().timeout(Duration::from_secs(3)));
        ends(|| db.sql::<bobak::Value<'static>>(&format!("SELECT {sleep}"), ()).map(drop));
        assert_eq!(db.sql::<i64>("SELECT 1", ()).unwrap(), [1]);
        let cities = db.table::<City>().unwrap();
        let over = Deadline::after(Duration::ZERO);
        ends(|| over.run(|| cities.list(Query::all()).map(drop)));
        assert_eq!(cities.count(Query::all()).unwrap(), 0);
    });
}
