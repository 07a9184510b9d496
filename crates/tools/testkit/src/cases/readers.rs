//! Several sessions of one store: visibility, and waiting for each other.

use super::ids;
use crate::{Check, Entry, Failure, Harness, NULL, Probe, Table, fails, holds, row, same, tables};
use bobak_core::{
    Assign, ColumnSchema, Engine, Error, ErrorKind, OnError, Result, SchemaChange, Select, Source,
    TableSchema,
    TransactionControl::{Begin, Commit, Rollback},
    Value,
};
use std::sync::Arc;

/// All sessions see committed changes at once, with and without a transaction.
pub fn commits_are_seen_at_once(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let mark = tables::mark()?;
    let a = Probe::with_tables(store.engine(), &[&mark])?;
    let b = Probe::new(store.engine())?;
    for n in 0..20_i64 {
        let (writer, reader) = if n % 2 == 0 { (&a, &b) } else { (&b, &a) };
        if n % 3 == 0 {
            writer.control(Begin)?;
            writer.insert(&mark, row![Value::Int(n), 0])?;
            writer.control(Commit)?;
        } else {
            writer.insert(&mark, row![Value::Int(n), 0])?;
        }
        same("rows", ids(&reader.all(&mark)?), (0..=n).collect())?;
        holds("by key", reader.get(&mark, row![Value::Int(n), 0])?.is_some())?;
    }
    Ok(())
}

/// Readers see nothing of a transaction before its commit, and everything after it.
pub fn readers_see_whole_transactions(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !store.engine().capabilities().concurrent_readers {
        return Ok(());
    }
    let mark = tables::mark()?;
    let writer = Probe::with_tables(store.engine(), &[&mark])?;
    let reader = Probe::new(store.engine())?;
    writer.insert(&mark, row![1, 0])?;
    writer.control(Begin)?;
    same("after begin", ids(&reader.all(&mark)?), vec![1])?;
    writer.insert(&mark, row![2, 0])?;
    writer.delete(&mark, row![1, 0])?;
    same("inside", ids(&reader.all(&mark)?), vec![1])?;
    same("by key", reader.get(&mark, row![2, 0])?, None)?;
    let mut cursor = reader.session.open(&Source::Select(&Select::all(&mark)))?;
    writer.control(Commit)?;
    same("its cursor", ids(&reader.drain(&mut cursor)?), vec![1])?;
    same("after commit", ids(&reader.all(&mark)?), vec![2])?;
    writer.control(Begin)?;
    writer.insert(&mark, row![3, 0])?;
    same("of the next", ids(&reader.all(&mark)?), vec![2])?;
    writer.control(Rollback)?;
    same("after rollback", ids(&reader.all(&mark)?), vec![2])
}

/// A query in progress does not see what another session commits.
pub fn rows_handed_out_are_of_one_moment(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !store.engine().capabilities().concurrent_readers {
        return Ok(());
    }
    let mark = tables::mark()?;
    let writer = Probe::with_tables(store.engine(), &[&mark])?;
    let reader = Probe::new(store.engine())?;
    let rows: Vec<_> = (0..1_000).map(|n| Entry::insert(&mark, row![n, 0])).collect();
    writer.batch(&rows, OnError::Stop).outcomes()?;
    let mut seen = Vec::new();
    let select = Select::all(&mark);
    reader.session.query(&Source::Select(&select), &mut |row| {
        if seen.len() == 10 {
            // An engine may make the writer wait for the reader, and then reject the write.
            match writer.delete_where(&mark, None) {
                Err(error) if !is_conflict(&error) => return Err(error),
                _ => {}
            }
        }
        seen.push(crate::values_of(row));
        Ok(true)
    })?;
    same("rows", ids(&seen), (0..1_000).collect())
}

