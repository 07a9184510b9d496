//! Batches through the facade.

use crate::engines::{Note, Person, note, on_each, person};
use bobak::batch::{Batch, OnConflict, OnError, Outcome};
use bobak::prelude::*;
use bobak::{Deadline, Interrupt};
use std::time::Duration;

#[test]
fn a_batch_has_several_types_and_verbs() {
    on_each(|place| {
        let db = place.people();
        let people = db.table::<Person>().unwrap();
        let mut batch = db.batch(BatchOptions::new());
        for number in 0..100 {
            batch.insert(&person(&format!("p{number}"), number)).unwrap();
        }
        batch.insert(&note(3, "hers")).unwrap();
        batch.update(&Person { id: 1, ..person("changed", 5) }).unwrap();
        batch.upsert(&Person { id: 2, ..person("upserted", 5) }).unwrap();
        batch.delete::<Person>(100).unwrap();
        batch.delete::<Person>(100).unwrap();
        let report = batch.finish().unwrap();
        assert_eq!(report.rows, 105);
        assert_eq!((report.inserted, report.changed, report.failed), (101, 3, 0));
        assert_eq!(report.generated_key::<i64>(99), Some(100));
        let key = report.generated_key::<Uuid>(100).expect("made by Bobak");
        let stored = db.table::<Note>().unwrap().require(key).unwrap();
        assert!(stored.created > Timestamp::UNIX_EPOCH, "stamped in a batch too");
        assert_eq!(report.outcome(104).unwrap().unwrap(), Outcome::Changed(0));
        assert_eq!(people.require(1).unwrap().name, "changed");
        assert_eq!(people.require(2).unwrap().name, "upserted");
        assert_eq!(people.count(Query::all()).unwrap(), 99);
    });
}

#[test]
fn an_error_stops_the_batch_and_rolls_back_to_the_last_commit() {
    on_each(|place| {
        let db = place.people();
        let people = db.table::<Person>().unwrap();
        let mut batch = db.batch(BatchOptions::new().commit_every(10));
        let mut failed = None;
        for number in 0..40 {
            let name = if number == 27 { "p26".to_owned() } else { format!("p{number}") };
            if let Err(error) = batch.insert(&person(&name, number)) {
                failed = Some(error);
                break;
            }
        }
        let error = failed.expect("the duplicate is found when its part is sent");
        assert_eq!((error.kind(), error.row()), (ErrorKind::Duplicate, Some(27)), "{error}");
        assert_eq!((error.table(), error.column()), (Some("person"), Some("email")));
        assert_eq!(batch.insert(&person("late", 1)).unwrap_err().kind(), ErrorKind::Misuse);
        drop(batch);
        assert_eq!(people.count(Query::all()).unwrap(), 20, "two parts were committed");

        let mut whole = db.batch(BatchOptions::new().commit_every(0));
        whole.insert(&person("x", 1)).unwrap();
        whole.insert(&person("x", 1)).unwrap();
        assert_eq!(whole.finish().unwrap_err().row(), Some(1));
        assert_eq!(people.count(Query::all()).unwrap(), 20);
    });
}

/// A call that is run in time or not.
type Call<'c> = &'c mut dyn FnMut() -> bobak::Result<()>;

#[test]
fn a_batch_that_runs_too_long_says_what_is_committed() {
    on_each(|place| {
        let db = place.people();
        let people = db.table::<Person>().unwrap();
        let stopped = |run: &dyn Fn(Call<'_>) -> bobak::Result<()>| {
            let before = people.count(Query::all()).unwrap();
            let mut batch = db.batch(BatchOptions::new().commit_every(10));
            let add = |batch: &mut Batch<'_>, number: u64| {
                batch.insert(&person(&format!("p{}", before + number), 1))
            };
            (0..29).for_each(|number| add(&mut batch, number).unwrap());
            let error = run(&mut || add(&mut batch, 29)).unwrap_err();
            drop(batch);
            assert_eq!(error.row(), Some(20), "{error}");
            assert_eq!(people.count(Query::all()).unwrap(), before + 20);
            (error.kind(), error.to_string())
        };
        let deadline = Deadline::after(Duration::ZERO);
        let (kind, text) = stopped(&|work| deadline.run(work));
        assert_eq!(kind, ErrorKind::Timeout);
        assert!(
            text.starts_with("the first 20 rows of the batch are committed; of the others,"),
            "{text}"
        );
        let interrupt = Interrupt::new();
        interrupt.interrupt();
        let (kind, text) = stopped(&|work| interrupt.run(work));
        assert_eq!(kind, ErrorKind::Interrupted);
        assert!(text.starts_with("the first 20 rows of the batch are committed"), "{text}");
    });
}

