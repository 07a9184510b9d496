//! Several threads that write at the same time, each its own numbered commits of one row: what group commit packs.

use bobak_core::{ColumnSchema, Engine, Result, TableSchema};
use bobak_testkit::crash::is_sound;
use bobak_testkit::{Entry, NULL, Probe, Table, row};
use std::sync::Arc;

/// Called when a commit of a thread is acknowledged; returns whether to continue.
pub(super) type AcknowledgedCallback<'a> = &'a (dyn Fn(usize, u64) -> bool + Sync);

/// Makes the table and has so many threads write until `acknowledged` says `false`.
///
/// # Errors
/// Those of the engine.
pub(super) fn write(
    engine: &dyn Engine,
    threads: usize,
    acknowledged: AcknowledgedCallback<'_>,
) -> Result<()> {
    let table = table()?;
    bobak_testkit::create(engine, &[&table])?;
    // Number 0 says that the table is there.
    if !acknowledged(0, 0) {
        return Ok(());
    }
    let work = |thread: usize| -> Result<()> {
        for number in 1.. {
            let entry = Entry::insert(&table, row![NULL, thread as i64, number as i64]);
            engine.write(&entry.as_write())?;
            if !acknowledged(thread, number) {
                break;
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..threads).map(|n| scope.spawn(move || work(n))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
    })
}

/// The number of each thread's last commit that is there.
///
/// # Errors
/// A sentence if one before it is missing or occurs twice, or if the store is damaged.
pub(super) fn read(engine: &dyn Engine, threads: usize) -> Result<Vec<u64>, String> {
    let failed = |error: bobak_core::Error| format!("unreadable: {error}");
    let table = table().map_err(failed)?;
    let rows = Probe::new(engine).and_then(|probe| probe.all(&table)).map_err(failed)?;
    is_sound(engine)?;
    let mut last = vec![0_u64; threads];
    for row in rows {
        let number = |place: usize| match row.get(place) {
            Some(bobak_core::Value::Int(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        let thread = number(1).and_then(|thread| usize::try_from(thread).ok());
        let (Some(last), Some(number)) =
            (thread.and_then(|thread| last.get_mut(thread)), number(2))
        else {
            return Err("a row of the wrong form".to_owned());
        };
        *last += 1;
        if number != *last {
            return Err(format!("a thread's commit {number} is where {last} is expected"));
        }
    }
    Ok(last)
}

fn table() -> Result<Table> {
    let table = TableSchema::builder("mark_together")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<i64>("thread"))
        .column(ColumnSchema::of::<i64>("number"))
        .key(["id"]);
    Ok(Arc::new(table.build()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_memory::Memory;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn what_was_written_is_found_and_a_gap_too() {
        let (memory, said) = (Memory::new(), AtomicU64::new(0));
        write(&memory, 3, &|_, number| {
            said.fetch_add(1, Ordering::Relaxed);
            number < 20
        })
        .unwrap();
        assert_eq!(read(&memory, 3), Ok(vec![20; 3]));
        assert_eq!(said.into_inner(), 61, "the table, and twenty of each");
        let probe = Probe::new(&memory).unwrap();
        probe.insert(&table().unwrap(), row![NULL, 1, 22]).unwrap();
        assert!(read(&memory, 3).unwrap_err().contains("22 is where 21"));
    }
}