/// A session that is returning rows to a callback rejects all other calls.
pub fn no_calls_from_inside_a_query(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let mark = tables::mark()?;
    let probe = Probe::with_tables(store.engine(), &[&mark])?;
    probe.insert_all(&mark, [row![1, 0], row![2, 0]])?;
    let mut results: Vec<Result<()>> = Vec::new();
    let select = Select::all(&mark);
    probe.session.query(&Source::Select(&select), &mut |_| {
        if results.is_empty() {
            results.push(probe.insert(&mark, row![3, 0]).map(drop));
            results.push(probe.all(&mark).map(drop));
            results.push(probe.get(&mark, row![1, 0]).map(drop));
            results.push(probe.delete_where(&mark, None).map(drop));
            results.push(probe.control(Begin));
            results.push(probe.session.open(&Source::Select(&select)).map(drop));
            results.push(probe.batch(&[Entry::insert(&mark, row![4, 0])], OnError::Stop).whole);
        }
        Ok(true)
    })?;
    same("calls", results.len(), 7)?;
    for (at, result) in results.into_iter().enumerate() {
        fails(&format!("call {at} from inside"), result, ErrorKind::Misuse)?;
    }
    probe.insert(&mark, row![5, 0])?;
    same("afterwards", ids(&probe.all(&mark)?), vec![1, 2, 5])
}

/// A second writer waits until its busy timeout and then fails; it may retry later. For an
/// engine with concurrent writers see [`two_writers_meet_at_a_row`].
pub fn a_second_writer_is_busy(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if store.engine().capabilities().concurrent_writers {
        return Ok(());
    }
    let mark = tables::mark()?;
    let first = Probe::with_tables(store.engine(), &[&mark])?;
    let second = Probe::new(store.engine())?;
    first.control(Begin)?;
    first.insert(&mark, row![1, 0])?;
    let error = fails("begin", second.control(Begin), ErrorKind::Busy)?;
    holds("it may be retried", error.is_retryable())?;
    fails("a write", second.insert(&mark, row![2, 0]), ErrorKind::Busy)?;
    let sent = second.batch(&[Entry::insert(&mark, row![2, 0])], OnError::Continue);
    fails("a batch", sent.whole, ErrorKind::Busy)?;
    fails("no transaction was begun", second.control(Commit), ErrorKind::Misuse)?;
    first.control(Commit)?;
    second.control(Begin)?;
    second.insert(&mark, row![3, 0])?;
    second.control(Commit)?;
    same("rows", ids(&first.all(&mark)?), vec![1, 3])
}

/// Concurrent writers of different rows do not wait for each other.
pub fn writers_of_different_rows_do_not_wait(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !store.engine().capabilities().concurrent_writers {
        return Ok(());
    }
    let mark = tables::mark()?;
    let first = Probe::with_tables(store.engine(), &[&mark])?;
    let second = Probe::new(store.engine())?;
    first.control(Begin)?;
    second.control(Begin)?;
    for n in 0..5 {
        first.insert(&mark, row![n, 1])?;
        second.insert(&mark, row![n, 2])?;
    }
    let batch: Vec<_> = (5..2_000).map(|n| Entry::insert(&mark, row![n, 2])).collect();
    second.batch(&batch, OnError::Stop).outcomes()?;
    second.control(Commit)?;
    first.control(Commit)?;
    same("rows", first.count(&mark)?, 2_005)
}

/// If two concurrent writers change the same row, one of them waits no longer than its
/// busy timeout, and fails at the write or at the commit; no update is lost.
pub fn two_writers_meet_at_a_row(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !store.engine().capabilities().concurrent_writers {
        return Ok(());
    }
    let document = tables::document()?;
    let first = Probe::with_tables(store.engine(), &[&document])?;
    let second = Probe::new(store.engine())?;
    first.insert(&document, row![1, "x", 0, 0])?;
    let add = || [Assign::Add { column: 2, value: 1.into() }];
    first.control(Begin)?;
    first.change(&document, None, &add())?;
    second.control(Begin)?;
    let met = second.change(&document, None, &add());
    let met = if met.is_ok() { second.control(Commit) } else { met.map(drop) };
    first.control(Commit)?;
    if let Err(error) = met {
        holds(&format!("{error:?} may be retried"), error.is_retryable())?;
        second.control(Rollback)?;
        second.change(&document, None, &add())?;
    }
    same("both count", first.all(&document)?, vec![row![1, "x", 2, 2]])
}