#[test]
fn continuing_after_errors_skips_only_the_failed_rows() {
    on_each(|place| {
        let db = place.people();
        let people = db.table::<Person>().unwrap();
        let options = BatchOptions::new().on_error(OnError::Continue);
        let mut batch = db.batch(options);
        for number in 0..60 {
            batch.insert(&person(&format!("p{}", number % 50), number)).unwrap();
        }
        let negative = Currency::from_scaled(-1);
        batch.insert(&Person { balance: negative, ..person("poor", 1) }).unwrap();
        let long = batch.insert(&person(&"x".repeat(41), 1)).unwrap_err();
        assert_eq!(long.kind(), ErrorKind::TooLong, "rejected before it is added");
        batch.insert(&person("last", 1)).unwrap();
        let report = batch.finish().unwrap();
        assert_eq!((report.inserted, report.failed), (51, 11));
        let kind = |row: usize| report.outcome(row).unwrap().map_err(|e| (e.kind(), e.row()));
        assert_eq!(kind(50), Err((ErrorKind::Duplicate, Some(50))));
        assert_eq!(kind(60), Err((ErrorKind::Constraint, Some(60))));
        assert!(kind(61).is_ok());
        assert_eq!(people.count(Query::all()).unwrap(), 51);
    });
}

#[test]
fn conflicts_are_ignored_or_replaced() {
    on_each(|place| {
        let db = place.people();
        let people = db.table::<Person>().unwrap();
        for (on_conflict, expected) in [(OnConflict::Ignore, 0), (OnConflict::Replace, 1_000)] {
            let mut batch = db.batch(BatchOptions::new().on_conflict(on_conflict));
            for number in 0..50 {
                batch.insert(&person(&format!("p{}", number % 25), number + expected)).unwrap();
            }
            let report = batch.finish().unwrap();
            let ignored = if expected == 0 { 25 } else { 0 };
            assert_eq!((report.ignored, report.inserted), (ignored, 50 - ignored));
            assert_eq!(people.count(Query::all()).unwrap(), 25);
            let ages = people.value(Query::all(), Person::AGE.min()).unwrap();
            assert_eq!(ages, Some(if expected == 0 { 0 } else { 1_025 }));
        }
    });
}

#[test]
fn a_long_batch_commits_in_parts_and_keeps_only_counts() {
    on_each(|place| {
        let db = place.people();
        let mut batch = db.batch(BatchOptions::new().keep_outcomes(false));
        for number in 0..25_000 {
            batch.insert(&Person { email: None, ..person("p", number) }).unwrap();
        }
        assert_eq!(batch.sent(), 20_000);
        let report = batch.finish().unwrap();
        assert_eq!((report.inserted, report.outcomes().count()), (25_000, 0));
        let people = db.table::<Person>().unwrap();
        let walked = people.iter(Query::all()).unwrap().map(|record| record.unwrap().id);
        assert!(walked.eq(1..=25_000));
    });
}

#[test]
fn a_batch_in_a_transaction_is_rolled_back_with_it() {
    on_each(|place| {
        let db = place.people();
        let transaction = db.begin().unwrap();
        let mut batch = transaction.batch(BatchOptions::new());
        for number in 0..30 {
            batch.insert(&person(&format!("p{number}"), number)).unwrap();
        }
        batch.finish().unwrap();
        drop(transaction);
        assert_eq!(db.table::<Person>().unwrap().count(Query::all()).unwrap(), 0);
    });
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Label {
    #[record(key = "given")]
    id: i64,
    #[record(max = 20)]
    name: String,
    #[record(generated = "lower(name)", unique)]
    low: String,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Plain {
    #[record(key = "given")]
    id: i64,
}

/// A record that cannot replace others is one failed row.
#[test]
fn a_row_that_cannot_replace_fails_by_itself() {
    let check = |url: &str| {
        let db = Db::builder().record::<Label>().record::<Plain>().open(url).unwrap();
        db.create_missing_tables().unwrap();
        let label = |id| Label { id, name: "A".into(), low: String::new() };
        for commit_every in [0, 2] {
            db.table::<Plain>().unwrap().delete_all().unwrap();
            let options = BatchOptions::new().on_conflict(OnConflict::Replace);
            let options = options.on_error(OnError::Continue).commit_every(commit_every);
            let mut batch = db.batch(options);
            batch.insert(&Plain { id: 1 }).unwrap();
            batch.insert(&label(1)).unwrap();
            batch.insert(&label(2)).unwrap();
            batch.insert(&Plain { id: 2 }).unwrap();
            let report = batch.finish().unwrap();
            assert_eq!((report.inserted, report.failed), (2, 2), "{url}");
            let failed: Vec<_> =
                report.outcomes().filter_map(Result::err).map(|e| (e.row(), e.kind())).collect();
            let unsupported = ErrorKind::Unsupported;
            assert_eq!(failed, [(Some(1), unsupported), (Some(2), unsupported)], "{url}");
            assert_eq!(db.table::<Plain>().unwrap().count(Query::all()).unwrap(), 2, "{url}");
        }
    };
    on_each(|place| check(&place.url));
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    crate::engines::on_servers(check);
}
