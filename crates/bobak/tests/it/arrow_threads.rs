//! Record batches that several threads read.

use crate::engines::on_each;
use bobak::arrow::RecordBatch;
use bobak::arrow::arrow_array::Array;
use bobak::arrow::arrow_array::cast::AsArray;
use bobak::arrow::arrow_array::types::{Int32Type, Int64Type};
use bobak::prelude::*;
use bobak::{Error, ErrorKind, Interrupt};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

#[derive(Record, Debug, Clone, PartialEq)]
struct Reading {
    id: i64,
    value: i32,
    #[record(index)]
    sensor: i32,
    note: Option<String>,
}

/// Enough for three parts.
const ROWS: i64 = 150_000;

fn open(folder: &TempDir) -> Db {
    let url = format!("sqlite:{}/readings.db?synchronous=off", folder.path().display());
    let db = Db::builder().record::<Reading>().open(&url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

fn fill(db: &Db, ids: impl IntoIterator<Item = i64>) {
    let mut batch = db.batch(BatchOptions::new().keep_outcomes(false));
    for id in ids {
        let note = (id % 3 == 0).then(|| format!("note {id}"));
        let reading = Reading { id, value: 7, sensor: (id % 10) as i32, note };
        batch.insert(&reading).unwrap();
    }
    batch.finish().unwrap();
}

/// The batches that two threads read, and those of one.
fn read(db: &Db, query: Query<Reading>, rows: usize) -> (Vec<RecordBatch>, Vec<RecordBatch>) {
    let (mut of_two, mut of_one) = (Vec::new(), Vec::new());
    let readings = db.table::<Reading>().unwrap();
    let keep = |batches: &mut Vec<RecordBatch>, batch| {
        batches.push(batch);
        Ok(true)
    };
    let query = || query.clone();
    readings
        .for_each_record_batch_in_threads(query(), rows, 2, |batch| keep(&mut of_two, batch))
        .unwrap();
    readings.for_each_record_batch(query(), rows, |batch| keep(&mut of_one, batch)).unwrap();
    (of_two, of_one)
}

fn rows_of(batch: &RecordBatch) -> impl Iterator<Item = Reading> {
    let ids = batch.column(0).as_primitive::<Int64Type>();
    let values = batch.column(1).as_primitive::<Int32Type>();
    let sensors = batch.column(2).as_primitive::<Int32Type>();
    let notes = batch.column(3).as_string::<i32>();
    (0..batch.num_rows()).map(move |row| Reading {
        id: ids.value(row),
        value: values.value(row),
        sensor: sensors.value(row),
        note: notes.is_valid(row).then(|| notes.value(row).to_owned()),
    })
}

fn same_rows(of_two: &[RecordBatch], of_one: &[RecordBatch]) {
    assert_eq!(of_two[0].schema(), of_one[0].schema());
    assert!(of_two.iter().flat_map(rows_of).eq(of_one.iter().flat_map(rows_of)));
}

#[test]
fn several_threads_read_the_batches_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder);
    fill(&db, 1..=ROWS);
    let (of_two, of_one) = read(&db, Query::all(), 10_000);
    same_rows(&of_two, &of_one);
    assert!(of_two.iter().all(|batch| batch.num_rows() == 10_000));
    for query in [
        Query::filter(Reading::NOTE.is_not_null()),
        Query::all().order_by(Reading::ID.asc()),
        // One thread reads these.
        Query::all().order_by(Reading::ID.desc()),
        Query::filter(Reading::SENSOR.eq(3)),
        Query::filter(Reading::ID.gt(100)),
        Query::all().limit(70_000),
    ] {
        let (of_two, of_one) = read(&db, query, 65_536);
        same_rows(&of_two, &of_one);
    }
    let (none, _) = read(&db, Query::filter(Reading::VALUE.eq(8)), 65_536);
    assert_eq!((none.len(), none[0].num_rows(), none[0].num_columns()), (1, 0, 4));
}

#[test]
fn any_keys_are_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder);
    fill(&db, [i64::MIN, i64::MIN + 1, -70_000, -1, 1, 65_536, 65_537, 1 << 40, i64::MAX]);
    let (of_two, of_one) = read(&db, Query::all(), 1);
    same_rows(&of_two, &of_one);
    assert_eq!(of_two.len(), 9);
}