/// A row that a transaction read, and another changed before the transaction writes it, is a conflict:
/// a value computed from the old row is not stored.
pub fn what_was_read_holds_until_the_commit(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !store.engine().capabilities().concurrent_writers {
        return Ok(());
    }
    let person = tables::person()?;
    let first = Probe::with_tables(store.engine(), &[&person])?;
    let second = Probe::new(store.engine())?;
    first.insert(&person, row![1, "Ada", NULL, 10])?;
    first.control(Begin)?;
    same("read", first.get(&person, row![1])?, Some(row![1, "Ada", NULL, 10]))?;
    second.update(&person, row![1, "Ada", NULL, 20])?;
    let written = first.update(&person, row![1, "Ada", NULL, 11]);
    let ended = written.and_then(|_| first.control(Commit));
    fails("a lost update", ended, ErrorKind::Serialization)?;
    // Whether the commit failed or the write before it: the transaction can be given up.
    if let Err(error) = first.control(Rollback) {
        same("it has ended", error.kind(), ErrorKind::Misuse)?;
    }
    same("the other's stays", first.get(&person, row![1])?, Some(row![1, "Ada", NULL, 20]))
}

/// A change of the schema waits as a writer does; where several write at once, only for those at
/// the same table.
pub fn a_schema_change_is_a_writer(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let (mark, tag) = (tables::mark()?, tables::tag()?);
    let probe = Probe::with_tables(store.engine(), &[&mark])?;
    probe.control(Begin)?;
    probe.insert(&mark, row![1, 0])?;
    if store.engine().capabilities().concurrent_writers {
        let index = TableSchema::builder("mark")
            .column(ColumnSchema::of::<i64>("a"))
            .column(ColumnSchema::of::<i64>("b"))
            .key(["a", "b"])
            .index("mark_b", ["b"])
            .build()?;
        let change = SchemaChange::AddIndex { table: Arc::new(index), index: 0 };
        let outcome = store.engine().alter(&[change]);
        fails("during a transaction that wrote to it", outcome, ErrorKind::Busy)?;
    } else {
        fails("during a transaction", crate::create(store.engine(), &[&tag]), ErrorKind::Busy)?;
    }
    probe.insert(&mark, row![2, 0])?;
    probe.control(Commit)?;
    crate::create(store.engine(), &[&tag])?;
    probe.insert(&tag, row!["a", 1.0])?;
    same("rows", ids(&probe.all(&mark)?), vec![1, 2])
}

/// Making all of it durable disturbs no reader and no transaction.
pub fn a_flush_disturbs_nobody(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    let mark = tables::mark()?;
    let probe = Probe::with_tables(store.engine(), &[&mark])?;
    let rows: Vec<_> = (0..20_000).map(|n| Entry::insert(&mark, row![n, 0])).collect();
    probe.batch(&rows, OnError::Stop).outcomes()?;
    let mut cursor = probe.session.open(&Source::Select(&Select::all(&mark)))?;
    let mut seen = probe.fetch(&mut cursor)?;
    store.engine().flush()?;
    probe.delete_where(&mark, None)?;
    store.engine().flush()?;
    seen.extend(probe.drain(&mut cursor)?);
    same("the cursor's rows", ids(&seen), (0..20_000).collect())?;
    probe.control(Begin)?;
    probe.insert(&mark, row![1, 0])?;
    match store.engine().flush() {
        // An engine may have to wait for the transaction, and fails after its timeout.
        Err(error) if !is_conflict(&error) => return Err(error.into()),
        _ => {}
    }
    probe.control(Commit)?;
    same("the transaction's", ids(&probe.all(&mark)?), vec![1])
}

/// Writers on several threads lose nothing, whatever they write with.
pub fn writers_on_several_threads(harness: &dyn Harness) -> Check {
    let store = harness.for_writers()?;
    let document = tables::document()?;
    let probe = Probe::with_tables(store.engine(), &[&document])?;
    probe.insert(&document, row![0, "total", 0, 0])?;
    let engine = store.engine();
    std::thread::scope(|scope| {
        let spawn = |thread| {
            scope.spawn({
                let document = &document;
                move || write_some(engine, document, thread)
            })
        };
        let threads: Vec<_> = (0..4).map(spawn).collect();
        threads.into_iter().try_for_each(|thread| {
            let ended = thread.join().map_err(|_| Failure::new("a writer panicked"))?;
            Ok::<_, Failure>(ended?)
        })
    })?;
    let total = probe.get(&document, row![0])?;
    let expected = row![0, "total", 4 * WRITES, 4 * WRITES];
    same("every addition counts", total, Some(expected))?;
    same("every row is there", probe.count(&document)? as i64, 1 + 4 * WRITES * 2)
}

const WRITES: i64 = 25;

/// Each round adds one to the total, and two rows: alone, in a transaction, or in a batch.
fn write_some(engine: &dyn Engine, document: &Table, thread: i64) -> Result<()> {
    let probe = Probe::new(engine)?;
    for n in 0..WRITES {
        let key = |part: i64| Value::Int(1 + thread * 1_000 + n * 2 + part);
        let new = |part| row![key(part), "x", 0, 0];
        let add = Assign::Add { column: 2, value: 1.into() };
        patiently(|| match n % 3 {
            0 => {
                let both = [Entry::insert(document, new(0)), Entry::insert(document, new(1))];
                probe.batch(&both, OnError::Stop).whole
            }
            1 => {
                probe.control(Begin)?;
                let both = (0..2).try_for_each(|n| probe.insert(document, new(n)).map(drop));
                let done = both.and_then(|()| probe.control(Commit));
                if done.is_err() {
                    // A failed commit has rolled back already.
                    let _ = probe.control(Rollback);
                }
                done
            }
            _ => probe.insert(document, new(0)).map(drop),
        })?;
        if n % 3 == 2 {
            patiently(|| probe.insert(document, new(1)).map(drop))?;
        }
        let total = super::equal(0, 0);
        patiently(|| {
            probe.change(document, Some(total.clone()), std::slice::from_ref(&add)).map(drop)
        })?;
    }
    Ok(())
}

/// Tries again where another writer was too long, or in the way: timeouts of test harnesses are
/// short. `write` leaves no transaction open where it fails.
fn patiently(write: impl Fn() -> Result<()>) -> Result<()> {
    loop {
        match write() {
            Err(error) if is_conflict(&error) => {}
            other => return other,
        }
    }
}

fn is_conflict(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Busy | ErrorKind::Serialization)
}

/// Readers on several threads see each transaction completely or not at all.
pub fn readers_beside_a_writer(harness: &dyn Harness) -> Check {
    let store = harness.fresh()?;
    if !store.engine().capabilities().concurrent_readers {
        return Ok(());
    }
    let document = tables::document()?;
    let probe = Probe::with_tables(store.engine(), &[&document])?;
    probe.insert_all(&document, (0..10).map(|n| row![n, "x", 0, 0]))?;
    let engine = store.engine();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let spawn = |_| scope.spawn(|| watch(engine, &document, &done));
        let readers: Vec<_> = (0..2).map(spawn).collect();
        let add = Assign::Add { column: 2, value: 1.into() };
        let write = || {
            (0..60).try_for_each(|_| {
                patiently(|| probe.change(&document, None, std::slice::from_ref(&add)).map(drop))
            })
        };
        let written = write();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        for reader in readers {
            reader.join().map_err(|_| Failure::new("a reader panicked"))??;
        }
        Ok::<_, Failure>(written?)
    })
}

fn watch(engine: &dyn Engine, document: &Table, done: &std::sync::atomic::AtomicBool) -> Check {
    let probe = Probe::new(engine)?;
    let mut last = 0;
    while !done.load(std::sync::atomic::Ordering::Relaxed) {
        let rows = probe.all(document)?;
        let hits: Vec<_> = rows.iter().filter_map(|row| row.get(2)).collect();
        same("rows", hits.len(), 10)?;
        let first = hits.first().copied().cloned().unwrap_or_default();
        holds(
            &format!("all rows are of one moment: {hits:?}"),
            hits.iter().all(|hit| **hit == first),
        )?;
        let Value::Int(now) = first else { return Err(Failure::new("no number")) };
        holds("time does not go back", now >= last)?;
        last = now;
    }
    Ok(())
}