#[test]
fn every_engine_has_the_rows() {
    on_each(|place| {
        let db = place.open(Db::builder().record::<Reading>());
        db.create_missing_tables().unwrap();
        let (none, _) = read(&db, Query::all(), 10);
        assert_eq!((none.len(), none[0].num_rows()), (1, 0));
        fill(&db, (1..=200_000).step_by(500));
        let (of_two, of_one) = read(&db, Query::all(), 65_536);
        same_rows(&of_two, &of_one);
        let transaction = db.begin().unwrap();
        let readings = transaction.table::<Reading>().unwrap();
        let mut rows = 0;
        readings
            .for_each_record_batch_in_threads(Query::all(), 65_536, 2, |batch| {
                rows += batch.num_rows();
                Ok(true)
            })
            .unwrap();
        assert_eq!(rows, 400);
    });
}

#[test]
fn all_threads_see_one_state() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder);
    fill(&db, (1..=ROWS).step_by(100));
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                db.execute("UPDATE reading SET value = value + 1", ()).unwrap();
            }
        });
        for _ in 0..40 {
            let mut values = Vec::new();
            let each = |batch: RecordBatch| {
                let column = batch.column(Reading::VALUE.index()).as_primitive::<Int32Type>();
                values.extend_from_slice(column.values());
                Ok(true)
            };
            let readings = db.table::<Reading>().unwrap();
            let read = readings.for_each_record_batch_in_threads(Query::all(), 65_536, 3, each);
            read.unwrap();
            assert_eq!(values.len(), 1_500);
            assert!(values.iter().all(|value| *value == values[0]));
        }
        ended.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_caller_stops_fails_or_is_interrupted_between_batches() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder);
    fill(&db, 1..=ROWS);
    let readings = db.table::<Reading>().unwrap();
    let read = |each: &mut dyn FnMut(i64) -> Result<bool, Error>| {
        readings.for_each_record_batch_in_threads(Query::all(), 1_000, 2, |batch| {
            each(batch.column(0).as_primitive::<Int64Type>().value(0))
        })
    };
    let mut firsts = Vec::new();
    read(&mut |first| {
        firsts.push(first);
        Ok(firsts.len() < 3)
    })
    .unwrap();
    assert_eq!(firsts, [1, 1_001, 2_001]);

    let own = |_| Err(Error::new(ErrorKind::Misuse, "enough"));
    let error = read(&mut { own }).unwrap_err();
    assert_eq!((error.kind(), error.to_string().contains("enough")), (ErrorKind::Misuse, true));

    let interrupt = Interrupt::new();
    let mut batches = 0;
    let error = interrupt.run(|| {
        read(&mut |_| {
            batches += 1;
            interrupt.interrupt();
            Ok(true)
        })
    });
    assert_eq!((error.unwrap_err().kind(), batches), (ErrorKind::Interrupted, 1));
    // The connections are free again.
    assert_eq!(readings.count(Query::all()).unwrap(), ROWS as u64);
    db.execute("UPDATE reading SET value = 8 WHERE id = 1", ()).unwrap();
}

#[test]
fn an_error_names_the_row_as_one_thread_does() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&folder);
    fill(&db, 1..=ROWS);
    db.execute("UPDATE reading SET value = 3000000000 WHERE id = 100001", ()).unwrap();
    let readings = db.table::<Reading>().unwrap();
    for threads in [1, 2] {
        let each = |_| Ok(true);
        let read = readings.for_each_record_batch_in_threads(Query::all(), 10_000, threads, each);
        let error = read.unwrap_err();
        let place = (error.table(), error.column(), error.row());
        assert_eq!(error.kind(), ErrorKind::OutOfRange);
        assert_eq!(place, (Some("reading"), Some("value"), Some(100_000)), "{threads} threads");
    }
}

#[test]
fn keys_that_are_no_integers_are_not_passed_over() {
    for odd in ["NULL", "70000.5", "'x'", "x'00'"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("other.db");
        let db = Db::open(&format!("sqlite:{}", file.display())).unwrap();
        db.execute("CREATE TABLE plain(id INT PRIMARY KEY, value INTEGER)", ()).unwrap();
        db.execute("INSERT INTO plain VALUES (1, 1), (150000, 1)", ()).unwrap();
        db.execute(&format!("INSERT INTO plain VALUES ({odd}, 2)"), ()).unwrap();
        let plain = db.dynamic("plain").unwrap();
        let each = |_| Ok(true);
        let one = plain.for_each_record_batch(Query::all(), 10, each).unwrap_err();
        let two = plain.for_each_record_batch_in_threads(Query::all(), 10, 2, each).unwrap_err();
        assert_eq!(two.kind(), one.kind(), "{odd}");
    }
}
